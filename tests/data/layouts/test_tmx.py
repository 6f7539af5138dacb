import pytest

from saccade.errors import ArgumentError
from saccade.tasks.translate.data import open_corpus

UNIT = '<tu><tuv xml:lang="de-AT"><seg>satz <bpt>{n}</bpt></seg></tuv><tuv xml:lang="EN"><seg>line {n}</seg></tuv></tu>'


def written(path, units):
    path.write_text(f'<?xml version="1.0"?><tmx version="1.4"><header/><body>{units}</body></tmx>')
    return str(path)


def test_units_are_pairs_of_both_languages(tmp_path):
    units = "".join(UNIT.format(n=n) for n in range(40)) + '<tu><tuv xml:lang="fr"><seg>un</seg></tuv></tu>'
    corpus = open_corpus(written(tmp_path / "a.tmx", units), "de", "en")
    assert [corpus.size(split) for split in ("train", "validation", "test")] == [28, 6, 6]
    pair = corpus.example("test", 0)
    assert pair.source.replace("satz", "line") == pair.target
    assert "left out 1 of 41 units, which have no de or no en" in corpus.note
    turned = open_corpus(str(tmp_path / "a.tmx"), "EN", "de-AT")
    assert turned.example("test", 0).source.startswith("line")


def test_a_language_that_is_missing_is_named(tmp_path):
    path = written(tmp_path / "a.tmx", UNIT.format(n=1))
    with pytest.raises(ArgumentError, match="--target: expected one of de, de-at, en, got fr for .*a.tmx"):
        open_corpus(path, "de", "fr")
    with pytest.raises(ArgumentError, match="--source: expected one of de, de-at, en, got none for"):
        open_corpus(path)
    (tmp_path / "a.tmx").write_text("<tmx><body><tu>")
    with pytest.raises(ArgumentError, match="a.tmx: expected a whole TMX file, got a damaged one"):
        open_corpus(path, "de", "en")
