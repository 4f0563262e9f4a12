"""One network's training: a step, an epoch, and its validation."""

import math

import torch

from .._network import embed_in_batches
from .batches import ContextSampler
from .calibration import calibrate
from .optim import AdamW, MovingAverage, is_finite
from .validation import EpochResult, mean_over_rows, set_mode, take_rows, validate

# At least how often in a training near rows are looked for again.
_N_REFRESHES = 32


class Trainer:
    """Trains one network: its optimizer, data and plan; :meth:`epoch` passes once over the rows.

    `result` is the network to validate and to keep: the trained one, or the
    moving average of its weights.
    """

    def __init__(self, network, data, plan, generator, pace):
        self.network = network.train()
        self.data = data
        self.plan = plan
        self.generator = generator
        self.pace = pace
        self.refresh = max(1, plan.max_iter // _N_REFRESHES)
        self.n_epochs, self.loss = 0, math.nan
        self._make_sampler()
        self.stopped = False
        self.calibrated = None
        self.result, self.average = network, None
        if plan.recipe.ema_decay is not None:
            self.average = MovingAverage(network, plan.recipe.ema_decay)
            self.result = self.average.network
        self.optimizer = AdamW(network, plan.weight_decay)

    def _make_sampler(self):
        n_members, n_rows = self.data.split.train.shape
        self.sampler = ContextSampler(
            n_rows,
            n_members,
            self.plan.batch_size,
            self.plan.recipe.context_size,
            self.plan.recipe.context_neighbors,
            self.generator,
            self.data.rows.X.device,
        )

    def calibrate(self, network):
        """Predict the validation rows by a network, the trained one or the result, in the end."""
        if self.plan.calibrates and self.data.split.validation is not None:
            self.calibrated = calibrate(network, self.data, self.plan)

    def train_on_all(self):
        """Train on all rows from now on."""
        self.calibrate(self.result)
        self.data = self.data.on_all()
        self._make_sampler()
        if self.sampler.n_near and self.n_epochs % self.refresh:
            self._find_near()

    def judge(self, validated):
        """Return the result of the last epoch, by validation rows if it is to be validated."""
        loss = self.loss
        if self.stopped or not math.isfinite(loss):
            return EpochResult(loss, math.nan)
        if self.data.split.validation is None:
            # The last step has been taken after the last loss.
            return EpochResult(loss, loss if is_finite(self.network) else math.nan)
        if not validated:
            return EpochResult(loss, math.inf)
        validation, errors, scores = validate(self.result, self.data, self.plan.n_neighbors)
        error = errors.mean().item()
        error = error if math.isfinite(error) else math.nan
        return EpochResult(loss, error, scores.mean().item(), validation)

    def epoch(self):
        """Train on every row once, or as long as there is time; yields after every step."""
        if self.sampler.n_near and self.n_epochs % self.refresh == 0:
            self._find_near()
        set_mode(self.network, training=True)
        total, n_batches = 0.0, self.sampler.n_batches
        for step, batch in enumerate(self.sampler.epoch()):
            losses = self._losses(batch)
            losses.sum().backward()
            self.optimizer.step(self.pace.learning_rate(self.n_epochs + (step + 0.5) / n_batches))
            if self.average is not None:
                self.average.update()
            total = total + losses.detach().mean()
            if self.stopped or self.pace.ends(self.n_epochs + (step + 1) / n_batches):
                break
            yield
        self.n_epochs += 1
        self.loss = float(total) / (step + 1)

    def _losses(self, batch):
        """Mean error of each member's queries."""
        rows, n_queries, context_weight, query_weight = batch
        data = self.data.rows.select(self.data.split.train.gather(1, rows))
        y_hat = self.network(data.X, data.y, n_queries, data.weight, context_weight, data.group)
        weight = query_weight
        if data.weight is not None:
            weight = data.weight[:, :n_queries]
            weight = weight if query_weight is None else weight * query_weight
        return mean_over_rows(self.data.task.losses(y_hat, data.y[:, :n_queries]), weight)

    @torch.no_grad()
    def _find_near(self):
        set_mode(self.result, training=False)
        z = embed_in_batches(self.result, self.data.rows.X)
        self.sampler.find_near(take_rows(z, self.data.split.train))
