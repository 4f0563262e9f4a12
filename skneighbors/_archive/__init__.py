"""A fitted model as JSON and arrays, and the one file that holds both.

::

    scalars     single values that JSON does not know, such as dates, by a list of kinds
    values      dataclasses, containers, arrays and labels of these as plain values, and back
    container   these in a file of safetensors, with a checksum; written whole or not at all
    checks      shapes, dtypes and ranges of what comes back
    models      a fitted estimator by these

Nothing that is read is run: no pickle, and no name that is looked up outside of a list.
"""

from .container import ModelFileError, naming, read_file
from .models import check_attribute, pack_model, save_estimator, unpack_model
from .values import Plain, from_plain
