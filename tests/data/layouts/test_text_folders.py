import pytest

from saccade.data.layouts import text_folders as module
from saccade.data.layouts.text_folders import text_folders
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.classify_text.data import open_corpus

SPLITS = ("train", "validation", "test")


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def imdb(tmp_path):
    """A folder as aclImdb comes, unlabelled texts and lists of addresses included."""
    folder = tmp_path / "aclImdb"
    for split in ("train", "test"):
        for label in ("pos", "neg"):
            for n in range(30):
                put(folder / split / label / f"{n}_9.txt", f"{split} {label} film {n}<br />Fine &amp; dull\nline two\n")
            put(folder / split / f"urls_{label}.txt", "http://")
    put(folder / "train" / "unsup" / "0_0.txt", "who knows")
    put(folder / "train" / "labeledBow.feat", "9 0:1")
    put(folder / "imdb.vocab", "the")
    put(folder / "README", "Large Movie Review Dataset")
    return folder


def texts(corpus, split):
    return [corpus.example(split, index) for index in range(corpus.size(split))]


def test_imdb_as_it_comes(imdb):
    corpus = open_corpus(str(imdb))
    assert corpus.labels == ("neg", "pos")
    assert {split: corpus.size(split) for split in SPLITS} == {"train": 51, "validation": 9, "test": 60}
    for split in SPLITS:
        assert all(one.label in one.text.split() and one.text.endswith("line two") for one in texts(corpus, split))
    assert "left out 1 texts without a label (such as train/unsup/0_0.txt)" in corpus.note
    assert "README" in corpus.note and "urls_neg.txt" in corpus.note and "9 texts for validation" in corpus.note
    assert open_corpus(str(imdb.parent)).fingerprint == corpus.fingerprint  # a folder above it is the same


def test_pang_and_lee_as_they_come(tmp_path):
    for label in ("pos", "neg"):
        for n in range(40):
            put(tmp_path / label / f"cv{n:03}_1.txt", f"{label} {n}")
    corpus = open_corpus(str(tmp_path))
    assert {split: corpus.size(split) for split in SPLITS} == {"train": 56, "validation": 12, "test": 12}


def test_labels_of_several_words_are_those_of_their_texts(tmp_path):
    for label in ("rock\nand  roll", "jazz"):
        for n in range(20):
            put(tmp_path / label / f"{n}.txt", f"song {n} {label}")
    corpus = open_corpus(str(tmp_path))
    assert corpus.labels == ("jazz", "rock and roll")
    assert {one.label for one in texts(corpus, "train")} == set(corpus.labels)


def test_texts_labels_and_splits_are_the_fingerprint(imdb):
    known = {open_corpus(str(imdb)).fingerprint}
    (imdb / "train/pos/0_9.txt").write_text("another text")
    known.add(open_corpus(str(imdb)).fingerprint)
    (imdb / "train/pos/0_9.txt").rename(imdb / "train/neg/0_99.txt")
    known.add(open_corpus(str(imdb)).fingerprint)
    (imdb / "test").rename(imdb / "dev")
    known.add(open_corpus(str(imdb)).fingerprint)
    assert len(known) == 4


def test_blank_texts_are_left_out_and_latin_1_is_said(imdb):
    put(imdb / "train/pos/0_9.txt", " \n")
    put(imdb / "train/pos/1_9.txt", b"caf\xe9 pos")
    corpus = open_corpus(str(imdb))
    found = {one.text for split in SPLITS for one in texts(corpus, split)}
    assert len(found) == 119 and "caf\xe9 pos" in found
    assert f"train: left out 1 of 60 texts, which are blank; the first is {imdb}/train/pos/0_9.txt" in corpus.note
    assert "1 texts of train are no UTF-8, and were read as Latin-1" in corpus.note


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"a\x00\xff", r"got byte 0xff; it is no text; put one in its place"), (b"x" * 99, "of at most 0 MiB, got more")],
)
def test_what_is_no_text_is_named(imdb, monkeypatch, content, words):
    monkeypatch.setattr(module, "_LARGEST", 90)
    put(imdb / "train/pos/0_9.txt", content)
    with pytest.raises(ArgumentError, match=rf"train/pos/0_9\.txt: (line 1: )?expected .*{words}"):
        open_corpus(str(imdb))


def test_names_may_end_in_capitals(imdb):
    for path in sorted((imdb / "train/pos").iterdir()):
        path.rename(path.with_suffix(".TXT"))
    corpus = open_corpus(str(imdb))
    assert corpus.labels == ("neg", "pos") and corpus.size("train") + corpus.size("validation") == 60


def test_a_link_to_a_text_that_is_gone_is_named(imdb):
    (imdb / "train/pos/99.txt").symlink_to("../../annex/99.txt")
    with pytest.raises(ArgumentError, match=r"pos/99.txt: expected a text, found none"):
        text_folders(imdb, SplitNames())


def test_a_folder_without_texts_is_none(tmp_path):
    put(tmp_path / "README.txt", "nothing")
    assert text_folders(tmp_path, SplitNames()) is None


def test_a_collection_of_sets_is_no_set_of_classes(tmp_path):
    for name in ("MR", "SUBJ"):
        put(tmp_path / name / "train.txt", "yes\tno\n")
    with pytest.raises(ArgumentError, match="expected in the folder .* train.csv .*, got MR, SUBJ"):
        open_corpus(str(tmp_path))


def test_markup_is_taken_out_by_option(imdb):
    corpus = open_corpus(str(imdb))
    plain = open_corpus(str(imdb), strip_markup=True)
    assert "<br />" in corpus.example("test", 0).text
    assert "Fine & dull" in plain.example("test", 0).text and "<" not in plain.example("test", 0).text
    assert plain.fingerprint == f"{corpus.fingerprint}, without markup" and plain.labels == corpus.labels
    assert plain.size("test") == 60 and plain.note == corpus.note


def test_a_label_may_be_a_link_to_a_folder(imdb):
    plain = open_corpus(str(imdb))
    (imdb / "train/pos").rename(imdb.parent / "elsewhere")
    (imdb / "train/pos").symlink_to("../../elsewhere")
    linked = open_corpus(str(imdb))
    assert linked.labels == ("neg", "pos") and linked.fingerprint == plain.fingerprint
