"""What is written of utterances: found, ranked and aligned, each as if it were alone."""

from dataclasses import dataclass, replace

import pytest
import torch

from saccade import look, runs
from saccade.models.padded import Padded
from saccade.tasks import explaining
from saccade.tasks.generate.generate import Output
from saccade.tasks.task import Job
from saccade.tasks.transcribe import TRANSCRIBE, codec
from saccade.tasks.transcribe.codec import Utterance
from saccade.tasks.transcribe.options import Request
from saccade.tasks.transcribe.transcription import Times, Transcription, alignments_of, subject, with_ctc
from saccade.train.task import Unreadable


@dataclass(frozen=True)
class Trained:
    task: Job
    model: torch.nn.Module


@pytest.fixture(scope="module")
def trained():
    """A recognizer that has begun to learn: enough that its answers differ, too little that they are certain."""
    sizes = {"hidden_dim": 24, "embedding_dim": 8, "layers": 2, "batch_tokens": 600, "mels": 20, "seed": 2}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "_ENDLESS", 60)
        task = TRANSCRIBE.prepare(runs.options(TRANSCRIBE, "tones", "las", sizes))
    torch.manual_seed(2)
    model = task.build()
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    for step in range(25):
        optimizer.zero_grad()
        task.loss(model, task.batch(step)).total.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return Trained(task, model.eval())


@pytest.fixture(scope="module")
def utterances(trained):
    samples = trained.task.samples("test", range(8))
    return [replace(sample, number=number) for number, sample in enumerate(samples, 1)]


@pytest.fixture(autouse=True)
def inference():
    with torch.inference_mode():
        yield


def ask(trained, utterances, form="lines", **words):
    request = Request(**words)
    trained.task.check(trained.model, request)
    return trained.task.answer(trained.model, utterances, request, form)


@pytest.mark.parametrize("words", [{}, {"beam_size": 4}, {"beam_size": 3, "ctc_rescoring": 0.5}])
def test_a_batch_answers_as_each_alone(trained, utterances, words):
    few = utterances[:4]
    together = [answer.outputs[0] for answer in ask(trained, few, **words)]
    assert len({round(output.score, 4) for output in together}) > 2  # they differ, if not in their texts
    for utterance, output in zip(few, together, strict=True):
        [alone] = ask(trained, [utterance], **words)
        assert alone.outputs[0].text == output.text and alone.outputs[0].score == pytest.approx(output.score, rel=1e-4)


def test_rescoring_ranks_by_both_probabilities(trained, utterances):
    for one in utterances[:4]:
        plain, ranked = (
            ask(trained, [one], beam_size=4, nbest=4, ctc_rescoring=share)[0].outputs for share in (0.0, 0.7)
        )
        state = trained.model.encode(Padded(one.frames[None], torch.tensor([one.size])))
        expected = {}
        for output in plain:
            tokens = torch.tensor([[output.ids]]) if output.ids else torch.zeros(1, 1, 1, dtype=torch.long)
            gain = trained.model.ctc_log_probs(state, tokens, torch.tensor([[len(output.ids)]]))
            penalty = ((6 + len(output.ids)) / 6) ** 0.6  # of both alike
            expected[output.text] = 0.3 * output.score + 0.7 * float(gain) / penalty
        assert {output.text: pytest.approx(output.score, rel=1e-4) for output in ranked} == expected
        assert [output.score for output in ranked] == sorted((out.score for out in ranked), reverse=True)


def test_best_of_more_is_best_where_both_probabilities_rank(trained, utterances):
    """All that the search pursues are ranked, however few are wanted."""
    words = {"beam_size": 4, "ctc_rescoring": 0.7}
    many, one = ask(trained, utterances[:4], nbest=4, **words), ask(trained, utterances[:4], **words)
    assert [answer.lines()[:1] for answer in many] == [answer.lines() for answer in one]


@pytest.mark.parametrize("size", [1, 40])
def test_silence_can_be_ranked(trained, size):
    silence = Utterance("silence", torch.zeros(size, 20), [])
    [found] = ask(trained, [silence], beam_size=2, ctc_rescoring=0.5)
    assert found.outputs and found.outputs[0].score < 0


def test_alignments_say_when_tokens_were_said(trained, utterances):
    for answer, one in zip(ask(trained, utterances[:3], "json", nbest=2), utterances, strict=False):
        told = answer.to_json()
        assert len(told["transcriptions"]) == 2 and told["seconds"] == round(one.size * 0.01, 3)
        for text in told["transcriptions"]:
            assert len(text["weights"]) == len(text["tokens"]) and text["tokens"][-1] == "⏎"
            assert text["step_seconds"] == 0.04  # four frames
            steps = len(text["weights"][0])
            assert (steps - 1) * 0.04 < told["seconds"] <= steps * 0.04
            assert all(sum(row) == pytest.approx(1, abs=1e-4) for row in text["weights"])
        assert answer.remark.endswith("% if spread evenly") and " on sound, " in answer.remark
        assert ("of the audio" in answer.remark) == (len(told["transcriptions"][0]["tokens"]) > 2)  # its end is none


def test_alignments_are_of_the_texts_that_are_given(trained, utterances):
    found = alignments_of(trained.model, utterances[:3])
    for one, weights in zip(utterances, found, strict=False):
        assert weights.shape == (len(one.ids) + 1, -(-one.size // 4))
        torch.testing.assert_close(weights.sum(-1), torch.ones(len(weights)), atol=1e-4, rtol=0)
    assert alignments_of(trained.model, []) == []


@pytest.mark.parametrize(("frames", "expected"), [(400, 64), (1000, 32), (40_000, 1)])
def test_a_jacobian_copies_long_recordings_less_often(monkeypatch, trained, utterances, frames, expected):
    blocks = list[int]()

    def counted(features, inputs, weight, *, block):
        blocks.append(block)
        return torch.zeros(1, len(inputs))

    monkeypatch.setattr(explaining, "sequential_jacobian", counted)
    one = replace(utterances[0], frames=torch.zeros(frames, utterances[0].frames.shape[1]))
    subject(trained.model, one, Output("", [4], 0.0), 0.01).scores("jacobian")
    assert blocks == [expected]


@pytest.mark.slow
def test_a_sound_is_drawn_at_its_time(tmp_path):
    """Of a listener that remembers nothing, a tone moves the steps that are drawn where it sounds, and no other."""
    sizes = {"hidden_dim": 8, "embedding_dim": 4, "layers": 3, "pyramid": 2, "mels": 12, "seed": 1}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "_ENDLESS", 20)
        task = TRANSCRIBE.prepare(runs.options(TRANSCRIBE, "tones", "las", sizes))
    model = task.build().eval()
    for layer in model.listener.layers:
        for lstm in (layer.forwards, layer.backwards):
            lstm.weight_hh_l0.zero_()
            lstm.bias_ih_l0[8 // 2 : 8] = -1e4  # the gate that keeps what was
    rate = task.codec.signals.rate
    silence = torch.full((rate,), 1e-4)
    tone, places = silence.clone(), torch.arange(int(0.5 * rate), int(0.6 * rate))
    tone[places] += 0.5 * torch.sin(places * 0.5)
    heard = []
    for signal in (silence, tone):
        frames = task.codec.signals.logmel(signal)
        heard.append(model.listener(Padded(frames[None], torch.tensor([len(frames)]))).values[0])
    moved = (heard[0] - heard[1]).abs().amax(1) > 1e-6
    steps = moved.nonzero()[:, 0]
    begin, end = float(steps[0] * task.codec.step_seconds), float((steps[-1] + 1) * task.codec.step_seconds)
    assert 0.6 <= end + 1e-6 < 0.6 + task.codec.step_seconds
    assert 0.5 - 0.025 - task.codec.step_seconds < begin <= 0.5  # a window sees 25 ms
    weights = (moved / moved.sum()).expand(2, -1)
    figures, times = [], (len(frames) * 0.01, task.codec.step_seconds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("saccade.look._figure._saved", lambda figure, form: figures.append(figure) or b"<svg ></svg>")
        look.spectrogram(weights, frames, ["one", "⏎"], times, tmp_path / "tone")
    below, above = (axes.get_images()[0] for axes in figures[0].axes[:2])
    left, right, *_ = below.get_extent()
    assert (left, right) == (0, pytest.approx(len(moved) * task.codec.step_seconds))  # a step is as wide as its frames
    assert above.get_extent()[1] == pytest.approx(len(frames) * 0.01)


def test_draws_follow_from_the_seed_the_place_and_the_name(trained, utterances):
    words = {"sample": True, "temperature": 2.0, "nbest": 3}
    lines = [answer.lines() for answer in ask(trained, utterances, **words)]
    assert lines == [answer.lines() for answer in ask(trained, utterances, **words)]
    assert lines != [answer.lines() for answer in ask(trained, utterances, seed=9, **words)]
    assert lines[3] == ask(trained, [utterances[3]], **words)[0].lines()
    again = replace(utterances[3], number=77)
    assert lines[3] != ask(trained, [again], **words)[0].lines()  # of two files that are alike each is drawn for itself


def test_what_cannot_be_read_has_no_text_and_no_picture(tmp_path):
    answer = Transcription(Unreadable("gone.wav"), [], 2, Times(0.01, 0.04))
    assert answer.lines() == ["", ""] and answer.remark == "" and list(answer.draw(tmp_path)) == []
    assert answer.to_json() == {"file": "gone.wav", "start_seconds": 0.0, "seconds": 0.0, "transcriptions": []}


@pytest.mark.slow
def test_a_picture_is_called_as_its_file(trained, utterances, tmp_path):
    for name, stem in (("clips/Guten Tag.flac", "Guten-Tag"), ("-", "speech"), ("...", "text")):
        [answer] = ask(trained, [replace(utterances[0], name=name)], "pictures")
        names = [path.name for path in replace(answer, ctc=answer.outputs[0].weights[:1]).draw(tmp_path)]
        assert names == [f"{stem}{kind}.{form}" for kind in ("", "-ctc") for form in ("png", "svg")]


def test_ctc_is_drawn_beside_attention_where_there_is_a_text(trained, utterances):
    one = replace(utterances[0], start=12)
    answer = with_ctc(trained.model, Transcription(one, [Output("9", [4, 5], 0.0)], 1, Times(0.01, 0.04)))
    assert answer.ctc.shape == (2, -(-one.size // 4)) and bool((answer.ctc.sum(1) >= 1 - 1e-4).all())
    assert answer.to_json()["start_seconds"] == 0.12
    silent = Transcription(one, [Output("", [], 0.0)], 1, Times(0.01, 0.04))
    crowded = replace(silent, outputs=[Output("9", [4] * one.size, 0.0)])
    for other, model in ((silent, trained.model), (crowded, trained.model), (answer, torch.nn.Linear(1, 1))):
        assert with_ctc(model, replace(other, ctc=None)).ctc is None


def test_nothing_at_all_is_answered_by_nothing(trained):
    assert ask(trained, []) == [] == ask(trained, [], "pictures", beam_size=3)
