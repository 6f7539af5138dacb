import pytest

from saccade.data.rows import rows_of
from saccade.errors import ArgumentError
from saccade.tasks.classify_text.data import BUILTIN, Corpus, Texts, open_corpus
from saccade.tasks.classify_text.data.reviews import Reviews
from saccade.tasks.labels.labelled import LabelledText
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


def test_file_and_same_rows_as_objects_have_same_examples(tmp_path, rows):
    file, objects = open_corpus(str(labelled(tmp_path / "a.tsv", rows))), open_corpus("objects", rows)
    assert file.labels == objects.labels == ("no", "yes")
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
    assert numbered.labels == ("2", "3")
    assert open_corpus("objects", rows).example("train", 0).group == ""


def test_labels_of_objects_are_checked_as_those_of_files_are(rows):
    splits = {"train": rows[:40], "validation": rows[40:50], "test": [*rows[50:], ("", "no"), ("so so", "maybe")]}
    with pytest.raises(ArgumentError, match="data: test, row 12: the label 'maybe' of the test split is in no row to"):
        open_corpus("objects", splits)
    with pytest.raises(ArgumentError, match="data: expected two labels or more to train on, got 'yes' alone"):
        open_corpus("objects", [(text, "yes") for text, _ in rows])
    with pytest.raises(ArgumentError, match="data: expected labels that several texts have, got 40 different ones"):
        open_corpus("objects", {"train": [(text, text) for text, _ in rows[:40]], "dev": rows[:1], "test": rows[:1]})


def test_a_held_out_label_alone_is_refused_with_its_row(rows):
    held = open_corpus("objects", rows).example("test", 0).text
    place = [text for text, _ in rows].index(held)
    rare = [("  ", "yes"), *((text, "rare" if text == held else label) for text, label in rows)]
    with pytest.raises(ArgumentError, match=f"data: train, row {place + 2}: the label 'rare' .* leave it"):
        open_corpus("objects", rare)


def test_blank_texts_of_objects_are_left_out_with_a_note(tmp_path, rows):
    parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    blank = [*rows[:7], (" \n", "yes"), *rows[7:], ("", "no")]
    corpus = open_corpus("objects", blank)
    assert corpus.fingerprint == open_corpus("objects", rows).fingerprint
    assert corpus.note.startswith("data: train: left out 2 of 62 texts, which are blank; the first is row 8; ")
    table = arrow.Table.from_pylist([{"text": text, "label": label} for text, label in blank])
    parquet.write_table(table, tmp_path / "a.parquet")
    assert open_corpus(str(tmp_path / "a.parquet")).fingerprint == corpus.fingerprint
    test = open_corpus("objects", {"train": rows[:40], "dev": rows[40:50], "test": [("", "yes"), *rows[50:]]})
    assert (
        test.size("test") == 10
        and test.note == "data: test: left out 1 of 11 texts, which are blank; the first is row 1"
    )
    with pytest.raises(ArgumentError, match="data: test: left out 1 of 1 texts, which are blank: an empty corpus"):
        open_corpus("objects", {"train": rows[:40], "dev": rows[40:50], "test": [("", "yes")]})
    with pytest.raises(ArgumentError, match="data: train, row 61: expected a label, got an empty cell"):
        open_corpus("objects", [*rows, ("a text", " ")])


def test_what_is_wrong_with_tables_names_the_file(tmp_path, rows):
    parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")

    def written(**parts):
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        for name, part in parts.items():
            table = arrow.Table.from_pylist([{"text": text, "label": label} for text, label in part])
            parquet.write_table(table, folder / f"{name}.parquet", row_group_size=7)
        return str(folder)

    one = written(train=[(text, "yes") for text, _ in rows])
    with pytest.raises(ArgumentError, match=f"^{one}: expected two labels or more to train on, got 'yes' alone"):
        open_corpus(one)
    parts = {"train_0": rows[:20], "train_1": rows[20:40], "valid": rows[40:50]}
    other = written(**parts, test_0=rows[50:], test_1=[("", "no"), ("so so", "maybe")])
    with pytest.raises(ArgumentError, match=f"^row 2 of {other}/test_1.parquet: the label 'maybe' of the test split"):
        open_corpus(other)
    blank = written(**{**parts, "train_1": [*rows[20:40], ("", "no")]}, test=rows[50:])
    first = f"the first is row 21 of {blank}/train_1.parquet"
    assert open_corpus(blank).note == f"{blank}: train: left out 1 of 41 texts, which are blank; {first}"


SPLITS = {"train": [("a fine film", "good"), ("dull", "bad")], "dev": [("fine", "good")], "test": [("dull", "bad")]}


def named(row, labels):
    return dict(zip(("text", "label"), row, strict=True))


def test_examples_are_rows_without_a_group():
    corpus = Texts(rows_of(SPLITS, named, dict.items), "data")
    assert [corpus.example("train", n) for n in (0, 1)] == [LabelledText(*row, "") for row in SPLITS["train"]]
    assert corpus.labels == ("bad", "good") and corpus.size("test") == 1
    for split, index in (("train", 2), ("test", -1), ("dev", 0)):
        with pytest.raises(ArgumentError, match="index: expected|split: expected"):
            corpus.example(split, index)


def test_corpora_have_all_that_one_must_have():
    members = {name for name in dir(Corpus) if not name.startswith("_")}
    assert members == {"example", "size", "fingerprint", "note", "labels"}
    for corpus in (Reviews(), open_corpus("objects", SPLITS)):
        assert all(hasattr(corpus, name) for name in members)


def marked(**splits):
    """A corpus of texts in markup, "good" and "bad" in turn, unless a text comes with its label."""
    given = {
        split: [text if isinstance(text, tuple) else (text, ("good", "bad")[n % 2]) for n, text in enumerate(texts)]
        for split, texts in splits.items()
    }
    return open_corpus("objects", given, strip_markup=True)


def test_texts_of_markup_alone_are_left_out():
    corpus = marked(
        train=["<p>a", "b", "<br /> <!-- c -->", "d"], validation=["<i>e</i>"], test=["&nbsp;", "f &amp; g"]
    )
    assert [corpus.size(split) for split in ("train", "validation", "test")] == [3, 1, 1]
    assert corpus.example("train", 0).text == " a" and corpus.example("test", 0).text == "f & g"
    said = "left out 1 of 2 texts, which are blank without markup; the first is row 1"
    assert corpus.note.endswith(f"data: test: {said}") and corpus.fingerprint.endswith(", without markup")
    with pytest.raises(ArgumentError, match="data: test: left out 1 of 1 texts, which are blank without markup"):
        marked(train=["a", "b"], validation=["c"], test=["<p>"])


def test_labels_of_texts_that_are_left_out_are_none():
    with pytest.raises(ArgumentError, match="expected two labels or more to train on, got 'good' alone"):
        marked(train=["a", "<br>", "c"], validation=["d"], test=["d"])
    with pytest.raises(ArgumentError, match="the label 'fair' of the test split is in no row to train on"):
        marked(train=["a", "b", ("<p>", "fair")], validation=["d"], test=[("e", "fair")])
    assert marked(train=["a", "b", ("<p>", "fair")], validation=["d"], test=["e", ("<p>", "fair")]).size("test") == 1
