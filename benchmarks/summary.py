"""Errors relative to peers', in one table: docs/benchmark/summary.inc and README's.

Usage: python benchmarks/summary.py

Reads the recorded results of benchmarks/tabular.py and tables.py.
"""

from pathlib import Path

import pandas as pd
from report import geometric_mean, load, pivot, ratios, rst_table

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
OUTPUT = HERE.parent / "docs" / "benchmark" / "summary.inc"
# What stands before and after the table in README.
START, STOP = "<!-- benchmarks/summary.py -->\n", "<!-- end -->\n"
GROUPS = {
    "smooth": HERE / "results" / "tabular.jsonl",
    "noisy": HERE / "results" / "further" / "tabular.jsonl",
    "real tables": HERE / "results" / "tables" / "tables.jsonl",
}
PEERS = [
    "tuned k-NN",
    "random forest",
    "hist. boosting",
    "LightGBM",
    "XGBoost",
    "CatBoost",
    "RealMLP-TD",
    "best peer",
]


def summarise(ours="NONA"):
    """Geometric means of our error over each peer's, peer by group of sets."""
    columns = {}
    for group, path in GROUPS.items():
        rmse = pivot(load(path)[0], "rmse")
        table = ratios(rmse, ours)
        n_sets = table.index.get_level_values("dataset").nunique()
        known = {peer: geometric_mean(table[peer]) for peer in PEERS if peer in table}
        columns[f"{n_sets} {group}"] = known
    summary = pd.DataFrame(columns).reindex(PEERS)
    return summary.rename({"best peer": "the best peer of each set"})


def markdown(summary):
    """Write a frame of numbers as a Markdown table."""
    lines = [["error relative to", *summary], ["---"] * (1 + len(summary.columns))]
    for peer, row in summary.iterrows():
        lines.append([peer, *("" if pd.isna(cell) else f"{cell:.2f}" for cell in row)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def with_table(text, summary):
    """README with its table replaced."""
    before, rest = text.split(START)
    after = rest.split(STOP)[1]
    return before + START + markdown(summary) + STOP + after


def main():
    summary = summarise()
    title = "Error (RMSE) of NONARegressor relative to peers'; below 1, ours is more accurate"
    table = rst_table(title, summary, 2)
    OUTPUT.write_text(f".. Written by benchmarks/summary.py.\n\n{table}\n", encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    README.write_text(with_table(text, summary), encoding="utf-8")


if __name__ == "__main__":
    main()
