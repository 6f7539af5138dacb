from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from saccade import runs
from saccade.data.dataset import Lazy, take
from saccade.errors import ArgumentError, SaccadeError
from saccade.tasks.task import Job
from saccade.tasks.text.bpe import BytePairs
from saccade.tasks.text.special import UNKNOWN
from saccade.tasks.text.tokenizer import Characters
from saccade.tasks.translate import TRANSLATE, codec
from saccade.tasks.translate.codec import Pairs
from saccade.tasks.translate.data import dates
from saccade.tasks.translate.options import Request
from tiers import every

PAIRS = BytePairs.learn(["ein Mann fährt Fahrrad", "der Mann sieht ein Fahrrad"] * 5, 400)
SMALL = {"hidden_dim": 8, "embedding_dim": 6, "batch_tokens": 300, "max_steps": 2, "warmup_steps": 2, "threads": 1}
SIDES = {"source": "de", "target": "en", "label_smoothing": 0.0, "schedule": "constant"}


def task_of(model="rnnsearch", tokenizer="characters", **more):
    settings = runs.options(TRANSLATE, "dates", model, {"hidden_dim": 8, "tokenizer": tokenizer, **more})
    if tokenizer == "bpe":
        codec = Pairs(PAIRS, PAIRS, 10, settings)
    else:
        codec = Pairs(Characters("0123456789. abc"), Characters("-0123456789"), 5, settings)
    return Job(TRANSLATE, codec, Lazy(lambda: None))


def corpus(folder, count=60, words=1):
    """A folder of three splits of "satz ..." and "Sentence ...", of one word or of up to so many."""
    folder.mkdir()
    for split, size in (("train", count), ("val", 24), ("test", 12)):
        for side, word in (("de", "satz"), ("en", "Sentence")):
            lines = (" ".join([f"{word} {n}"] * (1 + n % words)) + "\n" for n in range(size))
            (folder / f"{split}.{side}").write_text("".join(lines))
    return folder


def prepared(data, model="rnnsearch", **more):
    return TRANSLATE.prepare(runs.options(TRANSLATE, str(data), model, {**SMALL, **SIDES, **more}))


@every(
    ("task", "words", "message"),
    [
        (task_of(tokenizer="bpe"), {"replace_unknown": True}, "got --tokenizer bpe, whose tokens can write any text"),
        (task_of("encoder-decoder"), {"replace_unknown": True}, "attends to the source, got encoder-decoder"),
        (
            task_of("encoder-decoder"),
            {"coverage_penalty": 0.2, "beam_size": 2},
            "attends to the source, got encoder-decoder",
        ),
        (task_of(), {"coverage_penalty": 0.2}, "--coverage-penalty: expected a --beam-size above 1, got 1"),
        (task_of(), {"prefix": "2025-x1"}, "--prefix: expected characters that the run can write, got 'x'"),
        (task_of(), {"prefix": "1" * 11}, "--prefix: expected at most 10 tokens, as many as .* have, got 11"),
    ],
)
def test_what_means_nothing_here_is_refused(task, words, message):
    with pytest.raises(ArgumentError, match=message):
        task.check(task.build().eval(), Request(**words))


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (task_of(beam_size=2), {"coverage_penalty": 0.2, "replace_unknown": True, "min_length": 3, "prefix": "2025"}),
        (task_of(), {"coverage_penalty": 0.2, "nbest": 2}),
        (task_of("encoder-decoder"), {"sample": True, "prefix": "1", "min_length": 100}),
    ],
)
def test_what_means_something_is_taken(task, words):
    task.check(task.build().eval(), Request(**words))


def trained(task, name="runs/b"):
    return SimpleNamespace(task=task, model=task.build(), run=SimpleNamespace(folder=Path(name)))


def test_runs_of_other_tokens_are_no_ensemble():
    task, joint = task_of(), task_of(tokenizer="bpe")
    words = task.codec
    for changed, side in ((replace(words, source=Characters("a")), "source"), (replace(words, target=PAIRS), "target")):
        other, size = replace(task, codec=changed), len(getattr(changed, side))
        expected = f"--ensemble runs/b: expected the {side} tokenizer of RUN, got another, of {size} tokens"
        with pytest.raises(ArgumentError, match=expected):
            task.join(task.build(), [trained(task), trained(other)])
    with pytest.raises(ArgumentError, match="source tokenizer"):
        joint.join(joint.build(), [trained(task)])
    with pytest.raises(ArgumentError, match="expected a run of translate, got one of sing"):
        task.join(task.build(), [trained(SimpleNamespace(name="sing", build=task.build))])


def test_an_ensemble_takes_what_every_member_takes():
    task, model = task_of(), task_of().build()
    other = replace(task, codec=replace(task.codec, longest=3)).changed(max_length=50)
    joined, ensemble = task.join(model, [trained(other), trained(task_of("transformer", heads=2))])
    assert (joined.settings.max_length, joined.codec.longest, joined.codec.most) == (50, 3, 200)
    assert ensemble.members[0] is model and len(ensemble.members) == 3


def test_an_output_is_bounded_by_source_and_target():
    task = task_of(tokenizer="bpe")
    assert task.codec.limits(torch.tensor([1, 3, 4, 99])).tolist() == [13, 19, 20, 20]


def test_dates_are_measured_by_language(monkeypatch):
    monkeypatch.setattr(codec, "_ENDLESS", 300)
    task = TRANSLATE.prepare(runs.options(TRANSLATE, "dates", "rnnsearch", {"hidden_dim": 8}))
    with torch.inference_mode():
        result = task.evaluate(task.build().eval(), "validation", 40)
    assert result.examples == 40 and set(result.groups["exact_match"]) == set(dates.LANGUAGES.values())
    assert "French" in result.groups["exact_match"] and task.headline == "exact_match"


class Perfect(torch.nn.Module):
    """Writes the target whose number is in the source."""

    def __init__(self, task, split):
        super().__init__()
        self.anchor, words = torch.nn.Parameter(torch.zeros(1)), task.codec
        pairs = [task.data.example(split, index) for index in range(task.data.size(split))]
        self.targets = {
            tuple(words.source.encode(pair.source)): [*words.target.encode(pair.target), 2] for pair in pairs
        }
        self.size = len(words.target)

    def encode(self, source):
        rows = zip(source.values.tolist(), source.lengths.tolist(), strict=True)
        return Place([self.targets[tuple(ids[: length - 1])] for ids, length in rows], 0)

    def step(self, token, state):
        logits = torch.full((len(token), self.size), -50.0)
        for row, target in enumerate(state.targets):
            logits[row, target[min(state.place, len(target) - 1)]] = 50.0
        return logits, Place(state.targets, state.place + 1)


class Place:
    def __init__(self, targets, place):
        self.targets, self.place = targets, place

    def select(self, rows, examples):
        return Place([self.targets[index] for index in rows.flatten().tolist()], self.place)


def test_files_have_signed_scores_by_length(tmp_path):
    task = prepared(corpus(tmp_path / "c", words=6))
    with torch.inference_mode():
        found = task.evaluate(Perfect(task, "test"), "test")
        poor = task.evaluate(task.build().eval(), "validation", 5)
    assert list(found.metrics) == ["bleu", "bleu_lowercase", "chrf"] and task.headline == "bleu"
    for metric in found.metrics.values():
        assert metric["score"] == pytest.approx(100) and "nrefs:1" in metric["signature"]
    assert "case:lc" in found.metrics["bleu_lowercase"]["signature"]
    assert list(found.groups["bleu"]) == ["1-10", "11-20"] and found.examples == 12
    assert found.groups["bleu"]["11-20"] == pytest.approx(100)  # of fewer than four words there is no BLEU
    assert poor.examples == 5 and poor.metrics["bleu"]["score"] < 50


@pytest.mark.parametrize("tokenizer", ["bpe", "characters", "words"])
def test_a_right_translation_of_decomposed_texts_is_right(tokenizer, tmp_path):
    data = corpus(tmp_path / "c")
    for path in data.iterdir():
        lines = [f"cafe\u0301 A\u030a {line} bad\n" for line in path.read_text().splitlines()]
        path.write_text("".join(lines))
    task = prepared(data, tokenizer=tokenizer)
    with torch.inference_mode():
        found = task.evaluate(Perfect(task, "test"), "test")
    assert found.metrics["bleu"]["score"] == pytest.approx(100) == found.metrics["chrf"]["score"]
    words = task.codec.target
    assert words.encode("cafe\u0301") == words.encode("caf\u00e9") and UNKNOWN not in words.encode("cafe\u0301")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of a corpus of one's own, and the corpus; both may be moved, and are."""
    place = tmp_path_factory.mktemp("translate")
    data = corpus(place / "corpus")
    return runs.train("translate", data=data, run=place / "run", **SMALL, **SIDES), data


def test_a_corpus_is_known_by_contents_and_direction(run, capsys):
    trained, data = run
    words = trained.task.codec
    assert words.joint and words.source.decode(words.source.encode("satz 3")) == "satz 3"
    moved = data.rename(data.with_name("moved"))
    capsys.readouterr()
    again = runs.train("translate", data=moved, run=trained.folder, **{**SMALL, **SIDES, "max_steps": 3})
    assert again.results["steps"] == 3 and len(again.predict(["satz 3", ""])) == 2
    turned = {**SIDES, "source": "en", "target": "de"}
    with pytest.raises(SaccadeError, match="this run was made with --"):
        runs.train("translate", data=moved, run=trained.folder, **SMALL, **turned)
    (moved / "train.en").write_text("other\n" * 60)
    with pytest.raises(SaccadeError, match="this run was made with --data "):
        runs.train("translate", data=moved, run=trained.folder, **SMALL, **SIDES)


def test_what_is_left_out_is_said(tmp_path, capsys):
    data = corpus(tmp_path / "corpus")
    (data / "train.de").write_text("\n" + "satz\n" * 58 + "satz " * 300 + "\n")
    prepared(data)
    err = capsys.readouterr().err
    assert err.count("left out 1 of 60 pairs, which have a blank side; the first is row 1 of ") == 1
    assert err.count("1 of 59 training pairs looked at have a side of more than 200 tokens") == 1


def test_a_source_that_is_too_long_is_named_by_its_place_in_the_split(tmp_path, capsys, monkeypatch):
    task = prepared(corpus(tmp_path / "talks"))
    model = task.build().eval()
    monkeypatch.setattr(Pairs, "most", 1)
    for limit in (None, 3):
        capsys.readouterr()
        task.evaluate(model, "validation", limit)
        named = [f"validation, pair {index + 1}: longer than" for index in take(task.data, "validation", limit)]
        err = capsys.readouterr().err.splitlines()
        assert len(err) == len(named) and all(map(str.startswith, err, named))


def test_pairs_that_are_too_long_are_left_out_of_batches(tmp_path):
    data = corpus(tmp_path / "corpus")
    (data / "train.de").write_text("\n".join("satz " * (1 + number % 10) for number in range(60)) + "\n")
    task = prepared(data, tokenizer="characters", max_length=20, batch_tokens=100)
    sizes = {int(length) - 1 for step in range(32) for length in task.batch(step).source.lengths}  # without their end
    assert sizes == {4, 9, 14, 19}
    few = task.changed(max_length=3)
    with pytest.raises(ArgumentError, match="--max-length: all of 60 training pairs have a side of more than 3 tokens"):
        few.batch(0)
    with pytest.raises(ArgumentError, match="--max-length: each training pair has a side of more than 3 tokens"):
        prepared(data, tokenizer="characters", max_length=3)
