"""Runs that are not repeated once their results are there, and tables of them."""

import json

import pandas as pd
from joblib import Parallel, delayed
from report import rst_text_table


def load_results(path, key):
    """Lines of a JSONL file by the values of their `key`, the last of each."""
    if not path.exists():
        return {}
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {tuple(line[name] for name in key): line for line in lines}


def run_missing(run, cases, path):
    """Run cases, two at a time, and append the lines that each returns to a JSONL file.

    Parameters
    ----------
    run : callable
        Called as ``run(*case)``, returns a list of dict.
    cases : list of tuple
    path : Path
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    jobs = Parallel(n_jobs=2, return_as="generator")(delayed(run)(*case) for case in cases)
    for lines in jobs:
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


def write_table(path, script, title, table, *notes):
    """Write a frame of texts, and lines below it, as an RST file."""
    table = rst_text_table(title, table.map(lambda cell: "" if pd.isna(cell) else str(cell)))
    text = "\n".join([f".. Written by benchmarks/paper/{script}.", "", table, *notes])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")
