"""All of the papers' findings, one script after the other.

Usage, in benchmarks/: python -m paper [--again | --quick FOLDER]

The results and the docs' tables and pictures are written again where they are. Runs
of the fine-tuning, the ablations and the weightings that are in the results are
not repeated, but with `--again`, which puts their files aside as FILE.old. `--quick`
runs all at their smallest, to try them out, and writes to another folder.
"""

import argparse
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

# Not that of _runs, which needs some of the packages below.
RESULTS = Path(__file__).parents[1] / "results"
# Needed by one script or another.
PACKAGES = ("entmax", "matplotlib", "pandas", "umap")
# Those that keep results apart from what they write to the docs.
SCRIPTS = {
    "finetuning": True,
    "ablations": True,
    "weightings": True,
    "growth": True,
    "triplets": False,
    "pictures": False,
}


def command(script, quick=None):
    """Command line of one script.

    Parameters
    ----------
    script : str
    quick : Path or None
        Folder of a quick run.
    """
    words = [sys.executable, "-m", f"paper.{script}"]
    if quick is not None:
        words += ["--quick", "--output", str(quick)]
        if SCRIPTS[script]:
            words += ["--results", str(quick / f"{script}.json")]
    return words


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--again", action="store_true", help="put the results so far aside")
    how.add_argument("--quick", type=Path, metavar="FOLDER", help="write small runs there instead")
    args = parser.parse_args()
    quick = args.quick and args.quick.resolve()
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        parser.error(f"this needs {', '.join(missing)}; install with pip install '.[paper]'")
    if args.again:
        for path in RESULTS.glob("paper_*.json*"):
            path.replace(path.with_name(f"{path.name}.old"))
    for script in SCRIPTS:
        print(f"{script} ...", flush=True)
        subprocess.run(command(script, quick), check=True, cwd=Path(__file__).parents[1])


if __name__ == "__main__":
    main()
