"""Documents: where sentences begin, and what two levels of attention are."""

import pytest
import torch

from models.variants import CLASSIFIERS
from saccade import look
from saccade.errors import ArgumentError
from saccade.models.hierarchical import ENDS, Hierarchical, Options, sentences
from saccade.models.padded import Padded
from tiers import every

WORDS = [".", "!", "?", "a", "b", "c", "d"]  # ids 4 to 10
MARKS = torch.tensor([False] * 4 + [word in ENDS for word in WORDS])


def numbers(text):
    return [4 + WORDS.index(word) for word in text.split()]


def padded(*texts):
    rows = [numbers(text) for text in texts]
    longest = max(map(len, rows))
    values = torch.tensor([row + [4] * (longest - len(row)) for row in rows])  # padding that looks like full stops
    return Padded(values, torch.tensor([len(row) for row in rows]))


def read(source, found):
    """The sentences of each text, as words."""
    flat, texts = source.values.flatten(), []
    for places, count in zip(found.places, found.counts, strict=True):
        rows = [flat[found.rows[place, : found.words[place]]].tolist() for place in places[:count]]
        texts.append([" ".join(WORDS[number - 4] for number in row) for row in rows])
    return texts


@every(
    ("text", "expected"),
    [
        ("a b . c d .", ["a b .", "c d ."]),
        ("a ? ! . b", ["a ? ! .", "b"]),
        (". a . b", [".", "a .", "b"]),
        ("a b c d a b c", ["a b c d", "a b c"]),
        ("a b c d . b", ["a b c d", ".", "b"]),
        ("a", ["a"]),
    ],
)
def test_a_sentence_ends_behind_its_marks_and_after_so_many_words(text, expected):
    for others in ((), ("a b . c . d . a b c d a b c",)):
        source = padded(text, *others)
        assert read(source, sentences(source, MARKS, 4))[0] == expected


def named(**more):
    torch.manual_seed(1)
    model = Hierarchical(11, 3, Options(embedding_dim=4, hidden_dim=6, **more)).double().eval()
    model.name_words(WORDS)
    return model


def attended(model, source):
    with look.record(model) as records:
        model(source)
    return model.pooled(records, source), model.levels(records, source)


def test_a_words_weight_is_its_share_by_its_sentences():
    model, source = named(queries=2), padded("a b . c d a !", "c b")
    pooled, (words, of_sentence) = attended(model, source)
    torch.testing.assert_close(pooled.mean(1), words * of_sentence)
    torch.testing.assert_close(words[0, :3].sum() + words[0, 3:].sum(), torch.tensor(2.0).double())
    torch.testing.assert_close(words[0, :3].sum(), torch.tensor(1.0).double())
    assert len(set(of_sentence[0, :3].tolist())) == 1 == len(set(of_sentence[0, 3:].tolist()))
    torch.testing.assert_close(of_sentence[0, 0] + of_sentence[0, 3], torch.tensor(1.0).double())
    torch.testing.assert_close(of_sentence[1, :2], torch.ones(2).double())
    assert not words[1, 2:].any() and not of_sentence[1, 2:].any()


def test_what_is_classified_is_the_sentences_by_their_weights():
    model, source = named(), padded("a b . c d a !")
    _, (_, of_sentence) = attended(model, source)
    found = []
    model.pool.register_forward_pre_hook(lambda _, arguments: found.append(arguments[0]))
    logits = model(source)
    shares = of_sentence[0, [0, 3]]
    torch.testing.assert_close(logits[0], model.output(shares @ found[0][0]))


def test_where_sentences_end_changes_what_is_made_of_a_text():
    model, source = named(), padded("a b . c d a !")
    before = model(source)
    model.name_words(["x"] * 7)
    assert not torch.allclose(model(source), before)


def test_what_means_nothing_is_refused():
    with pytest.raises(ArgumentError, match="--sentence-words: expected .*, got 0"):
        Options(sentence_words=0)
    with pytest.raises(ArgumentError, match="--hidden-dim: expected an even number"):
        Options(hidden_dim=5)


def test_its_ends_are_no_weights():
    """What marks there are, the vocabulary says, wherever a run is loaded."""
    assert "ends" not in CLASSIFIERS["hierarchical"].make().state_dict()
