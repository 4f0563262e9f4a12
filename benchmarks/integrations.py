"""Run the guide's blocks on other libraries, each after the examples of its page.

Usage: pip install mapie mlflow shap skops skrub; python benchmarks/integrations.py

Too heavy for the tests. Prints a line for each library, and raises where a block fails.
"""

import doctest
import os
import re
import tempfile
import textwrap
import warnings
from pathlib import Path

GUIDE = Path(__file__).parents[1] / "docs" / "guide"
BLOCK = re.compile(r"\.\. code-block:: python\n\n((?:    .*\n|\n)+)")
EXAMPLES = doctest.DocTestParser()
LIBRARY = re.compile(r"^ *(?:import|from) (mapie|mlflow|shap|skrub)\b", re.MULTILINE)


def main():
    warnings.simplefilter("ignore")
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MLFLOW_TRACKING_URI"] = f"file://{folder}/runs"
        for page in sorted(GUIDE.glob("*.rst")):
            text, names = page.read_text(encoding="utf-8"), {}
            blocks = [textwrap.dedent(b) for b in BLOCK.findall(text) if LIBRARY.search(b)]
            for example in EXAMPLES.get_examples(text) if blocks else ():
                exec(example.source, names)
            for block in blocks:
                exec(compile(block, page.name, "exec"), names)
                print(f"{LIBRARY.search(block)[1]}, in {page.name}: runs", flush=True)


if __name__ == "__main__":
    main()
