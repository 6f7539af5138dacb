"""Answers written word by word: their cost and its gradient, words one by one and all at once, several true answers."""

import itertools
import math

import pytest
import torch
from torch.nn import functional as F

from models.laws import parameters_that_learn, the_same_state
from models.test_answerers import KINDS, QUESTION, READS, images, made
from saccade import reads
from saccade.models.generative import Answers, GenerativeAnswerer, State
from saccade.models.image_encoder import FeatureEncoder, ImageEncoder, Visual
from saccade.models.padded import Padded
from tiers import every

WORDS = 9
IDS = torch.tensor([[1, 4, 5, 2], [1, 7, 2, 0], [1, 8, 2, 0], [1, 6, 6, 2]])
WANTED = Answers(IDS, torch.tensor([0, 1, 1, 2]), torch.tensor([1.0, 0.25, 0.75, 1.0]))


def writer(name, **more):
    return GenerativeAnswerer(made(name, **more), WORDS, 5)


@pytest.fixture(params=KINDS)
def name(request):
    return request.param


def log_prob(model, visual, question, row, ids):
    """Of the words of one answer, one after another."""
    one = Visual(visual.values[row : row + 1]), Padded(question.values[row : row + 1], question.lengths[row : row + 1])
    state, total = model.encode(one), 0.0
    for before, after in itertools.pairwise(ids):
        logits, state = model.step(torch.tensor([before]), state)
        total = total + logits.dense().log_softmax(-1)[0, after]
    return total


def test_the_cost_is_the_mean_of_true_answers_logs(name):
    model = writer(name).double().eval()
    visual = Visual(images().values.double())
    each = [
        (row, share, log_prob(model, visual, QUESTION, row, [number for number in ids if number or number == 1]))
        for ids, row, share in zip(IDS.tolist(), WANTED.rows.tolist(), WANTED.shares.tolist(), strict=True)
    ]
    expected = -sum(share * found for _, share, found in each) / 3
    torch.testing.assert_close(model.cost(visual, QUESTION, WANTED), expected, rtol=0, atol=1e-12)
    smooth = model.cost(visual, QUESTION, WANTED, 0.1)
    assert smooth.item() != pytest.approx(expected.item())


def test_words_at_once_are_words_one_by_one(name):
    model = writer(name).double().eval()
    asked = Visual(images().values.double()), QUESTION
    target = torch.tensor([[1, 4, 5], [1, 7, 7], [1, 8, 3]])
    together, state = model(asked, target), model.encode(asked)
    for place in range(3):
        logits, state = model.step(target[:, place], state)
        torch.testing.assert_close(logits.dense(), together[:, place], rtol=0, atol=1e-12)
    rows = torch.tensor([[1, 1], [0, 2]])
    assert torch.equal(State(torch.arange(3.0)[:, None]).select(rows, None).hidden[:, 0], torch.tensor([1.0, 1, 0, 2]))


def test_every_parameter_learns_and_is_saved(name):
    model = writer(name, dropout=0.2)
    parameters_that_learn(model, model.cost(images(), QUESTION, WANTED, 0.1))
    the_same_state(writer(name), writer(name))
    assert model.attends == model.answerer.attends and model.reading == model.answerer.reading


@pytest.mark.slow
def test_it_learns_a_few_answers_of_several_words():
    torch.manual_seed(0)
    kind, options, sizes = KINDS["show-and-answer"]
    chosen = options(**{**sizes, "dropout": 0.0})
    model = GenerativeAnswerer(kind(ImageEncoder(3, chosen), 11, 16, chosen), WORDS, 16)
    dark_and_bright = images(2).values * torch.tensor([0.1, 1.0]).view(2, 1, 1, 1)
    visual = Visual(dark_and_bright[[0, 0, 1, 1]])
    question = Padded(torch.tensor([[4, 5], [6, 7], [4, 5], [6, 7]]), torch.full((4,), 2))
    wanted = Answers(IDS, torch.arange(4), torch.ones(4))
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(300):
        optimizer.zero_grad()
        cost = model.cost(visual, question, wanted)
        cost.backward()
        optimizer.step()
    assert cost.item() < 0.3
    found = model((visual, question), IDS[:, :-1]).argmax(-1)
    assert torch.equal(torch.where(IDS[:, 1:] > 0, found, 0), IDS[:, 1:])


@every("read", READS)
def test_hard_reads_learn_by_words_too(read):
    model = writer("ask-attend-and-answer", **READS[read])
    model.cost(images(), QUESTION, WANTED).backward()
    assert any(bool(p.grad.abs().sum() > 0) for name, p in model.named_parameters() if "encoder" in name)
    looked = model.eval().look(images(), QUESTION)
    assert sorted(set(looked.weights.flatten().tolist())) == [0.0, 1.0]
    torch.testing.assert_close(model.encode((images(), QUESTION)).hidden, looked.logits.tanh())


def test_hard_reads_have_the_expected_costs_gradient(monkeypatch):
    """One question, two cells, two reads and two samples: the mean over all 16 ways to draw is exact."""
    hard = {"read": "reinforce", "baseline": "leave-one-out", "samples": 2}
    model = writer("ask-attend-and-answer", encoder=FeatureEncoder(3, 5), **hard).double()
    for part in model.modules():  # what is standardized over a batch mixes draws
        if isinstance(part, torch.nn.BatchNorm1d):
            part.eval()
    visual = Visual(torch.rand(1, 2, 3, dtype=torch.float64), torch.rand(1, 2, 4, dtype=torch.float64))
    question = Padded(QUESTION.values[:1], QUESTION.lengths[:1])
    wanted = Answers(IDS[:2], torch.zeros(2, dtype=torch.long), torch.tensor([0.25, 0.75]))
    inner, kept = model.answerer, {}
    learning = [p for name, p in model.named_parameters() if "reinforce" not in name]
    charged = inner.reinforce.charged

    def keep(following, samples, left):
        kept["log_prob"] = torch.cat(samples.log_prob, 1)
        return charged(following, samples, left)

    monkeypatch.setattr(inner.reinforce, "charged", keep)
    answers = inner.answers

    def answered(*given):
        kept["known"] = answers(*given)
        return kept["known"]

    monkeypatch.setattr(inner, "answers", answered)
    estimated, expected, total = [torch.zeros_like(p) for p in learning], 0.0, 0.0
    for path in itertools.product((0.0, 0.999999), repeat=4):
        numbers = iter(path)

        def drawn(read, shape, dtype, device, numbers=numbers):
            uniform = torch.tensor([next(numbers) for _ in range(math.prod(shape))], dtype=dtype)
            return reads.Sample(read.estimator, uniform=uniform.view(shape))

        monkeypatch.setattr(reads.Sample, "drawn", drawn)
        found = model.cost(visual, question, wanted)
        probability, hidden = kept["log_prob"].sum().exp(), kept["known"][0].tanh()
        mean = 0.0
        for begun, (ids, share) in itertools.product(hidden, zip(IDS[:2], wanted.shares.double(), strict=True)):
            logits = model.words(model.decode(ids[None, :-1], State(begun[None])))[0]
            mean = mean + share * F.cross_entropy(logits, ids[1:], ignore_index=0, reduction="sum") / 2
        grads = torch.autograd.grad(found, learning, retain_graph=True, allow_unused=True)
        pairs = zip(estimated, grads, strict=True)
        estimated = [e if g is None else e + probability.detach() * g for e, g in pairs]
        expected, total = expected + probability * mean, total + float(probability.detach())
    assert total == pytest.approx(1.0)
    for one, other in zip(estimated, torch.autograd.grad(expected, learning, allow_unused=True), strict=True):
        torch.testing.assert_close(one, torch.zeros_like(one) if other is None else other)
