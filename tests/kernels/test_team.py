import subprocess
import sys
import threading

import pytest
import torch

from saccade import attend, scores
from saccade.kernels import team


@pytest.fixture
def call():
    torch.manual_seed(0)
    query, key, v = torch.randn(9, 4, 8), torch.randn(9, 7, 8), torch.randn(8)
    return lambda: attend(query, key, key, score=scores.Additive(v), backend="cpu")


def test_results_are_the_same_for_any_number_of_threads(call):
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 8):
            torch.set_num_threads(threads)
            found.append(call())
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(one, found[0]) for one in found)


def test_where_torch_has_no_openmp_threads_of_our_own_do_the_same(call, monkeypatch):
    expected, before = call(), torch.get_num_threads()
    monkeypatch.setitem(team._found, "openmp", None)
    used = []
    monkeypatch.setattr(team, "_own", lambda *a, own=team._own: used.append(a[0]) or own(*a))
    try:
        torch.set_num_threads(4)
        assert torch.equal(call(), expected) and used == [3]
    finally:
        torch.set_num_threads(before)


def test_torchs_openmp_is_found_where_it_is_gnus():
    if "gomp" not in torch.__config__.show() and sys.platform != "linux":
        pytest.skip("PyTorch has another OpenMP here")
    assert team._openmp() is not None


def test_many_threads_may_call_at_once(call):
    expected, wrong = call(), []

    def work():
        wrong.extend(not torch.equal(call(), expected) for _ in range(40))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [False] * 320


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
        found = [pool.apply_async(call).get(60) for _ in range(4)]
    assert found == [expected] * 4 and call() == expected
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks by default")
def test_it_works_in_forked_children_after_use():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_without_numba_the_reason_is_told(monkeypatch):
    monkeypatch.setitem(team._found, "numba", "Numba cannot be imported: no module")
    assert team.reason(torch.ones(1)) == "Numba cannot be imported: no module"
    assert not team.serves(torch.ones(1))


def test_kernels_are_compiled_where_nothing_can_be_kept(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")  # a folder cannot be made below it
    made = "gated(torch.zeros(1, 6), torch.zeros(1, 6), torch.ones(1, 2))"
    code = f"import torch; from saccade.kernels.gates import gated; print({made})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={"XDG_CACHE_HOME": str(blocked), "HOME": str(blocked), "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.stdout.split() == ["tensor([[0.5000,", "0.5000]])"], done.stderr
