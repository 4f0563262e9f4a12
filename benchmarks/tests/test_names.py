"""Scripts run with their folder at the head of the path: no name may hide a library's."""

import sys
from importlib.metadata import packages_distributions
from pathlib import Path


def test_no_script_has_the_name_of_a_library():
    names = {path.stem for path in Path(__file__).parents[1].iterdir() if path.suffix != ".md"}
    others = {"coverage", *packages_distributions(), *sys.stdlib_module_names}
    assert names
    assert not (names - {"results", "tests"}) & others
