"""List the tables whose runs are of earlier code than the present.

Usage: python benchmarks/stale.py

Prints a line for each such table of the docs: how many of our runs are, of how many. Exits with 1
if there are any. The scripts that wrote them repeat these runs alone.
"""

import sys

import _version

DOCS = _version.PACKAGE.parent / "docs"


def main():
    now, is_any = _version.code(), False
    for folder in ("benchmark", "papers"):
        for path in sorted((DOCS / folder).rglob("*.inc")):
            runs = _version.stale(path.read_text(encoding="utf-8"), now).values()
            n_old, n = (sum(counts) for counts in zip((0, 0), *runs, strict=True))
            if n_old:
                print(f"{path.relative_to(DOCS).as_posix()}: {n_old} of {n}")
                is_any = True
    sys.exit(is_any)


if __name__ == "__main__":
    main()
