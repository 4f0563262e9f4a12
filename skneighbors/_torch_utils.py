"""Device choice, memory, and blocks that torch's global settings do not reach."""

from contextlib import contextmanager
from threading import Lock

import torch
from sklearn.utils.parallel import Parallel, delayed

# Of a block that a CPU's cache can hold.
CACHED_BYTES = 2**21

_globals = Lock()


class _SingleThreaded:
    """Block in which torch's CPU kernels run in the calling thread alone.

    The bits of a sum depend on the number of threads that share it; alone, they
    are the same for any number of cores and in every worker process. Blocks of
    several threads may overlap, since torch counts for each thread; they must
    not be nested.
    """

    def __init__(self):
        self._lock = Lock()
        self._n_inside = 0
        self._n_threads = 1

    @contextmanager
    def __call__(self):
        with self._lock:
            # Asking makes torch initialise the thread's count, once and for all.
            n_threads = torch.get_num_threads()
            if self._n_inside == 0:
                self._n_threads = n_threads
            self._n_inside += 1
            torch.set_num_threads(1)
        try:
            yield n_threads
        finally:
            with self._lock:
                self._n_inside -= 1
                torch.set_num_threads(self._n_threads)


single_threaded = _SingleThreaded()


def keep_freed_memory():
    """Let the C library keep memory that a training step frees for the next one.

    glibc hands freed blocks of more than some hundred kilobytes back to the
    system, which then has to map them anew, page by page. It stops doing so up
    to the size of the largest block freed so far, at most 32 MiB; see
    M_MMAP_THRESHOLD in mallopt(3). The block is never touched, so it takes no
    memory; it holds for the whole process, and elsewhere does nothing.
    """
    torch.empty(2**25 - 2**14, dtype=torch.uint8, device="cpu")


def gather_rows(array, rows):
    """array[rows] of shape (b, c, ...) for rows (b, c); on the CPU three times faster."""
    return array.index_select(0, rows.flatten()).view(*rows.shape, -1)


def cached_chunks(rows, n_queries):
    """Slices of rows (N, d) whose similarities to queries fit a CPU's cache."""
    length = max(1, len(rows))
    if rows.is_cpu:
        length = max(1, CACHED_BYTES // (rows.element_size() * n_queries))
    return [slice(start, start + length) for start in range(0, len(rows), length)]


def map_batches(function, batches):
    """Apply a function to batches, in as many threads as torch would use.

    Each batch is computed by one thread, so that results don't depend on their
    number. No gradients are recorded.

    Parameters
    ----------
    function : callable
    batches : iterable

    Returns
    -------
    results : list
    """
    batches = list(batches)
    n_threads = torch.get_num_threads()
    if n_threads == 1:
        return [_compute_alone(function, batch) for batch in batches]
    with single_threaded():
        return Parallel(n_jobs=min(n_threads, len(batches)), backend="threading")(
            delayed(_compute_alone)(function, batch) for batch in batches
        )


@torch.no_grad()
def _compute_alone(function, batch):
    use_one_thread()
    return function(batch)


def use_one_thread():
    """Let torch's CPU kernels run in the calling thread alone."""
    # Asking makes torch initialise the thread's count, which would undo a change before.
    if torch.get_num_threads() != 1:
        torch.set_num_threads(1)


def resolve_device(device):
    """Find the torch device that `device` names.

    Parameters
    ----------
    device : str
        ``"auto"`` (CUDA if usable, else the CPU), ``"cpu"``, ``"cuda"`` or
        ``"cuda:N"``.

    Returns
    -------
    device : torch.device

    Raises
    ------
    ValueError
        If `device` names no such device, or one that is not there.
    """
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        resolved = torch.device(device)
    except RuntimeError:
        resolved = None
    if resolved is None or resolved.type not in ("cpu", "cuda"):
        raise ValueError(f"device must be 'auto', 'cpu', 'cuda' or 'cuda:N'; got {device!r}.")
    if resolved.type == "cuda":
        n_devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (resolved.index or 0) >= n_devices:
            raise ValueError(
                f"device={device!r} is not usable: torch finds {n_devices} CUDA devices "
                "here. Use device='auto' or 'cpu'."
            )
    return resolved


def resolve_device_or_cpu(device):
    """Take the device asked for, or the CPU where it is missing, as after unpickling elsewhere."""
    try:
        return resolve_device(device)
    except ValueError:
        return torch.device("cpu")


@contextmanager
def reproducible(seed, device):
    """Seed torch's global generators and make float32 its default dtype in the block.

    What was there before is restored after it. Blocks of several threads run one
    after the other, since they share these globals.

    Parameters
    ----------
    seed : int
    device : torch.device
        Besides the CPU's, the generator of this device is seeded.
    """
    cuda_devices = [device] if device.type == "cuda" else []
    with _globals, torch.random.fork_rng(devices=cuda_devices):
        dtype = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        torch.manual_seed(seed)
        try:
            yield
        finally:
            torch.set_default_dtype(dtype)
