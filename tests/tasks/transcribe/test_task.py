import unicodedata
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from saccade import runs
from saccade.data.dataset import SPLITS, take
from saccade.data.objects import OBJECTS
from saccade.errors import ArgumentError
from saccade.tasks.generate import Ensemble
from saccade.tasks.text.special import UNKNOWN
from saccade.tasks.transcribe import TRANSCRIBE, codec, task
from saccade.tasks.transcribe.data.digits import DIGITS
from saccade.tasks.transcribe.options import EvalRequest, LookRequest, Request
from saccade.tasks.transcribe.task import Transcribes
from saccade.train.results import sample

ALIGNMENT = [f"alignment_{name}" for name in ("monotonicity", "coverage", "on_sound", "sound")]
SMALL = {"hidden_dim": 8, "embedding_dim": 4, "layers": 2, "batch_tokens": 300, "mels": 12, "seed": 2}


def prepared(data="tones", objects=None, **more):
    return TRANSCRIBE.prepare(runs.options(TRANSCRIBE, data, "las", {**SMALL, **more}), objects)


@pytest.fixture(scope="module")
def tones():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "_ENDLESS", 60)
        return prepared()


@pytest.fixture
def model(tones):
    return tones.build().eval()


def test_the_loss_counts_frames_and_falls_back_to_the_run(tones, model):
    batch = tones.batch(3)
    with torch.inference_mode():
        assert tones.loss(model, batch).count == int(batch.source.lengths.sum())


@pytest.mark.slow
def test_what_is_said_may_be_written_in_another_language():
    """Built-in digits in French words, and sound with texts of one's own, in another order than it was said."""
    french = prepared(language="fr")
    assert set(french.codec.target.units) == set(DIGITS["fr"])
    sound = torch.randn(4000)
    rows = {split: [(sound, "das habe ich gesehen"), (sound, "ja")] for split in ("train", "validation", "test")}
    own = prepared(OBJECTS, rows, ctc_weight=0.0, ctc_rescoring=0.0)
    for each, split in ((french, "test"), (own, "train")):
        model = each.build()
        each.loss(model, each.batch(0)).total.backward()
        with torch.inference_mode():
            [answer] = each.answer(model.eval(), [each.example(split, 0).input], None, "json")
        assert answer.lines() and answer.to_json()["transcriptions"]


@pytest.fixture(scope="module")
def voices():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "_ENDLESS", 60)
        return prepared("voices", ctc_weight=0.0)


def test_a_model_is_given_the_voice_of_an_example_and_of_no_other_recording(voices):
    model = voices.build().eval()
    model.bias.data[voices.codec.target.encode("5")] = 9.0  # it writes 5 behind any word
    samples = [voices.example("test", index).input for index in range(6)]
    with torch.inference_mode():
        outputs = voices.predictor.predict(model, samples, Request())
        assert [one.text.split()[0] for [one] in outputs] == [voices.data.example("test", n).group for n in range(6)]
        unknown = [replace(one, ids=[]) for one in samples]
        assert all(one.text.startswith("5") for [one] in voices.predictor.predict(model, unknown, Request()))
        [answer] = voices.answer(model, unknown[:1], LookRequest(prefix="high"), "pictures")
    assert answer.outputs[0].text.startswith("high 5") and len(answer.outputs[0].weights) > 2
    with pytest.raises(ArgumentError, match="--prefix: expected words that the run can write, got 'middle'"):
        voices.check(model, LookRequest(prefix="middle"))


def test_the_word_that_is_given_counts_in_no_metric(voices, monkeypatch):
    texts = [voices.data.text("test", index) for index in take(voices.data, "test", 8)]
    others = {"low": "high", "high": "low"}
    words = [text.split() for text in texts]
    swapped = [[SimpleNamespace(text=" ".join([others[voice], *digits]))] for voice, *digits in words]
    monkeypatch.setattr(Transcribes, "predict", lambda *given: swapped)
    seen = []
    monkeypatch.setattr(task, "alignment_metrics", lambda weights, sound: seen.append(len(weights)))
    monkeypatch.setattr(task, "mean_metrics", lambda runs: task.AlignmentMetrics(None, None))
    with torch.inference_mode():
        result = voices.evaluate(voices.build().eval(), "test", 8)
    assert result.metrics["wer"] == 0 and set(result.groups["wer"]) == {"low", "high"}
    assert sorted(seen) == sorted(len(text.split()) for text in texts)  # a row for each digit, and one for the end
    monkeypatch.undo()
    assert voices.baselines("test")["majority"].about.split("'")[1].replace(" ", "").isdigit()


@pytest.mark.parametrize("tokenizer", ["words", "characters"])
def test_a_right_transcript_of_decomposed_texts_is_right(tokenizer, monkeypatch):
    texts = ["cafe\u0301 no\u0308tig", "A\u030a cafe\u0301"]
    rows = {split: [(torch.randn(2000), text) for text in texts] for split in ("train", "validation", "test")}
    own = prepared(OBJECTS, rows, tokenizer=tokenizer)
    words = own.codec.target
    right = [[SimpleNamespace(text=words.decode(words.encode(unicodedata.normalize("NFC", text))))] for text in texts]
    monkeypatch.setattr(Transcribes, "predict", lambda *given: right)
    with torch.inference_mode():
        found = own.evaluate(own.build().eval(), "test").metrics
    assert (found["wer"], found["cer"], found["word_accuracy"]) == (0, 0, 1)
    assert UNKNOWN not in words.encode(texts[0])


def test_training_hears_everything_little_slower_or_faster(tones):
    plain = tones.changed(stretch=0.0)
    for step in range(3):
        one, other = (each.batch(step).source.lengths.double() for each in (tones, plain))
        shares = one / other
        assert len(one) == len(other) and bool((shares != 1).any()) and float((shares - 1).abs().max()) < 0.11


def test_an_evaluation_has_errors_and_how_alignments_run(tones, model):
    with torch.inference_mode():
        result = tones.evaluate(model, "validation", 20)
    assert set(result.metrics) == {"word_accuracy", "wer", "cer", *ALIGNMENT}
    assert result.metrics["word_accuracy"] == pytest.approx(1 - result.metrics["wer"])
    assert result.examples == 20 and result.count > 200 and result.groups == {}


def test_single_words_have_no_order_but_lie_on_sound(tones):
    sound = torch.randn(4000)
    rows = {split: [(sound, word) for word in ("yes", "no")] for split in ("train", "validation", "test")}
    words = prepared(OBJECTS, rows)
    with torch.inference_mode():
        metrics = words.evaluate(words.build().eval(), "validation").metrics
    assert "alignment_coverage" not in metrics and "alignment_monotonicity" not in metrics
    assert 0 < metrics["alignment_sound"] < 1 and 0 < metrics["alignment_on_sound"] < 1


def test_the_most_frequent_text_is_the_baseline():
    said = {"train": ["two  two", "one", "two two", "one", "no"], "validation": ["no"], "test": ["one", "one two"]}
    rows = {split: [(torch.randn(2000), text) for text in texts] for split, texts in said.items()}
    found = prepared(OBJECTS, rows).baselines("test")["majority"]
    assert found.about == "always 'one'"
    assert found.metrics == {"word_accuracy": pytest.approx(2 / 3), "wer": pytest.approx(1 / 3)}


def test_few_texts_have_a_classifier_of_time_slots_as_a_baseline(monkeypatch):
    monkeypatch.setattr(task.slots, "RECORDINGS", 6)

    def tone(text, number):
        pitch = {"low": 0.3, "high": 1.5}[text]
        return (0.5 * torch.sin(torch.arange(2000 + 100 * number) * pitch), text)

    rows = {split: [tone(text, number) for text in ("low", "high", "high") for number in range(4)] for split in SPLITS}
    words = prepared(OBJECTS, rows, rate=8000)
    found = words.baselines("test")
    assert list(found) == ["majority", "slots"] and found["slots"].metrics == {"word_accuracy": 1, "wer": 0}
    assert found["slots"].advice == "try --normalization recording --trim-db 40"
    assert found["slots"].about == "logistic regression on 10 time slots"
    rare = prepared(OBJECTS, {split: [(torch.randn(2000), split), (torch.randn(2000), "no")] for split in SPLITS})
    assert list(rare.baselines("test")) == ["majority"]


def test_a_limit_is_spread_over_a_sorted_split(monkeypatch):
    """Of recordings in folders by word the first would all be of one."""
    sound = torch.randn(4000)
    sorted_words = [(sound, word) for word in ("bed", "cat", "dog") for _ in range(10)]
    words = prepared(OBJECTS, dict.fromkeys(("train", "validation", "test"), sorted_words))
    model, heard = words.build().eval(), []
    monkeypatch.setattr(task, "_ALIGNED", 3)
    own = task.alignments_of
    monkeypatch.setattr(task, "alignments_of", lambda model, seen: heard.extend(seen) or own(model, seen))
    with torch.inference_mode():
        found = words.evaluate(model, "validation", 9)
    assert found.examples == 9 and len(heard) == 3
    said = Counter(words.data.text("validation", place) for place in take(words.data, "validation", 9))
    assert len(said) == 3 and min(said.values()) >= 2
    assert len({tuple(one.ids) for one in heard}) > 1


@pytest.mark.slow
def test_a_split_is_evaluated_part_by_part_as_a_whole(tones, model, monkeypatch):
    drawn = EvalRequest(beam_size=2)
    with torch.inference_mode():
        whole = tones.evaluate(model, "validation", 20, drawn)
        parts = replace(tones, task=replace(tones.task, at_once=7)).evaluate(model, "validation", 20, drawn)
    assert parts.metrics == pytest.approx(whole.metrics) and parts.count == whole.count and parts.examples == 20


def test_a_sample_says_how_its_alignment_runs(tones, model):
    line = sample(tones, model, 1, 60)
    assert "expected: " in line and "% on sound, " in line and "\n" not in line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"prefix": "word"}, "--prefix: expected words that the run can write, got 'word'"),
        ({"prefix": "1 2 3 4 5 6 7 8 9 1 2 3 4"}, "--prefix: expected at most 12 tokens"),
        ({"ctc_rescoring": 1.5}, "--ctc-rescoring: expected a share from 0 to 1, got 1.5"),
        ({"ctc_rescoring": 0.5}, "--ctc-rescoring: expected a --beam-size above 1, got 1"),
        ({"ctc_rescoring": 0.5, "sample": True}, "--sample: expected with --ctc-rescoring 0, as draws are not ranked"),
    ],
)
def test_what_means_nothing_here_is_refused(tones, model, words, message):
    with pytest.raises(ArgumentError, match=message):
        tones.check(model, Request(**words))


def test_ctc_ranks_where_it_was_learned_and_by_one_model(tones, model):
    ranked = Request(ctc_rescoring=0.5, beam_size=2)
    tones.check(model, ranked)
    without = tones.changed(ctc_weight=0.0)
    with pytest.raises(ArgumentError, match="--ctc-rescoring: expected a run with a --ctc-weight above 0, got 0.0"):
        without.check(model, ranked)
    with pytest.raises(ArgumentError, match="--ensemble: expected with --ctc-rescoring 0, as each model has its own"):
        tones.check(Ensemble([model, model]), ranked)
    tones.check(Ensemble([model, model]), Request(beam_size=2))
    own = tones.changed(ctc_rescoring=0.5, beam_size=2)
    own.check(model, Request())
    own.check(model, Request(sample=True, ctc_rescoring=0.0))
    bare = own.changed(ctc_weight=0.0)
    with pytest.raises(ArgumentError, match="--ctc-rescoring: expected a --ctc-weight above 0"):
        bare.build()


@pytest.mark.slow
def test_all_that_is_too_long_is_refused_and_some_is_left_out(tones, capsys):
    for change, option in (
        ({"max_seconds": 0.02}, "--max-seconds"),
        ({"max_length": 1, "max_seconds": 0.05}, "--max-seconds"),
    ):
        with pytest.raises(ArgumentError, match=f"^{option}: all of .* training utterances are longer than"):
            tones.changed(**change).batch(0)
    few = tones.changed(max_length=2, stretch=0.0)
    capsys.readouterr()
    assert all((few.batch(step).target != 0).sum(1).max() <= 4 for step in range(16))  # with begin and end
    assert capsys.readouterr().err.count("left out, longer than --max-seconds 20 or --max-length 2; so may others") == 1
    with pytest.raises(ArgumentError, match="--max-length: each training text has more than"):
        prepared(objects=[(torch.rand(800), f"one two {n}") for n in range(9)], data="objects", max_length=2)


@pytest.mark.slow
def test_what_is_beyond_the_vocabulary_is_said_to_be(capsys, monkeypatch):
    monkeypatch.setattr(codec, "_ENDLESS", 60)
    prepared(vocabulary_size=12)
    err = capsys.readouterr().err
    assert err.count("are not among the most frequent (--vocabulary-size), and cannot be written") == 1
    assert "which training has not" not in err


def test_what_was_changed_of_a_recording_is_said_once(tones, capsys):
    once = replace(tones.codec)
    recording = tones.data.example("test", 0)
    loud = type(recording)(recording.name, recording.signal, recording.text, "", ("a.wav: scaled down", "other"))
    for _ in range(2):
        once.encode([loud], "test")
    assert capsys.readouterr().err == "a.wav: scaled down; so may others be, which is not said again\n"


def test_an_output_is_bounded_by_duration_and_longest_text(tones):
    assert tones.codec.longest == 6
    assert tones.codec.limits(torch.tensor([1, 4, 11, 12, 16, 9999])).tolist() == [1, 2, 3, 4, 5, 12]


def test_members_that_do_not_suit_are_refused(tones):
    def trained(other):
        return SimpleNamespace(task=other, model=other.build(), run=SimpleNamespace(folder="runs/b"))

    words = tones.codec
    others = {
        "the features": replace(tones, codec=replace(words, signals=replace(words.signals, hop_ms=9))),
        "the tokenizer": replace(tones, codec=replace(words, target=type(words.target)(["1", "2"]))),
        r"the frames a step \(--pyramid\)": tones.changed(pyramid=tones.settings.pyramid - 1),
    }
    for what, other in others.items():
        with pytest.raises(ArgumentError, match=f"--ensemble runs/b: expected {what} of RUN, got "):
            tones.join(tones.build(), [trained(other)])
    shorter = replace(tones, codec=replace(words, longest=2))
    joined, ensemble = tones.join(tones.build(), [trained(shorter)])
    assert joined.codec.longest == 2 and len(ensemble.members) == 2
