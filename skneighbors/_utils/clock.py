"""The time that a fit may take."""

import math
import time


class Clock:
    """Tells how many seconds of a fit are left.

    Parameters
    ----------
    max_time : float or None, default=None
        Seconds from now on; None: endless.
    """

    def __init__(self, max_time=None):
        self._end = math.inf if max_time is None else time.monotonic() + float(max_time)

    def left(self):
        """Seconds left; below 0 if more have passed."""
        return self._end - time.monotonic()
