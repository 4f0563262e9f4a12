"""The data of a training, and what it runs with."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch

from .._columns import EnsembleSplit, LabeledRows, Likeness
from .._task import Task
from .._utils.clock import Clock
from .._utils.random import MAX_SEED, BorrowedGenerators


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Rows, which of them each member trains on, and what is predicted of them.

    `likeness` is that of their columns, of any strength; None without it.
    """

    rows: LabeledRows
    split: EnsembleSplit
    task: Task
    likeness: Likeness | None = None

    def on_all(self):
        """Train on all rows."""
        return replace(self, split=self.split.train_on_all(len(self.rows)))

    def members(self):
        """Give each member its data."""
        return [replace(self, split=split) for split in self.split.members()]


@dataclass(frozen=True, eq=False)
class Runtime:
    """What a training runs with.

    Attributes
    ----------
    generator : torch.Generator
        Source of batches and context, on the CPU.
    borrowed : BorrowedGenerators
        Torch's global generators, from which initial weights are drawn.
    draws_globally : bool
        Whether a training draws from these, too; its members are then not trained apart.
    n_threads : int
        How many threads members that are trained apart may share.
    clock : Clock
        Ends it in time: see :class:`Pace`.
    report : callable
        Called as ``report(loss, score, on_all, n_epochs)`` after every epoch, also of a refit;
        see :func:`show_progress`.
    """

    generator: torch.Generator
    borrowed: BorrowedGenerators
    draws_globally: bool = False
    n_threads: int = 1
    clock: Clock = field(default_factory=Clock)
    report: Callable = lambda loss, score, on_all, n_epochs: None

    @classmethod
    def draw(cls, random_state, device, **others):
        """Draw the seeds of generators from a RandomState."""
        seed, batch_seed = (int(random_state.randint(MAX_SEED)) for _ in range(2))
        generator = torch.Generator().manual_seed(batch_seed)
        return cls(generator, BorrowedGenerators(seed, device), **others)
