import pytest

from saccade.tasks.transcribe.metrics import HEADLINE, character_errors, measured, word_errors


def edits(one, other):
    """Levenshtein's distance, by its definition."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        rows.append([i])
        for j, b in enumerate(other, 1):
            rows[i].append(min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (a != b)))
    return rows[-1][-1]


@pytest.mark.parametrize(
    ("outputs", "references"),
    [
        (["7 3 1", "4"], ["7 3 1", "4"]),
        (["7 1", "4 4 4"], ["7 3 1", "4"]),
        (["", "one two"], ["one", "two"]),
        (["RUBOUT G M"], ["RUBOUT G N F THREE"]),
    ],
)
def test_errors_are_edits_over_the_length_of_what_was_said(outputs, references):
    words = sum(edits(b.split(), a.split()) for a, b in zip(outputs, references, strict=True))
    assert word_errors(outputs, references) == pytest.approx(words / sum(len(text.split()) for text in references))
    letters = sum(edits(b, a) for a, b in zip(outputs, references, strict=True))
    assert character_errors(outputs, references) == pytest.approx(letters / sum(map(len, references)))


def test_all_is_measured_as_a_whole_and_by_speaker():
    outputs, references = ["one", "two two", "six"], ["one", "two", "seven six"]
    metrics, groups = measured(outputs, references, ["ann", "bob", "bob"])
    assert metrics == {HEADLINE: 1 - 2 / 4, "wer": 2 / 4, "cer": character_errors(outputs, references)}
    assert groups == {"wer": {"ann": 0.0, "bob": 2 / 3}}
    words = {"ann": 1, "bob": 3}
    assert sum(groups["wer"][name] * count for name, count in words.items()) / 4 == metrics["wer"]
    assert measured(outputs, references, ["", "", ""])[1] == {}


def test_more_words_than_were_said_are_worth_less_than_none():
    metrics, _ = measured(["a b c d"], ["a"], [""])
    assert metrics["wer"] == 3 and metrics[HEADLINE] == -2
