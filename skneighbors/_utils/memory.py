"""What to do when memory runs out."""

from contextlib import contextmanager

import torch

# Words in the errors of torch's CPU allocators, on Linux, macOS and Windows.
_SAID = ("not enough memory", "can't allocate memory", "out of memory")


@contextmanager
def explain_out_of_memory(what_to_lower):
    """Turn an error of torch's or NumPy's allocators into a MemoryError that helps.

    Parameters
    ----------
    what_to_lower : str

    Raises
    ------
    MemoryError
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        said = str(error).lower()
        ran_out = isinstance(error, MemoryError | torch.cuda.OutOfMemoryError)
        if not ran_out and not any(words in said for words in _SAID):
            raise
        first_line = (str(error) or "out of memory").splitlines()[0]
        raise MemoryError(f"Memory ran out ({first_line}). Lower {what_to_lower}.") from error
