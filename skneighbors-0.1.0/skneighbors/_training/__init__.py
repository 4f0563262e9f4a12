"""From training samples and a plan to trained networks.

::

    Training (loop)               phases and epochs, when to end, and a refit on all rows
      ParallelTrainers (trainer)  networks side by side, in threads
        Trainer                   batches -> forward -> loss -> optim, then validation
      Pace (pace)                 the learning rate, and phases that there is time for
      calibrate (calibration)     temperatures, chosen on validation rows
    EnsembleSplit (splits)        which rows each network trains on, and which validate it
    TrainingData, Runtime         what is trained on, and with what

All decide by the settings and the schedule; none knows the fitted model, or an estimator.
"""

from .loop import Training
from .splits import EnsembleSplit
from .trainer import Runtime, TrainingData
from .validation import ValidationResult, mean_over_rows
