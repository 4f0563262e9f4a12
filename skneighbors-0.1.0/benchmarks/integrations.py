"""Run the guide's blocks on other libraries as they stand.

Usage: pip install mapie mlflow shap skops skrub; python benchmarks/integrations.py

Too heavy for the tests. Prints a line for each library, and raises where a block fails.
"""

import os
import re
import tempfile
import textwrap
import warnings
from pathlib import Path

GUIDE = Path(__file__).parents[1] / "docs" / "guide"
BLOCK = re.compile(r"\.\. code-block:: python\n\n((?:    .*\n|\n)+)")
LIBRARY = re.compile(r"^(?:import|from) (mapie|mlflow|shap|skrub)\b", re.MULTILINE)


def main():
    warnings.simplefilter("ignore")
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MLFLOW_TRACKING_URI"] = f"file://{folder}/runs"
        for page in sorted(GUIDE.glob("*.rst")):
            for block in map(textwrap.dedent, BLOCK.findall(page.read_text(encoding="utf-8"))):
                for library in LIBRARY.findall(block)[:1]:
                    exec(compile(block, page.name, "exec"), {"__name__": library})
                    print(f"{library}, in {page.name}: runs as it stands", flush=True)


if __name__ == "__main__":
    main()
