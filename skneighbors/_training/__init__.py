"""From labelled rows and a recipe to trained networks.

::

    fit_networks (fit)              seeds, progress bar
      Training (loop)               epochs, and a refit on all samples
        ParallelTrainers (ensemble)   networks side by side, in threads
          Trainer (trainer)           batches -> forward -> loss -> optim, then validation
        Checkpoint, Patience, Review (stopping)   which weights to keep, when to end
      sharpen, inverse_mse_weights, share_of_other (calibration)   what held-out samples say

All decide by the resolved recipe; none knows the bank, or an estimator.
"""

from .calibration import inverse_mse_weights, share_of_other
from .fit import fit_networks

__all__ = ["fit_networks", "inverse_mse_weights", "share_of_other"]
