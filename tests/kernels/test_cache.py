"""Kernels that are kept: read again by the next process if whole and ours, compiled anew otherwise."""

import ctypes
import os
import subprocess
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tiny import python

pytest.importorskip("numba")

from saccade.kernels import cache, compiled, loading, threads
from saccade.kernels.compiled import integers, kernel

CODE = cache.Code("entry", ("exp", "log"), b"machine\ncode")


class Table(NamedTuple):
    numbers: int


def added(t: Table):
    part = integers(t.numbers, 0, 2)
    part[0] += part[1]


def run(made):
    numbers = np.array([40, 2])
    table = np.array([numbers.ctypes.data])
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(made.address)(table.ctypes.data)
    return numbers[0]


@pytest.fixture
def place(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiled, "_warned", [])
    return cache.folder()


def only(tmp_path):
    (found,) = tmp_path.rglob("*.kernel")
    return found


def test_others_wait_for_who_compiles_a_kernel(place, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    with cache.alone("test.added"), (place / "test.added.lock").open("wb") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with (place / "test.added.lock").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def compiled_meanwhile(name):
        monkeypatch.setattr(loading, "kept", lambda name: "the other's")
        return nullcontext()

    monkeypatch.setattr(cache, "alone", compiled_meanwhile)
    assert kernel(added)() == "the other's"


def test_nobody_waits_where_nothing_can_be_kept(monkeypatch, tmp_path):
    (tmp_path / "saccade").write_text("no folder")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    with cache.alone("test.added"):
        assert not list(tmp_path.glob("*.lock"))


def test_a_kernel_is_compiled_once_and_loaded_ever_after(place, tmp_path):
    first = kernel(added)()
    assert first.anew and run(first) == 42
    kept = only(tmp_path)
    assert kept.name == "test_cache.added.kernel" and kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    before = kept.read_bytes()
    second = kernel(added)()
    assert not second.anew and run(second) == 42 and kept.read_bytes() == before
    for broken in (b"", before[:1000], before[:-1], before.replace(b"added", b"taken")):
        kept.write_bytes(broken)
        assert cache.read(kept.parent, "test_cache.added") is None
    again = kernel(added)()  # after the last of them, as after any
    assert again.anew and run(again) == 42
    assert not kernel(added)().anew and not list(tmp_path.rglob("*.tmp"))


PROGRAM = """
import torch
from saccade.kernels.gates import lstm_backward, lstm_forward
random = torch.Generator().manual_seed(0)
projections = [torch.randn(16, 512, generator=random) for _ in range(2)]
cell, *grads = (torch.randn(16, 128, generator=random) for _ in range(3))
*results, gates = lstm_forward(*projections, cell)
for tensor in (*results, *lstm_backward(*grads, gates, cell)):
    print(tensor.numpy().tobytes().hex())
"""


@pytest.mark.slow
def test_compiled_anew_gives_the_bits_of_loaded(tmp_path):
    """In one engine for all a function that several pieces contain was that of the piece which came first."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = python("-c", PROGRAM)
    first, second = (subprocess.run(command, env=environment, capture_output=True, check=True) for _ in range(2))
    assert first.stdout and first.stdout == second.stdout and list(tmp_path.rglob("gates.lstm*.kernel"))


def test_what_is_written_is_read_and_nothing_else(place):
    assert cache.read(place, "one") is None
    cache.write(place, "one", CODE)
    assert cache.read(place, "one") == CODE
    whole = (place / "one.kernel").read_bytes()
    (place / "two.kernel").write_bytes(whole)  # another kernel's
    assert cache.read(place, "two") is None
    for size in range(len(whole)):
        (place / "one.kernel").write_bytes(whole[:size])
        assert cache.read(place, "one") is None
    cache.write(place, "one", CODE)
    assert cache.read(place, "one") == CODE


def test_a_folder_is_named_by_all_that_code_is_made_from(place, monkeypatch):
    assert cache.folder() == place
    monkeypatch.setenv("NUMBA_CPU_NAME", "another")
    assert cache.folder() != place
    monkeypatch.delenv("NUMBA_CPU_NAME")
    names = {cache._origin.__wrapped__(None)}
    for module, name, value in (
        (cache.importlib.metadata, "version", lambda name: "0.0"),
        (cache.np, "__version__", "0.0"),
        (cache.llvmlite.binding, "get_host_cpu_name", lambda: "another"),
        (cache.Path, "rglob", lambda self, pattern: []),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, value)
            names.add(cache._origin.__wrapped__(None))
    assert len(names) == 5


def test_a_kept_kernel_spares_the_import_of_numba(place, monkeypatch):
    assert not cache.filled()
    cache.write(place, "one", CODE)
    assert cache.filled()
    monkeypatch.setitem(sys.modules, "numba", None)  # an import would fail
    monkeypatch.setattr(threads, "_state", {})
    assert threads.numba_missing() is None
    (place / "one.kernel").unlink()
    monkeypatch.setattr(threads, "_state", {})
    assert "Numba cannot be imported" in threads.numba_missing()


def test_code_with_a_symbol_that_is_nowhere_is_not_loaded(place):
    kernel(added)()
    code = cache.read(cache.folder(), "test_cache.added")
    assert loading.load(code) is not None
    assert loading.load(code._replace(symbols=(*code.symbols, "no_such_function"))) is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="modes and owners are POSIX's")
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_to_is_replaced(place, mode):
    cache.write(place, "one", CODE)
    (place / "one.kernel").chmod(mode)
    assert cache.read(place, "one") is None
    cache.write(place, "one", CODE)
    assert cache.read(place, "one") == CODE and (place / "one.kernel").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="modes and owners are POSIX's")
def test_what_another_user_owns_is_not_read(place, monkeypatch):
    cache.write(place, "one", CODE)
    if not place.stat().st_uid:  # whoever runs the tests: root's own would be taken by all
        os.chown(place / "one.kernel", 12345, -1)
        assert cache.read(place, "one") is None
        os.chown(place, 12345, -1)
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert cache.read(place, "one") is None
    with pytest.raises(OSError, match=r"kernels-.*: it belongs to another user$"):
        cache.folder()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_only_a_plain_file_is_read(place, tmp_path):
    cache.write(place, "one", CODE)
    (place / "link.kernel").symlink_to(place / "one.kernel")
    (place / "folder.kernel").mkdir()
    os.mkfifo(place / "pipe.kernel", 0o600)
    assert [cache.read(place, name) for name in ("link", "folder", "pipe")] == [None] * 3
    with pytest.raises(OSError, match="folder"):
        cache.write(place, "folder", CODE)
    assert not list(tmp_path.rglob("*.tmp"))


def refused(tmp_path, match):
    """Where nothing is kept a kernel runs, one warning says why, and no file is written, in Numba's own places either:
    what lay there would run on after a change of another file.
    """
    with pytest.warns(RuntimeWarning, match=match) as told:
        found = kernel(added)()
    assert run(found) == 42 and found.anew
    assert len(told) == 1 and "NUMBA_CACHE_DIR names another folder" in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled._warn_once(OSError("another"))
    assert not list(tmp_path.rglob("*.kernel"))
    assert not list(Path(__file__).parent.rglob("*.nb[ci]"))


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="modes and owners are POSIX's")
def test_a_folder_that_others_may_write_to_is_refused(place, tmp_path, monkeypatch):
    place.chmod(0o777)
    refused(tmp_path, r"cannot be kept \(.*kernels-.*: other users may write to it, chmod go-w ends that\)")


def test_a_folder_that_cannot_be_made_leaves_kernels_in_memory(place, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    refused(tmp_path, r"cannot be kept \(.*file/saccade: ")


def test_a_link_in_the_place_of_the_folder_is_refused(place, tmp_path, monkeypatch):
    place.rmdir()
    place.symlink_to(tmp_path)
    with pytest.raises(OSError, match=r"kernels-.*: no folder"):
        cache.folder()


def test_without_a_home_nothing_is_kept(tmp_path, monkeypatch):
    def lost(path):
        raise RuntimeError("Could not determine home directory.")

    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cache.Path, "expanduser", lost)
    monkeypatch.setattr(compiled, "_warned", [])
    refused(tmp_path, r"\(~/.cache: the user has no home directory\)")


def test_a_disk_that_is_full_is_told_and_the_kernel_runs(place, tmp_path, monkeypatch):
    def full(*args, **options):
        raise OSError(28, "No space left on device", "there")

    monkeypatch.setattr(cache.tempfile, "mkstemp", full)
    refused(tmp_path, r"cannot be kept \(there: No space left on device\)")
