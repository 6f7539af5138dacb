import pytest
import torch
from hypothesis import given, strategies

from saccade.errors import ArgumentError
from saccade.tasks.memorize.episode import Item
from saccade.tasks.memorize.symbols import Symbols

ASKED = [Item("mary is in the hall . where is mary ?", "hall"), Item("where is john ?", "room")]
STORY = Symbols.learn(ASKED, story=True)
PAIRS = Symbols.learn([Item("a b", "b a"), Item("c", "c")], story=False)


def confident(symbols, *ids):
    """Logits of exactly these symbols."""
    return torch.nn.functional.one_hot(torch.tensor(ids), symbols.sizes.targets).float() * 9


def test_a_story_asks_behind_each_question_mark():
    episode = STORY.episode(Item("where is mary ? where is john ?", "room hall"))
    assert episode.asked.tolist() == [False] * 4 + [True] + [False] * 4 + [True]
    assert episode.wanted.tolist() == [2, 1] and (episode.inputs[episode.asked] == 1).all()
    one, other = STORY.read("Where is Mary?"), STORY.read("where is mary")
    assert one.inputs.tolist() == other.inputs.tolist() and one.asked.sum() == 1
    assert STORY.labels("Where is Mary", "hall") == ["where", "is", "mary", "?", "→ hall"]


def test_a_pair_is_said_behind_what_is_read_and_ends():
    episode = PAIRS.episode(Item("a b", "b a"))
    assert episode.inputs.tolist()[:2] == [3, 4] and episode.asked.tolist() == [False, False, True, True, True]
    assert episode.wanted.tolist() == [2, 1, 0]
    assert PAIRS.said(confident(PAIRS, 2, 1, 0, 3, 3), 1) == ["b a"]
    assert PAIRS.said(confident(PAIRS, 0, 1), 1) == [""]
    assert PAIRS.held("a b") == 0 == PAIRS.most_held


def test_unknown_symbols_are_one_and_never_right():
    assert PAIRS.read("a z").inputs[1] == PAIRS.read("a y").inputs[1] == 2
    assert PAIRS.episode(Item("a", "z")).targets[1] == PAIRS.sizes.targets


def test_the_likeliest_answers_differ_and_are_as_many_as_there_are():
    assert STORY.said(torch.tensor([[9.0, 0.0, 1.0]]), 1) == ["room"]  # a story never answers with silence
    logits = confident(STORY, 1, 2) * torch.tensor([[1.0], [0.5]])
    assert STORY.said(logits, 9) == ["hall room", "hall hall", "room room", "room hall"]
    long = torch.randn(41, 200) + torch.nn.functional.one_hot(torch.tensor([4, 0, *[7] * 39]), 200) * 12
    many = Symbols((), tuple(f"s{n}" for n in range(1, 200)), story=False, longest=20).said(long, 20)
    assert many[0] == "s4" and len(set(many)) == 20  # what would be said behind an end is no other answer
    shares = torch.tensor([[0.40, 0.60, 0.0], [0.30, 0.70, 0.0]]).clamp(min=1e-6).log()
    assert PAIRS.said(shares, 3) == ["a a", "", "a"]  # .42, .40 and .18


@given(strategies.lists(strategies.sampled_from("abcxyz"), min_size=1, max_size=9))
def test_what_is_read_is_as_long_as_what_is_typed(symbols):
    line = " ".join(symbols)
    episode = PAIRS.read(line)  # with room for twice the longest answer, and an end
    assert len(episode.inputs) == len(symbols) + 5 == len(PAIRS.labels(line, "a b c a b")) and episode.asked.sum() == 5


def test_a_sentence_may_be_a_step_and_asks_behind_its_mark():
    symbols = Symbols.learn(ASKED, story=True, sentences=True)
    episode = symbols.episode(ASKED[0])
    assert symbols.width == 6 and episode.inputs.shape == (3, 6) and episode.asked.tolist() == [False, False, True]
    assert episode.inputs[2].tolist() == [1, 0, 0, 0, 0, 0] and (episode.inputs[1] > 0).sum() == 4
    long = symbols.labels("Mary is in the very large hall. Where is Mary", "hall")  # cut where training's longest ends
    assert long == ["mary is in the very large", "hall .", "where is mary ?", "→ hall"]
    assert symbols.read("Mary is in the very large hall. Where is Mary").inputs.shape == (4, 6)


@pytest.mark.parametrize(("language", "line"), [(PAIRS, " "), (PAIRS, "a " * 20_001), (STORY, "?!" * 20_001)])
def test_nothing_and_too_much_are_one_line(language, line):
    with pytest.raises(ArgumentError, match="expected 1 to 20,000 symbols"):
        language.read(line)
