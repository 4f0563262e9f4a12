"""Options that modules are made with."""


def check_option(name, value, allowed):
    """Raise ValueError unless an option's value is one of those allowed."""
    allowed = tuple(allowed)
    if value not in allowed:
        raise ValueError(f"{name} must be one of {allowed}; got {value!r}.")
