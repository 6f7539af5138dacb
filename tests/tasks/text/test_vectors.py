import gzip

import pytest
import torch

from saccade.errors import ArgumentError
from saccade.tasks.text.vectors import read_vectors

GLOVE = "the 0.5 -1 2e-1\n. . 1 2 3\ncat 4 5 6\ncat 7 8 9\n"
WORDS = ["dog", "cat", "the"]


@pytest.mark.parametrize("front", ["", "4 3\n", "\ufeff"])
@pytest.mark.parametrize("packed", [False, True])
def test_glove_and_word2vec_packed_or_not(tmp_path, front, packed):
    content = (front + GLOVE).encode()
    (tmp_path / "v").write_bytes(gzip.compress(content) if packed else content)
    found = read_vectors(tmp_path / "v", WORDS)
    assert found.numbers.tolist() == [1, 2]
    torch.testing.assert_close(found.values, torch.tensor([[4.0, 5.0, 6.0], [0.5, -1.0, 0.2]]))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "expected word vectors, got an empty file"),
        (b"the 1 2\ncat 3\n", "line 2: expected a word and 2 numbers, got 2 parts: 'cat 3'"),
        (b"the 1 2\ncat 3 4 5\n", "line 2: expected a word and 2 numbers, got 4 parts: 'cat 3 4 5'"),
        (b"2 2\ncat 3 4\ndog 3\n", "line 3: expected a word and 2 numbers, got 2 parts"),
        (b"the 1 2\ncat x y\n", "line 2: expected a word and 2 numbers, got 'cat x y'"),
        (b"the 1 2\nelse x y\n", "line 2: expected a word and 2 numbers, got 'else x y'"),
        (b"the 1 nan\n", "line 1: expected numbers of at most 1e\\+06, got others for 'the'"),
        (b"the 1 1e300\n", "line 1: expected numbers of at most 1e\\+06, got others for 'the'"),
        (b"the 1 -1e30\n", "line 1: expected numbers of at most 1e\\+06, got others for 'the'"),
        (b"lonely\n", "line 1: expected a word and its numbers with spaces between, got 'lonely'"),
        (b"3 0\n", "line 1: expected how many numbers a vector has, got 0"),
        (b"other 1 2\n", "expected vectors of the 3 words of the training split, got none"),
        (b"2 2\ncat \x00\xff\x80?\x11\x80?\xff" * 3, "line 2: expected a word and 2 numbers"),
        (b"x" * (1 << 21), "line 1: expected word vectors as text, got an endless line"),
        (b"\x1f\x8bdamaged", "expected a whole gzip file, got a damaged one"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path, content, words):
    (tmp_path / "v").write_bytes(content)
    with pytest.raises(ArgumentError, match=words) as error:
        read_vectors(tmp_path / "v", WORDS)
    assert "\n" not in str(error.value) and str(tmp_path / "v") in str(error.value)
