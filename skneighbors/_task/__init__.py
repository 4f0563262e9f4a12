"""What is predicted. All that depends on it is asked of one object, a task.

::

    y as given -> check -> fit: scale -> transform: values that neighbors average
    y_hat      <- inverse_transform      <- combine, limits   <- their weighted means

base          the interface, with what most tasks share
regression    numbers

Other packages see a task's values, losses and words, and never its kind. An estimator names the
class of its task in `_task_class`.
"""

from .base import Task
from .regression import Regression

__all__ = ["Regression", "Task"]
