"""Classes as targets."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from .._columns import check_total_weight, check_weights, is_missing, refuse_missing, show, sorts_of
from .._utils.arrays import array_field
from .._utils.printing import N_ROWS, part_words, percent
from .._utils.warn import warn
from .base import Targets, Task

# How much the classes' frequencies count in a probability, for classes that no neighbor has: in
# training as one of twenty neighbors, in the end what the validation rows choose.
_PRIOR_WEIGHT, _PRIOR_WEIGHTS = 0.05, (0.05, 0.1, 0.02, 0.01, 0.005, 0.002)
# Larger weights need so many rows.
_LARGE_PRIOR_WEIGHTS, _MIN_ROWS = (0.2, 0.3, 0.5, 0.7, 0.85, 1.0), 30
# Printed are so many classes at most.
_N_CLASSES = 5
# Values that are equal up to this are equal.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Classification(Task):
    """Classes, numbered from 0, whose values are 1 for the class of a row and 0 for others.

    Neighbors average these; with the probabilities of the blended model they are mixed by its
    weight, so that all are probabilities.

    Attributes
    ----------
    prior : ndarray of shape (n_classes,)
        Frequencies of the classes, by weight.
    labels : ndarray of shape (n_classes,)
        As they were given.
    prior_weight : float
        How much the frequencies count in a probability.
    """

    loss_name = "log_loss"
    score_name = "gain in log loss"
    has_spread = False
    target_word = "class"
    unbounded = "sets hold all classes"
    parts_note = (
        "A probability is the mean, by the shares above the table, of a class's weight among the\n"
        "neighbors, of what was learned from all rows, and of the classes' frequencies among these."
    )
    by_column_note = (
        'By column: "=" is the query\'s value; the difference is how much more probable the first\n'
        "class is to the blended model for the query than for all neighbors due to the column."
    )
    suspects_title = "Rows whose classes look wrong, the most suspect first"
    score_note = "how much more probable that is than the row's class"
    score_style = ".2f"
    writer = staticmethod(lambda *values: str)

    prior: np.ndarray = array_field("float64", "k", low=0)
    labels: np.ndarray
    prior_weight: float = _PRIOR_WEIGHT

    @classmethod
    def read(cls, y, sample_weight, params):
        """Read classes, weigh them by `class_weight`, and leave those without weight out."""
        y = read_labels(y)
        check_array(y, ensure_2d=False, dtype=None, input_name="y")  # refuses infinity
        check_classification_targets(y)
        check_consistent_length(sample_weight, y)
        labels, codes = _keep_classes(*np.unique(y, return_inverse=True), sample_weight)
        if params["class_weight"] is not None:
            by_class = _weigh_classes(labels, codes, sample_weight, params["class_weight"])
            sample_weight = sample_weight * by_class[codes]
            check_total_weight(sample_weight, name="sample_weight times class_weight")
            labels, codes = _keep_classes(labels, codes, sample_weight)
        return Targets(codes.astype(np.float64).reshape(-1, 1), sample_weight, labels)

    @classmethod
    def read_others(cls, y, labels, n_samples):
        """Read further classes, to their numbers (n_samples, 1)."""
        codes = {label: code for code, label in enumerate(labels.tolist())}
        given = read_labels(y).tolist()
        unknown = next((label for label in given if label not in codes), None)
        if unknown is not None:
            some = ", ".join(map(show, list(codes)[:5]))
            raise ValueError(
                f"y holds {show(unknown)}, which is no class of fit, such as {some}. Classes "
                "without weight are left out."
            )
        check_consistent_length(np.empty(n_samples), given)
        return np.array([[codes[label]] for label in given], dtype=np.float64)

    def read_more(self, y, n_samples):
        """Read classes of rows to append."""
        return self.read_others(y, self.labels, n_samples)

    @classmethod
    def fit(cls, y, sample_weight, labels):
        """Take the frequencies of classes y (n_samples, 1)."""
        counts = np.bincount(y[:, 0].astype(int), weights=sample_weight)
        return cls(counts / counts.sum(), labels)

    def attributes(self):
        """Name the classes, of a single target."""
        return {"classes_": self.labels, "n_outputs_": 1}

    @property
    def can_be_blended(self):
        """Whether there are two classes."""
        return len(self.prior) > 1

    def _check_fields(self, sizes):
        """Raise ValueError if `prior_weight` is no weight, or there are other labels."""
        if not 0 <= self.prior_weight <= 1:
            raise ValueError("bank.task.prior_weight is out of range")
        if type(self.labels) is not np.ndarray or self.labels.shape != self.prior.shape:
            raise ValueError("bank.task.labels has another length")

    def calibrate(self, y, y_hat, weight, n_rows):
        """Choose the weight of the frequencies that predicts validation rows best."""
        weight = 1.0 if weight is None else weight
        prior_weights = _PRIOR_WEIGHTS + _LARGE_PRIOR_WEIGHTS * (n_rows >= _MIN_ROWS)
        tasks = [replace(self, prior_weight=prior_weight) for prior_weight in prior_weights]
        sums = [float((task.losses(y_hat, y) * weight).sum()) for task in tasks]
        return tasks[sums.index(min(sums))]

    @property
    def n_values(self):
        """Number of classes."""
        return len(self.prior)

    def transform(self, y):
        """Make values (n_samples, n_classes) of classes (n_samples, 1)."""
        return (y == np.arange(self.n_values)).astype(np.float64)

    def inverse_transform(self, values):
        """Make probabilities of values, both (..., n_classes)."""
        mixed = (1 - self.prior_weight) * values + self.prior_weight * self.prior
        probabilities = mixed.clip(0, 1)
        return probabilities / probabilities.sum(axis=-1, keepdims=True)

    def differences_on_scale(self, differences):
        """Differences of values as those of probabilities."""
        return (1 - self.prior_weight) * differences

    def losses(self, y_hat, y):
        """Log losses (..., b) of predicted values (..., b, n_classes)."""
        prior = torch.from_numpy(self.prior).to(y_hat)
        probabilities = (1 - self.prior_weight) * y_hat + self.prior_weight * prior
        smallest = torch.finfo(y_hat.dtype).tiny  # of a class without weight
        return -(y * probabilities.clamp(smallest, 1).log()).sum(-1)

    def limits(self, low, high):
        """Smallest and largest values, (2, ..., n_classes): 0 and 1."""
        return torch.stack([torch.zeros_like(low), torch.ones_like(high)])

    @staticmethod
    def strata(y):
        """Class (n_samples,) of each row."""
        return y[:, 0].astype(np.int64)

    def nonconformity(self, judged):
        """How improbable the classes of validation rows are."""
        values = (judged.targets - judged.residuals).cpu().numpy()
        is_true = judged.targets.cpu().numpy() == 1
        return torch.from_numpy(1 - self.inverse_transform(values)[is_true]).unsqueeze(1)

    def region(self, values, reach):
        """Make sets (n, n_classes) of the classes that are at most so improbable."""
        return 1 - self.inverse_transform(values) <= reach + _ROUNDING

    def explain(self, why):
        """Explain probabilities, in which the classes' frequencies are a part."""
        left = 1 - self.prior_weight
        weights = {name: left * weight for name, weight in why.part_weights.items()}
        frequencies = np.broadcast_to(self.prior, why.prediction.shape)
        return replace(
            why,
            prediction=self.inverse_transform(why.prediction),
            classes=self.labels,
            targets=self.labels[why.targets.argmax(axis=2)],
            adjustments=None,
            clipping=None,
            neighbors_weight=left * why.neighbors_weight,
            parts=why.parts | {"frequencies": frequencies},
            part_weights=weights | {"frequencies": self.prior_weight},
        )

    def describe(self, why, i, names):
        """Describe a query by its neighbors, and by its most probable classes."""
        weights, targets, probabilities = why.weights[i], why.targets[i], why.prediction[i]
        shown = min(N_ROWS, np.count_nonzero(weights))
        first = zip(names[:shown], map(percent, weights), map(str, targets), strict=False)
        rows = [["row", "weight", "class"], *map(list, first)]
        if n_others := len(weights) - shown:
            rows.append([f"{n_others} more", percent(weights[shown:].sum()), ""])
        largest = np.argsort(-probabilities, kind="stable")[:_N_CLASSES]
        classes = [["class", "neighbors", *map(part_words, why.parts), "probability"]]
        for c in largest:
            of_neighbors = weights @ (targets == self.labels[c])
            others = (part[i, c] for part in why.parts.values())
            cells = map(percent, [of_neighbors, *others, probabilities[c]])
            classes.append([str(self.labels[c]), *cells])
        best = f"{self.labels[largest[0]]} {percent(probabilities[largest[0]])}"
        return [(best, rows), ("The most probable classes", classes)]

    @staticmethod
    def describe_differences(why, i):
        """Write differences of the probability of the most probable class."""

        def write(value, sign):
            return f"{100 * float(value[0]) + 0.0:{sign}.1f} %"

        return write, [why.prediction[i].argmax()]

    def suspect(self, y, y_hat, spread, reach):
        """Compare the class of each row with the most probable other one."""
        if self.n_values == 1:
            raise ValueError("suspects compares classes; y has a single one.")
        codes, probabilities = y.argmax(axis=1), self.inverse_transform(y_hat)
        others = np.where(y == 1, -1, probabilities)
        scores = others.max(axis=1) - probabilities[y == 1]
        if self.prior_weight == 1:
            warn("suspects names no row: the frequencies of the classes alone predict.")
            scores = np.full(len(y), -np.inf)
        return {
            "scores": scores,
            "targets": self.labels[codes],
            "expected": self.labels[others.argmax(axis=1)],
            "probabilities": probabilities,
        }


def read_labels(y):
    """Read labels, to an array (n_samples,).

    Raises
    ------
    ValueError
        If some are missing, or objects that are not all text, all numbers or all bools.
    """
    if np.ma.is_masked(y):
        raise ValueError("y holds masked labels. Leave these rows out.")
    labels = np.asarray(y)
    is_typed = labels.dtype.kind in "biufcmM"
    # Beside text NumPy makes text of everything, and scikit-learn floats of nullable integers.
    cells = column_or_1d(labels if is_typed else np.asarray(y, dtype=object), warn=True)
    refuse_missing(np.array([*map(is_missing, cells)]), "y holds missing labels")
    other = next((cell for cell in cells if type(cell) not in (str, np.str_)), None)
    if is_typed or other is None:
        return labels.ravel() if labels.dtype.kind == "U" else cells
    is_one_sort = len(sorts_of(cells.tolist())) == 1
    exact = np.array(cells.tolist() if is_one_sort else [other])
    if exact.dtype.kind in "biuf" and exact.tolist() == cells.tolist():
        return exact
    raise ValueError(
        f"Unknown label type: y holds {show(other)}, of type {type(other).__name__!r}. Labels must "
        "all be text, all numbers or all bools: convert them, for instance by astype(str)."
    )


def _keep_classes(labels, codes, sample_weight):
    """Leave classes without weight out: labels, and codes, of any class for rows without weight."""
    present = np.unique(codes[sample_weight > 0])
    return labels[present], np.searchsorted(present, codes).clip(max=len(present) - 1)


def _weigh_classes(labels, codes, sample_weight, class_weight):
    """Weight of each class by `class_weight`."""
    if class_weight == "balanced":
        totals = np.bincount(codes, sample_weight)
        return totals.sum() / (len(totals) * totals)
    labels = labels.tolist()
    unknown = next(iter(class_weight.keys() - set(labels)), None)
    if unknown is not None and not class_weight.keys() >= set(labels):
        raise ValueError(f"class_weight names {show(unknown)}, which is no class of y.")
    weights = [class_weight.get(label, 1.0) for label in labels]
    return check_weights(weights, len(labels), "class_weight")
