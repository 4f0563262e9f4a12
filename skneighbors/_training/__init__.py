"""From labelled rows and a recipe to trained networks.

::

    NetworkFitter (fit)            a training; another where the first has harmed
      Training (loop)              its epochs, and a refit on all samples
        ParallelTrainers (ensemble)  its networks side by side, in threads
          Trainer (trainer)          batches -> forward -> loss -> optim, then validation
        Checkpoint, Patience, CycleReview (stopping)   which weights to keep, when to end
      sharpen, inverse_mse_weights (calibration)       what held-out samples say in the end

All decide by the resolved recipe; none knows the bank, or an estimator.
"""

from .calibration import inverse_mse_weights
from .fit import NetworkFitter, TrainingRun

__all__ = ["NetworkFitter", "TrainingRun", "inverse_mse_weights"]
