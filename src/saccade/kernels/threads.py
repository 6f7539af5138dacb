"""The threads that kernels run on: those of PyTorch's own operations.

After each parallel operation PyTorch's threads spin for a while, waiting for the next. A thread pool of our own would
have to share the cores with them and gain nothing (measured: a product followed by a kernel, 1.0x with two threads of
our own, 2.0x with PyTorch's). So a kernel runs as a parallel region of the same OpenMP runtime, through the entry that
compilers call. Where PyTorch has no such runtime, as on macOS, a thread pool does the work.

Blocks of work are not assigned beforehand: each thread takes the next one from a shared counter, so that a thread that
is delayed delays no other. Results of a block do not depend on its thread: they are equal for any number of threads.
"""

import ctypes
import os
import threading
from array import array
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch.autograd import forward_ad

from saccade._plainly import REASON, is_plain
from saccade.errors import ArgumentError

T = TypeVar("T", bound=tuple[Any, ...])

_Entry = Callable[[int, int, int, int], None]


class Kernel(Generic[T]):
    """A compiled function of a table of numbers, run by all threads at once.

    The numbers are the entries of `layout`: of a tensor its address, of None 0, of another NamedTuple its entries. Two
    counts lie before them: blocks taken, and blocks in all. The name is "module.function" in `kernels.compiled`, and
    "module.function.dtype" for several types. The first call loads it from the cache, or imports and compiles it.
    """

    def __init__(self, name: str, layout: Callable[..., T]) -> None:
        self.name, self.layout = name, layout
        self._loaded: Any = None  # holds the code in memory
        self._address: int | None = None
        self._call: Callable[[int], None] | None = None

    def __call__(self, blocks: int, table: T) -> None:
        if self._address is None:
            with _lock:  # code that a second thread loaded would take the place of code that runs, and free it
                self._load()
        numbers = array("q", (0, blocks))
        extend(numbers, table)
        address, threads = numbers.buffer_info()[0] + 2 * numbers.itemsize, min(blocks, torch.get_num_threads())
        if threads < 2:
            self._call(address)  # type: ignore[misc]
            return
        _state["parallel"] = True
        if (enter := _openmp()) is not None:
            enter(self._address, address, threads, 0)  # type: ignore[arg-type]
        else:
            _run_in_pool(threads - 1, self._call, address)  # type: ignore[arg-type]

    def _load(self) -> None:
        if self._address is not None:
            return
        from saccade.kernels import loading  # LLVM, which `import saccade` does without

        loaded = loading.kept(self.name)
        if loaded is None:
            module, function, *kind = self.name.split(".")
            loaded = getattr(import_module(f"saccade.kernels.compiled.{module}"), function)(*kind)
        self._loaded, self._call = loaded, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(loaded.address)
        self._address = loaded.address


def extend(numbers: "array[int]", table: Iterable[Any]) -> None:
    for entry in table:
        if isinstance(entry, int):
            numbers.append(entry)
        elif isinstance(entry, torch.Tensor):
            if not entry.is_cpu:  # a default device may apply
                raise ArgumentError(f"tensor: expected one on a CPU for a kernel, got {entry.device}")
            numbers.append(entry.data_ptr())
        elif entry is None:
            numbers.append(0)
        else:
            extend(numbers, entry)


def serves(*tensors: torch.Tensor, dtypes: Collection[torch.dtype] = (torch.float32,), device: str = "cpu") -> bool:
    return reason(*tensors, dtypes=dtypes, device=device) is None


def reason(
    *tensors: torch.Tensor, dtypes: Collection[torch.dtype] = (torch.float32,), device: str = "cpu"
) -> str | None:
    """Reason why a device's kernels do not serve these tensors, or None.

    A kernel reads memory at addresses: the tensors must be plain ones with memory of their own, and no mode may be
    recording the operations.
    """
    if torch.compiler.is_compiling() or torch._C._is_tracing() or torch._C._len_torch_dispatch_stack():
        return "its kernels run eagerly, and operations are being traced"
    if is_plain():
        return REASON
    if torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0:
        return "its kernels run eagerly, not under torch.func or forward-mode derivatives"
    for tensor in tensors:
        if tensor.dtype not in dtypes or tensor.device.type != device:
            supported = " and ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)
            where = "a CPU" if device == "cpu" else device
            return f"its kernels take {supported} on {where}, and this is {tensor.dtype} on {tensor.device.type}"
        if type(tensor) not in _PLAIN or tensor.layout != torch.strided or tensor.is_neg() or not addressed(tensor):
            return f"its kernels take plain dense tensors, and this {type(tensor).__name__} is not one"
    if device != "cpu":
        return None
    if torch.is_autocast_enabled("cpu"):
        return "its kernels take the tensors as they are, and autocast is on"
    return numba_missing()


def addressed(tensor: torch.Tensor) -> bool:
    """Whether a tensor has memory of its own. Under vmap it has none."""
    try:
        tensor.data_ptr()
    except RuntimeError:
        return False
    return True


_PLAIN = (torch.Tensor, torch.nn.Parameter)
_state: dict[str, object] = {}
_lock = threading.Lock()


def numba_missing() -> str | None:
    _look_for_numba()
    missing: Any = _state["numba"]
    return missing  # type: ignore[no-any-return]


def _look_for_numba() -> None:
    if "numba" in _state:
        return
    missing = None
    try:
        from saccade.kernels import cache

        if not cache.filled():
            import numba  # noqa: F401
    except (ImportError, OSError) as error:  # the second where llvmlite is there without its library
        missing = f"Numba cannot be imported: {error}"
    _state["numba"] = missing  # not before: other threads read it


# Compilers do not trace it: else its first result would outdate the code that is being compiled. It is as
# torch.compiler.assume_constant_result, which imports the compiler, and that takes two seconds.
_look_for_numba._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _openmp() -> "_Entry | None":
    """GNU's OpenMP entry in PyTorch's library, or None if there is another."""
    if "openmp" not in _state:
        _state["openmp"] = _entry()
    return _state["openmp"]  # type: ignore[return-value]


def _entry() -> "_Entry | None":
    noload = getattr(os, "RTLD_NOLOAD", None)
    if noload is None or not torch.backends.openmp.is_available():
        return None
    home = Path(torch.__file__).parent
    for path in sorted([*home.glob("lib/libgomp*"), *home.parent.glob("torch.libs/libgomp*")]):
        try:
            library = ctypes.CDLL(str(path), mode=noload | os.RTLD_NOW)
        except OSError:
            continue  # it lies there, but PyTorch has not loaded it
        entry = library.GOMP_parallel
        entry.restype, entry.argtypes = None, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
        return entry
    return None


def _in_forked_child() -> None:
    """Use one thread in a forked child: OpenMP's threads are not in it.

    torch's own operations would wait as well, in a child of any process that has used two threads.
    """
    if _state.pop("parallel", None):
        torch.set_num_threads(1)
    _state.pop("pool", None)
    globals()["_lock"] = threading.Lock()  # the thread that holds it is not in the child


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_forked_child)


def _run_in_pool(helpers: int, call: Callable[[int], None], table: int) -> None:
    with _lock:
        if "pool" not in _state:
            _state["pool"] = ThreadPoolExecutor(max(os.cpu_count() or 1, helpers))
        pool: Any = _state["pool"]
    futures: list[Future[None]] = []
    try:
        futures.extend(pool.submit(call, table) for _ in range(helpers))
        call(table)
    finally:  # not even Ctrl-C may leave while other threads write to memory that the caller would free
        wait(futures)
