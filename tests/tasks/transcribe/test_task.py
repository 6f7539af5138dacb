"""What a speech run is held to: as what translates, but that it hears."""

import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from saccade.errors import ArgumentError
from saccade.tasks.generate import Decoding
from saccade.tasks.transcribe import Transcribe
from saccade.tasks.transcribe.batches import Heard
from saccade.tasks.transcribe.transcription import transcribe
from saccade.train.files import read_json
from saccade.train.run import Run
from saccade.train.trained import load_trained
from speech import record, train


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A recognizer that has begun to learn: enough that its answers differ, too little that they are certain."""
    folder = tmp_path_factory.mktemp("transcribe") / "run"
    assert train(folder, "--max-steps", 100, "--seed", 2, "--hidden-dim", 32) == 0
    return load_trained(Transcribe, Run.open(folder), torch.device("cpu"))


@pytest.fixture(scope="module")
def heard(trained):
    return [trained.task.heard(trained.task.corpus.example("test", index)) for index in range(12)]


def texts(trained, heard, count=1, **changes):
    task = replace(trained.task, settings=replace(trained.task.settings, **changes))
    with torch.inference_mode():
        return [
            [(output.text, output.score) for output in found] for found in transcribe(task, trained.model, heard, count)
        ]


@pytest.mark.parametrize("changes", [{}, {"beam_size": 4}, {"beam_size": 3, "ctc_rescoring": 0.5}])
def test_a_batch_answers_as_each_alone(trained, heard, changes):
    together = texts(trained, heard, **changes)
    assert len({round(found[0][1], 4) for found in together}) > 3  # they differ, if not in their texts
    for one, found in zip(heard, together, strict=True):
        [[(text, score)]] = texts(trained, [one], **changes)
        assert text == found[0][0] and score == pytest.approx(found[0][1], rel=1e-4)


def test_a_resumed_run_is_the_uninterrupted_one(tmp_path):
    assert train(tmp_path / "whole", "--max-steps", 8) == 0
    for steps in (4, 8):
        assert train(tmp_path / "parts", "--max-steps", steps) == 0
    one, other = (load_file(tmp_path / run / "model.safetensors") for run in ("whole", "parts"))
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_batches_are_a_function_of_their_step(trained):
    task = trained.task
    again = replace(task)
    first, second = task.batch(5), again.batch(5)
    assert torch.equal(first.frames, second.frames) and torch.equal(first.target, second.target)
    assert first.frames.shape != task.batch(6).frames.shape or not torch.equal(first.frames, task.batch(6).frames)


def test_rescoring_ranks_by_both_probabilities(trained, heard):
    task, model = replace(trained.task, settings=replace(trained.task.settings, beam_size=4)), trained.model
    shared = replace(task, settings=replace(task.settings, ctc_rescoring=0.7))
    with torch.inference_mode():
        for one in heard[:4]:
            [plain], [ranked] = (transcribe(which, model, [one], 4) for which in (task, shared))
            state = model.encode(one.frames[None], torch.tensor([one.size]))
            expected = {}
            for output in plain:
                tokens = torch.tensor([[output.ids]]) if output.ids else torch.zeros(1, 1, 1, dtype=torch.long)
                gain = model.heard(state, tokens, torch.tensor([[len(output.ids)]]))
                penalty = ((6 + len(output.ids)) / 6) ** 0.6  # of both alike
                expected[output.text] = 0.3 * output.score + 0.7 * float(gain) / penalty
            assert {output.text: pytest.approx(output.score, rel=1e-4) for output in ranked} == expected
            assert [output.score for output in ranked] == sorted((o.score for o in ranked), reverse=True)


def test_the_loss_counts_frames(trained):
    batch = trained.task.batch(3)
    with torch.inference_mode():
        assert trained.task.loss(trained.model, batch).tokens == int(batch.lengths.sum())


def test_an_evaluation_has_errors_and_the_alignments_health(trained):
    with torch.inference_mode():
        result = trained.task.evaluate(trained.model, "validation", 20)
    assert set(result.metrics) == {"word_accuracy", "wer", "cer", "alignment_monotonicity", "alignment_coverage"}
    assert result.metrics["word_accuracy"] == pytest.approx(1 - result.metrics["wer"])
    assert result.examples == 20 and result.tokens > 200 and result.groups == {}


def test_a_sample_says_how_its_alignment_runs(trained):
    with torch.inference_mode():
        line = trained.task.sample(trained.model, 60)
    assert "expected: " in line and "monotonic " in line and "of the audio" in line


def test_alignments_say_when_tokens_were_heard(trained, tmp_path):
    path = record(tmp_path / "a.wav")
    with torch.inference_mode():
        [found] = trained.task.align(trained.model, [str(path)], 1)
    [best] = json.loads(json.dumps(found))["transcriptions"]
    assert len(best["weights"]) == len(best["tokens"]) and best["tokens"][-1] == "⏎"
    steps = len(best["weights"][0])
    assert best["step_seconds"] == 0.04  # four frames
    assert (steps - 1) * 0.04 < found["seconds"] <= steps * 0.04
    assert all(sum(row) == pytest.approx(1, abs=1e-4) for row in best["weights"])


def test_a_tokenizer_that_is_damaged_is_named(trained, tmp_path):
    whole = read_json(trained.run.folder / "tokenizer.json")
    wrong = [{"rate": None}, {"dim": 39}, {"longest_target": 0}, {"longest_target": True}, {"target": {"kind": "x"}}]
    for content in ("{", "[]", *(json.dumps({**whole, **change}) for change in wrong)):
        (tmp_path / "tokenizer.json").write_text(content)
        with pytest.raises(ArgumentError, match=r"tokenizer\.json: expected"):
            Transcribe.restore(trained.options, tmp_path)


def test_what_means_nothing_to_who_hears_is_refused(trained):
    for decoding, option in (
        (Decoding(replace_unknown=True), "--replace-unknown"),
        (Decoding(coverage_penalty=0.2), "--coverage-penalty"),
        (Decoding(prefix="word"), "--prefix"),
        (Decoding(prefix="1 2 3 4 5 6 7 8 9 1 2 3 4"), "--prefix"),
    ):
        with pytest.raises(ArgumentError, match=option):
            trained.task.asked(trained.model, decoding, 1)
    assert trained.task.asked(trained.model, Decoding(prefix="1 2"), 1).prefix == trained.task.target.encode("1 2")


def test_all_that_is_too_long_is_refused(trained):
    for change, option in (
        ({"max_seconds": 0.02}, "--max-seconds"),
        ({"max_length": 1, "max_seconds": 0.05}, "--max-seconds"),
    ):
        task = replace(trained.task, settings=replace(trained.task.settings, **change))
        with pytest.raises(ArgumentError, match=option):
            task.batch(0)


def test_what_is_beyond_the_vocabulary_is_said_to_be(tmp_path, capsys):
    assert train(tmp_path / "run", "--max-steps", 2, "--vocabulary-size", 12) == 0
    err = capsys.readouterr().err
    assert err.count("are not among the most frequent (--vocabulary-size), and cannot be written") == 1
    assert "which training has not" not in err


def test_a_split_is_evaluated_part_by_part_as_a_whole(trained, monkeypatch):
    from saccade.tasks.transcribe import evaluation

    with torch.inference_mode():
        whole = trained.task.evaluate(trained.model, "validation", 20)
        monkeypatch.setattr(evaluation, "_AT_ONCE", 7)
        parts = trained.task.evaluate(trained.model, "validation", 20)
    assert parts.metrics == pytest.approx(whole.metrics) and parts.tokens == whole.tokens and parts.examples == 20


def test_silence_can_be_ranked(trained, tmp_path):
    task = replace(trained.task, settings=replace(trained.task.settings, beam_size=2, ctc_rescoring=0.5))
    with torch.inference_mode():
        for size in (1, 40):
            [found] = transcribe(task, trained.model, [Heard("silence", torch.zeros(size, 40), [])])
            assert found and found[0].score < 0
