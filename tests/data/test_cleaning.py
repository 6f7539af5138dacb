"""Texts of one's own with one space between two words, and what is none."""

import pytest

from saccade.data.cleaning import cleaned
from saccade.data.columns import Column, label, read_columns
from saccade.errors import ArgumentError
from saccade.tasks.caption.data.captions import captions as captions_of
from saccade.tasks.text.tokenizer import Characters, SpacedWords, one_line
from saccade.tasks.translate.codec import encode_sources
from saccade.tasks.translate.data import open_corpus as translations


def test_white_space_of_any_kind_is_one_space():
    assert cleaned("\u00a0a\u2003 b\tc\r\n", "here") == "a b c" and cleaned(" \n", "here") == ""


@pytest.mark.parametrize(("text", "said"), [("a \ud800", "half a character"), ("a" * 65_537, "at most 65536")])
def test_what_is_no_text_is_refused_by_its_place(text, said):
    with pytest.raises(ArgumentError, match=f"line 7: .*{said}"):
        cleaned(text, "line 7")


COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"


def pairs(path):
    rows = translations(str(path)).rows
    return next(
        row for split in rows.splits for row in map(tuple, map(dict.values, rows.splits[split])) if len(row[0]) > 1
    )


def folder(path):
    for split in ("train", "val", "test"):
        for side in ("de", "en"):
            (path.parent / f"{split}.{side}").write_text(path.read_text().partition("\t")[0] + "\n")
    return tuple(translations(str(path.parent), "de", "en").rows.row("test", 0).values())


def objects(path):
    cells = tuple(path.read_text().strip().split("\t"))
    return tuple(read_columns([Column("a", ("a",)), Column("b", ("b",), label)], cells, {}).values())


def captions(path):
    return captions_of(path.read_text().split("\t")[0]) * 2


@pytest.mark.parametrize("read", [pairs, folder, objects, captions])
def test_both_spellings_of_a_letter_are_one_text(tmp_path, read):
    path = tmp_path / "a.tsv"
    rows = [DECOMPOSED] if read is objects else [DECOMPOSED, "a", "b"]
    path.write_text("".join(f"{row}\t{row}\n" for row in rows))
    assert read(path) == (COMPOSED, COMPOSED)


def test_outputs_and_inputs_are_composed():
    words = SpacedWords.learn([DECOMPOSED])
    assert words.encode(COMPOSED) == words.encode(DECOMPOSED) == [4]
    letters = Characters.learn(["cafe\u0301", "e", "q\u0301"])
    assert one_line(letters.decode([*letters.encode("cafe"), letters.encode("q\u0301")[1]])) == COMPOSED
    [source] = encode_sources([DECOMPOSED], letters, 9)
    assert source.text == source.part == COMPOSED and source.pieces(letters) == list(COMPOSED)
