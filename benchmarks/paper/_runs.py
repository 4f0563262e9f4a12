"""Helpers of the scripts: options, runs that are not repeated, and tables."""

import argparse
import json
from importlib import import_module
from pathlib import Path

import _version
import pandas as pd
import torch
from _rst import rst_text_table, write
from joblib import Parallel, delayed

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results"
OUTPUT = HERE.parents[1] / "docs" / "papers"
# Quick runs are for trying the scripts out.
QUICK = {"n_rows": 300, "max_iter": 5}


def positive(text):
    """Read a count from the command line."""
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1; got {text}")
    return int(text)


def script_parser(doc, splits=None, results=None):
    """Parser of the options of all scripts.

    Parameters
    ----------
    doc : str
        The script's docstring.
    splits : int, default=None
        Number of splits by default; None for a script that has none.
    results : str, default=None
        Name of the file of results; None for a script that keeps none.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    if splits is not None:
        parser.add_argument("--splits", type=positive, default=splits)
    parser.add_argument("--quick", action="store_true", help="few rows and epochs, one split")
    if results is not None:
        parser.add_argument("--results", type=Path, default=RESULTS / results)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    return parser


def parse(parser):
    """Read the command line; a quick run needs other files."""
    args = parser.parse_args()
    if args.quick:
        for name in {"results", "output"} & vars(args).keys():
            if getattr(args, name).resolve() == parser.get_default(name).resolve():
                parser.error(f"--quick needs another --{name}")
        if "splits" in args:
            args.splits = 1
    args.output.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    return args


def shortened(quick):
    """Parameters that end a quick run's training early; none for others."""
    return {"max_iter": QUICK["max_iter"]} if quick else {}


def require(module, package):
    """Import a module, or exit with one line on what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise SystemExit(
            f"error: this needs {package}; install it with `python -m pip install {package}`."
        ) from error


def load_results(path, key):
    """Lines of a JSONL file by the values of their `key`, the last of each."""
    if not path.exists():
        return {}
    found = {}
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            line = json.loads(text)
            found[tuple(line[name] for name in key)] = line
        except (json.JSONDecodeError, KeyError, TypeError):
            raise SystemExit(
                f"error: line {number} of {path} is no result of this script: {text[:60]!r}. If it "
                "was cut off by an interrupt, delete it."
            ) from None
    return found


def load_fresh(path, key):
    """Those lines of :func:`load_results` that the present code wrote."""
    now = _version.code()
    found = load_results(path, key)
    return {name: line for name, line in found.items() if line.get("code") == now}


def run_missing(run, cases, path):
    """Run cases, two at a time, and append the lines that each returns to a JSONL file.

    Parameters
    ----------
    run : callable
        Called as ``run(*case)``, returns a list of dict.
    cases : list of tuple
    path : Path
    """
    code = _version.code()
    path.parent.mkdir(parents=True, exist_ok=True)
    jobs = Parallel(n_jobs=2, return_as="generator")(delayed(run)(*case) for case in cases)
    for lines in jobs:
        lines = [line | {"code": code} for line in lines]
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        print(json.dumps(lines), flush=True)


def spread(values):
    """Mean and, of several values, standard deviation, as text."""
    deviation = f" ± {values.std():.2g}" if len(values) > 1 else ""
    return f"{values.mean():.3g}{deviation}"


def spread_table(frame, row, column, value="rmse"):
    """Frame of texts: mean and deviation of a value over the splits."""
    cells = frame.groupby([row, column], sort=False)[value].apply(spread)
    return cells.unstack(column)[list(dict.fromkeys(frame[column]))].reindex(
        list(dict.fromkeys(frame[row]))
    )


def write_table(path, script, title, table, *notes, runs=None):
    """Write a frame of texts, and lines below it, as an RST file.

    `runs` are the results in the table, if they were kept: others are of the present code.
    """
    runs = pd.DataFrame({"code": [_version.code()]}) if runs is None else runs
    table = rst_text_table(title, table.map(lambda cell: "" if pd.isna(cell) else str(cell)))
    write(path, table, *notes, "", script=f"paper/{script}", runs=runs)
