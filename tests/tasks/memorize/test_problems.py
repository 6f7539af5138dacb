from collections import Counter

import numpy as np
import pytest

from saccade.errors import ArgumentError
from saccade.tasks.memorize.problem import HELD_OUT
from saccade.tasks.memorize.problems import PROBLEMS, Copy, NGrams, Recall, RepeatCopy, Sort
from tiers import every


def dice(seed=1):
    return np.random.default_rng(seed)


def questions(problem, count=50):
    numbers = dice()
    return [problem.draw(numbers, problem.size_of(numbers)) for _ in range(count)]


@pytest.fixture(params=PROBLEMS)
def problem(request):
    return PROBLEMS[request.param]()


def test_a_question_is_the_same_once_written_and_read(problem):
    inputs, targets, _ = problem.sizes
    for question in questions(problem):
        again, episode = problem.parse(problem.write(question)), problem.pose(question)
        assert np.array_equal(again.vectors, question.vectors) and again.numbers == question.numbers
        length = episode.order
        assert episode.inputs.shape == (length, inputs) and episode.targets.shape == (length, targets)
        assert episode.inputs.dtype == episode.targets.dtype == np.float32 and episode.asked.dtype == np.bool_
        assert not episode.targets[~episode.asked].any() and episode.asked.any()
        assert isinstance(problem, NGrams) or not episode.inputs[episode.asked].any()


def test_splits_are_as_many_of_each_kind_and_always_same(problem):
    assert problem.size("train") is None and problem.size("validation") == problem.size("test") == HELD_OUT
    items = [problem.example("test", index) for index in range(24)]
    assert items == [type(problem)().example("test", index) for index in range(24)]
    assert list(Counter(item.group for item in items)) == [problem.trained, *problem.beyond("test")]
    assert all(item.text and item.answer for item in items)
    train = [problem.example("train", index) for index in range(100)]
    assert {item.group for item in train} == {problem.trained} and problem.fingerprint != type(problem)(7).fingerprint
    long = {item.text for item in train if len(item.text) > 40}
    assert not long & {problem.example("test", index).text for index in range(HELD_OUT)}


def test_beyond_training_the_test_is_longer_than_validation(problem):
    test, validation = problem.beyond("test"), problem.beyond("validation")
    assert test and (not validation or max(validation.values()) != max(test.values()))
    for size in (*test.values(), *validation.values()):
        assert problem.pose(problem.draw(dice(), size)).order >= problem.longest


def test_a_copy_is_the_vectors_again_behind_a_mark():
    assert {len(question.vectors) for question in questions(Copy(), 500)} == set(range(1, 21))
    assert list(Copy().beyond("test")) == ["20", "40", "80", "120"]
    assert list(Copy(7).beyond("test")) == ["7", "14", "28", "42"]
    episode = Copy().read("10000000 11111111")
    assert episode.inputs[:, 8].tolist() == [0, 0, 1, 0, 0]
    assert np.array_equal(episode.targets[3:], episode.inputs[:2, :8]) and episode.asked.tolist() == [0, 0, 0, 1, 1]


def test_repeated_copies_end_and_repeats_are_standardized():
    problem = RepeatCopy()
    episode = problem.read("2 x 10000000 11111111")
    assert problem.answer(episode.wanted.numpy()) == " ".join(["10000000", "11111111"] * 2)
    assert episode.targets[:, 8].tolist() == [0] * 7 + [1] and episode.order == 2 + 1 + 4 + 1
    scaled = [problem.read(f"{n} x 11111111").inputs[1, 9] for n in range(1, 11)]
    assert np.mean(scaled) == pytest.approx(0, abs=1e-6) and np.std(scaled) == pytest.approx(1)
    assert RepeatCopy(1).read("1 x 11111111").inputs[1, 9] == 0
    never_ended = np.zeros((3, 9), np.float32)
    assert problem.answer(never_ended) == "00000000 00000000 00000000"
    assert problem.parse("          003 x 10010110").numbers == (3,)


def test_item_behind_the_one_that_is_asked_for_is_recalled():
    problem = Recall()
    items = ["000000 000000 000001", "000000 000000 000010", "000000 000000 000011"]
    episode = problem.read(f"{', '.join(items)} ? {items[1]}")
    assert problem.answer(episode.wanted.numpy()) == items[2]
    assert np.flatnonzero(episode.inputs[:, 6]).tolist() == [0, 4, 8]  # a mark before each item
    assert np.flatnonzero(episode.inputs[:, 7]).tolist() == [12, 16]  # and around the one that is asked for
    assert {int(question.numbers[0]) for question in questions(problem, 300)} == {0, 1, 2, 3, 4}


def test_the_highest_priorities_come_first():
    problem = Sort()
    episode = problem.read("00000001:-1 00000010:0.5 00000011:1 00000100:-0.5 00000101:0")
    assert problem.answer(episode.wanted.numpy()) == "00000011 00000010 00000101 00000100"
    [question] = questions(problem, 1)
    assert question.vectors.shape == (20, 8) and problem.pose(question).asked.sum() == 16


def test_bits_follow_five_before_by_chances_of_their_own():
    problem, counts = NGrams(2000), {}
    bits = problem.draw(dice(5), (2000,)).vectors[:, 0].astype(int).tolist()
    for place in range(5, len(bits)):
        counts.setdefault(tuple(bits[place - 5 : place]), []).append(bits[place])
    often = [np.mean(own) for own in counts.values() if len(own) > 40]
    assert len(often) > 5 and np.std(often) > 0.2  # chances of Beta(½, ½) are far apart


def test_the_best_guess_counts_what_followed_the_same_five():
    problem, best, half = NGrams(), 0.0, 0.0
    chances = problem.best(problem.parse("0000010000010000"))[:, 0].tolist()
    assert chances[0] == 0.5 and len(chances) == 16 - 5
    assert chances[6] == pytest.approx(1.5 / 2)  # after 00000 came a 1 once
    assert min(chances) > 0 and max(chances) < 1
    for question in questions(problem, 30):
        right = problem.pose(question).wanted.numpy()
        chance = np.clip(problem.best(question), 1e-6, 1 - 1e-6)
        best -= float(np.log2(np.where(right > 0, chance, 1 - chance)).sum())
        half += len(right)
    assert 0.4 * half < best < 0.85 * half


ITEMS = "100101 110000 000011, 111111 000000 101010"


@every(
    ("name", "line", "message"),
    [
        ("copy", "1001", "expected words of 8 bits, such as 10010110 01101001, got '1001'"),
        ("copy", "10010110 1001011x", "got '1001011x'"),
        ("repeat-copy", "10010110", "expected a number from 1 to 1000, x and vectors, such as 3 x"),
        ("repeat-copy", "0 x 10010110", "expected a number from 1 to 1000"),
        ("repeat-copy", "99999999999 x 10010110", "expected a number from 1 to 1000"),
        ("repeat-copy", "000000001999999 x 10010110", "expected a number from 1 to 1000"),
        ("repeat-copy", "1000 x " + "10010110 " * 21, "expected at most 20,000 vectors of an answer, got 1000 x 21"),
        ("repeat-copy", "3 x", "expected 1 to 10,000 words of 8 bits, such as 3 x .*, got 0"),
        ("recall", "100101 110000 000011", "expected items of 3 vectors, . and one of them, such as"),
        ("recall", f"{ITEMS} ? 111111 000000 101010", "an item that another follows"),
        ("recall", f"100101 110000, {ITEMS} ? 100101 110000 000011", "expected 3 to 10,000 words of 6 bits"),
        ("sort", "10010110", "expected a priority from -1 to 1 behind each, such as .*, got '10010110'"),
        ("sort", "10010110:2", "got '10010110:2'"),
        ("sort", "10010110:nan", "got '10010110:nan'"),
        ("n-grams", "01", "expected 6 to 10,000 words of 1 bit"),
        ("n-grams", "0110102", "expected words of 1 bit, such as 0110100, got '2'"),
    ],
)
def test_a_line_of_another_form_is_one_line(name, line, message):
    with pytest.raises(ArgumentError, match=message) as error:
        PROBLEMS[name]().parse(line)
    assert "\n" not in str(error.value)


def test_beyond_the_longest_training_example_is_a_line(problem):
    longest = type(problem)(problem.most)
    question = longest.draw(dice(), max(longest.beyond("test").values()))
    assert len(longest.parse(longest.write(question)).vectors) == len(question.vectors)
    for wrong in (problem.least - 1, problem.most + 1):
        expected = f"--longest: expected a number from {problem.least} to {problem.most}, got {wrong}"
        with pytest.raises(ArgumentError, match=expected):
            type(problem)(wrong)


def test_how_much_is_to_be_remembered_is_known():
    copy, recall, grams = (PROBLEMS[name]() for name in ("copy", "recall", "n-grams"))
    assert (copy.most_held, recall.most_held, grams.most_held) == (20, 18, 0)
    assert copy.held("10010110 10010110") == 2 and grams.held("0110100") == 0
