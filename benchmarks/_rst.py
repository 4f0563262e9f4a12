"""Tables of the docs."""

import _version
import pandas as pd

# More sets than this are the rows of a table, not its columns.
MAX_COLUMNS = 15


def upright(table):
    """Turn a table of methods by sets, if the sets are many."""
    return table if table.shape[1] <= MAX_COLUMNS else table.T


def rst_text_table(title, frame):
    """Write a frame of texts as a csv-table directive."""
    header = ", ".join(f'"{name}"' for name in ["", *map(str, frame.columns)])
    lines = [f".. csv-table:: {title}", f"   :header: {header}", ""]
    for name, row in frame.iterrows():
        cells = [f'"{name}"', *(f'"{cell}"' if " " in cell else cell for cell in row)]
        lines.append("   " + ", ".join(cells))
    return "\n".join([*lines, ""])


def rst_table(title, frame, digits):
    """Write a frame of numbers as a csv-table directive."""
    texts = frame.map(lambda cell: "" if pd.isna(cell) else f"{cell:.{digits}g}")
    return rst_text_table(title, texts)


def rst_list_table(title, rows):
    """Write rows of texts, the first of them the header, as a list-table directive."""
    lines = [f".. list-table:: {title}", "    :header-rows: 1", ""]
    for row in rows:
        lines += [f"    {'*' if i == 0 else ' '} - {cell}".rstrip() for i, cell in enumerate(row)]
    return "\n".join([*lines, ""])


def list_versions(frame):
    """List what packages the runs used."""
    known = {}
    for run in frame.versions:
        for name, number in run.items():
            known[name] = {*known.get(name, ()), number}
    listed = ", ".join(f"{name} {'/'.join(sorted(numbers))}" for name, numbers in known.items())
    return f"Versions: {listed}."


def list_versions_and_cores(frame):
    """List what packages and how many cores the runs used."""
    threads = ", ".join(map(str, sorted(frame.threads.unique())))
    return f"{list_versions(frame)} Cores of each run: {threads}."


def write(path, *parts, script=None, runs=None):
    """Write parts of a page, after comments: the script that wrote it, and the code of its runs.

    Parameters
    ----------
    path : Path
    *parts : str
    script : str, default=None
    runs : DataFrame, default=None
        Results in the table; None for a part of a page that stands beside another with these.
    """
    comments = [] if script is None else [f".. Written by benchmarks/{script}.", ""]
    comments += [] if runs is None else [_version.comment(_version.count(runs))]
    path.write_text("\n".join([*comments, *parts]), encoding="utf-8")
