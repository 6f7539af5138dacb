"""Texts of samples in any batches and blocks, with weights if they are read, and requests that fit no model."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest
import torch

from saccade.errors import ArgumentError
from saccade.models.encoder_decoder import EncoderDecoder
from saccade.models.rnnsearch import Options, RNNSearch
from saccade.tasks.generate.attention import coverage
from saccade.tasks.generate.coverage import Request
from saccade.tasks.generate.generate import best_texts
from saccade.tasks.generate.predictor import Generates, evaluate, shortest
from saccade.tasks.looking import LookRequest
from saccade.tasks.text.tokenizer import Characters
from saccade.tasks.translate.codec import padded
from saccade.train.task import Evaluation, Unreadable

SIZES = Options(hidden_dim=12, embedding_dim=8)
OPTIONS = SimpleNamespace(beam_size=1, length_penalty=0.6, seed=3, label_smoothing=0.0, model="rnnsearch")


@dataclass(frozen=True)
class Sample:
    ids: list[int]
    number: int = 1
    name: str = "ids"


@dataclass(frozen=True)
class Ids:
    """A codec whose examples are lists of token ids."""

    longest: int = 4

    target, options, blank = Characters("abcd"), OPTIONS, Sample([])

    def encode(self, examples, split):
        return list(map(Sample, examples))

    def inputs(self, samples):
        return padded([sample.ids for sample in samples])

    def size(self, sample):
        return len(sample.ids) + 1 if sample.ids else 0

    def width(self, sample):
        return len(sample.ids) + 1

    def limits(self, sizes):
        return (sizes + 3).clamp(max=2 * self.longest)


class Writes(Generates):
    """The predictor, whose answers are the outputs."""

    decoded, attended, ended, request, look = 12, "the ids", True, Request, LookRequest

    def measure(self, model, blocks, size):
        blocks = list(blocks)
        groups = {block.split: dict.fromkeys(map(str, block.indices), 0.0) for block in blocks}
        examples = [example for block in blocks for example in block.examples]
        texts = {text: 1.0 for block in blocks for text in best_texts(block.outputs)}
        seconds, ids = sum(block.seconds for block in blocks), sum(map(len, examples))
        return Evaluation(texts, groups, size, len(blocks), seconds, ids)

    def baselines(self, data, split):
        return {}

    def check_look(self, model, look):
        look.check_method(model, ["attention"] * self.attends(model) + ["jacobian"], attends=self.attends(model))

    def describe(self, model, sample, outputs, count, form, look):
        return sample, outputs, count


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return RNNSearch(11, 8, SIZES).eval()


@pytest.fixture(autouse=True)
def inference():
    with torch.inference_mode():
        yield


SAMPLES = [Sample([4, 5, 6]), Sample([]), Sample([7]), Unreadable("gone"), Sample([8, 9, 10, 4, 5]), Sample([5])]


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_outputs_in_any_batches_are_those_alone(model, size, monkeypatch):
    monkeypatch.setattr(Writes, "decoded", size)
    rows = Writes(Ids()).predict(model, SAMPLES, None)
    assert [bool(outputs) for outputs in rows] == [True, False, True, False, True, True]
    for sample, outputs in zip(SAMPLES, rows, strict=True):
        if outputs:
            state, tokens, token = model.encode(padded([sample.ids])), [], torch.tensor([1])
            while len(tokens) < len(sample.ids) + 4:
                logits, state = model.step(token, state)
                scores = logits.dense().index_fill(-1, torch.tensor([0, 1, 3]), -torch.inf)  # never text
                if int(token := scores.argmax(-1)) == 2:
                    break
                tokens.append(int(token))
            assert outputs[0].ids == tokens[: 2 * 4] and outputs[0].weights is None


def test_weights_are_read_for_forms_and_rankings(model):
    predictor, samples, beta, changed = Writes(Ids()), [SAMPLES[0], SAMPLES[4]], 9.0, 0
    plain = predictor.predict(model, samples, Request(beam_size=4, nbest=4), "json")
    for sample, outputs in zip(samples, plain, strict=True):
        assert all(output.weights.shape == (len(output.ids) + 1, len(sample.ids) + 1) for output in outputs)
    for count in (1, 3):
        ranked = predictor.predict(model, samples, Request(beam_size=4, nbest=count, coverage_penalty=beta))
        for outputs, best in zip(plain, ranked, strict=True):
            scores = {tuple(output.ids): output.score + beta * coverage(output.weights) for output in outputs}
            order = sorted(scores, key=scores.get, reverse=True)[:count]
            assert [tuple(output.ids) for output in best] == order
            assert [output.score for output in best] == pytest.approx([scores[ids] for ids in order], rel=1e-4)
            changed += order != [tuple(output.ids) for output in outputs[:count]]
    assert changed


def test_answers_are_in_order_with_their_number(model):
    answers = Writes(Ids()).answer(model, SAMPLES, Request(nbest=2, beam_size=2))
    assert [sample for sample, _, _ in answers] == SAMPLES and {count for *_, count in answers} == {2}
    [(_, outputs, count)] = Writes(Ids()).answer(model, SAMPLES[:1], LookRequest(), "pictures")
    assert count == 1 == len(outputs) and outputs[0].tokens[-1] == "⏎"


def test_requests_that_fit_no_model_are_rejected(model):
    predictor, blind = Writes(Ids()), EncoderDecoder(11, 8, SIZES).eval()
    assert predictor.attends(model) and not predictor.attends(blind)
    ranked = Request(coverage_penalty=0.2, beam_size=2)
    predictor.check(model, ranked)
    with pytest.raises(ArgumentError, match="expected a model that attends to the ids, got rnnsearch"):
        predictor.check(blind, ranked)
    with pytest.raises(ArgumentError, match="--coverage-penalty: expected a --beam-size above 1, got 1"):
        predictor.check(model, Request(coverage_penalty=0.2))
    with pytest.raises(ArgumentError, match="--prefix: expected words that the run can write, got 'x'"):
        predictor.check(model, Request(prefix="x"))
    with pytest.raises(ArgumentError, match="--prefix: expected at most 8 tokens"):
        predictor.check(model, Request(prefix="a" * 9))
    with pytest.raises(ArgumentError, match="--by: expected jacobian for this run, got attention"):
        predictor.check(blind, LookRequest(by="attention"))


def test_the_loss_is_of_next_tokens_without_padding(model):
    batch = SimpleNamespace(source=padded([[4, 5], [6]]), target=torch.tensor([[1, 4, 5, 2], [1, 6, 2, 0]]))
    loss, targets = Writes(Ids()).loss(model, batch), batch.target[:, 1:]
    log_probs = model(batch.source, batch.target[:, :-1]).log_softmax(-1).gather(-1, targets[..., None])[..., 0]
    assert loss.count == 5
    torch.testing.assert_close(loss.total, -log_probs[targets != 0].mean())


@pytest.mark.parametrize(("at_once", "blocks"), [(1, 4), (3, 2), (100, 1)])
def test_a_split_in_blocks_is_the_whole(model, at_once, blocks):
    examples = [[4, 5], [6], [7, 8, 9], [4]]
    data = SimpleNamespace(example=lambda split, index: examples[index])
    job = SimpleNamespace(data=data, codec=Ids(), predictor=Writes(Ids()), at_once=at_once)
    found = evaluate(job, model, "test", range(4), None)
    assert (found.examples, found.count, found.length_ratio) == (4, blocks, 7) and found.seconds > 0
    texts = best_texts(Writes(Ids()).predict(model, list(map(Sample, examples)), None))
    assert found.metrics == dict.fromkeys(texts, 1.0)


def test_an_ensemble_writes_no_longer_than_any_member(model):
    first, second = (SimpleNamespace(codec=replace(Ids(), longest=longest)) for longest in (4, 2))
    assert shortest(first, model, [SimpleNamespace(task=second)]) == replace(Ids(), longest=2)
    assert shortest(second, model, [SimpleNamespace(task=first)]).longest == 2
    assert len(Writes(Ids()).ensemble([model, model]).members) == 2
