import copy
import os
import pickle

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.pinned import Pinned, state_of


def test_parts_are_read_until_somebody_writes_to_the_file(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"0123456789")
    os.utime(path, (1, 1))
    with path.open("rb") as file:
        pinned = Pinned(file, path, state_of(file))
    assert pinned.read(2, 3) == b"234" and pinned.read(0, 0) == b""
    path.rename(tmp_path / "b.bin")  # which leaves the open file as it is
    path.write_bytes(b"another")
    assert pinned.read(7, 3) == b"789"
    (tmp_path / "b.bin").write_bytes(b"9876543210")
    with pytest.raises(ArgumentError, match=r"a\.bin: expected what it held at first, got a changed file"):
        pinned.read(2, 3)


def test_a_copy_does_not_close_the_file(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"0123456789")
    with path.open("rb") as file:
        pinned = Pinned(file, path, state_of(file))
    held = {"file": pinned}
    del copy.deepcopy(held)["file"]
    assert pinned.read(2, 3) == b"234"
    for copied in (copy.copy, pickle.dumps):
        with pytest.raises(TypeError, match=r"a\.bin: expected an object that can be pickled, got an open file"):
            copied(pinned)
    assert pinned.read(2, 3) == b"234"
