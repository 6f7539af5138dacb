"""A mixture is the sum over its experts that its papers write down, of the tokens that there are, in any order."""

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from saccade import AuxRequest, masks, nn
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError
from saccade.nn import gating
from tiers import every

MIXTURES = {
    "top 2": lambda **more: nn.MixtureOfExperts(4, 5, 2, hidden_dim=3, **more),
    "top 1": lambda **more: nn.MixtureOfExperts(4, 7, 1, hidden_dim=3, **more),
    "plain": lambda **more: nn.MixtureOfExperts(4, 5, 2, hidden_dim=3, noise=False, **more),
    "all": lambda **more: nn.MixtureOfExperts(4, 3, 3, hidden_dim=5, **more),
    "one": lambda **more: nn.MixtureOfExperts(4, 1, 1, hidden_dim=5, **more),
    "groups": lambda **more: nn.MixtureOfExperts(4, 6, 2, groups=3, hidden_dim=3, **more),
    "groups of one": lambda **more: nn.MixtureOfExperts(4, 3, 1, groups=3, hidden_dim=3, noise=False, **more),
    "limited": lambda **more: nn.MixtureOfExperts(4, 3, 2, hidden_dim=3, capacity_factor=0.6, **more),
    "limited in order": lambda **more: nn.MixtureOfExperts(
        4, 3, 1, hidden_dim=3, capacity_factor=0.5, eval_capacity_factor=0.5, drop="order", **more
    ),
    "limited groups": lambda **more: nn.MixtureOfExperts(
        4, 4, 2, groups=2, hidden_dim=3, capacity_factor=0.6, activation=F.gelu, **more
    ),
    "experts choose": lambda **more: nn.MixtureOfExperts(4, 3, 2, hidden_dim=3, routing="experts", **more),
    "experts choose few": lambda **more: nn.MixtureOfExperts(
        4, 5, 1, hidden_dim=3, routing="experts", capacity_factor=0.7, **more
    ),
}
either = pytest.mark.parametrize(("name", "training"), [(name, n % 2 == 0) for n, name in enumerate(MIXTURES)])
ORDERLESS = [name for name in MIXTURES if name != "limited in order"]


def made(name, training=False, dtype=torch.float64):
    torch.manual_seed(1)
    mixture = MIXTURES[name](dtype=dtype).train(training)
    with torch.no_grad():
        for gate in (mixture.gate, mixture.noise_gate, mixture.group_gate, mixture.group_noise_gate):
            if gate is not None:
                gate.normal_()
    return mixture


def tokens_of(*shape, seed=3, **more):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed), **more)


def gates_of(logits, k):
    """Equation 3 of one token: its experts with their weights."""
    order = sorted(range(len(logits)), key=lambda expert: (-logits[expert].item(), expert))[:k]
    powers = [math.exp(logits[expert].item() - logits[order[0]].item()) for expert in order]
    return {expert: power / sum(powers) for expert, power in zip(order, powers, strict=True)}


def noisy(clean, spread):
    return clean if spread is None else clean + torch.randn_like(clean) * F.softplus(spread)


def chosen(mixture, x):
    """The experts of every token with their weights, by loops; noise is drawn in the order of the tokens."""

    def spread(gate, x):
        return None if gate is None or not mixture.training else x @ gate.T

    if mixture.routing == "experts":
        scores, capacity = (x @ mixture.gate.T).softmax(-1), _capacity(mixture, len(x))
        found = [{} for _ in x]
        for expert in range(mixture.num_experts):
            for token in sorted(range(len(x)), key=lambda token: -scores[token, expert].item())[:capacity]:
                found[token][expert] = scores[token, expert].item()
        return found
    if mixture.groups is None:
        logits = noisy(x @ mixture.gate.T, spread(mixture.noise_gate, x))
        return [gates_of(row, mixture.k) for row in logits]
    each = mixture.num_experts // mixture.groups
    groups = [gates_of(row, mixture.k) for row in noisy(x @ mixture.group_gate.T, spread(mixture.group_noise_gate, x))]
    pairs = [(token, group) for token, row in enumerate(groups) for group in row]
    clean = torch.stack([mixture.gate.view(-1, each, 4)[group] @ x[token] for token, group in pairs])
    wide = None
    if mixture.training and mixture.noise:
        wide = torch.stack([mixture.noise_gate.view(-1, each, 4)[group] @ x[token] for token, group in pairs])
    found = [{} for _ in x]
    for (token, group), row in zip(pairs, noisy(clean, wide), strict=True):
        for expert, weight in gates_of(row, mixture.k).items():
            found[token][group * each + expert] = groups[token][group] * weight
    return found


def _capacity(mixture, count):
    factor = mixture.capacity_factor if mixture.training else mixture.eval_capacity_factor
    pairs = mixture.k if mixture.groups is None else mixture.k**2
    return count * pairs if factor is None else math.ceil(count * Fraction(str(factor)) * pairs / mixture.num_experts)


def kept_of(mixture, found):
    """What capacity leaves of the choice, expert by expert."""
    capacity, kept = _capacity(mixture, len(found)), [{} for _ in found]
    for expert in range(mixture.num_experts):
        mine = [token for token, row in enumerate(found) if expert in row]
        if mixture.drop == "weight":
            mine.sort(key=lambda token: -found[token][expert])
        for token in mine[:capacity]:
            kept[token][expert] = found[token][expert]
    return kept


def by_loops(mixture, x):
    """Equation 1, token by token, and the weights that it was summed with."""
    found = chosen(mixture, x)
    kept = kept_of(mixture, found)
    output = torch.zeros_like(x)
    for token, row in enumerate(kept):
        for expert, weight in row.items():
            hidden = mixture.activation(x[token] @ mixture.inner[expert])
            output[token] += weight * (hidden @ mixture.outer[expert])
    return output, found, kept


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", MIXTURES)
def test_it_is_the_sum_over_experts(name, training):
    mixture, x = made(name, training), tokens_of(11, 4)
    torch.manual_seed(5)
    output, balance, aux = mixture(x, aux=AuxRequest(weights=True, received=True, top=2, index=True))
    torch.manual_seed(5)
    wanted, found, kept = by_loops(mixture, x)
    torch.testing.assert_close(output, wanted)
    weights = torch.zeros(11, mixture.num_experts, dtype=torch.float64)
    for token, row in enumerate(kept):
        for expert, weight in row.items():
            weights[token, expert] = weight
    torch.testing.assert_close(aux.weights, weights)
    torch.testing.assert_close(aux.received, weights.sum(0))
    assert aux.index.tolist() == [int(row.argmax()) if row.any() else -1 for row in weights]
    torch.testing.assert_close(aux.top[0], weights.topk(min(2, mixture.num_experts)).values)
    assert balance.taken.tolist() == (weights > 0).sum(0).tolist()
    assert balance.dropped.item() == sum(map(len, found)) - sum(map(len, kept))
    assert balance.tokens.item() == 11
    importance = [sum(row.get(expert, 0.0) for row in found) for expert in range(mixture.num_experts)]
    torch.testing.assert_close(balance.importance, torch.tensor(importance, dtype=torch.float64))


def test_capacity_is_by_option_and_counted():
    mixture, x = made("limited", True), tokens_of(30, 4)
    balance = mixture(x)[1]
    assert balance.dropped > 0 and balance.taken.max() <= math.ceil(0.6 * 30 * 2 / 3)
    assert balance.dropped + balance.taken.sum() == 60
    assert mixture.eval()(x)[1].dropped == 0


@pytest.mark.parametrize(("count", "experts", "k", "factor"), [(100, 25, 7, 1.0), (100, 2, 1, 1.1), (9, 7, 3, 1 / 3)])
def test_capacity_is_rounded_up_with_a_mask_and_without(count, experts, k, factor):
    mixture = nn.MixtureOfExperts(4, experts, k, hidden_dim=3, routing="experts", capacity_factor=factor)
    x = tokens_of(count, 4).to(torch.float32)
    output, balance = mixture(x)
    allowed, same = mixture(x, mask=torch.ones(count, dtype=torch.bool))
    capacity = math.ceil(Fraction(factor).limit_denominator(1000) * count * k / experts)
    assert balance.taken.tolist() == same.taken.tolist() == [capacity] * experts
    torch.testing.assert_close(allowed, output)


@pytest.mark.parametrize(("factor", "most"), [(1e-7, 1), (1e300, 9)])
def test_a_capacity_is_between_one_and_all(factor, most):
    mixture = nn.MixtureOfExperts(4, 3, 1, hidden_dim=3, routing="experts", capacity_factor=factor)
    taken = mixture(tokens_of(9, 4).to(torch.float32), mask=torch.ones(9, dtype=torch.bool))[1].taken
    assert taken.tolist() == [most] * 3


@pytest.mark.parametrize("name", ["top 2", "groups", "plain"])
def test_losses_are_those_of_the_paper(name):
    mixture, x = made(name, True), tokens_of(23, 4)
    balance = mixture(x)[1]
    variations = [(part.std(correction=0) / part.mean()).square().item() for part in (balance.importance, balance.load)]
    assert balance.loss.item() == pytest.approx(0.1 * variations[0] + (0.1 if mixture.noise else 0) * variations[1])
    weighed = MIXTURES["top 2"](importance_weight=0.0, load_weight=2.0, dtype=torch.float64)
    weighed.load_state_dict(made("top 2").state_dict())
    torch.manual_seed(5)
    found = weighed(x)[1]
    assert found.loss.item() == pytest.approx(2 * (found.load.std(correction=0) / found.load.mean()).square().item())


def test_the_load_of_a_hierarchy_is_equation_14():
    mixture, x = made("groups", True), tokens_of(13, 4)
    torch.manual_seed(5)
    balance = mixture(x)[1]
    torch.manual_seed(5)
    first = gating.choose(x @ mixture.group_gate.T, x @ mixture.group_noise_gate.T, 2)
    rows = [(token, int(group)) for token, row in enumerate(first.experts) for group in row]
    gates = [gate.view(3, 2, 4) for gate in (mixture.gate, mixture.noise_gate)]
    clean, spread = (torch.stack([gate[group] @ x[token] for token, group in rows]) for gate in gates)
    second = gating.choose(clean, spread, 2)
    wanted = torch.zeros(3, 2, dtype=torch.float64)
    for group in range(3):
        came = [place for place, row in enumerate(rows) if row[1] == group]
        wanted[group] = first.probability[:, group].sum() * second.probability[came].sum(0) / max(1, len(came))
    torch.testing.assert_close(balance.load, wanted.flatten())


def test_the_losses_spread_tokens():
    """Their gradient alone takes a gate that gives nearly all to one expert to one that gives all as many."""
    torch.manual_seed(0)
    mixture = nn.MixtureOfExperts(4, 8, 2, hidden_dim=2)
    x = torch.randn(200, 4) + torch.tensor([2.0, 0, 0, 0])
    with torch.no_grad():
        mixture.gate[3, 0] = 3.0
    optimizer = torch.optim.Adam([mixture.gate, mixture.noise_gate], 0.05)
    uneven = [mixture(x)[1].taken.max().item()]
    for _ in range(60):
        optimizer.zero_grad()
        mixture(x)[1].loss.backward()
        optimizer.step()
        uneven.append(mixture(x)[1].taken.max().item())
    assert uneven[0] > 190 and uneven[-1] < 80


@pytest.mark.parametrize("name", ORDERLESS)
@given(size=st.integers(0, 9), seed=st.integers(0, 99))
def test_outputs_follow_tokens_whatever_their_order(name, size, seed):
    mixture, x = made(name), tokens_of(size, 4, seed=seed)
    order = torch.randperm(size, generator=torch.Generator().manual_seed(seed))
    output, balance = mixture(x)
    other, same = mixture(x[order])
    torch.testing.assert_close(other, output[order])
    assert torch.equal(balance.taken, same.taken)


@either
@given(lengths=st.lists(st.integers(0, 4), min_size=1, max_size=3))
def test_padding_is_nothing(name, training, lengths):
    """It takes no expert, no capacity and no part in a loss, whatever stands there, and has no gradient."""
    mixture, x = made(name, training), tokens_of(len(lengths), 4, 4)
    there = torch.arange(4) < torch.tensor(lengths)[:, None]
    holes = x.masked_fill(~there[..., None], math.nan).requires_grad_()
    torch.manual_seed(2)
    output, balance, aux = mixture(holes, mask=there, aux=AuxRequest(weights=True))
    assert output.isfinite().all() and not output[~there].any() and not aux.weights[~there].any()
    (output.sum() + balance.loss).backward()
    assert not holes.grad[~there].any()
    assert all(one.grad.isfinite().all() for one in mixture.parameters() if one.grad is not None)
    torch.manual_seed(2)
    same = mixture(x, mask=masks.Lengths(torch.tensor(lengths)))
    torch.testing.assert_close(same[0], output)
    assert balance.tokens == there.sum()
    if not (training and mixture.noise):  # alone they would draw other noise
        alone, balanced = mixture(x[there])
        torch.testing.assert_close(output[there], alone)
        for part, other in zip(balance, balanced, strict=True):
            torch.testing.assert_close(part, other)


def test_masks_are_read_as_attend_reads_them():
    mixture, x, few = made("all"), tokens_of(3, 2, 5, 4), torch.tensor([[1, 5], [0, 2], [4, 3]])
    there = torch.arange(5) < few[..., None]
    wanted = mixture(x, mask=there)[0]
    for mask in (masks.Lengths(few), masks.Dense(there[..., None, :]), masks.Lengths(few) & masks.Prefix(5)):
        assert torch.equal(mixture(x, mask=mask)[0], wanted)
    row = torch.tensor([True, False, True, True, False])
    for mask in (masks.Dense(row), masks.Dense(row[None]), masks.Dense(row) & masks.Prefix(5)):
        assert torch.equal(mixture(x, mask=mask)[0], mixture(x, mask=row)[0])
    assert torch.equal(mixture(x, mask=masks.Dense(torch.tensor(True)))[0], mixture(x)[0])


def test_all_experts_are_the_dense_mixture():
    mixture, x = made("all"), tokens_of(2, 5, 4)
    outputs = torch.stack(
        [F.relu(x @ inner) @ outer for inner, outer in zip(mixture.inner, mixture.outer, strict=True)]
    )
    weights = (x @ mixture.gate.T).softmax(-1)
    torch.testing.assert_close(mixture(x)[0], (weights.movedim(-1, 0)[..., None] * outputs).sum(0))
    assert mixture.train()(x)[1].load.tolist() == [10.0] * 3  # nobody can be left out


def test_one_expert_is_that_network():
    mixture, x = made("one", True), tokens_of(2, 5, 4)
    output, balance = mixture(x)
    torch.testing.assert_close(output, F.relu(x @ mixture.inner[0]) @ mixture.outer[0])
    assert balance.loss.item() == 0.0 and balance.taken.tolist() == [10]


@either
def test_no_tokens_are_no_outputs(name, training):
    mixture = made(name, training)
    for shape in ((0, 4), (2, 0, 4), (0, 3, 4)):
        output, balance, aux = mixture(tokens_of(*shape), aux=AuxRequest(weights=True, received=True))
        assert output.shape == shape and aux.weights.shape == (*shape[:-1], mixture.num_experts)
        balance.loss.backward()
        assert balance.taken.sum() == balance.dropped == balance.tokens == 0 and balance.loss == 0


@either
def test_gradients_are_those_of_differences(name, training):
    mixture, x = made(name, training), tokens_of(2, 3, 4, requires_grad=True)
    there = torch.tensor([[True, True, True], [True, True, False]])
    parameters = dict(mixture.named_parameters())

    def run(x, *given):
        torch.manual_seed(7)
        tensors = dict(zip(parameters, given, strict=True))
        output, balance, aux = torch.func.functional_call(
            mixture, tensors, (x,), {"mask": there, "aux": AuxRequest(weights=True)}
        )
        return output, balance.loss, balance.importance, aux.weights

    assert torch.autograd.gradcheck(run, (x, *parameters.values()), fast_mode=name not in ("top 2", "groups"))


@pytest.mark.parametrize("name", MIXTURES)
def test_the_same_call_gives_the_same_bits(name):
    mixture, x = made(name, True, torch.float32), tokens_of(9, 4).float()
    found = []
    for _ in range(2):
        torch.manual_seed(4)
        mixture.zero_grad()
        output, balance = mixture(x)
        (output.square().sum() + balance.loss).backward()
        found.append([output, balance.loss, *(one.grad.clone() for one in mixture.parameters())])
    assert all(torch.equal(*pair) for pair in zip(*found, strict=True))


@pytest.mark.parametrize("name", ["top 2", "groups", "limited"])
def test_outside_training_the_others_in_a_batch_say_nothing(name):
    mixture, x = made(name), tokens_of(6, 4)
    output = mixture(x)[0]
    torch.testing.assert_close(torch.cat([mixture(one[None])[0] for one in x]), output)


def test_states_are_saved_and_loaded():
    first, second = made("groups"), MIXTURES["groups"](dtype=torch.float64).eval()
    second.load_state_dict(first.state_dict())
    torch.testing.assert_close(first(tokens_of(5, 4))[0], second(tokens_of(5, 4))[0])


def test_a_gate_begins_with_all_experts_alike():
    mixture = nn.MixtureOfExperts(8, 16, 2)
    balance = mixture(torch.randn(4000, 8))[1]
    assert balance.taken.min() > 0.7 * 500 and balance.loss < 0.01  # 500 are as many as there are on average
    assert nn.MixtureOfExperts(8, 16, 2, noise=False).gate.abs().min() > 0


def test_statistics_are_those_of_the_gate():
    mixture, x = made("top 2"), tokens_of(2, 5, 4)
    aux = mixture(x, aux=AuxRequest(entropy=True, lse=True, weights=True))[2]
    torch.testing.assert_close(aux.lse, (x @ mixture.gate.T).logsumexp(-1))
    torch.testing.assert_close(aux.entropy, torch.special.entr(aux.weights).sum(-1))


def test_half_types_choose_in_float32():
    x = torch.randn(20, 8, generator=torch.Generator().manual_seed(1))
    mixture = nn.MixtureOfExperts(8, 4, 2, noise=False, hidden_dim=16, dtype=torch.bfloat16).eval()
    output, balance, aux = mixture(x.bfloat16(), aux=AuxRequest(weights=True))
    assert output.dtype == torch.bfloat16 and aux.weights.dtype == balance.loss.dtype == torch.float32
    wide = nn.MixtureOfExperts(8, 4, 2, noise=False, hidden_dim=16).eval()
    wide.load_state_dict(mixture.state_dict())
    torch.testing.assert_close(wide(x.bfloat16().float(), aux=AuxRequest(weights=True))[2].weights, aux.weights)
    with torch.autocast("cpu", torch.bfloat16):
        assert wide(x)[0].dtype == torch.bfloat16


@pytest.mark.slow
@pytest.mark.parametrize("name", ["groups", "limited"])
def test_it_compiles(name):
    torch._dynamo.reset()
    mixture, x = made(name, dtype=torch.float32), tokens_of(2, 5, 4).float()
    there = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    compiled = torch.compile(mixture, fullgraph=True, backend="aot_eager")
    grads = []
    for call in (mixture, compiled):
        mixture.zero_grad()
        output, balance = call(x, mask=there)
        (output.square().sum() + balance.loss).backward()
        grads.append([output, *balance, *(one.grad for one in (mixture.gate, mixture.inner, mixture.outer))])
    for found, wanted in zip(*grads, strict=True):
        torch.testing.assert_close(found, wanted)


MIXTURE = nn.MixtureOfExperts(4, 6, 2)
CHOOSING = nn.MixtureOfExperts(4, 6, 2, routing="experts")
X = torch.zeros(2, 3, 4)


@every(
    ("make", "kind", "match"),
    [
        (lambda: nn.MixtureOfExperts(4, 6, 7), ArgumentError, "^k: expected at most num_experts = 6, got 7"),
        (lambda: nn.MixtureOfExperts(4, 6, 0), ArgumentError, "^k: expected an int of at least 1, got 0"),
        (lambda: nn.MixtureOfExperts(4, 0), ArgumentError, "^num_experts: expected an int of at least 1, got 0"),
        (lambda: nn.MixtureOfExperts(0, 4), ArgumentError, "^embed_dim"),
        (lambda: nn.MixtureOfExperts(4, 6, hidden_dim=0), ArgumentError, "^hidden_dim"),
        (lambda: nn.MixtureOfExperts(4, 6, groups=4), ArgumentError, "^groups: expected a divisor of num_experts = 6"),
        (lambda: nn.MixtureOfExperts(4, 6, 3, groups=3), ArgumentError, "^k: expected at most 2, .* 3 groups of 2"),
        (lambda: nn.MixtureOfExperts(4, 6, groups=3, routing="experts"), ArgumentError, "^groups: expected None"),
        (lambda: nn.MixtureOfExperts(4, 6, routing="random"), ArgumentError, "^routing: expected one of tokens, exp"),
        (lambda: nn.MixtureOfExperts(4, 6, routing="experts", noise=True), ArgumentError, "^noise: expected False"),
        (lambda: nn.MixtureOfExperts(4, 6, drop="last"), ArgumentError, "^drop: expected one of weight, order"),
        (lambda: nn.MixtureOfExperts(4, 6, capacity_factor=0), ArgumentError, "^capacity_factor: .* above 0"),
        (lambda: nn.MixtureOfExperts(4, 6, eval_capacity_factor=-1), ArgumentError, "^eval_capacity_factor"),
        (lambda: nn.MixtureOfExperts(4, 6, capacity_factor=math.inf), ArgumentError, "^capacity_factor: .* finite"),
        (lambda: nn.MixtureOfExperts(4, 6, eval_capacity_factor=math.inf), ArgumentError, "^eval_capa.* finite"),
        (lambda: nn.MixtureOfExperts(4, 6, load_weight=-1), ArgumentError, "^load_weight: expected a number of at le"),
        (lambda: nn.MixtureOfExperts(4, 6, load_weight=1, noise=False), ArgumentError, "^load_weight: expected 0 or"),
        (
            lambda: nn.MixtureOfExperts(4, 6, importance_weight=1, routing="experts"),
            ArgumentError,
            "^importance_weight: expected 0 or None",
        ),
        (lambda: nn.MixtureOfExperts(4, 6, dropout_p=2), ArgumentError, "^dropout_p"),
        (lambda: MIXTURE(torch.zeros(2, 5)), ShapeError, "^query: expected .*4"),
        (lambda: MIXTURE(X.double()), ArgumentError, "^query: expected dtype"),
        (lambda: MIXTURE(X, mask=torch.ones(2, 4, dtype=torch.bool)), ShapeError, r"^mask: .*\(2, 3\), got \(2, 4\)"),
        (lambda: MIXTURE(X, mask=torch.ones(2, 3)), ArgumentTypeError, "^mask: expected a boolean tensor"),
        (lambda: MIXTURE(X, mask=masks.Causal()), ArgumentError, "^mask: expected one of tokens alone"),
        (lambda: MIXTURE(X, mask=masks.Lengths(torch.tensor([3, -1]))), ArgumentError, "^key_len.* from 0 to Lk = 3"),
        (lambda: MIXTURE(X, mask=masks.Lengths(torch.tensor([4, 1]))), ArgumentError, "^key_len.* from 0 to Lk = 3"),
        (lambda: MIXTURE(X, mask=masks.Lengths(torch.tensor([2.5, 1.0]))), ArgumentTypeError, "^key_len.* integer"),
        (lambda: MIXTURE(X[None], mask=masks.Lengths(torch.tensor([2, 1]))), ShapeError, "^key_lengths"),
        (lambda: MIXTURE(X, mask=masks.Dense(torch.ones(2).bool())), ShapeError, r"^mask: .*\(2,\)"),
        (lambda: MIXTURE(X, aux=AuxRequest(log_prob=True)), ArgumentError, "^log_prob: expected a Sample"),
        (lambda: CHOOSING(X, aux=AuxRequest(entropy=True)), ArgumentError, "^entropy: expected routing 'tokens'"),
        (lambda: CHOOSING(X, aux=AuxRequest(lse=True)), ArgumentError, "^lse: expected routing 'tokens'"),
        (lambda: made("groups")(X.double(), aux=AuxRequest(lse=True)), ArgumentError, "^lse: expected a gate without"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(make, kind, match):
    with pytest.raises(kind, match=match) as error:
        make()
    assert "\n" not in str(error.value)


def test_top_k_is_answered_with_our_word():
    with pytest.raises(ArgumentTypeError, match="^top_k: expected an argument of MixtureOfExperts, .* k=$"):
        nn.MixtureOfExperts(4, 6, top_k=2)


@pytest.mark.parametrize("name", MIXTURES)
def test_meta_tensors_have_the_shapes_of_real_ones(name):
    with torch.device("meta"):
        mixture, tokens, lengths = MIXTURES[name](), torch.empty(3, 5, 4), torch.empty(3, dtype=torch.int64)
    output, balance, aux = mixture(tokens, mask=masks.Lengths(lengths), aux=AuxRequest(weights=True, top=1))
    experts = mixture.num_experts
    assert output.is_meta and output.shape == (3, 5, 4) and balance.taken.shape == (experts,)
    assert aux.weights.shape == (3, 5, experts) and aux.top[0].shape == (3, 5, 1) and balance.loss.shape == ()
