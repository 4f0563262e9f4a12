"""Versions of the code that runs used: a hash, kept with each run, and what tables tell of them.

The hash is of the syntax of the package, but for what cannot change a figure: comments, docstrings,
annotations, messages, displays and files. Names and places of functions count. It is one for the
whole package, as either estimator imports nearly all of it. What peers ran with does not depend on
it.
"""

import ast
import hashlib
import json
import re
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "skneighbors"
UNMEASURED = {"__init__.py", "_io.py", "_load.py", "inspection"}
UNHASHED = {"annotation", "returns", "type_comment", "kind", "ctx"}
# Names of methods of ours begin so.
OURS = ("NONA", "SoftStep k-NN")
# The code of runs from before hashes were kept.
EARLIER = "earlier"
COUNTS = re.compile(r"^\.\. Runs by code: (.*)$", re.MULTILINE)


def code(package=PACKAGE):
    """Hash of the package's code as it is now."""
    texts = []
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package)
        if not UNMEASURED & {*name.parts}:
            texts.append(f"{name.as_posix()} {dump(ast.parse(path.read_text(encoding='utf-8')))}")
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:8]


def dump(node, is_message=False):
    """Syntax tree as text, the same under every Python."""
    if isinstance(node, list):
        return f"[{' '.join(dump(x, is_message) for x in node if not is_docstring(x))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    is_message = is_message or isinstance(node, ast.Raise) or is_warning(node)
    if is_message and (isinstance(node, ast.JoinedStr) or is_text(node)):
        return "message"
    if isinstance(node, ast.JoinedStr):  # Python 3.12 adds empty texts
        node.values = [x for x in node.values if not is_text(x) or x.value]
    fields = [(name, value) for name, value in ast.iter_fields(node) if name not in UNHASHED]
    told = [f"{k}={dump(v, is_message)}" for k, v in fields if v is not None and v != []]
    return f"{type(node).__name__}({' '.join(told)})"


def is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def is_docstring(node):
    return isinstance(node, ast.Expr) and is_text(node.value)


def is_warning(node):
    """Whether a node is the call of a function `warn`."""
    if not isinstance(node, ast.Call):
        return False
    return getattr(node.func, "attr", getattr(node.func, "id", None)) == "warn"


def newest(frame, key):
    """Last rows of each key that have the same code."""
    if "code" not in frame:
        return frame
    codes, keys = frame["code"].fillna(EARLIER), [frame[name] for name in key]
    run = (codes != codes.groupby(keys).shift()).groupby(keys).cumsum()
    return frame[run == run.groupby(keys).transform("max")]


def count(frame):
    """Count runs of ours by method and code; all are, if no method is named."""
    counts = {}
    for method, used in frame.reindex(columns=["method", "code"]).itertuples(index=False):
        method = method if isinstance(method, str) else "ours"
        used = used if isinstance(used, str) else None
        if used or method.startswith((*OURS, "ours")):
            counts.setdefault(method, Counter())[used or EARLIER] += 1
    return counts


def comment(counts):
    """Write the counts as a comment of reST."""
    return f".. Runs by code: {json.dumps(counts)}\n"


def stale(text, now):
    """Numbers of runs whose code is not that of now, and of all, by method of a written table."""
    counts = [json.loads(found) for found in COUNTS.findall(text)]
    return {
        method: (sum(used.values()) - used.get(now, 0), sum(used.values()))
        for methods in counts
        for method, used in methods.items()
    }


def note(text, now):
    """Say in one sentence which of a table's runs are of an earlier version, if any are."""
    runs = stale(text, now)
    old = {method: counts for method, counts in runs.items() if counts[0]}
    if not old:
        return ""
    if all(n_old == n for n_old, n in runs.values()):
        return "Our runs here are of an earlier version."
    listed = (f"{method} ({n_old} of {n} runs)" for method, (n_old, n) in old.items())
    return f"Of an earlier version: {', '.join(listed)}."
