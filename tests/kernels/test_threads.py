import ctypes
import subprocess
import sys
import threading
import time

import pytest
import torch

from saccade import AuxRequest, attend, normalizers, reads, scores
from saccade.kernels import cache, loading, rows, threads
from tiny import python


@pytest.fixture
def call():
    torch.manual_seed(0)
    query, key, v = torch.randn(9, 4, 8), torch.randn(9, 7, 8), torch.randn(8)
    return lambda: attend(query, key, key, score=scores.Additive(v), backend="cpu")


@pytest.fixture(params=["softmax", "sparsemax", "entmax"])
def everything(request):
    """A call that runs every kernel of the blocks, forward and backward."""
    torch.manual_seed(0)
    leaves = [torch.randn(3, 24, 8), torch.randn(3, 70, 8), torch.randn(3, 70, 4), torch.randn(8)]
    alpha = torch.linspace(1.1, 2.5, 24)[:, None]
    normalizer = {"softmax": normalizers.Softmax(), "sparsemax": normalizers.Sparsemax()}.get(request.param)
    options = {
        "normalizer": normalizer or normalizers.Entmax(alpha),
        "mask": torch.rand(3, 24, 70) < 0.7,
        "read": reads.Sample("straight_through", uniform=torch.rand(3, 24)),
        "aux": AuxRequest(entropy=True, top=3, index=True, received=True),
        "backend": "cpu",
    }

    def run():
        *inputs, v = (leaf.detach().requires_grad_() for leaf in leaves)
        output, aux = attend(*inputs, score=scores.Additive(v), **options)
        total = output.sin().sum() + aux.entropy.sum() + aux.received.square().sum() + aux.top[0].sum()
        return [output.detach(), *torch.utils._pytree.tree_leaves(aux), *torch.autograd.grad(total, (*inputs, v))]

    return run


def same(found, expected):
    return all(map(torch.equal, found, expected))


def test_results_are_the_same_for_any_number_of_threads(call):
    before, found = torch.get_num_threads(), []
    try:
        for count in (1, 2, 3, 8):
            torch.set_num_threads(count)
            found.append(call())
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(one, found[0]) for one in found)


def test_without_openmp_our_own_threads_do_the_same(call, monkeypatch):
    expected, before = call(), torch.get_num_threads()
    monkeypatch.setitem(threads._state, "openmp", None)
    used = []
    monkeypatch.setattr(threads, "_run_in_pool", lambda *a, own=threads._run_in_pool: used.append(a[0]) or own(*a))
    try:
        torch.set_num_threads(4)
        assert torch.equal(call(), expected) and used == [3]
    finally:
        torch.set_num_threads(before)


def test_torchs_openmp_is_found_where_it_is_gnus():
    if "gomp" not in torch.__config__.show() and sys.platform != "linux":
        pytest.skip("PyTorch has another OpenMP here")
    assert threads._openmp() is not None


def test_many_threads_may_call_at_once(call):
    expected, wrong = call(), []

    def work():
        wrong.extend(not torch.equal(call(), expected) for _ in range(40))

    workers = [threading.Thread(target=work) for _ in range(8)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    assert wrong == [False] * 320


def test_many_threads_may_call_every_kernel_at_once(everything):
    expected, found = everything(), []
    workers = [threading.Thread(target=lambda: found.extend(everything() for _ in range(10))) for _ in range(8)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    assert len(found) == 80 and all(same(one, expected) for one in found)


def test_threads_that_call_a_kernel_first_load_it_once(monkeypatch):
    """A second copy would take the place of the first, whose memory is freed while a thread is in it."""
    code, loads = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda table: None), []

    def kept(name):
        loads.append(name)
        time.sleep(0.05)  # the other thread comes meanwhile
        return loading.Loaded(ctypes.cast(code, ctypes.c_void_p).value, anew=False, memory=None)

    monkeypatch.setattr(loading, "kept", kept)
    kernel = threads.Kernel("module.function", tuple)
    workers = [threading.Thread(target=kernel, args=(1, ())) for _ in range(2)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    assert loads == ["module.function"]


@pytest.mark.parametrize("error", [ImportError("no numba"), OSError("no libllvmlite")])
def test_why_numba_is_missing_is_kept_once_it_is_known(monkeypatch, error):
    def filled():
        assert "numba" not in threads._state  # another thread would take it for an answer
        raise error

    monkeypatch.delitem(threads._state, "numba", raising=False)
    monkeypatch.setattr(cache, "filled", filled)
    assert [threads.numba_missing() for _ in range(2)] == [f"Numba cannot be imported: {error}"] * 2


def test_calls_of_other_sizes_at_once_do_not_meet(everything):
    """What a thread keeps between calls is its own, and is never too small."""

    def sized(length):
        numbers = torch.Generator().manual_seed(length)
        query, key = (torch.randn(2, size, 5, generator=numbers) for size in (length, 2 * length))
        query.requires_grad_()
        output = attend(query, key, key, score=scores.Additive(torch.ones(5)), backend="cpu")
        return [output.detach(), *torch.autograd.grad(output.square().sum(), query)]

    lengths = [9, 300, 17, 64, 700, 10]
    expected, found = {length: sized(length) for length in lengths}, []

    def work(start):
        found.extend((length, sized(length)) for length in lengths[start:] + lengths[:start])

    workers = [threading.Thread(target=work, args=(start,)) for start in range(6)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    assert len(found) == 36 and all(same(one, expected[length]) for length, one in found)


def test_torchs_number_of_threads_is_respected(monkeypatch):
    if threads._openmp() is None:
        pytest.skip("PyTorch has another OpenMP here")
    used, before, enter = [], torch.get_num_threads(), threads._openmp()

    def entered(function, table, count, more):
        used.append(count)
        enter(function, table, count, more)

    monkeypatch.setitem(threads._state, "openmp", entered)
    query, key = torch.randn(3, 64, 8), torch.randn(3, 700, 8)
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            used.clear()
            attend(
                query, key, key, score=scores.Additive(torch.ones(8)), normalizer=normalizers.Entmax(), backend="cpu"
            )
            assert set(used) == (set() if count == 1 else {count})
    finally:
        torch.set_num_threads(before)


def test_the_types_that_are_served_are_told():
    for dtype in (torch.float32, torch.float64):
        assert threads.reason(torch.ones(1, dtype=dtype), dtypes=rows.TYPES) is None
    assert threads.reason(torch.ones(1).double()) == (
        "its kernels take float32 on a CPU, and this is torch.float64 on cpu"
    )
    assert threads.reason(torch.ones(1), torch.ones(1).half(), dtypes=rows.TYPES) == (
        "its kernels take float32 and float64 on a CPU, and this is torch.float16 on cpu"
    )
    assert threads.reason(torch.ones(1), device="cuda") == (
        "its kernels take float32 on cuda, and this is torch.float32 on cpu"
    )
    assert "on meta" in threads.reason(torch.empty(1, device="meta"), dtypes=rows.TYPES)
    assert threads.serves(torch.ones(1).double(), dtypes=rows.TYPES) and not threads.serves(torch.ones(1).double())


FORKED = """
import multiprocessing, torch
from saccade import attend, scores
torch.manual_seed(0)
torch.set_num_threads(2)
query, v = torch.randn(9, 4, 8), torch.randn(8)
def call():
    return attend(query, query, query, score=scores.Additive(v), backend="cpu").sum().item()
expected = call()
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = [pool.apply_async(call).get(300) for _ in range(4)]
    assert found == [expected] * 4 and call() == expected
"""

FORKED_BLOCKS = FORKED.replace("attend, scores", "AuxRequest, attend, normalizers, reads, scores").replace(
    """    return attend(query, query, query, score=scores.Additive(v), backend="cpu").sum().item()
""",
    """    leaf = query.repeat(1, 5, 1).requires_grad_()
    options = {"normalizer": normalizers.Entmax(1.3), "aux": AuxRequest(entropy=True, top=2)}
    output, aux = attend(leaf, leaf, leaf, score=scores.Additive(v), backend="cpu", **options)
    (output.square().sum() + aux.entropy.sum() + aux.top[0].sum()).backward()
    return leaf.grad.numpy().tobytes().hex()
""",
)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks by default")
@pytest.mark.slow
@pytest.mark.parametrize("program", [FORKED, FORKED_BLOCKS], ids=["step", "blocks"])
def test_it_works_in_forked_children_after_use(program):
    done = subprocess.run(python("-W", "ignore", "-c", program), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


def test_without_numba_the_reason_is_told(monkeypatch):
    monkeypatch.setitem(threads._state, "numba", "Numba cannot be imported: no module")
    assert threads.reason(torch.ones(1)) == "Numba cannot be imported: no module"
    assert not threads.serves(torch.ones(1))


@pytest.mark.slow
def test_kernels_are_compiled_where_nothing_can_be_kept(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")  # a folder cannot be made below it
    made = "gated(torch.zeros(1, 6), torch.zeros(1, 6), torch.ones(1, 2))"
    code = f"import torch; from saccade.kernels.gates import gated; print({made})"
    done = subprocess.run(
        python("-c", code),
        capture_output=True,
        text=True,
        timeout=600,
        env={"XDG_CACHE_HOME": str(blocked), "HOME": str(blocked), "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.stdout.split() == ["tensor([[0.5000,", "0.5000]])"], done.stderr
