import pytest

from saccade.errors import ArgumentError
from saccade.tasks.translate.corpora import BUILTIN, group_names, open_corpus


@pytest.mark.parametrize("name", list(BUILTIN))
def test_built_in_data_have_three_splits_and_a_fingerprint(name):
    corpus = open_corpus(name)
    for split in ("train", "validation", "test"):
        pair = corpus.example(split, 0)
        assert pair.source and pair.target and pair.group in group_names(name)
    assert corpus.size("test") and corpus.fingerprint == open_corpus(name).fingerprint


def test_data_that_are_not_there_are_named():
    with pytest.raises(ArgumentError, match="no data set no/such/folder; built in: dates"):
        open_corpus("no/such/folder")
    with pytest.raises(ArgumentError, match="did you mean dates?"):
        open_corpus("date")
