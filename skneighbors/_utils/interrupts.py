"""Which interrupt from the keyboard ends a training, and which one the program."""

import math
import time

# After an interrupted fit, one that begins so soon is a search's next, not the user's.
_SECONDS = 10.0

_last = -math.inf


def ends_the_program():
    """Whether an interrupt from now on is a second one, of a search that went on after the first.

    It is to be raised then.
    """
    return time.monotonic() - _last < _SECONDS


def remember():
    """Note that a fit has ended early, interrupted."""
    global _last
    _last = time.monotonic()
