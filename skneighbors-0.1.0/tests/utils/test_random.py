"""Torch's global generators, borrowed and given back."""

from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event

import pytest
import torch
from numpy.testing import assert_array_equal

from skneighbors._utils.device import BorrowedGenerators

CPU = torch.device("cpu")
DRAWS = {
    "uniform": lambda **kwargs: torch.rand(3, **kwargs),
    "one normal": lambda **kwargs: torch.randn(1, **kwargs),  # torch draws them in pairs
    "many normal": lambda **kwargs: torch.randn(40, **kwargs),
    "order": lambda **kwargs: torch.randperm(9, **kwargs),
}


@pytest.fixture(autouse=True)
def callers_state():
    """The caller's generator and default dtype, none that a module would set; as they were."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(1)
    torch.randn(1)
    state = torch.get_rng_state()
    yield state
    torch.set_default_dtype(before)


def assert_untouched(state):
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_default_dtype() == torch.float64


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_blocks_go_on_where_the_last_one_ended(draw):
    torch.manual_seed(7)
    torch.set_default_dtype(torch.float32)
    whole = [draw() for _ in range(4)]
    torch.set_default_dtype(torch.float64)
    borrowed = BorrowedGenerators(7, CPU)
    parts = []
    for _ in range(2):
        torch.randn(3)  # the caller draws too
        with borrowed():
            parts += [draw(), draw()]
    for part, own in zip(parts, whole, strict=True):
        assert_array_equal(part, own)
        assert part.dtype == own.dtype


def test_a_block_may_leave_the_globals_as_it_likes(callers_state):
    borrowed = BorrowedGenerators(7, CPU)
    with borrowed():
        torch.set_default_dtype(torch.float16)
        torch.manual_seed(3)
    assert_untouched(callers_state)
    with borrowed():
        assert torch.get_default_dtype() == torch.float32
        y = torch.rand(2)
    torch.manual_seed(3)
    assert_array_equal(y, torch.rand(2, dtype=torch.float32))


def test_an_exception_ends_a_block_as_any_other(callers_state):
    borrowed, other = BorrowedGenerators(7, CPU), BorrowedGenerators(7, CPU)

    def fail():
        torch.rand(3)
        raise KeyError

    with pytest.raises(KeyError), borrowed():
        fail()
    assert_untouched(callers_state)
    with other():
        torch.rand(3)
        following = torch.rand(3)
    with borrowed():
        assert_array_equal(torch.rand(3), following)


def test_threads_wait_for_each_other(callers_state):
    entered, leave, streams = Event(), Event(), [BorrowedGenerators(s, CPU) for s in (7, 8)]

    def first():
        with streams[0]():
            start = torch.rand(2)
            entered.set()
            assert leave.wait(20)
            return torch.cat([start, torch.rand(2)])

    def second():
        with streams[1]():
            assert leave.is_set()
            return torch.rand(4)

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(first)
        assert entered.wait(20)
        other = pool.submit(second)
        assert not wait([other], timeout=0.1).done
        leave.set()
        results = one.result(), other.result()
    for seed, result in zip((7, 8), results, strict=True):
        with BorrowedGenerators(seed, CPU)():
            assert_array_equal(result, torch.cat([torch.rand(2), torch.rand(2)]))
    assert_untouched(callers_state)


def test_the_generator_of_a_device_is_borrowed_too(callers_state, monkeypatch):
    state = ["the caller's"]
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda device: state[device.index])
    monkeypatch.setattr(
        torch.cuda, "set_rng_state", lambda new, device: state.__setitem__(device.index, new)
    )
    borrowed = BorrowedGenerators(7, torch.device("cuda", 0))
    for own in ("after one block", "after two blocks"):
        with borrowed():
            state[0] = own
        assert state == ["the caller's"]
    with borrowed():
        assert state == ["after two blocks"]
    with BorrowedGenerators(7, CPU)():
        assert state == ["the caller's"]
    assert_untouched(callers_state)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_blocks_on_a_gpu_go_on_where_the_last_one_ended():
    device = torch.device("cuda", 0)

    def draw():
        return torch.rand(3, device=device, dtype=torch.float32).cpu()

    torch.cuda.manual_seed(7)
    whole = [draw(), draw()]
    torch.cuda.manual_seed(1)
    before = torch.cuda.get_rng_state(device)
    borrowed = BorrowedGenerators(7, device)
    for own in whole:
        with borrowed():
            assert_array_equal(draw(), own)
        assert torch.equal(torch.cuda.get_rng_state(device), before)
