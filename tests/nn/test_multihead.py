import pytest
import torch

from saccade import AuxRequest, biases, masks, nn, normalizers, scores
from saccade.errors import ArgumentError
from saccade.nn.attention import SCORES
from tiers import every

F64 = torch.float64


@every("bias", [True, False])
@every("dims", [{}, {"kdim": 10, "vdim": 14}, {"kdim": 10}, {"vdim": 14}])
def test_torchs_state_gives_torchs_output(dims, bias):
    theirs = torch.nn.MultiheadAttention(24, 4, bias=bias, batch_first=True, dtype=F64, **dims)
    ours = nn.MultiheadAttention(24, 4, bias=bias, dtype=F64, **dims)
    assert ours.load_state_dict(theirs.state_dict()).missing_keys == []
    query, key, value = (
        torch.randn(2, 5, 24, dtype=F64),
        torch.randn(2, 7, dims.get("kdim", 24), dtype=F64),
        torch.randn(2, 7, dims.get("vdim", 24), dtype=F64),
    )
    padding = torch.arange(7)[None] >= torch.tensor([[7], [3]])
    want, weights = theirs(query, key, value, key_padding_mask=padding, average_attn_weights=False)
    output, aux = ours(query, key, value, mask=~padding[:, None, None], aux=AuxRequest(weights=True))
    torch.testing.assert_close((output, aux.weights), (want, weights))
    torch.testing.assert_close(ours(query, key, value, mask=masks.Lengths(torch.tensor([7, 3])[:, None])), want)
    assert ours.state_dict().keys() == theirs.state_dict().keys()


def test_torchs_gradients():
    theirs, ours = (
        torch.nn.MultiheadAttention(24, 4, batch_first=True, dtype=F64),
        nn.MultiheadAttention(24, 4, dtype=F64),
    )
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(2, 5, 24, dtype=F64)
    theirs(x, x, x)[0].square().sum().backward()
    ours(x).square().sum().backward()
    for name, parameter in theirs.named_parameters():
        torch.testing.assert_close(ours.get_parameter(name).grad, parameter.grad)


@every("groups", [1, 2, 4])
@every("score", SCORES)
def test_every_score_with_grouped_queries(score, groups):
    """Queries that share keys give what copies of these keys give."""
    module = nn.MultiheadAttention(24, 4, num_kv_heads=4 // groups, score=score, max_length=9, dtype=F64)
    x, y = torch.randn(2, 5, 24, dtype=F64), torch.randn(2, 7, 24, dtype=F64)
    output, aux = module(x, y, aux=AuxRequest(weights=True, received=True))
    shape = (2, 4) if groups == 1 else (2, 4 // groups, groups)
    assert output.shape == (2, 5, 24) and aux.weights.shape == (*shape, 5, 7) and aux.received.shape == (*shape, 7)
    full = nn.MultiheadAttention(24, 4, score=score, max_length=9, dtype=F64)
    full.out_proj.load_state_dict(module.out_proj.state_dict())
    query, key, value = module.in_proj_weight.split(module.sizes)
    copies = [part.unflatten(0, (-1, 6)).repeat_interleave(groups, 0).flatten(0, 1) for part in (key, value)]
    full.in_proj_weight.data = torch.cat((query, *copies)).detach()
    for name in module.score.tensors:
        ours = getattr(full.score, name)
        ours.data = getattr(module.score, name).detach().reshape(ours.shape)
    torch.testing.assert_close(full(x, y), output)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("kv_heads", [4, 2])
def test_decoding_with_a_cache_is_the_whole_sequence(score, kv_heads):
    module = nn.MultiheadAttention(24, 4, num_kv_heads=kv_heads, score=score, max_length=9, dtype=F64).eval()
    x = torch.randn(2, 6, 24, dtype=F64)
    slopes = torch.rand(kv_heads, *([1] if kv_heads < 4 else []), dtype=F64)
    whole = module(x, mask=masks.Causal(), bias=biases.Alibi(slopes))
    memory = module.remember(x[:, :2], capacity=4)
    for step in range(2, 6):
        memory = module.append(memory, x[:, step : step + 1])
        one = module(x[:, step : step + 1], memory=memory, mask=masks.Causal("end"), bias=biases.Alibi(slopes, "end"))
        torch.testing.assert_close(one, whole[:, step : step + 1])


def test_beams_reorder_the_cache():
    module, x, order = (
        nn.MultiheadAttention(24, 4, dtype=F64),
        torch.randn(3, 5, 24, dtype=F64),
        torch.tensor([2, 0, 0]),
    )
    memory = module.remember(x)
    query = torch.randn(3, 1, 24, dtype=F64)
    torch.testing.assert_close(module(query[order], memory=memory.select(order)), module(query, memory=memory)[order])


def test_own_normalizers_and_scores():
    module = nn.MultiheadAttention(
        24, 4, score=scores.Cosine(torch.nn.Parameter(torch.ones(4, 1, 1))), normalizer=normalizers.Sparsemax()
    )
    output, aux = module(torch.randn(2, 5, 24), aux=AuxRequest(weights=True))
    output.sum().backward()
    assert module.score.beta.grad.shape == (4, 1, 1) and torch.allclose(aux.weights.sum(-1), torch.ones(2, 4, 5))


def test_parameters_start_as_torchs_do():
    ours, theirs = nn.MultiheadAttention(64, 4), torch.nn.MultiheadAttention(64, 4)
    assert (ours.in_proj_bias == 0).all() and (ours.out_proj.bias == 0).all()
    assert abs(ours.in_proj_weight.std() - theirs.in_proj_weight.std()) < 0.005


@pytest.mark.parametrize("kv_heads", [4, 2])
def test_rotary_positions_are_seen_as_differences_alone(kv_heads):
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(16, 4, num_kv_heads=kv_heads, rotary_base=100.0, dtype=torch.double)
    x = torch.randn(2, 9, 16, dtype=torch.double)
    whole = attention(x, mask=masks.Causal())
    assert not torch.allclose(whole, attention(x.roll(1, 1), mask=masks.Causal()).roll(-1, 1), atol=1e-3)
    memory, steps = attention.remember(x[:, :2]), []
    for t in range(2, 9):
        memory = attention.append(memory, x[:, t : t + 1])
        steps.append(attention(x[:, t : t + 1], memory=memory))
    torch.testing.assert_close(torch.cat(steps, 1), whole[:, 2:])
    # one position further on, everything is the same: what is in front may not be looked at
    shifted = torch.cat([torch.zeros_like(x[:, :1]), x], 1)
    hidden = torch.ones(10, 10, dtype=torch.bool).tril()
    hidden[:, 0] = False
    torch.testing.assert_close(attention(shifted, mask=hidden)[:, 1:], whole)


def test_rotary_positions_take_pairs_of_features():
    with pytest.raises(ArgumentError, match="rotary_base.*head_dim = 3"):
        nn.MultiheadAttention(9, 3, rotary_base=100.0)
    with pytest.raises(ArgumentError, match="rotary_base"):
        nn.MultiheadAttention(8, 2, rotary_base=0.0)


def test_one_product_for_all_three_is_three():
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(16, 4, num_kv_heads=2, dtype=torch.double)
    x = torch.randn(2, 5, 16, dtype=torch.double)
    torch.testing.assert_close(attention(x), attention(x, x.clone(), x.clone()))


class Doubled(torch.nn.Module):
    """A parametrization that makes a new tensor at every access."""

    def forward(self, halved):
        return halved * 2

    def right_inverse(self, weight):
        return weight / 2


def test_a_parametrized_packed_weight_projects_every_input():
    attention, query, key = nn.MultiheadAttention(8, 2), torch.randn(1, 3, 8), torch.randn(1, 5, 8)
    expected = attention(query, key)
    torch.nn.utils.parametrize.register_parametrization(attention, "in_proj_weight", Doubled())
    torch.testing.assert_close(attention(query, key), expected)
