"""From training samples and a plan to trained networks.

::

    TrainingData, Runtime (runtime)   what is trained on, and with what
    Training (loop)                   epochs, and a refit on all rows
        ParallelTrainers (ensemble)   networks side by side, in threads
          Trainer (trainer)           batches -> forward -> loss -> optim, then validation
        Pace (schedule)               the learning rate, and cycles that there is time for
        Checkpoint, Patience, OverfittingCheck (stopping)   which weights to keep, when to end
      calibrate (calibration)     temperatures, chosen on validation rows

All decide by the plan; none knows the fitted model, or an estimator.
"""

from .loop import Training
from .runtime import Runtime, TrainingData
from .validation import mean_over_rows
