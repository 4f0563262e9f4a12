"""What is predicted: one object, a task, has all that depends on it.

::

    y as given -> read: Targets -> fit: scale -> transform: values that neighbors average
    y_hat      <- inverse_transform           <- limits   <- their weighted means
    explain, suspects, regions: what they hold, their words, and the columns of their frames

base            the interface, and defaults of most tasks
regression      numbers
classification  classes

Other packages use a task's values and losses, and never ask for its class. An estimator names
the class of its task in `_task_class`.
"""

from .base import Targets, Task
from .classification import Classification, read_labels
from .regression import Regression
