"""Batches of training texts: as many as asked for, those about one image together, and each image fetched once."""

from collections import Counter
from itertools import chain, pairwise

import pytest
import torch

from saccade.data.dataset import SPLITS
from saccade.errors import ArgumentError
from saccade.tasks.answer.codec import Encoded
from saccade.tasks.answer.data import Posed
from saccade.tasks.answer.data.questions import Questions
from saccade.tasks.answer.data.scenes import Scenes
from saccade.tasks.caption.data.captions import Captions as FileCaptions
from saccade.tasks.caption.data.scenes import Scenes as Captions
from saccade.tasks.image.pictures import Illustrated, Picture
from saccade.tasks.image.texts import TextsByImage, training_texts
from tiers import every


def collection(*counts):
    """So many questions about each image, scattered over the lines; every seventh has an answer that nobody knows."""
    images = [torch.full((3, 8, 8), n, dtype=torch.uint8) for n in range(len(counts))]
    pictures = [Picture(f"{n}.png", image, n, n) for n, image in enumerate(images)]
    asked = sorted((place, image) for image, count in enumerate(counts) for place in range(count))
    rows = [
        (image, Posed(f"{image} {place}", ("lost",) if number % 7 == 6 else ("yes", "lost"), ""))
        for number, (place, image) in enumerate(asked)
    ]
    return filled(Questions, pictures, (8, 8), dict.fromkeys(SPLITS, rows), "")


def filled(kind, *parts):
    """A data set of pictures and texts, without rows to read."""
    data = kind.__new__(kind)
    Illustrated.__init__(data, *parts)
    return data


def known(data):
    return [posed.question for _, posed in data.splits["train"] if "yes" in posed.answers]


def learned(data, batch_size, knows="yes".__eq__):
    """Texts of questions, of which those are learned that have an answer somebody knows."""

    def fits(index):
        return any(map(knows, data.posed("train", index).answers))

    def encode(indices):
        first = data.example("train", indices[0])
        return [Encoded(first.image, [data.posed("train", index).question], {}, first.name) for index in indices]

    return TextsByImage(data, fits, encode, batch_size)


def row(sampler, steps):
    return [[one.ids[0] for one in sampler.batch(step)] for step in steps]


def counted(monkeypatch, kind, name):
    """What a method is asked for from now on."""
    calls, method = [], getattr(kind, name)
    monkeypatch.setattr(kind, name, lambda self, *given: calls.append(given) or method(self, *given))
    return calls


SHAPES = [(300,), (1,) * 40, (4,) * 25, (1, 300, 2, 5, 1, 9, 3), (2, 1)]


@every("counts", SHAPES)
@every("batch_size", [1, 3, 32])
def test_epoch_has_every_question_that_can_be_learned_once(counts, batch_size):
    data = collection(*counts)
    whole = known(data)
    pools = -(-3 * len(whole) // (16 * batch_size))
    batches = row(learned(data, batch_size).sampler(2), range(16 * pools))
    assert {len(batch) for batch in batches} == {batch_size}
    seen = Counter(question for batch in batches for question in batch)
    times, left = divmod(16 * pools * batch_size, len(whole))
    assert seen.keys() == set(whole) and set(seen.values()) <= {times, times + 1}
    assert sum(count > times for count in seen.values()) == left


@pytest.mark.parametrize("data", [collection(3, 40, 1, 5), Scenes()], ids=["files", "scenes"])
def test_a_batch_is_a_function_of_seed_and_step(data):
    steps = (3, 0, 17, 16)
    first, second = (learned(data, 4, lambda answer: answer != "lost").sampler(7) for _ in range(2))
    assert row(first, steps) == row(second, steps[::-1])[::-1]
    assert row(first, steps) != row(learned(data, 4, lambda answer: answer != "lost").sampler(8), steps)


def test_questions_about_an_image_lie_together_as_far_as_they_fit():
    data, batch_size, steps = collection(*(4, 1, 7, 3, 2) * 40), 10, range(64)
    parts = 0
    for batch in row(learned(data, batch_size).sampler(3), steps):
        images = [question.split()[0] for question in batch]
        runs = 1 + sum(before != after for before, after in pairwise(images))
        assert runs <= len(set(images)) + 1  # one more where an epoch ends
        parts += len(set(images))
    # 15 of 17 × 40 questions are about as many images as if none were cut, and a cut adds one to a batch at most.
    assert parts <= len(steps) * (batch_size * 200 / len(known(data)) + 1) * 1.1


@pytest.mark.parametrize("batch_size", [1, 2, 6, 30])
@pytest.mark.parametrize("knows", [lambda answer: True, "yes".__eq__], ids=["all", "few"])
def test_endless_scenes_make_batches_as_large_as_asked_for(batch_size, knows, monkeypatch):
    monkeypatch.setattr("saccade.tasks.batches._LOOKED_AT", 40)
    sampler = learned(Scenes(), batch_size, knows).sampler(1)
    batches = [sampler.batch(step) for step in range(17)]
    assert {len(batch) for batch in batches} == {batch_size}
    if batch_size % 5 == 0 and knows("no"):  # each scene has five
        assert {len({text.name for text in batch}) for batch in batches} == {batch_size // 5}


def test_an_image_is_made_once_for_all_its_questions(monkeypatch):
    data = collection(*(6,) * 50)
    made, posed = counted(monkeypatch, Questions, "example"), counted(monkeypatch, Questions, "posed")
    decoded = counted(monkeypatch, Picture, "read")
    sampler = learned(data, 12).sampler(1)
    assert not made and not decoded  # nothing is seen until a batch is asked for
    pool = [sampler.batch(step) for step in range(16)]
    names = {one.name for batch in pool for one in batch}
    assert len(made) == len(decoded) == len(names) < 16 * 12 / 3 and posed
    assert len({id(one.seen) for batch in pool for one in batch}) == len(names)
    assert all(bool((one.seen == int(one.name[:-4])).all()) for batch in pool for one in batch)


@pytest.mark.parametrize("data", [collection(3, 40, 1, 5), Scenes()], ids=["files", "scenes"])
def test_nothing_that_can_be_learned_is_one_error(data):
    with pytest.raises(ArgumentError, match="data: expected training texts that can be learned, got none"):
        learned(data, 4, lambda answer: False).sampler(1)


def test_a_text_that_cannot_be_learned_has_no_sample():
    sampler = learned(collection(3, 5), 2).sampler(1)
    assert len(sampler.encode([5])) == 1
    with pytest.raises(ArgumentError, match="data: text 6: expected one that can be learned"):
        sampler.encode([6])


def captions():
    """Images of one, three and two captions."""
    image = torch.zeros(3, 8, 8, dtype=torch.uint8)
    texts = [("one",), ("two", "three", "four"), ("five", "six")]
    pictures = [Picture(f"{number}.png", image, number, number) for number in range(3)]
    train = [(number, (text, own)) for number, own in enumerate(texts) for text in own]
    held = [(number, (own[0], own)) for number, own in enumerate(texts)]
    return filled(FileCaptions, pictures, (8, 8), {"train": train, "validation": held, "test": held}, "")


@pytest.mark.parametrize("data", [captions(), Captions(1, 3), Captions(1, 1)], ids=["files", "scenes", "one thing"])
def test_captions_of_an_image_are_its_own(data):
    count = data.images("train") or 30
    numbers = [list(data.about("train", image)) for image in range(count)]
    assert data.size("train") is None or sorted(chain(*numbers)) == list(range(data.size("train")))
    names = []
    for own in numbers:
        examples = [data.example("train", index) for index in own]
        assert len({one.name for one in examples}) == 1 and len({one.caption for one in examples}) == len(own)
        assert set(examples[0].references) == {data.text("train", index) for index in own}
        names.append(examples[0].name)
    assert len(set(names)) == count
    assert all(list(data.about("test", image)) == [image] for image in range(data.images("test")))
    assert training_texts(data, 100, 30) == list(chain(*numbers)) or data.size("train") == 6
