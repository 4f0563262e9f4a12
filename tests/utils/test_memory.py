"""What is said when memory runs out."""

import re

import numpy as np
import pytest
import torch

from skneighbors import NONARegressor
from skneighbors._utils.memory import explain_out_of_memory

TOO_MUCH = 2**62


@pytest.mark.parametrize("allocate", [torch.empty, np.empty], ids=["torch", "numpy"])
def test_an_allocator_that_fails(allocate):
    dtype = {torch.empty: torch.uint8, np.empty: np.uint8}[allocate]
    with (
        pytest.raises(MemoryError, match=r"Memory ran out \(.*\)\. Lower batch_size\.$"),
        explain_out_of_memory("batch_size"),
    ):
        allocate(TOO_MUCH, dtype=dtype)


RAN_OUT = [
    (kind(said), said.splitlines()[0])
    for kind, said in [
        (MemoryError, "Unable to allocate 4.00 EiB for an array"),
        (torch.cuda.OutOfMemoryError, "CUDA out of memory\nTried to allocate\nmuch"),
        (RuntimeError, "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9"),
        (RuntimeError, "[enforce fail] DefaultCPUAllocator: not enough memory: you tried"),
        (RuntimeError, "MPS backend Out of Memory"),
    ]
]


@pytest.mark.parametrize(("error", "said"), [*RAN_OUT, (MemoryError(), "out of memory")], ids=str)
def test_the_error_is_named_and_what_to_lower(error, said):
    expected = f"Memory ran out ({said}). Lower the rows."
    with (
        pytest.raises(MemoryError, match=f"^{re.escape(expected)}$") as raised,
        explain_out_of_memory("the rows"),
    ):
        raise error
    assert raised.value.__cause__ is error


OTHERS = [
    RuntimeError("mat1 and mat2 shapes cannot be multiplied"),
    ValueError("not enough memory"),
    FloatingPointError("out of memory"),
    KeyboardInterrupt(),
]


@pytest.mark.parametrize("error", OTHERS, ids=repr)
def test_other_errors_pass(error):
    with pytest.raises(type(error)) as raised, explain_out_of_memory("it"):
        raise error
    assert raised.value is error
    assert error.__cause__ is None


def test_a_fit_beyond_all_memory(friedman):
    X, _, y, _ = friedman
    with pytest.raises(MemoryError, match="Lower batch_size or hidden_layer_sizes"):
        NONARegressor(hidden_layer_sizes=(2**20, 2**31 - 1)).fit(X, y)
