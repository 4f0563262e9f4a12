"""Results that are computed once, when first needed."""

from .._utils.process import make_lock


class Cache:
    """Results kept for later calls; threads that need one at once share it.

    A copy or a pickle of it is empty.
    """

    def __init__(self):
        self._kept, self._lock = {}, make_lock()

    def get(self, name, key, compute):
        """Find what ``compute()`` gives for a key; of each name the last key's result is kept."""
        kept = self._kept.get(name)
        if kept is None or kept[0] != key:
            with self._lock():
                kept = self._kept.get(name)
                if kept is None or kept[0] != key:
                    kept = self._kept[name] = key, compute()
        return kept[1]

    def __reduce__(self):
        return Cache, ()
