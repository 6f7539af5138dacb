from types import SimpleNamespace

from saccade.tasks.views import AsTraining, Few

SIZES = {"train": 7001, "validation": 5, "test": None}
DATA = SimpleNamespace(size=SIZES.get, example=lambda split, index: (split, index), note="a note")


def test_few_training_examples_are_spread_over_all():
    few = Few(DATA)
    count = few.size("train")
    assert 1500 < count <= 2000 and [few.size(split) for split in ("validation", "test")] == [5, None]
    indices = [few.example("train", index)[1] for index in range(count)]
    assert indices == list(range(0, 7001, 4)) and few.example("validation", 3) == ("validation", 3)
    assert few.note == "a note" and Few(SimpleNamespace(size=lambda split: None)).size("train") is None


def test_any_split_is_for_training():
    data = AsTraining(DATA, "validation")
    assert data.size("train") == 5 and data.example("train", 2) == ("validation", 2) and data.note == "a note"
