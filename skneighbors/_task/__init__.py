"""What is predicted: one object, a task, has all that depends on it.

::

    y as given -> check -> fit: scale -> transform: values that neighbors average
    y_hat      <- inverse_transform      <- limits   <- their weighted means

base            the interface, and defaults of most tasks
regression      numbers
classification  classes

Other packages use a task's values and losses, and never ask for its class. An estimator names
the class of its task in `_task_class`.
"""

from .base import Task
from .classification import Classification
from .regression import Regression
