"""Locks that a forked process does not inherit locked."""

import os
from threading import Lock, get_ident
from weakref import WeakSet

_locks = WeakSet()


class ForkSafeLock:
    """Lock that is open in a process forked while another thread held it.

    That thread is missing in the child, where nobody else would release the lock.
    """

    def __init__(self):
        self._lock, self._owner = Lock(), None
        _locks.add(self)

    def __enter__(self):
        lock = self._lock
        lock.acquire()
        try:
            self._owner = get_ident()
        except BaseException:  # an interrupt
            lock.release()
            raise
        return self

    def __exit__(self, *exception):
        try:
            self._owner = None
        finally:
            self._lock.release()

    def open_in_child(self):
        """Replace a lock that a thread of the parent process holds."""
        if self._owner != get_ident():
            self._lock, self._owner = Lock(), None


def _open_all_in_child():
    for lock in _locks:
        lock.open_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_all_in_child)
