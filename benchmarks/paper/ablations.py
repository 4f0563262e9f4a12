"""Ablations of the papers' model: one choice after the other, and those of the dense head.

Usage, in benchmarks/: python -m paper.ablations [--tasks NAME ...] [--splits N] [--quick]

The papers' setting and splits, as in `finetuning`. Serialised: the similarity is
chosen first, then the SoftStep function and whether its parameters are each
query's or global, then the batch size, then the width of the embedding; each
by the validation R2, mean over the splits, with what was chosen before. For the
dense head every width with every batch size. Resumable. Writes
results/paper_ablations.jsonl, and ablations.inc and dense_ablation.inc to docs/papers.
"""

import json
from itertools import product

import pandas as pd
from _methods import PAPER
from _surfaces import LinearHeadRegressor

from skneighbors import NONARegressor

from ._runs import (
    load_fresh,
    load_results,
    parse,
    run_missing,
    script_parser,
    spread_table,
    write_table,
)
from ._tasks import fit, tasks

# What the papers' setting leaves to NONA's defaults.
DEFAULTS = {"similarity": "l2", "softstep": "s2", "softstep_parameters": "pointwise"}
KEY = ("task", "split", "head", "choices")
TASKS = ["rotated digits", "pitch", "diabetes"]
BATCHES, WIDTHS = [32, 64, 128, 256], [25, 50, 100]
STAGES = {
    "similarity": [{"similarity": s} for s in ("l2", "l1", "dot", "cosine")],
    "SoftStep": [
        {"softstep": None},
        *(
            {"softstep": function, "softstep_parameters": parameters}
            for function, parameters in product(("s1", "s2"), ("pointwise", "global"))
        ),
    ],
    "batch size": [{"batch_size": size} for size in BATCHES],
    "embedding": [{"embedding_dim": width} for width in WIDTHS],
}
HEADS = {"NONA": NONARegressor, "dense": LinearHeadRegressor}


def run(task, split, head, choices, quick=False):
    """Test and validation error of a head with some parameters.

    Parameters
    ----------
    task : str
    split : int
    head : {"NONA", "dense"}
    choices : str
        Parameters beside the papers' setting, as JSON.
    quick : bool, default=False

    Returns
    -------
    lines : list of dict
    """
    model, _, figures = fit(HEADS[head], json.loads(choices), task, split, quick)
    # Every epoch is validated: there is a patience.
    figures["validation"] = model.validation_scores_[model.best_iter_ - 1]
    return [{"task": task, "split": split, "head": head, "choices": choices} | figures]


class _Runs:
    """Results on file, to which what is missing is added."""

    def __init__(self, path, n_splits, quick):
        self.path, self.n_splits, self.quick = path, n_splits, quick

    def get(self, cases):
        """Frame of the runs of cases (task, head, choices) over all splits."""
        keys = [
            (task, split, head, dump(choices))
            for task, head, choices in cases
            for split in range(self.n_splits)
        ]
        done = load_fresh(self.path, KEY)
        run_missing(run, [(*key, self.quick) for key in keys if key not in done], self.path)
        done = load_results(self.path, KEY)
        return pd.DataFrame([done[key] for key in keys])


def dump(choices):
    """Write as JSON what differs from the papers' setting."""
    setting = DEFAULTS | PAPER
    return json.dumps({k: v for k, v in sorted(choices.items()) if setting[k] != v})


def label(choices):
    """Put a choice in words."""
    return ", ".join("none" if value is None else str(value) for value in choices.values())


def serialize(runs, names):
    """Choose stage by stage for each task, all tasks side by side.

    Parameters
    ----------
    runs : _Runs
    names : list of str
        Tasks.

    Returns
    -------
    frame : DataFrame
        A row a run: task, stage, option, whether it was chosen, RMSE.
    """
    chosen = {task: {} for task in names}
    parts = []
    for stage, options in STAGES.items():
        cases = {task: [chosen[task] | option for option in options] for task in names}
        frame = runs.get([(task, "NONA", case) for task in names for case in cases[task]])
        mean = frame.groupby(["task", "choices"]).validation.mean()
        best = {task: mean[task].idxmax() for task in names}
        chosen = {task: json.loads(best[task]) for task in names}
        words = {
            (task, dump(case)): f"{stage}: {label(option)}"
            for task in names
            for case, option in zip(cases[task], options, strict=True)
        }
        keys = list(zip(frame.task, frame.choices, strict=True))
        frame["option"] = [words[key] for key in keys]
        frame["chosen"] = [best[task] == choices for task, choices in keys]
        parts.append(frame)
    return pd.concat(parts, ignore_index=True)


def serialized_table(frame):
    """Test RMSE of every option, a star for what was chosen."""
    table = spread_table(frame, "option", "task")
    for (option, task), chosen in frame.groupby(["option", "task"]).chosen.first().items():
        if chosen:
            table.loc[option, task] += " *"
    return table


def dense_frame(runs, names):
    """Run the dense head with every width and batch size."""
    choices = [{"embedding_dim": w, "batch_size": b} for w, b in product(WIDTHS, BATCHES)]
    frame = runs.get([(task, "dense", choice) for task in names for choice in choices])
    values = [PAPER | json.loads(choice) for choice in frame.choices]
    frame["option"] = [f"embedding {v['embedding_dim']}, batch {v['batch_size']}" for v in values]
    return frame


def main():
    parser = script_parser(__doc__, splits=3, results="paper_ablations.jsonl")
    parser.add_argument("--tasks", nargs="+", choices=tasks(), default=TASKS)
    args = parse(parser)
    runs = _Runs(args.results, args.splits, args.quick)
    frame = serialize(runs, args.tasks)
    about = f"mean ± standard deviation over {runs.n_splits} random splits"
    title = f"NONA: test RMSE, {about}; * chosen on the validation rows"
    table, path = serialized_table(frame), args.output / "ablations.inc"
    write_table(path, "ablations.py", title, table, runs=frame)
    frame = dense_frame(runs, args.tasks)
    table, path = spread_table(frame, "option", "task"), args.output / "dense_ablation.inc"
    title = f"Dense head: test RMSE, {about}"
    write_table(path, "ablations.py", title, table, runs=frame)


if __name__ == "__main__":
    main()
