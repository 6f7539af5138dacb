import pytest

from saccade.errors import ArgumentError
from saccade.tasks.classify_text.data import BUILTIN, open_corpus
from tasks.classify_text.conftest import labelled


@pytest.mark.parametrize("name", list(BUILTIN))
def test_built_in_data_have_three_splits_and_a_fingerprint(name):
    corpus = open_corpus(name)
    for split in ("train", "validation", "test"):
        assert corpus.example(split, 0).text and corpus.example(split, 0).label in corpus.labels
    assert corpus.size("test") and corpus.fingerprint == open_corpus(name).fingerprint and corpus.note == ""


def test_data_that_are_not_there_are_named():
    with pytest.raises(ArgumentError, match="no data set no/such, and no folder, file or files that begin so"):
        open_corpus("no/such")
    with pytest.raises(ArgumentError, match="did you mean reviews?"):
        open_corpus("review")


def test_a_file_and_the_same_rows_as_objects_have_the_same_examples(tmp_path, rows):
    file, objects = open_corpus(str(labelled(tmp_path / "a.tsv", rows))), open_corpus("objects", rows)
    assert file.labels == tuple(objects.labels) == ("no", "yes")
    for split in ("train", "validation", "test"):
        assert file.size(split) == objects.size(split)
        found = [{corpus.example(split, n)[:2] for n in range(corpus.size(split))} for corpus in (file, objects)]
        assert found[0] == found[1]  # the same texts are held out, wherever they come from


def test_objects_have_the_columns_of_collections_and_labels_by_name(rows):
    from types import SimpleNamespace

    class Described(list):
        features = {"label": SimpleNamespace(names=["no", "yes"])}  # noqa: RUF012

    table = Described({"sentence": text, "label": int(label == "yes")} for text, label in rows)
    assert open_corpus("objects", table).fingerprint == open_corpus("objects", rows).fingerprint
    numbered = open_corpus("objects", [{"text": text, "label": len(label)} for text, label in rows])
    assert list(numbered.labels) == ["2", "3"]
    assert open_corpus("objects", rows).example("train", 0).group == ""
