"""What holds of every model that answers questions about images, and of each that reads cells hard."""

import itertools

import pytest
import torch
from torch.nn import functional as F

from models.laws import parameters_that_learn, the_same_state
from saccade import look, reads
from saccade.errors import ArgumentError
from saccade.models import (
    ask_attend_and_answer,
    attention_lstm,
    image_only,
    question_only,
    show_and_answer,
    show_ask_attend_and_answer,
)
from saccade.models.ask_attend_and_answer import AskAttendAndAnswer, Bag
from saccade.models.attention_lstm import AttentionLSTM
from saccade.models.image_encoder import FeatureEncoder, ImageEncoder, Visual
from saccade.models.image_only import ImageOnly
from saccade.models.padded import Padded
from saccade.models.question_only import QuestionOnly
from saccade.models.show_and_answer import ShowAndAnswer
from saccade.models.show_ask_attend_and_answer import ShowAskAttendAndAnswer
from saccade.models.standardized import Standardized
from tiers import every

SEES = {"widths": "4,6", "stem_stride": 4, "cell_dim": 5}
KINDS = {
    "ask-attend-and-answer": (AskAttendAndAnswer, ask_attend_and_answer.Options, {**SEES, "hidden_dim": 6}),
    "of a bag": (AskAttendAndAnswer, ask_attend_and_answer.Options, {**SEES, "hidden_dim": 6, "question": "bag"}),
    "show-ask-attend-and-answer": (
        ShowAskAttendAndAnswer,
        show_ask_attend_and_answer.Options,
        {**SEES, "hidden_dim": 6, "embedding_dim": 4, "classifier_dim": 8, "glimpses": 2},
    ),
    "attention-lstm": (
        AttentionLSTM,
        attention_lstm.Options,
        {**SEES, "hidden_dim": 5, "embedding_dim": 4, "classifier_dim": 8},
    ),
    "show-and-answer": (ShowAndAnswer, show_and_answer.Options, {**SEES, "hidden_dim": 6, "embedding_dim": 4}),
    "question-only": (QuestionOnly, question_only.Options, {"hidden_dim": 6, "embedding_dim": 4}),
    "image-only": (ImageOnly, image_only.Options, {**SEES, "hidden_dim": 6}),
}
ATTENDING = [name for name, (kind, *_) in KINDS.items() if kind.attends]
HARD = [name for name in ATTENDING if hasattr(KINDS[name][1](), "read")]  # that read one cell, if asked to
READS = {
    "learned": {"read": "reinforce"},
    "leave-one-out": {"read": "reinforce", "baseline": "leave-one-out", "samples": 3},
    "moving-average": {"read": "reinforce", "baseline": "moving-average", "soft_share": 0.5},
    "entropy": {"read": "reinforce", "samples": 2, "entropy_bonus": 0.1},
    "straight-through": {"read": "straight-through"},
}
QUESTION = Padded(torch.tensor([[4, 5, 6, 7], [6, 8, 0, 0], [9, 4, 5, 0]]), torch.tensor([4, 2, 3]))
WANTED = F.one_hot(torch.tensor([1, 4, 0]), 5).float()


def made(name, *, encoder=None, **more):
    torch.manual_seed(0)
    kind, options, sizes = KINDS[name]
    chosen = options(**{**sizes, **more})
    return kind(encoder or (None if kind is QuestionOnly else ImageEncoder(3, chosen)), 11, 5, chosen)


def images(count=3, side=24):
    return Visual(torch.rand(count, 3, side, side + 8, generator=torch.Generator().manual_seed(1)))


@pytest.fixture(params=KINDS)
def name(request):
    return request.param


@pytest.mark.slow
def test_every_model_learns_a_few_answers(name):
    model = made(name)
    # Two questions about two images, with an answer that one of them alone does not tell, but of a model that is blind.
    visual = Visual(images(2).values[[0, 0, 1, 1]])
    question = Padded(torch.tensor([[4, 5], [6, 7], [4, 5], [6, 7]]), torch.full((4,), 2))
    numbers = {"question-only": [0, 1, 0, 1], "image-only": [0, 0, 1, 1]}.get(name, [0, 1, 2, 0])
    wanted, optimizer = F.one_hot(torch.tensor(numbers), 5).float(), torch.optim.Adam(model.parameters(), 0.02)
    for _ in range(90):
        optimizer.zero_grad()
        cost = model.cost(visual, question, wanted)
        cost.backward()
        optimizer.step()
    assert model(visual, question).argmax(-1).tolist() == numbers and cost.item() < 0.2


def test_one_row_is_standardized_by_the_running_statistics():
    torch.manual_seed(2)
    one, plain = Standardized(3), torch.nn.BatchNorm1d(3)
    for _ in range(5):
        many = torch.randn(4, 2, 3) * 2 + 1
        torch.testing.assert_close(one(many).flatten(0, 1), plain(many.flatten(0, 1)))
    with torch.no_grad():
        one.norm.weight.copy_(torch.tensor([1.0, 2.0, 3.0]))
        one.norm.bias.fill_(0.5)
    before = {name: value.clone() for name, value in one.state_dict().items()}
    row = torch.randn(1, 1, 3, requires_grad=True)
    found = one(row)
    deviation = (plain.running_var + plain.eps).sqrt()
    expected = (row - plain.running_mean) / deviation * torch.tensor([1.0, 2.0, 3.0]) + 0.5
    torch.testing.assert_close(found, expected)
    assert torch.equal(one.eval()(row), found)
    assert all(torch.equal(value, before[name]) for name, value in one.state_dict().items())
    found.sum().backward()
    torch.testing.assert_close(row.grad[0, 0], torch.tensor([1.0, 2.0, 3.0]) / deviation)


def test_every_parameter_learns_and_gradients_are_finite(name):
    model = made(name, dropout=0.2)
    cost = model.cost(images(), QUESTION, WANTED, 0.1)
    parameters_that_learn(model, cost)
    assert all(bool(p.grad.isfinite().all()) for p in model.parameters())


def test_an_answer_is_the_same_alone_and_in_a_batch(name):
    model, visual = made(name).double().eval(), Visual(images().values.double())
    together = model(visual, QUESTION)
    longer = torch.cat([torch.where(QUESTION.within, QUESTION.values, 3), torch.full((3, 2), 9)], 1)
    torch.testing.assert_close(model(visual, Padded(longer, QUESTION.lengths)), together, rtol=0, atol=1e-12)
    for row, length in enumerate(QUESTION.lengths.tolist()):
        alone = Padded(QUESTION.values[row : row + 1, :length], QUESTION.lengths[row : row + 1])
        found = model(Visual(visual.values[row : row + 1]), alone)
        torch.testing.assert_close(found[0], together[row], rtol=0, atol=1e-12)


@every("kind", [name for name in KINDS if name != "question-only"])
def test_padding_of_regions_changes_nothing(kind):
    model = made(kind, encoder=FeatureEncoder(7, 5)).double().eval()
    values, boxes = torch.rand(3, 4, 7, dtype=torch.float64), torch.rand(3, 4, 4, dtype=torch.float64)
    lengths = torch.tensor([4, 2, 3])
    together = model(Visual(values, boxes, lengths), QUESTION)
    looked = model.look(Visual(values, boxes, lengths), QUESTION)
    torch.testing.assert_close(looked.logits, together, rtol=0, atol=1e-12)
    assert looked.shape is None
    assert looked.weights is None or bool((looked.weights[1, :, 2:] == 0).all())
    noise = torch.where((torch.arange(4) < lengths[:, None])[..., None], values, 1e3)
    torch.testing.assert_close(model(Visual(noise, boxes, lengths), QUESTION), together, rtol=0, atol=1e-12)


def test_an_image_of_several_questions_is_one_image_each(name):
    model, index = made(name).double().eval(), torch.tensor([1, 0, 1])
    two = Visual(images(2).values.double())
    once, each = (model(visual, QUESTION) for visual in (two._replace(about=index), Visual(two.values[index])))
    torch.testing.assert_close(once, each)
    features = torch.rand(2, 6, 7, dtype=torch.float64), torch.rand(2, 6, 4, dtype=torch.float64), torch.tensor([6, 4])
    encoder = FeatureEncoder(7, 5).double()
    cells, alone = encoder(Visual(*features, index)), encoder(Visual(*(part[index] for part in features)))
    torch.testing.assert_close(cells.values, alone.values)
    assert cells.lengths.tolist() == alone.lengths.tolist() == [4, 6, 4]


def test_the_same_state_answers_the_same(name):
    the_same_state(made(name), made(name))


@pytest.mark.parametrize("kind", HARD)
def test_weights_are_shares_of_cells_and_are_recorded(kind):
    model = made(kind).eval()
    looked = model.look(images(), QUESTION)
    assert looked.shape == (3, 4) and looked.weights.shape == (3, 2, 12)
    torch.testing.assert_close(looked.weights.sum(-1), torch.ones(3, 2))
    with look.record(model, detach=True, required=False) as records:
        model(images(), QUESTION)
    recorded = torch.cat([aux.weights.reshape(3, -1, 12) for _, aux in records], 1)
    torch.testing.assert_close(recorded, looked.weights)


def test_every_word_reads_cells_and_padding_reads_none():
    model = made("attention-lstm").eval()
    looked = model.look(images(), QUESTION)
    assert looked.shape == (3, 4) and looked.weights.shape == (3, 5, 12) and looked.words is None
    words, mean = looked.weights[:, :4], looked.weights[:, 4]
    torch.testing.assert_close(words.sum(-1), QUESTION.within.float())
    torch.testing.assert_close(mean, words.sum(1) / QUESTION.lengths[:, None])
    with look.record(model, detach=True, required=False) as records:
        model(images(), QUESTION)
    [(_, aux)] = records
    torch.testing.assert_close(aux.weights * QUESTION.within[..., None], words)


def test_what_words_find_is_standardized_over_words_that_are_there():
    model = made("attention-lstm")
    found, within = torch.randn(3, 4, 5), QUESTION.within
    noise = torch.where(within[..., None], found, 1e3)
    standardized = model._standardized(noise, within)
    rows = found[within]
    expected = (rows - rows.mean(0)) / (rows.var(0, unbiased=False) + 1e-5).sqrt()
    torch.testing.assert_close(standardized[within], expected)
    assert bool((standardized[~within] == 0).all())


def test_words_share_out_the_first_hop():
    looked = made("ask-attend-and-answer").eval().look(images(), QUESTION)
    torch.testing.assert_close(looked.words.sum(1), torch.ones(3))
    assert bool((looked.words[~QUESTION.within] == 0).all())
    assert made("show-ask-attend-and-answer").eval().look(images(), QUESTION).words is None


@every("normalizer", ["sparsemax", "entmax"])
@every("kind", ATTENDING)
def test_sparse_weights_are_shares_of_few_cells(kind, normalizer):
    soft, sparse = made(kind), made(kind, normalizer=normalizer)
    for model in (soft, sparse):
        with torch.no_grad():
            model.encoder.place.weight.mul_(8)  # so that scores lie far apart
            if kind not in HARD:
                model.attention.query_projection.weight.mul_(20)
    sparse.eval().load_state_dict(soft.eval().state_dict())  # a normalizer has no weights
    weights = sparse.look(images(), QUESTION).weights
    whole = torch.cat([QUESTION.within, torch.ones(3, 1, dtype=torch.bool)], 1)  # of a model that reads at each word
    torch.testing.assert_close(weights.sum(-1), (whole if kind not in HARD else torch.ones(weights.shape[:2])).float())
    assert 0 < int((weights > 0).sum()) < int((soft.look(images(), QUESTION).weights > 0).sum())
    sparse.train().cost(images(), QUESTION, WANTED).backward()
    assert all(p.grad is None or bool(p.grad.isfinite().all()) for p in sparse.parameters())


@every(("kind", "read"), list(itertools.product(HARD, READS)))
def test_hard_reads_read_one_cell_and_learn(kind, read):
    model = made(kind, **READS[read])
    model.cost(images(), QUESTION, WANTED).backward()
    assert all(p.grad is None or bool(p.grad.isfinite().all()) for p in model.parameters())
    assert any(bool(p.grad.abs().sum() > 0) for name, p in model.named_parameters() if "encoder" in name)
    looked = model.eval().look(images(), QUESTION)
    assert sorted(set(looked.weights.flatten().tolist())) == [0.0, 1.0]
    torch.testing.assert_close(looked.logits, model(images(), QUESTION))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "baseline"), list(zip(HARD, ["learned", "leave-one-out", "moving-average"], strict=True))
)
def test_hard_reads_have_the_expected_costs_gradient(kind, baseline, monkeypatch):
    """Two questions, two cells, two reads and two samples each: the mean over all 256 ways to draw is exact."""
    model = made(kind, encoder=FeatureEncoder(3, 5), read="reinforce", baseline=baseline, samples=2).double()
    for part in model.modules():  # what is standardized over a batch mixes draws, which none of them is charged with
        if isinstance(part, torch.nn.BatchNorm1d):
            part.eval()
    if baseline == "moving-average":
        model.reinforce.eval().average.fill_(1.5)  # the same for all ways
    visual = Visual(torch.rand(2, 2, 3, dtype=torch.float64), torch.rand(2, 2, 4, dtype=torch.float64))
    question, wanted = Padded(QUESTION.values[:2], QUESTION.lengths[:2]), WANTED[:2].double()
    learning = [p for name, p in model.named_parameters() if not name.startswith("reinforce.")]
    kept, charged, answers = {}, model.reinforce.charged, model.answers

    def keep(following, samples, left):
        kept["log_prob"] = torch.cat(samples.log_prob, 1)
        return charged(following, samples, left)

    def answered(*given):
        kept["logits"] = answers(*given)
        return kept["logits"]

    monkeypatch.setattr(model.reinforce, "charged", keep)
    monkeypatch.setattr(model, "answers", answered)
    estimated, expected, total = [torch.zeros_like(p) for p in learning], 0.0, 0.0
    for path in itertools.product((0.0, 0.999999), repeat=8):
        numbers = iter(path)

        def drawn(read, shape, dtype, device, numbers=numbers):
            uniform = torch.tensor([next(numbers) for _ in range(torch.Size(shape).numel())], dtype=dtype)
            return reads.Sample(read.estimator, uniform=uniform.view(shape))

        monkeypatch.setattr(reads.Sample, "drawn", drawn)
        found = model.cost(visual, question, wanted)
        probability = kept["log_prob"].sum().exp()
        mean = F.cross_entropy(kept["logits"].flatten(0, 1), wanted.repeat_interleave(2, 0))
        assert float(mean.detach()) == pytest.approx(float(found.detach()), abs=1e-9)
        grads = torch.autograd.grad(found, learning, retain_graph=True, allow_unused=True)
        pairs = zip(estimated, grads, strict=True)
        estimated = [e if g is None else e + probability.detach() * g for e, g in pairs]
        expected, total = expected + probability * mean, total + float(probability.detach())
    assert total == pytest.approx(1.0)
    for one, other in zip(estimated, torch.autograd.grad(expected, learning, allow_unused=True), strict=True):
        torch.testing.assert_close(one, torch.zeros_like(one) if other is None else other)


def test_a_bag_counts_each_word_once_and_no_padding():
    bag = Bag(4)
    with torch.no_grad():
        bag.weight.copy_(torch.arange(32.0))
    vectors = torch.ones(1, 40, 4)
    assert bag(Padded(vectors[:, :3], torch.tensor([2])))[0, 0].item() == 1.0  # 0 and 1, and no 2
    assert bag(Padded(vectors, torch.tensor([40])))[0, 0].item() == sum(range(32)) + 8 * 31  # the last weight goes on


@every(
    ("options", "more", "said"),
    [
        (show_ask_attend_and_answer.Options, {"glimpses": 0}, "--glimpses: expected"),
        (show_ask_attend_and_answer.Options, {"samples": 2}, "--samples: expected only with --read reinforce"),
        (attention_lstm.Options, {"normalizer": "relu"}, "--normalizer: expected one of softmax, sparsemax, entmax"),
        (show_and_answer.Options, {"classifier_dim": 0}, "--classifier-dim: expected"),
        (ask_attend_and_answer.Options, {"question": "gru"}, "--question: expected lstm or bag, got gru"),
        (ask_attend_and_answer.Options, {"hidden_dim": 0}, "--hidden-dim: expected"),
        (question_only.Options, {"dropout": 1.0}, "--dropout: expected"),
        (image_only.Options, {"widths": "x"}, "--widths: expected"),
    ],
)
def test_sizes_that_mean_nothing_are_refused(options, more, said):
    with pytest.raises(ArgumentError) as caught:
        options(**more)
    assert said in str(caught.value)
