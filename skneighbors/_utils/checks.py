"""Checks of arguments whose bounds are known only when they are given."""

from numbers import Integral


def check_int(name, value, low, high, remark=""):
    """Check an argument that is an int within bounds; `remark` says where these are from."""
    is_int = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_int or not low <= value <= high:
        raise ValueError(f"{name} must be an int from {low} to {high}{remark}; got {value!r}.")
