"""Numbers as targets."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from .._columns import refuse_missing, refuse_what_is_no_number
from .._utils.arrays import array_field
from .._utils.printing import N_ROWS, part_words, percent, same_decimals
from .base import Targets, Task
from .far import find_bounds, find_far

# How far beyond the targets' range a prediction may lie, as a fraction of the range.
_MARGIN = 0.1


@dataclass(frozen=True, eq=False)
class Regression(Task):
    """Numbers, standardized.

    A subclass may change the scale first, by :meth:`forward` and :meth:`backward`.

    Attributes
    ----------
    mean, scale : ndarray of shape (n_targets,)
        Of the targets after :meth:`forward`; the standard deviation of a constant target is 0.
    ndim : int
        Dimensions of y as given, 1 or 2.
    bounds : ndarray of shape (2, n_targets) or None
        Of values: those of few targets far from all others count as these, so that they spoil no
        other prediction. None if there are none.
    """

    loss_name = "squared_error"
    score_name = "R2"
    target_word = "target"
    unbounded = "intervals are infinite"
    parts_note = "Below the neighbors stands what is averaged with them, learned from all rows."
    by_column_note = (
        'By column: "=" is the query\'s value; the difference is how much more the trend and the\n'
        "blended model predict for the query than for all neighbors due to the column, and their\n"
        "sum how much more they predict in all. Columns that say the same share it, and large\n"
        "parts may cancel."
    )
    suspects_title = "Rows whose targets look wrong, the most suspect first"
    score_note = "how many times as far off it is as they are themselves, on average"
    score_style = ".1f"
    writer = staticmethod(same_decimals)

    mean: np.ndarray = array_field("float64", "k")
    scale: np.ndarray = array_field("float64", "k", low=0)
    ndim: int
    bounds: np.ndarray | None = array_field("float64", "ends k", allows="inf", default=None)

    @classmethod
    def check(cls, y):
        """Check targets, to float64 (n_samples,) or (n_samples, n_targets)."""
        refuse_what_is_no_number(y, "y")
        any_shape = dict(ensure_2d=False, ensure_all_finite="allow-nan", ensure_min_samples=0)
        try:
            y = check_array(y, dtype=np.float64, input_name="y", **any_shape)
        except (TypeError, OverflowError) as error:
            if issparse(y):
                raise
            raise ValueError(f"y cannot be read as numbers: {error}") from error
        if y.ndim not in (1, 2):
            raise ValueError(f"y must have one or two dimensions; got shape {y.shape}.")
        if y.ndim == 2 and y.shape[1] == 0:
            raise ValueError(f"y must have at least one target; got shape {y.shape}.")
        refuse_missing(np.isnan(y).any(axis=tuple(range(1, y.ndim))), "Input y contains NaN")
        return y

    @classmethod
    def read(cls, y, sample_weight, params):
        """Read targets given to `fit`."""
        y = cls.check(y)
        check_consistent_length(sample_weight, y)
        return Targets(y.reshape(len(y), -1), sample_weight, y.ndim)

    @classmethod
    def read_others(cls, y, form, n_samples):
        """Read further targets, to (n_samples, n_targets)."""
        y = cls.check(y)
        check_consistent_length(np.empty(n_samples), y)
        return y.reshape(n_samples, -1)

    @classmethod
    def fit(cls, y, sample_weight, ndim):
        """Standardize by the weighted columns of y (n_samples, n_targets), but those far away."""
        given, y = y, cls.forward(y)
        y = y.clip(*find_bounds(y, sample_weight))
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.average(y, axis=0, weights=sample_weight)
            largest = np.abs(y - mean).max(axis=0)
            # Differences within the rounding of the mean are none.
            constant = largest <= 10 * np.finfo(float).eps * np.abs(mean)
            largest = np.where(constant, 1.0, largest)
            # Squared relative to the largest, so that no square overflows.
            relative = np.average(((y - mean) / largest) ** 2, axis=0, weights=sample_weight)
            scale = np.where(constant, 0.0, largest * np.sqrt(relative))
            task = cls(mean, scale, ndim)
            values = task.transform(given)
        if not (np.isfinite(scale).all() and np.isfinite(values).all()):
            raise ValueError("y spans more than float64 can hold; rescale it.")
        return task

    def _check_fields(self, sizes):
        """Raise ValueError if `ndim` does not fit."""
        if self.ndim not in (1, 2) or (self.ndim == 1 and len(self.mean) != 1):
            raise ValueError("bank.task.ndim does not fit")
        if self.bounds is not None and len(self.bounds) != 2:
            raise ValueError("bank.task.bounds does not fit")

    def attributes(self):
        """How many targets there are."""
        return {"n_outputs_": self.n_values}

    @property
    def n_values(self):
        """Number of targets."""
        return len(self.mean)

    @staticmethod
    def forward(y):
        """Bring targets to the scale on which they are averaged."""
        return y

    @staticmethod
    def backward(y):
        """Undo :meth:`forward`, which may never fall."""
        return y

    def read_more(self, y, n_samples):
        """Read targets of rows to append; those of a constant target must not change."""
        refuse_what_is_no_number(y, "y")
        if self.ndim == 1 or (len(self.mean) == 1 and np.ndim(y) == 1):
            y = column_or_1d(y, dtype=np.float64, warn=True)
        y = self.read_others(y, self.ndim, n_samples)
        if y.shape[1] != len(self.mean):
            raise ValueError(f"y must have {len(self.mean)} targets, as in fit; got {y.shape}.")
        with np.errstate(over="ignore"):
            finite = np.isfinite(self.transform(y)).all()
        tolerance = 10 * np.finfo(float).eps * np.abs(self.mean)
        moved = np.abs(self.forward(y) - self.mean) > tolerance
        if not finite or (moved & (self.scale == 0)).any():
            raise ValueError(
                "y has other values of a target that was constant in fit, or values that in "
                "relation to those of fit span more than float64 can hold. Fit again."
            )
        return y

    def transform(self, y):
        """Standardize targets (n_samples, n_targets)."""
        return (self.forward(y) - self.mean) / np.where(self.scale > 0, self.scale, np.inf)

    def bound(self, values):
        """Values (n, n_targets), a tensor, those far from all others as the bounds."""
        if self.bounds is None:
            return values
        return values.clamp(*torch.from_numpy(self.bounds).to(values.device))

    def bounding(self, values, weight):
        """Find the bounds of rows."""
        bounds = find_bounds(values, weight)
        return replace(self, bounds=bounds if np.isfinite(bounds).any() else None)

    def find_doubtful(self, y, weight):
        """Find targets far from all others, and few that hold nearly all of the variation."""
        return find_far(self.forward(y), weight).any(axis=0)

    def inverse_transform(self, y):
        """Undo :meth:`transform`, for (..., n_targets)."""
        # Ends of intervals may be infinite, whatever the scale.
        scaled = np.multiply(y, self.scale, where=np.isfinite(y), out=np.array(y, dtype=np.float64))
        return self.shape_like_y(self.backward(scaled + self.mean))

    def on_scale(self, y):
        """Standardized targets (..., n_targets) on the scale on which they are averaged."""
        return self.shape_like_y(y * self.scale + self.mean)

    def differences_on_scale(self, y):
        """Do the same for differences."""
        return self.shape_like_y(y * self.scale)

    def shape_like_y(self, values):
        """Values (..., n_targets) without the last axis if y had none."""
        return values[..., 0] if self.ndim == 1 else values

    @staticmethod
    def losses(y_hat, y):
        """Errors (..., b) of standardized predictions (..., b, n_targets): mean squares."""
        return (y_hat - y).square().mean(-1)

    @staticmethod
    def limits(low, high):
        """Smallest and largest prediction, (2, ..., n_targets): a tenth beyond the targets."""
        margin = _MARGIN * (high - low)
        return torch.stack([low - margin, high + margin])

    def region(self, y, half_widths):
        """Lower and upper ends of intervals, the last axis."""
        ends = y - half_widths, y + half_widths
        return np.stack([self.inverse_transform(end) for end in ends], axis=-1)

    def explain(self, why):
        """Explain predictions on the scale on which they are averaged."""
        on_scale, differences = self.on_scale, self.differences_on_scale
        return replace(
            why,
            prediction=on_scale(why.prediction),
            targets=on_scale(why.targets),
            adjustments=differences(why.adjustments),
            clipping=differences(why.clipping),
            parts={name: on_scale(part) for name, part in why.parts.items()},
        )

    def describe(self, why, i, names):
        """Describe a query by its neighbors, adjusted, and what is averaged with them."""
        write, _ = self.describe_differences(why, i)
        shares = why.neighbors_weight * why.weights[i]
        columns = [part[i] for part in (why.targets, why.adjustments, why.adjusted_targets)]
        shown = min(N_ROWS, np.count_nonzero(why.weights[i]))
        shown += len(shares) == shown + 1  # itself as short as a line for others

        def line(name, share, numbers):
            target, adjustment, adjusted = numbers
            own = write(target), write(adjustment, "+"), write(adjusted)
            return [name, percent(share), *own]

        cells = [["row", "share", "target", "adjustment", "adjusted"]]
        for place, name in enumerate(names[:shown]):
            cells.append(line(name, shares[place], [part[place] for part in columns]))
        if n_others := len(shares) - shown:
            rest, name = shares[shown:], f"{n_others} more, mean"
            cells.append([name, percent(rest.sum()), "", "", ""])
            if rest.any():
                means = [np.average(part[shown:], axis=0, weights=rest) for part in columns]
                cells[-1] = line(name, rest.sum(), means)
        for name, part in why.parts.items():
            share = percent(why.part_weights[name])
            cells.append([part_words(name), share, "", "", write(part[i])])
        if np.any(why.clipping[i]):
            clipping = write(why.clipping[i], "+")
            cells.append(["clipped to the range of targets", "", "", "", clipping])
        prediction = write(why.prediction[i])
        cells.append(["prediction", "100 %", "", "", prediction])
        if not why.is_adjusted:  # adjusted targets are the targets
            cells = [["row", "share", "target"], *([*row[:2], row[-1]] for row in cells[1:])]
        return [(f"prediction {prediction}", cells)]

    def describe_differences(self, why, i):
        """Write differences of all targets like the predictions."""
        return same_decimals(why.prediction[i], why.targets[i]), slice(None)

    def suspect(self, y, y_hat, spread, reach):
        """Compare how far off targets are to their neighbors; of several the farthest counts."""
        return {
            "scores": (np.abs(y - y_hat) / spread).max(axis=1),
            "targets": self.inverse_transform(y),
            "expected": self.inverse_transform(y_hat),
            "interval": self.region(y_hat, reach),
        }
