"""Below each table of a benchmark, which of its runs are of an earlier version."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import _version


def add_note(app, path, parent, content):
    """Add what :func:`_version.note` says of an included file."""
    if note := _version.note(content[0], app.config.code_of_now):
        content[0] += f"\n\n*{note}*\n"


def setup(app):
    """Connect to Sphinx."""
    app.add_config_value("code_of_now", _version.code(), "env")
    app.connect("include-read", add_note)
    return {"parallel_read_safe": True}
