"""Estimators that are left as they were where a method fails."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

_Method = TypeVar("_Method", bound=Callable[..., Any])


def restored_on_failure(method: _Method) -> _Method:
    """Let a method that raises, whatever it raises, leave all attributes as they were."""

    @wraps(method)
    def restoring(self, *args, **kwargs):
        before = vars(self).copy()
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            for name in vars(self).keys() - before.keys():
                del vars(self)[name]
            vars(self).update(before)
            raise

    return restoring  # type: ignore[return-value]
