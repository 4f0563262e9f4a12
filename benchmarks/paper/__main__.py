"""All of the papers' findings, one script after the other.

Usage, in benchmarks/: python -m paper [--quick FOLDER]

Without options the results and the docs' tables are written where each script
writes them; what is in the results already is not run again. `--quick` runs all
at their smallest, to try them out, and writes to a folder of its own.
"""

import argparse
import subprocess
import sys
from pathlib import Path

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
    parser.add_argument("--quick", type=Path, metavar="FOLDER")
    args = parser.parse_args()
    for script in SCRIPTS:
        print(f"{script} ...", flush=True)
        subprocess.run(command(script, args.quick), check=True, cwd=Path(__file__).parents[1])


if __name__ == "__main__":
    main()
