"""The fitted model."""

import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from scipy import sparse

from .._columns import (
    FeatureEncoder,
    LikenessEncoder,
    TableReader,
    check_total_weight,
    find_labels,
    merge_rows,
)
from .._utils.arrays import Stored, array_field
from .._utils.device import CPU
from .._utils.parameters import check_int
from . import decomposition, suspects
from .bank import NeighborBank
from .cache import Cache
from .fitted_network import FittedNetwork
from .nearness import measure_nearness, novelty
from .numbering import SampleNumbering
from .residuals import (
    ResidualDistribution,
    Scores,
    effective_count,
    effective_number,
    measure,
    weigh_by_group,
)
from .rows import EmbeddedRows
from .validation import DrawnRows, GivenRows

# Rows of a file whose predictions must be finite.
_N_PREDICTED = 256


class Search(NamedTuple):
    """How many rows predict, how they are found, and on which device."""

    n_neighbors: int | None
    algorithm: str
    device: torch.device


class Queries(NamedTuple):
    """Rows to predict: as given, and as the model's reader reads them."""

    X: object
    matrix: np.ndarray


@dataclass(frozen=True, eq=False)
class Model(Stored):
    """All that a fitted estimator predicts from; frozen, so that each call reads one state.

    Attributes
    ----------
    bank : NeighborBank
        The networks and the training samples, on the CPU.
    validation : DrawnRows, GivenRows or None
    numbering : SampleNumbering
    matrix : ndarray of shape (n_rows, ...)
        The bank's rows as the reader has read them; empty without one.
    reader : TableReader or None
        None, and no encoder, if a feature extractor takes X as it is.
    encoder : FeatureEncoder or None
    likeness_encoder : LikenessEncoder or None
        None without likeness.
    blended_model : Mixture or None
        The model that is averaged with the networks.
    cache : Cache
        Of residuals, scores and nearness; empty in what is made by `replace`.
    """

    bank: NeighborBank
    validation: DrawnRows | GivenRows | None
    numbering: SampleNumbering
    matrix: np.ndarray = array_field("float64", "N u", allows="nan")
    reader: TableReader | None
    encoder: FeatureEncoder | None
    likeness_encoder: LikenessEncoder | None
    blended_model: object
    cache: Cache = field(default_factory=Cache, init=False)

    def _field_sizes(self):
        """Say what the words of array fields mean; see :func:`check_stored`."""
        reader, rows, network = self.reader, self.bank.rows, self.bank.network.architecture
        expanded = reader.n_categories
        sizes = {"u": self.matrix.shape[1], "q": len(expanded), "expanded": expanded}
        sizes |= {"m": network.n_members, "d": network.embedder["embedding_dim"]}
        if self.likeness_encoder is not None:
            sizes["points"] = self.likeness_encoder.n_dims
            missing = np.full((1, sizes["u"]), np.nan)
            sizes["coordinates"] = sum(own.shape[1] for own in reader.coordinates(missing))
        return sizes | {"N": len(rows), "k": self.task.n_values, "texts": reader.n_components}

    def _check_fields(self, sizes):
        """Check that parts which are there together fit, and that predictions are finite."""
        bank, validation, encoder = self.bank, self.validation, self.likeness_encoder
        if bank.network.architecture != bank.network.architecture.reading(self.encoder):
            raise ValueError("network does not fit the encoder")
        if bank.blend_weight and self.blended_model is None:
            raise ValueError("the weight of the blended model is out of range")
        parts = [encoder, bank.space.units, bank.rows.coordinates]
        if isinstance(validation, GivenRows):
            parts.append(validation.coordinates)
        if len({part is None for part in parts}) > 1:
            raise ValueError("likeness or likeness_encoder is missing")
        matrix = self.matrix[:_N_PREDICTED]
        queries = EmbeddedRows(bank.embed(self.prepare(matrix)), self._locate(matrix, CPU))
        if not bank.predict(queries, self.blend(matrix, CPU), 1).isfinite().all():
            raise ValueError("its predictions are not finite")

    @property
    def task(self):
        """What is predicted."""
        return self.bank.task

    @property
    def samples(self):
        """First sample that each row of the bank stands for."""
        return self.numbering.first_samples(len(self.bank))

    def prepare(self, matrix):
        """Encode rows as read for the networks, to a Tensor on the CPU; without encoder, X itself.

        X that is read-only is copied, as torch would write into it.
        """
        if self.encoder is None:
            return torch.from_numpy(np.require(matrix, requirements=["C", "W"]))
        return torch.from_numpy(self.encoder.transform(self.reader.expand(matrix)))

    def blend_parts(self, matrix):
        """Predictions (n, k) of each part of the blended model, standardized; none without one."""
        if self.blended_model is None:
            return {}
        return self.blended_model.predict_parts(self.reader.expand(matrix))

    def blend(self, matrix, device):
        """Predictions (n, k) of the blended model, standardized; 0 without one."""
        return self.mix(self.blend_parts(matrix), len(matrix), device)

    def mix(self, parts, n, device):
        """Mean (n, k) of what the parts of the blended model predict; 0 without any."""
        if not parts:
            return torch.zeros((n, self.task.n_values), dtype=torch.float64, device=device)
        return torch.from_numpy(self.blended_model.mix(parts)).to(device)

    def embed(self, queries, search):
        """Bank on the device to use, and queries embedded there."""
        bank = self._bank(search)
        z = bank.embed(self.prepare(queries.matrix).to(search.device))
        return bank, EmbeddedRows(z, self._locate(queries.matrix, search.device))

    def _bank(self, search):
        return self.bank.to(search.device, search.algorithm)

    def _locate(self, matrix, device):
        """Coordinates of rows as read, for likeness; None without it."""
        if self.likeness_encoder is None:
            return None
        return torch.from_numpy(self.likeness_encoder.transform(self.reader, matrix)).to(device)

    def embed_and_blend(self, queries, search):
        """Bank, embedded queries, and what the blended model predicts of them."""
        return *self.embed(queries, search), self.blend(queries.matrix, search.device)

    def network(self, search):
        """Networks and rows as a new torch module."""
        bank = self.bank
        network = FittedNetwork(bank.network, bank.rows, bank.limits, search.n_neighbors)
        return copy.deepcopy(network).requires_grad_(True)

    def predict(self, queries, search):
        """Predict, like y."""
        return self.task.inverse_transform(self.predict_scaled(queries, search)[0])

    def predict_std(self, queries, search):
        """Predictions, and root mean squares of the residuals around them."""
        y, std = self.predict_scaled(queries, search, ResidualDistribution.std)
        back = self.task.inverse_transform
        # The way back need not be linear.
        return back(y), (back(y + std) - back(y - std)) / 2

    def predict_quantiles(self, queries, search, levels):
        """Quantiles at levels (l,), the last axis."""
        y, offsets = self.predict_scaled(queries, search, ResidualDistribution.quantiles, levels)
        return np.moveaxis(self.task.inverse_transform(y[:, None] + offsets), 1, -1)

    @torch.no_grad()
    def predict_region(self, queries, search, confidence_level):
        """Intervals or sets, as the task gives them, and what is infinite if they hold all."""
        half_widths = ResidualDistribution.half_widths if self.task.has_spread else None
        y, reach = self.predict_scaled(queries, search, half_widths, confidence_level)
        if reach is None and not self.validation:
            reach = np.array(np.inf)
        elif reach is None:
            key = search.n_neighbors, search.algorithm
            scores = self.cache.get("scores", key, lambda: self._score(search))
            reach = scores.exceeded(confidence_level).numpy()
        return self.task.region(y, reach), reach

    def _score(self, search):
        judged = self.validation.judge(self._bank(search), search.n_neighbors)
        return Scores.of(self.task.nonconformity(judged), judged)

    def predict_scaled(self, queries, search, offsets=None, *arguments):
        """Predictions (n, k), standardized, and what a method of their residuals gives."""
        bank, rows, blended = self.embed_and_blend(queries, search)
        y = bank.predict(rows, blended, search.n_neighbors).cpu().numpy()
        if offsets is not None:
            residuals = self.residuals(bank, search.n_neighbors)
            offsets = offsets(residuals, rows, *arguments).cpu().numpy()
        return y, offsets

    def residuals(self, bank, n_neighbors):
        """Distribution of residuals, by the bank on any device; that of the last call is kept."""
        key = n_neighbors, bank.algorithm
        return self.cache.get("residuals", key, lambda: measure(bank, self.validation, n_neighbors))

    @property
    def n_validation(self):
        """Effective number of validation rows, or groups, for intervals."""
        weight, group = self.validation.weights(self.bank)
        return float(effective_count(group.bincount(weigh_by_group(weight, group))))

    # Defined beside what they return.
    explain = decomposition.explain
    suspects = suspects.find_suspects

    def novelty(self, queries, search):
        """Fraction of the rows that are nearer to their neighbors than queries are to theirs."""
        bank, rows = self.embed(queries, search)
        nearness = self.cache.get("nearness", bank.algorithm, lambda: measure_nearness(bank))
        return novelty(bank, rows, nearness).numpy()

    def attend(self, queries, search, function):
        """Results of a function of the neighbors of batches of queries."""
        bank, rows = self.embed(queries, search)
        return bank.attend(rows, function, search.n_neighbors)

    def neighbor_weights(self, queries, search):
        """Weights of the samples, CSR (n, n_samples)."""
        parts = self.attend(queries, search, partial(_to_csr, len(self.bank)))
        weights = sparse.vstack(parts, format="csr") @ self.numbering.fractions()
        weights.sort_indices()
        return weights

    def effective_n_neighbors(self, queries, search):
        """Effective number of neighbors."""
        # A row of weight c counts as c rows.
        size = self.bank.rows.weights().rsqrt().to(search.device)
        parts = self.attend(
            queries, search, lambda near: effective_number(near.total_weights * near.take(size))
        )
        return torch.cat(parts).squeeze(1).cpu().numpy()

    def kneighbors(self, queries, search, n_neighbors):
        """Distances and numbers of the nearest samples of queries."""
        n_neighbors = self._check_number(search, n_neighbors, len(self._samples_left()))
        return self._find_samples(*self.embed(queries, search), n_neighbors)

    def neighbors_of_samples(self, search, n_neighbors):
        """Do the same for the samples themselves; none is a neighbor of itself."""
        samples = self._samples_left()
        n_neighbors = self._check_number(search, n_neighbors, len(samples) - 1)
        bank, rows = self._bank(search), self.numbering.row_of[samples]
        distances, found = self._find_samples(bank, bank.rows, n_neighbors + 1, rows)
        # If more rows coincide than are searched, a sample may not be found; then the last goes.
        is_other = found != samples[:, None]
        is_other[is_other.all(axis=1), -1] = False
        return tuple(part[is_other].reshape(len(samples), -1) for part in (distances, found))

    def _samples_left(self):
        return np.flatnonzero(self.numbering.row_of >= 0)

    def _check_number(self, search, n_neighbors, largest):
        """How many of the samples to look for; None is as many as predict."""
        if n_neighbors is None:
            n_neighbors = min(search.n_neighbors or largest, largest)
        if largest < 1:
            raise ValueError("n_neighbors: no other sample is left.")
        return check_int("n_neighbors", n_neighbors, 1, largest, ", the number of neighbors")

    def _find_samples(self, bank, queries, n_samples, taken=slice(None)):
        found = bank.index.find(queries, min(n_samples, len(bank)))
        distances, rows = (part.cpu().numpy()[taken] for part in (found.distances, found.rows))
        samples, column = self.numbering.expand_rows(rows, n_samples)
        return np.take_along_axis(distances, column, axis=1), samples

    def with_rows(self, queries, y, weight, search):
        """Model with further training samples, y (n, k); those of weight 0 are only numbered."""
        check_total_weight(self.numbering.weights_left, weight)
        bank, embedded, blended = self.embed_and_blend(queries, search)
        before, validation = bank.rows.weights(), self.validation
        y = torch.from_numpy(self.task.transform(y))
        new, row_of = self._merge(queries.matrix, embedded.z.cpu(), y, weight)
        numbering = self.numbering.append(weight, row_of, find_labels(queries.X))
        row_weights = torch.from_numpy(numbering.row_weights()).to(search.device)
        y = y[new].to(search.device)
        bank = bank.extend(embedded.select(new), y, blended[new], row_weights)
        zeros = row_weights.new_zeros(len(row_weights) - len(before))
        joined = torch.nonzero(row_weights != torch.cat([before, zeros])).squeeze(1)
        if validation is not None and len(joined):
            validation = validation.join(bank.rows.z[joined], joined)
        matrix = self.matrix
        if self.reader is not None:
            matrix = np.concatenate([matrix, queries.matrix[new]])
        return replace(
            self,
            bank=bank.to(CPU),
            validation=validation,
            numbering=numbering,
            matrix=matrix,
        )

    def _merge(self, matrix, z, y, weight):
        """Merge further samples with equal rows of the bank, and with each other.

        Rows that are not kept as read are equal if their embeddings are, in single precision: in
        double the last digits change with the size of a batch.

        Returns
        -------
        new : int ndarray
            Samples that make further rows.
        row_of : int ndarray of shape (n_samples,)
            Row of each, those of `new` counted on; -1 for samples of weight 0.
        """
        bank = self.bank
        known = np.flatnonzero(np.isin(bank.rows.targets[:, 0], y[:, 0]))
        embedded = bank.rows.z[known].float().numpy(), z.float().numpy()
        first, _, merged = merge_rows(
            np.concatenate(embedded if self.reader is None else [self.matrix[known], matrix]),
            np.concatenate([bank.rows.targets[known], y]),
            np.concatenate([np.ones(len(known)), weight]),
        )
        new, merged = np.sort(first[first >= len(known)]), merged[len(known) :]
        row_at = np.concatenate([known, np.full(len(y), -1)])
        row_at[new] = len(bank) + np.arange(len(new))
        return new - len(known), np.where(merged < 0, -1, row_at[first][merged])

    def without_rows(self, samples):
        """Model without some samples, by their numbers."""
        numbering, keep = self.numbering.forget(samples, len(self.bank))
        if not keep.any():
            raise ValueError("These are all rows that are left; at least one must stay.")
        mask, weight = torch.from_numpy(keep), torch.from_numpy(numbering.row_weights())
        return replace(
            self,
            bank=self.bank.keep(mask, weight),
            validation=None if self.validation is None else self.validation.keep(mask),
            numbering=numbering,
            matrix=self.matrix if self.reader is None else self.matrix[keep],
        )


def _to_csr(n_rows, near):
    """Weights of queries as a CSR array (b, N)."""
    weights = near.total_weights.cpu().numpy()
    n, k = weights.shape
    parts = weights.ravel(), near.rows.cpu().numpy().ravel(), np.arange(0, n * k + 1, k)
    found = sparse.csr_array(parts, shape=(n, n_rows))
    found.eliminate_zeros()
    return found
