import gzip

import pytest

from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.classify_text.data import open_corpus
from tasks.classify_text.conftest import labelled


def open_files(path, names=None):
    return open_corpus(str(path), names=names)


def texts(corpus, split):
    return [corpus.example(split, index).text for index in range(corpus.size(split))]


def sizes(corpus):
    return {split: corpus.size(split) for split in ("train", "validation", "test")}


@pytest.fixture
def rows():
    """Sixty different texts of two labels."""
    return [(f"{'good' if n % 2 else 'bad'} film number {n}", "yes" if n % 2 else "no") for n in range(60)]


@pytest.fixture
def several(tmp_path, rows):
    """A folder as the public collection has it: label first, sets whose files begin alike."""
    first = "{label} {text}\n"
    for split, part in (("train", rows[:40]), ("dev", rows[40:50]), ("test", rows[50:])):
        labelled(tmp_path / f"stsa.binary.{split}", part, first)
    labelled(tmp_path / "TREC.train.all", rows[:40], first)
    labelled(tmp_path / "TREC.test.all", rows[40:], first)
    labelled(tmp_path / "subj.all", rows, first)
    (tmp_path / "SST2").mkdir()
    for split, part in (("train", rows[:40]), ("dev", rows[40:50]), ("test", rows[50:])):
        labelled(tmp_path / "SST2" / f"{split}.tsv", part)
    (tmp_path / "SOURCE.md").write_text("where it is from")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("stsa.binary", (40, 10, 10)),
        ("SST2", (40, 10, 10)),
        ("TREC", (34, 6, 20)),
        ("subj", (42, 9, 9)),
        ("subj.all", (42, 9, 9)),
    ],
)
def test_every_set_of_a_collection_by_its_name(several, name, counts):
    corpus = open_corpus(str(several / name))
    assert tuple(sizes(corpus).values()) == counts and corpus.labels == ("no", "yes")
    parts = [set(texts(corpus, split)) for split in sizes(corpus)]
    assert len(set().union(*parts)) == sum(counts) == 60
    assert corpus.example("train", 0).label == ("yes" if "good" in corpus.example("train", 0).text else "no")


def test_a_folder_of_sets_names_them(several):
    with pytest.raises(ArgumentError, match="expected in the folder .*, got SOURCE.md, SST2, TREC.test.all"):
        open_files(several)


def test_split_by_hash_does_not_depend_on_the_order_of_rows(tmp_path, rows):
    one, other = (
        open_files(labelled(tmp_path / name, part)) for name, part in (("a.tsv", rows), ("b.tsv", rows[::-1]))
    )
    assert all(sorted(texts(one, split)) == sorted(texts(other, split)) for split in sizes(one))
    assert one.fingerprint != other.fingerprint and one.fingerprint.startswith("train 42, validation 9, test 9, ")


def test_a_label_that_no_training_text_has_is_named(tmp_path, rows):
    labelled(tmp_path / "train.tsv", rows)
    labelled(tmp_path / "dev.tsv", rows[:4])
    labelled(tmp_path / "test.tsv", [*rows[:2], ("", "x"), ("what", "may be")])
    with pytest.raises(
        ArgumentError, match=r"^row 4 of .*test\.tsv: the label 'may be' of the test split is in no row"
    ):
        open_files(tmp_path)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (lambda rows: [(text, "yes") for text, _ in rows], "expected two labels or more to train on, got 'yes' alone"),
        (lambda rows: [(label, text) for text, label in rows], "expected 3 different texts or more"),
        (
            lambda rows: [(text, f"{label} {n}") for n, (text, label) in enumerate(rows)],
            "expected labels that several texts have, got 42 different ones for 42 texts",
        ),
        (lambda rows: rows[:2], "expected 3 different texts or more, to validate, test and train, got 2"),
    ],
)
def test_what_nothing_can_be_learned_from(tmp_path, rows, changed, words):
    with pytest.raises(ArgumentError, match=words):
        open_files(labelled(tmp_path / "a.tsv", changed(rows)))


def test_what_is_not_there(tmp_path):
    for data in (tmp_path / "nothing", tmp_path / "no/such"):
        with pytest.raises(ArgumentError, match="--data: no data set"):
            open_files(data)
    with pytest.raises(ArgumentError, match="--data: no data set review, .*; did you mean reviews"):
        open_corpus("review")
    with pytest.raises(
        ArgumentError, match=r"expected in the folder .* train\.csv .* a folder of .*, got an empty folder$"
    ):
        open_files(tmp_path)


def test_notes_of_all_files(tmp_path, rows):
    labelled(tmp_path / "train.tsv", [("", "yes"), *rows])
    labelled(tmp_path / "test.tsv", [*rows[:3], (" ", "no")])
    note = open_files(tmp_path).note
    assert f"train: left out 1 of 61 texts, which are blank; the first is row 1 of {tmp_path}/train.tsv" in note
    assert f"test: left out 1 of 4 texts, which are blank; the first is row 4 of {tmp_path}/test.tsv" in note


def test_files_that_are_read_and_two_of_one_split(tmp_path, rows):
    labelled(tmp_path / "train.tsv", rows)
    known = open_files(tmp_path).fingerprint
    (tmp_path / "train.tsv.gz").write_bytes(gzip.compress((tmp_path / "train.tsv").read_bytes()))
    assert open_files(tmp_path).fingerprint == known
    labelled(tmp_path / "train.csv", [("text", "label"), *rows[:20]], '"{text}","{label}"\n')
    with pytest.raises(ArgumentError, match=r"expected one file of train, got train.csv and train.tsv; move away"):
        open_files(tmp_path)
    (tmp_path / "train.csv").unlink()
    labelled(tmp_path / "val.tsv", rows[:10])
    labelled(tmp_path / "dev.tsv", rows[:12])
    with pytest.raises(ArgumentError, match=r"expected one validation split, got val and dev; say --validation-split"):
        open_files(tmp_path)
    assert open_files(tmp_path, SplitNames({"validation": "dev"})).size("validation") == 12
    with pytest.raises(ArgumentError, match="--test-split: expected the name of a part of"):
        open_files(tmp_path, SplitNames({"validation": "dev", "test": "nothing"}))


def test_names_of_splits_behind_those_of_a_set(several, rows):
    labelled(several / "subj.fold1", rows[:20], "{label} {text}\n")
    corpus = open_files(several / "subj", SplitNames({"validation": "fold1"}))
    assert corpus.size("validation") == 20 and corpus.note.endswith("9 texts for test")


def test_a_column_says_the_split_of_each_text(tmp_path):
    names = ("train", "dev", "Test")
    lines = [f"text {n},{'yes' if n % 2 else 'no'},{names[n // 20 % 3]}" for n in range(60)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["text,label,split", *lines]))
    corpus = open_files(path)
    found = {split: texts(corpus, split) for split in ("train", "validation", "test")}
    assert found == {
        "train": [f"text {n}" for n in range(20)],
        "validation": [f"text {n}" for n in range(20, 40)],
        "test": [f"text {n}" for n in range(40, 60)],
    }
    path.write_text("\n".join(["text,label,split", *lines[:40]]))
    assert set(texts(open_files(path), "validation")) == set(found["validation"])
    assert set(texts(open_files(path), "test")) < set(found["train"])
    path.write_text("\n".join(["text,label,split", *lines, "text,yes,odd"]))
    with pytest.raises(
        ArgumentError, match=r"^row 62 of .*a\.csv, column .split.: expected one of train, .* got 'odd'"
    ):
        open_files(path)


def test_a_file_of_a_split_may_not_say_another(tmp_path):
    for name in ("train", "dev", "test"):
        (tmp_path / f"{name}.csv").write_text("text,label,split\n" + f"a,yes,{name}\nb,no,{name}\n" * 3)
    assert open_files(tmp_path).size("train") == 6
    (tmp_path / "train.csv").write_text("text,label,split\na,yes,train\nb,no,test\n")
    with pytest.raises(ArgumentError, match=r"^row 3 of .*train\.csv, column .split.: expected train, .* got 'test'"):
        open_files(tmp_path)


def test_an_option_that_names_no_split_of_the_column_is_refused(tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text("text,label,split\na,x,train\nb,y,train\nc,x,dev\n")
    with pytest.raises(ArgumentError, match="--test-split: .*got late; there is train, validation"):
        open_corpus(str(path), names=SplitNames({"test": "late"}))


@pytest.mark.parametrize("name", ["x.train", "x.all", "x.test.gz", "x"])
def test_a_label_and_a_text(tmp_path, name):
    content = b"\n" + b"".join(b"%d a film , %d\n" % (n % 2, n) for n in range(20)) + b"0 caf\xe9\n"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    corpus = open_files(tmp_path / name)
    found = {corpus.example(split, n)[:2] for split in sizes(corpus) for n in range(corpus.size(split))}
    assert found == {(f"a film , {n}", str(n % 2)) for n in range(20)} | {("caf\u00e9", "0")}
    assert f"{name}: it is no UTF-8, and was read as Latin-1" in corpus.note


def test_a_header_between_commas_makes_a_table_of_a_txt(tmp_path, rows):
    path = tmp_path / "texts.txt"
    path.write_text("Text,Label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    assert open_files(path).labels == ("no", "yes") and sum(sizes(open_files(path)).values()) == 60
