"""From training samples and a plan to trained networks.

::

    fit_networks (fit)              seeds, progress bar
      Training (loop)               epochs, and a refit on all samples
        ParallelTrainers (ensemble)   networks side by side, in threads
          Trainer (trainer)           batches -> forward -> loss -> optim, then validation
            Pace (schedule)             the learning rate, by the time that is left
        Checkpoint, Patience, Review (stopping)   which weights to keep, when to end
      sharpen, inverse_error_weights (calibration)   what held-out samples say

All decide by the plan; none knows a model that answers, or an estimator.
"""

from .calibration import inverse_error_weights
from .fit import fit_networks

__all__ = ["fit_networks", "inverse_error_weights"]
