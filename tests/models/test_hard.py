import itertools

import pytest
import torch
from torch.nn import functional

from models.translators import BATCH, LENGTHS, SOURCE, TARGET
from saccade import AuxRequest, look, reads
from saccade.errors import ArgumentError
from saccade.models import luong, rnnsearch, show_attend_and_tell
from saccade.models.hard import Options, TextOptions, attended, attention_options
from saccade.models.luong import Luong
from saccade.models.padded import Padded
from saccade.models.reinforce import Samples, gradient_noise
from saccade.models.rnnsearch import RNNSearch
from tiers import every, rest_slow

WANTED = TARGET.roll(-1, 1)
PAPER = {"baseline": "moving-average", "charge": "whole", "soft_share": 0.5, "entropy_bonus": 0.1}
READS = {
    "learned": {"read": "reinforce"},
    "leave-one-out": {"read": "reinforce", "baseline": "leave-one-out", "samples": 3},
    "moving-average": {"read": "reinforce", "baseline": "moving-average"},
    "as in the paper": {"read": "reinforce", **PAPER},
    "entropy": {"read": "reinforce", "samples": 2, "entropy_bonus": 0.1},
    "straight-through": {"read": "straight-through"},
}
KINDS = {
    "rnnsearch": (RNNSearch, rnnsearch.Options, {}),
    "luong": (Luong, luong.Options, {}),
    "luong, without input feeding": (Luong, luong.Options, {"input_feeding": False}),
    "luong, local-m": (Luong, luong.Options, {"attention": "local-m", "window": 1}),
}


CASES = [(list(KINDS)[place % 4], read) for place, read in enumerate([*READS, "learned", "moving-average"])]


@pytest.fixture(params=CASES, ids=", ".join)
def model(request):
    kind, options, more = KINDS[request.param[0]]
    torch.manual_seed(0)
    chosen = options(hidden_dim=10, embedding_dim=6, **more, **READS[request.param[1]])
    return kind(13, 11, chosen).double()


@pytest.mark.slow
@pytest.mark.parametrize(("baseline", "input_feeding"), [("learned", True), ("leave-one-out", False)])
def test_a_translator_has_the_expected_costs_gradient(baseline, input_feeding, monkeypatch):
    """Two sentences of two positions, two tokens and two samples each: the mean over all 256 ways to draw is exact."""
    torch.manual_seed(0)
    options = luong.Options(
        hidden_dim=3,
        embedding_dim=2,
        layers=1,
        input_feeding=input_feeding,
        read="reinforce",
        baseline=baseline,
        samples=2,
    )
    model = Luong(8, 7, options).double()
    source, lengths = torch.tensor([[4, 5], [6, 7]]), torch.tensor([2, 2])
    target, wanted = torch.tensor([[1, 4], [1, 5]]), torch.tensor([[4, 5], [5, 6]])
    learning = [p for name, p in model.named_parameters() if not name.startswith("reinforce.")]
    kept, original = [], model.reinforce.cost

    def cost(losses, samples, wanted, mean):
        kept[:] = losses, torch.cat(samples.log_prob, 1)
        return original(losses, samples, wanted, mean)

    monkeypatch.setattr(model.reinforce, "cost", cost)
    monkeypatch.setattr("saccade.models.words.linear_cross_entropies", _differentiable_losses)
    estimated = [torch.zeros_like(p) for p in learning]
    expected, total = 0.0, 0.0
    for path in itertools.product((0.0, 0.999999), repeat=8):
        steps = iter(torch.tensor(path, dtype=torch.float64).view(2, 2, 2).unbind(-1))

        def drawn(read, shape, dtype, device, path=path, steps=steps):
            uniform = next(steps) if input_feeding else torch.tensor(path, dtype=dtype).view(2, 4)
            return reads.Sample(read.estimator, uniform=uniform)

        monkeypatch.setattr(reads.Sample, "drawn", drawn)
        found = model(Padded(source, lengths), target, wanted)
        losses, log_prob = kept
        probability = log_prob.sum().exp()
        grads = torch.autograd.grad(found, learning, retain_graph=True)
        estimated = [e + probability.detach() * g for e, g in zip(estimated, grads, strict=True)]
        expected, total = expected + probability * losses.mean(), total + float(probability.detach())
    assert total == pytest.approx(1.0)
    for one, other in zip(estimated, torch.autograd.grad(expected, learning), strict=True):
        torch.testing.assert_close(one, other)


def _differentiable_losses(features, weight, bias, target, label_smoothing):
    """What each token costs with its gradient, which `linear_cross_entropies` leaves to the mean."""
    losses = functional.cross_entropy(
        features @ weight.T + bias, target, reduction="none", label_smoothing=label_smoothing
    )
    return losses.mean(), losses


def _drawn_by(monkeypatch, path):
    """Have every read draw the next of these numbers, `(steps, rows)`."""
    steps = iter(torch.tensor(path, dtype=torch.float64).unbind(0))
    monkeypatch.setattr(reads.Sample, "drawn", lambda read, *_: reads.Sample(read.estimator, uniform=next(steps)))


@pytest.mark.parametrize(
    ("charge", "entropy_bonus", "rows"),
    rest_slow([("to-come", 0.1, 1), ("whole", 0.0, 1), ("to-come", 0.1, 2)], fast=2),
)
def test_the_papers_gradient_is_the_expected_objectives(charge, entropy_bonus, rows, monkeypatch):
    """Sentences of two positions and two tokens: over all coins and all ways to draw, with a baseline of 3 nats."""
    torch.manual_seed(0)
    said = {**PAPER, "charge": charge, "entropy_bonus": entropy_bonus}
    options = rnnsearch.Options(hidden_dim=2, embedding_dim=2, read="reinforce", **said)
    model = RNNSearch(8, 7, options).double().train()
    source = Padded(torch.tensor([[4, 5], [6, 7]])[:rows], torch.full((rows,), 2))
    target, labels = torch.tensor([[1, 4], [1, 5]])[:rows], torch.tensor([[4, 5], [5, 6]])[:rows]
    learning = list(model.parameters())
    kept, original = [], model.reinforce.cost

    def cost(losses, samples, wanted, mean):
        kept[:] = losses, torch.cat(samples.log_prob, 1), samples.entropy
        model.reinforce.average.fill_(3.0)
        return original(losses, samples, wanted, mean)

    monkeypatch.setattr(model.reinforce, "cost", cost)
    monkeypatch.setattr("saccade.models.words.linear_cross_entropies", _differentiable_losses)
    estimated, objective, total = [torch.zeros_like(p) for p in learning], 0.0, 0.0
    for coins in itertools.product((False, True), repeat=rows):
        monkeypatch.setattr(model.reinforce, "_soft", lambda rows, coins=coins: torch.tensor(coins))
        for path in itertools.product((0.0, 0.999999), repeat=2 * rows):
            _drawn_by(monkeypatch, torch.tensor(path).view(2, rows, 1).tolist())
            cost = model(source, target, labels)
            losses, log_prob, entropy = kept
            probability = log_prob.sum().exp() / 2**rows
            grads = torch.autograd.grad(cost, learning, retain_graph=True)
            estimated = [e + probability.detach() * g for e, g in zip(estimated, grads, strict=True)]
            worth = losses.mean() - (entropy_bonus * torch.cat(entropy, 1).mean() if entropy_bonus else 0)
            objective, total = objective + probability * worth, total + float(probability.detach())
    assert total == pytest.approx(1.0)
    for one, other in zip(estimated, torch.autograd.grad(objective, learning), strict=True):
        torch.testing.assert_close(one, other)


def test_where_every_example_reads_the_mean_it_is_soft_attention():
    for kind, options, more in KINDS.values():
        sizes = {"hidden_dim": 10, "embedding_dim": 6, **more}
        torch.manual_seed(0)
        soft = kind(13, 11, options(**sizes)).double().train()
        said = {"baseline": "moving-average", "charge": "whole", "soft_share": 1.0}
        hard = kind(13, 11, options(**sizes, read="reinforce", **said)).double().train()
        hard.load_state_dict({**hard.state_dict(), **soft.state_dict()})
        costs = [model(BATCH, TARGET, WANTED, 0.1) for model in (soft, hard)]
        for cost in costs:
            cost.backward()
        torch.testing.assert_close(*costs, rtol=1e-12, atol=0)
        for one, other in zip(soft.parameters(), hard.parameters(), strict=True):
            torch.testing.assert_close(one.grad, other.grad, rtol=1e-10, atol=1e-12)
        assert hard.reinforce.average == 0


def test_several_samples_cost_what_their_rows_cost_alone():
    """Padded sentences, smoothed labels, three samples: as rows that were repeated by hand, with the same draws."""
    torch.manual_seed(0)
    options = rnnsearch.Options(hidden_dim=10, embedding_dim=6, read="reinforce", samples=3)
    model = RNNSearch(13, 11, options).double()
    torch.manual_seed(5)
    found = model(BATCH, TARGET, WANTED, 0.1)
    rows = torch.arange(3).repeat_interleave(3)
    single = rnnsearch.Options(hidden_dim=10, embedding_dim=6, read="straight-through")
    other = RNNSearch(13, 11, single).double()
    other.load_state_dict(
        {name: held for name, held in model.state_dict().items() if not name.startswith("reinforce.")}
    )
    torch.manual_seed(5)
    torch.testing.assert_close(found, other(Padded(SOURCE[rows], LENGTHS[rows]), TARGET[rows], WANTED[rows], 0.1))


def test_the_cost_is_of_the_draws_and_all_learns(model):
    model.train()
    torch.manual_seed(1)
    cost = model(BATCH, TARGET, WANTED, 0.1)
    assert 0 < float(cost.detach()) < 10
    cost.backward()
    assert all(p.grad is not None and bool(p.grad.abs().sum() > 0) for p in model.parameters())


def test_in_training_positions_are_drawn(model):
    """Every context is one value, not always the same one; a seed repeats it."""
    model.train()
    memory, query = model.encode(BATCH).memory, torch.randn(3, 40, 10, dtype=torch.float64)

    def drawn(seed):
        torch.manual_seed(seed)
        return model.attention(query, memory=memory)

    apart = (drawn(1)[:, :, None] - memory.value[:, None]).abs().sum(-1)
    torch.testing.assert_close(apart.amin(-1), torch.zeros(3, 40, dtype=torch.float64))
    chosen = apart.argmin(-1)
    assert all(len(set(row.tolist())) > 1 for row in chosen)
    assert bool((chosen < LENGTHS[:, None]).all())
    assert torch.equal(drawn(1), drawn(1)) and not torch.equal(drawn(1), drawn(2))


def test_elsewhere_the_likeliest_position_is_read(model):
    model.eval()
    with look.record(model) as records:
        logits = model(BATCH, TARGET)
    torch.testing.assert_close(model(BATCH, TARGET), logits, rtol=0, atol=0)
    weights = torch.cat([aux.weights for _, aux in records], -2)
    seen = model.alignment(records)
    empty = weights.sum(-1) == 0  # where a window has moved past its source
    assert torch.equal(seen.sum(-1), (~empty).double())
    assert torch.equal(seen.argmax(-1)[~empty], weights.argmax(-1)[~empty])
    memory = model.encode(BATCH).memory
    query = torch.randn(3, 2, 10, dtype=torch.float64)
    found, aux = model.attention(query, memory=memory, aux=AuxRequest(weights=True))
    rows = torch.arange(3)[:, None]
    torch.testing.assert_close(found, memory.value[rows, aux.weights.argmax(-1)])


def test_a_step_at_a_time_and_alone_it_writes_the_same(model):
    model.eval()
    whole = model(BATCH, TARGET)
    state, logits = model.encode(BATCH), []
    for token in TARGET.unbind(1):
        output, state = model.step(token, state)
        logits.append(output.dense())
    torch.testing.assert_close(torch.stack(logits, 1), whole, rtol=1e-10, atol=1e-12)
    alone = model(Padded(SOURCE[1:2, :3], LENGTHS[1:2]), TARGET[1:2])
    torch.testing.assert_close(alone[0], whole[1], rtol=1e-10, atol=1e-12)


def test_noise_is_of_the_draws_alone(model):
    torch.manual_seed(0)
    modes = [module.training for module in model.modules()]
    noise = gradient_noise(model, BATCH, TARGET, WANTED, draws=4)
    assert noise.variance > 0
    assert [module.training for module in model.modules()] == modes
    soft = RNNSearch(13, 11, rnnsearch.Options(hidden_dim=10, embedding_dim=6, dropout=0.5)).double()
    noise = gradient_noise(soft, BATCH, TARGET, WANTED, draws=3)
    assert noise.variance < 1e-20 and noise.signal > 0
    with pytest.raises(ArgumentError, match="draws"):
        gradient_noise(soft, BATCH, TARGET, WANTED, draws=1)
    for said in ({"score": "dot", "read": "straight-through"}, {"attention": "none"}):
        nothing = Luong(13, 11, luong.Options(hidden_dim=10, embedding_dim=6, **said))
        with pytest.raises(ArgumentError, match="model: expected an attention with parameters"):
            gradient_noise(nothing, BATCH, TARGET, WANTED)


@every(
    ("said", "named"),
    [
        ({"samples": 2}, "--samples"),
        ({"baseline": "leave-one-out"}, "--baseline"),
        ({"entropy_bonus": 0.1, "read": "straight-through"}, "--entropy-bonus"),
        ({"read": "reinforce", "baseline": "leave-one-out"}, "--samples"),
        ({"read": "reinforce", "samples": 0}, "--samples"),
        ({"read": "reinforce", "entropy_bonus": -1.0}, "--entropy-bonus"),
        ({"read": "reinforce", "entropy_bonus": float("nan")}, "--entropy-bonus"),
        ({"soft_share": 0.5}, "--soft-share: expected only with --read reinforce"),
        ({"reward_weight": 0.5}, "--reward-weight: expected only with --read reinforce"),
        ({"read": "reinforce", "reward_weight": 0.0}, "--reward-weight: expected a finite number above 0, got 0.0"),
        ({"read": "reinforce", "soft_share": 1.5}, "--soft-share: expected a share from 0 to 1, got 1.5"),
        ({"charge": "whole", "read": "straight-through"}, "--charge: expected only with --read reinforce"),
        ({"read": "reinforce", "charge": "mine"}, "--charge: expected to-come or whole, got mine"),
    ],
)
def test_options_that_contradict_are_refused_by_name(said, named):
    for kind in (TextOptions, rnnsearch.Options, luong.Options, show_attend_and_tell.Options):
        with pytest.raises(ArgumentError, match=named):
            kind(**said)


def test_what_is_drawn_is_kept_a_column_a_step():
    torch.manual_seed(0)
    options = rnnsearch.Options(hidden_dim=10, embedding_dim=6, read="reinforce", entropy_bonus=0.1)
    model = RNNSearch(13, 11, options).double()
    for entropies in (True, False):
        samples = Samples(entropies)
        features = model.decode(TARGET, model.encode(BATCH), samples)
        assert features.shape[:2] == TARGET.shape
        log_prob = torch.cat(samples.log_prob, 1)
        assert log_prob.shape == TARGET.shape and bool((log_prob <= 0).all())
        assert torch.cat(samples.query, 1).shape == (*TARGET.shape, 10)
        assert len(samples.entropy) == (TARGET.shape[1] if entropies else 0)
        if entropies:
            most = LENGTHS.double().log()[:, None]
            assert bool((torch.cat(samples.entropy, 1) <= most + 1e-9).all())


@pytest.mark.parametrize("beam", [1, 3])
def test_outputs_of_an_example_read_its_memory(beam):
    torch.manual_seed(0)
    model = RNNSearch(13, 11, rnnsearch.Options(hidden_dim=10, embedding_dim=6)).double().eval()
    memory, query = model.encode(BATCH).memory, torch.randn(3 * beam, 2, 10, dtype=torch.float64)
    found = attended(model.attention, query, memory)
    assert found.shape == query.shape
    for row in range(3 * beam):
        own = memory.select(torch.tensor([row // beam]))
        torch.testing.assert_close(found[row : row + 1], model.attention(query[row : row + 1], memory=own))


def test_what_attention_is_told_depends_on_the_way_to_read():
    assert attention_options(Options()) == {}
    for read in ("reinforce", "straight-through"):
        told = attention_options(Options(read=read))
        assert told["read"].estimator == read.replace("-", "_") and told["eval_read"] == reads.Argmax()


def test_without_draws_the_cost_is_the_cross_entropy():
    for said in ({"read": "reinforce"}, {"attention": "none"}):
        torch.manual_seed(0)
        model = Luong(13, 11, luong.Options(hidden_dim=10, embedding_dim=6, **said)).double().eval()
        expected = torch.nn.functional.cross_entropy(
            model(BATCH, TARGET).flatten(0, 1), WANTED.flatten(), ignore_index=0
        )
        torch.testing.assert_close(model(BATCH, TARGET, WANTED), expected)
        assert (model.attention is None) == ("attention" in said)
