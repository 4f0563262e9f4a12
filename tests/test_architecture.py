"""Packages and public names: who may import whom, and what is public."""

import ast
import inspect
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import skneighbors
from skneighbors import inspection, nn

PACKAGE = Path(skneighbors.__file__).parent
# Each package may import those below it; packages in one line do not import each other.
FLOORS = [
    {"__init__"},
    {"_load"},
    {"_nona", "_softstep_knn", "inspection"},
    {"_classifier", "_regressor"},
    {"_base"},
    {"_parameters"},
    {"_io"},
    {"_fit"},
    {"_selection"},
    {"_training", "_blend", "_model"},
    {"_task"},
    {"_columns", "_network", "_settings", "_space"},
    {"_utils"},
    {"nn"},
]
MODULES = sorted(PACKAGE.rglob("*.py"))
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
WINGS = ["_blend", "_columns", "_model", "_task", "_training", "_utils"]
WINGS += ["inspection", "nn"]
MAX_LINES = 8509  # of code, in all modules together
MAX_MODULE_LINES = 300
MAX_FUNCTION_LINES = 50
MAX_ARGUMENTS = 7


def module_id(path):
    return str(path.relative_to(PACKAGE).with_suffix(""))


def room_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path):
    """Modules of the package, as paths of names, and other packages that a module imports."""
    inside, packages = set(), set()
    here = path.relative_to(PACKAGE).with_suffix("").parts
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            packages |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            packages.add(node.module.split(".")[0])
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level]
            if node.module:
                inside.add((*base, *node.module.split(".")))
            else:
                inside |= {(*base, alias.name) for alias in node.names}
    return inside, packages


def names_from_other_rooms(path):
    """What a module imports from other rooms of the package: names there, and here."""
    here, room = path.relative_to(PACKAGE).with_suffix("").parts, room_of(path)
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = (*here[: len(here) - node.level], *(node.module or "").split("."))
            # A room itself may be imported, whatever its name.
            if base[0] not in ("", room):
                yield from ((alias.name, alias.asname or alias.name) for alias in node.names)


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def private_attributes(tree):
    """Private names that are looked up, and the nodes on which they are."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            yield node.value, node.attr


def has_name(node, names):
    return isinstance(node, ast.Name) and node.id in names


def test_every_room_has_a_place():
    assert {room_of(path) for path in MODULES} == set(FLOOR)
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(WINGS)


@pytest.mark.parametrize("path", MODULES, ids=module_id)
def test_imports_point_one_way(path):
    inside, packages = imports(path)
    room = room_of(path)
    assert all(own[0] == room or FLOOR[own[0]] > FLOOR[room] for own in inside)
    assert "skneighbors" not in packages  # a way around the rooms


@pytest.mark.parametrize("wing", WINGS)
def test_no_circles_within_a_wing(wing):
    graph = {}
    for path in (PACKAGE / wing).glob("*.py"):
        if path.stem != "__init__":
            inside, _ = imports(path)
            graph[path.stem] = {own[1] for own in inside if own[0] == wing and len(own) > 1}
    tuple(TopologicalSorter(graph).static_order())  # raises CycleError


@pytest.mark.parametrize("path", sorted((PACKAGE / "nn").glob("*.py")), ids=module_id)
def test_nn_is_plain_torch(path):
    _, packages = imports(path)
    plain = {"__future__", "collections", "copy", "math", "typing"}
    assert packages <= {*plain, "numpy", "scipy", "torch"}


def test_benchmarks_use_public_names_alone():
    paths = [*(Path(__file__).parents[1] / "benchmarks").rglob("*.py")]
    assert paths
    for path in paths:
        tree = tree_of(path)
        for node in ast.walk(tree):
            module = getattr(node, "module", None) or "" if isinstance(node, ast.ImportFrom) else ""
            if module.split(".")[0] == "skneighbors":
                names = [*module.split("."), *(alias.name for alias in node.names)]
                assert not any(map(is_private, names)), (path, names)
        on_others = [
            attr for on, attr in private_attributes(tree) if not has_name(on, {"self", "cls"})
        ]
        assert not {"_model", "_ask"} & set(on_others), path


@pytest.mark.parametrize("path", MODULES, ids=module_id)
def test_private_names_stay_in_their_room(path):
    names = list(names_from_other_rooms(path))
    assert not [name for name, _ in names if is_private(name)]
    tree, own_names = tree_of(path), {own for _, own in names}
    found = list(private_attributes(tree))
    # What a class inherits is its own.
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            own_names -= {base.id for base in node.bases if isinstance(base, ast.Name)}
    if room_of(path) == "inspection":  # which is handed estimators, and what they are made of
        assert not [attr for on, attr in found if not has_name(on, {"self", "cls"})]
    else:
        assert not [attr for on, attr in found if has_name(on, own_names)]


def count_code(path):
    """Lines that are neither blank, nor comments, nor of a docstring."""
    documented = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            documented |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    return sum(i not in documented and line.strip()[:1] not in ("", "#") for i, line in lines)


def test_the_package_is_small():
    """What is added has to pay: by what goes, or by a larger sum here, for a reason."""
    n_lines = {path: count_code(path) for path in MODULES}
    assert sum(n_lines.values()) <= MAX_LINES
    assert max(n_lines.values()) <= MAX_MODULE_LINES


@pytest.mark.parametrize("path", MODULES, ids=module_id)
def test_functions_are_short(path):
    """Comments count. What is public may take more arguments."""
    is_public = room_of(path) in ("nn", "inspection", "_base")
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            length = node.end_lineno - body[0].lineno + 1 if body else 0
            assert length <= MAX_FUNCTION_LINES, f"{node.name} runs {length} lines"
            names = [a.arg for a in node.args.posonlyargs + node.args.args + node.args.kwonlyargs]
            n_arguments = len(set(names) - {"self", "cls"})
            assert is_public or n_arguments <= MAX_ARGUMENTS, f"{node.name} takes {n_arguments}"


def test_import_is_light():
    code = (
        "import sys, torch, sklearn.base, sklearn.decomposition, sklearn.utils.parallel; "
        "before = set(sys.modules); import skneighbors, skneighbors.inspection; "
        "heavy = {'matplotlib', 'tqdm', 'pandas', 'polars'} & (set(sys.modules) - before); "
        "assert not heavy, heavy; assert not torch.cuda.is_initialized()"
    )
    command = [sys.executable, "-c", code]
    subprocess.run(command, check=True, cwd=PACKAGE.parent)


def test_public_names():
    assert set(skneighbors.__all__) == {
        "PAPER",
        "ColumnWarning",
        "ModelFileError",
        "NONAClassifier",
        "NONARegressor",
        "Recipe",
        "SoftStepKNNClassifier",
        "SoftStepKNNRegressor",
        "__version__",
        "load",
        "nn",
    }
    for module in (inspection, nn):
        public = {name for name in vars(module) if not name.startswith("_")}
        assert set(module.__all__) == public


BLOCKS = [getattr(nn, name) for name in nn.__all__]
DISPLAYS = [getattr(inspection, name) for name in inspection.__all__ if name.endswith("Display")]
CONFIGURED = [getattr(skneighbors, name) for name in skneighbors.__all__ if name[0] in "NRS"]


def parameters_of(thing):
    """What stands in a docstring before attributes."""
    assert "Parameters\n" in thing.__doc__
    assert "Examples\n" in thing.__doc__
    return thing.__doc__.split("Attributes\n")[0]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.__name__)
def test_blocks_are_documented_with_parameters_and_an_example(block):
    parameters_of(block)


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: display.__name__)
def test_every_field_of_a_display_is_documented_in_order(display):
    documented = re.findall(r"(?m)^    (\w+) : ", parameters_of(display))
    assert documented == list(inspect.signature(display).parameters)


@pytest.mark.parametrize("kind", CONFIGURED, ids=lambda kind: kind.__name__)
def test_every_parameter_is_documented_in_order_with_its_default(kind):
    documented = re.findall(r"(?m)^    (\w+) : .*, default=(.+)$", parameters_of(kind))
    assert [name for name, _ in documented] == list(kind.__init__.__kwdefaults__)
    defaults = {name: ast.literal_eval(default) for name, default in documented}
    assert defaults == kind().get_params()
