"""Run the blocks of the page on other libraries as they stand.

Usage: pip install mapie mlflow shap skops skrub; python benchmarks/integrations.py

Too heavy for the tests. Prints a line for each library, and raises where a block fails.
"""

import os
import re
import tempfile
import textwrap
import warnings
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "integrations.rst"
BLOCK = re.compile(r"\.\. code-block:: python\n\n((?:    .*\n|\n)+)")


def sections(text):
    """Titles and code of the page's sections, in order; the first holds what all share."""
    parts = re.split(r"(?m)^(.+)\n[-=]{3,}\n", text)
    named = zip(parts[1::2], parts[2::2], strict=True)
    return [(title, textwrap.dedent("".join(BLOCK.findall(part)))) for title, part in named]


def main():
    warnings.simplefilter("ignore")
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    shared, *others = sections(PAGE.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MLFLOW_TRACKING_URI"] = f"file://{folder}/runs"
        for title, code in others:
            exec(compile(shared[1] + code, title, "exec"), {"__name__": title})
            print(f"{title}: runs as it stands", flush=True)


if __name__ == "__main__":
    main()
