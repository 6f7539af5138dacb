import pytest
import torch
from torch.nn.functional import layer_norm, rms_norm, scaled_dot_product_attention

from saccade import AuxRequest, biases, masks, nn, normalizers, reads, scores
from saccade.errors import ArgumentError, UnsupportedBackend
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


SIZES = {"head_dim": 6, "value_head_dim": 5, "output_dim": 11}


def plain(module, x, norm=None, gated=None):
    """Projections, SDPA of each head, gate and output, written out for a module without grouped queries."""
    query, key, value = torch.nn.functional.linear(x, module.in_proj_weight, module.in_proj_bias).split(
        module.sizes, -1
    )
    query, key, value = (part.unflatten(-1, (module.num_heads, -1)).transpose(1, 2) for part in (query, key, value))
    if norm is not None:
        query, key = norm(query, module.query_norm), norm(key, module.key_norm)
    read = scaled_dot_product_attention(query, key, value).transpose(1, 2)
    if gated is not None:
        read = gated(read, torch.sigmoid(x @ module.gate_proj.weight.mT + module.gate_proj.bias))
    return module.out_proj(read.flatten(-2))


NORMS = {
    "rms": lambda x, norm: rms_norm(x, x.shape[-1:], norm.weight, 1e-6),
    "layer": lambda x, norm: layer_norm(x, x.shape[-1:], norm.weight, norm.bias, 1e-6),
}
GATES = {
    "elementwise": lambda read, gate: read * gate.view(read.shape),
    "headwise": lambda read, gate: read * gate[..., None],
}


def spread(module):
    """The module with no parameter at a value that hides it."""
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    return module


def same_with_gradients(module, found, want, x):
    upstream, leaves = torch.randn_like(want), (x, *module.parameters())
    torch.testing.assert_close(found, want)
    for new, old in zip(
        torch.autograd.grad(found, leaves, upstream), torch.autograd.grad(want, leaves, upstream), strict=True
    ):
        torch.testing.assert_close(new, old)


@pytest.mark.parametrize("sizes", [{"head_dim": 6}, {"value_head_dim": 5}, {"output_dim": 11}, SIZES], ids=str)
def test_sizes_of_their_own(sizes):
    module = spread(nn.MultiheadAttention(12, 3, dtype=F64, **sizes))
    x = torch.randn(2, 5, 12, dtype=F64, requires_grad=True)
    assert module(x).shape == (2, 5, sizes.get("output_dim", 12))
    same_with_gradients(module, module(x), plain(module, x), x)


def test_heads_that_do_not_divide_the_features():
    module = nn.MultiheadAttention(10, 3, head_dim=4, num_kv_heads=1, kdim=7, vdim=9, value_head_dim=2)
    query, key, value = torch.randn(2, 5, 10), torch.randn(2, 6, 7), torch.randn(2, 6, 9)
    output, aux = module(query, key, value, aux=AuxRequest(weights=True))
    assert output.shape == (2, 5, 10) and aux.weights.shape == (2, 1, 3, 5, 6)
    with pytest.raises(
        ArgumentError, match="num_heads: expected a divisor of embed_dim = 10, got 3. Change it, or pass head_dim="
    ):
        nn.MultiheadAttention(10, 3)


@pytest.mark.parametrize("kind", NORMS)
def test_normalized_queries_and_keys(kind):
    module = spread(nn.MultiheadAttention(12, 3, dtype=F64, qk_norm=kind, **SIZES))
    x = torch.randn(2, 5, 12, dtype=F64, requires_grad=True)
    same_with_gradients(module, module(x), plain(module, x, norm=NORMS[kind]), x)


@pytest.mark.parametrize("kind", GATES)
def test_gates_before_the_output(kind):
    module = spread(nn.MultiheadAttention(12, 3, dtype=F64, output_gate=kind, **SIZES))
    x = torch.randn(2, 5, 12, dtype=F64, requires_grad=True)
    same_with_gradients(module, module(x), plain(module, x, gated=GATES[kind]), x)


@pytest.mark.parametrize("kv_heads", [4, 2])
def test_a_cache_with_all_of_them_is_the_whole_sequence(kv_heads):
    options = {**SIZES, "rotary_base": 100.0, "qk_norm": "rms", "output_gate": "headwise", "add_bias_kv": True}
    module = spread(nn.MultiheadAttention(12, 4, num_kv_heads=kv_heads, dtype=F64, **options))
    x = torch.randn(2, 6, 12, dtype=F64)
    memory, steps = module.remember(x[:, :2]), []
    for t in range(2, 6):
        memory = module.append(memory, x[:, t : t + 1])
        steps.append(module(x[:, t : t + 1], memory=memory))
    torch.testing.assert_close(torch.cat(steps, 1), module(x, mask=masks.Causal())[:, 2:])


def test_lengths_of_keys_are_what_rms_takes_away():
    module = nn.MultiheadAttention(8, 2, qk_norm="rms", bias=False, dtype=F64)
    x = torch.randn(1, 4, 8, dtype=F64)
    weights = [module(scale * x, aux=AuxRequest(weights=True))[1].weights for scale in (1, 1000)]
    torch.testing.assert_close(*weights, atol=1e-4, rtol=0)


def test_reads_of_the_module_and_of_a_call():
    module = nn.MultiheadAttention(8, 2, read=reads.Argmax(), dtype=F64)
    x = torch.randn(1, 4, 8, dtype=F64)
    output, aux = module(x, aux=AuxRequest(index=True))
    value = module._project(2, x)
    picked = value.gather(-2, aux.index[..., None].expand(*aux.index.shape, 4))
    torch.testing.assert_close(output, module.out_proj(picked.transpose(1, 2).flatten(-2)))
    soft = nn.MultiheadAttention(8, 2, dtype=F64)
    soft.load_state_dict(module.state_dict())
    torch.testing.assert_close(module(x, read=reads.Soft()), soft(x))
    torch.testing.assert_close(soft(x, memory=soft.remember(x), read=reads.Argmax()), output)
    evaluated = nn.MultiheadAttention(8, 2, eval_read=reads.Argmax(), dtype=F64)
    evaluated.load_state_dict(module.state_dict())
    torch.testing.assert_close(evaluated(x), soft(x))
    torch.testing.assert_close(evaluated.eval()(x), output)
    torch.testing.assert_close(evaluated(x, read=reads.Soft()), soft(x))
    with pytest.raises(TypeError, match="read"):
        nn.MultiheadAttention(8, 2, eval_read="argmax")


def test_a_backend_by_name_serves_or_says_why_not():
    module, x = nn.MultiheadAttention(8, 2, backend="sdpa"), torch.randn(1, 4, 8)
    torch.testing.assert_close(module(x), module(x, memory=module.remember(x)))
    with pytest.raises(UnsupportedBackend, match="sdpa"):
        module(x, aux=AuxRequest(weights=True))
    with pytest.raises(ArgumentError, match="backend: expected a name"):
        nn.MultiheadAttention(8, 2, backend=None)


EXTRA = [{"add_bias_kv": True}, {"add_zero_attn": True}, {"add_bias_kv": True, "add_zero_attn": True}]


def pair(**options):
    """torch's module and ours with its state, and inputs of both."""
    theirs = torch.nn.MultiheadAttention(24, 4, batch_first=True, dtype=F64, **options)
    ours = nn.MultiheadAttention(24, 4, dtype=F64, **options)
    ours.load_state_dict(theirs.state_dict())
    sizes = (5, 24), (7, options.get("kdim", 24)), (7, options.get("vdim", 24))
    return theirs, ours, [torch.randn(2, *size, dtype=F64, requires_grad=True) for size in sizes]


@pytest.mark.parametrize("dims", [{}, {"kdim": 10, "vdim": 14}], ids=str)
@pytest.mark.parametrize("extra", EXTRA, ids=str)
def test_torchs_output_weights_and_gradients(extra, dims):
    theirs, ours, inputs = pair(**extra, **dims)
    padding = torch.arange(7)[None] >= torch.tensor([[7], [0]])  # the second example has no keys but the module's
    want, weights = theirs(*inputs, key_padding_mask=padding, average_attn_weights=False)
    output, aux = ours(*inputs, mask=~padding[:, None, None], aux=AuxRequest(weights=True))
    torch.testing.assert_close((output, aux.weights), (want, weights[..., :7]))
    assert aux.lse is None
    upstream = torch.randn_like(want)
    leaves, mine = (*inputs, *theirs.parameters()), (*inputs, *ours.parameters())
    for old, new in zip(
        torch.autograd.grad(want, leaves, upstream), torch.autograd.grad(output, mine, upstream), strict=True
    ):
        torch.testing.assert_close(new, old)


@pytest.mark.parametrize("extra", EXTRA, ids=str)
def test_a_causal_mask_and_every_backend(extra):
    theirs, ours, (x, *_) = pair(**extra)
    want = theirs(x, x, x, attn_mask=torch.ones(5, 5, dtype=torch.bool).triu(1))[0]
    for backend in ("auto", "cpu", "chunked", "reference"):
        ours.backend = backend
        torch.testing.assert_close(ours(x, mask=masks.Causal()), want)


@pytest.mark.parametrize("extra", EXTRA, ids=str)
@pytest.mark.parametrize("kv_heads", [4, 2])
def test_a_cache_knows_nothing_of_them(extra, kv_heads):
    ours = nn.MultiheadAttention(24, 4, num_kv_heads=kv_heads, dtype=F64, score="general", **extra)
    x = torch.randn(2, 6, 24, dtype=F64)
    memory = ours.append(ours.remember(x[:, :4]), x[:, 4:])
    assert len(memory) == 6
    torch.testing.assert_close(ours(x, memory=memory), ours(x))


def test_a_sink_and_a_temperature_beside_them():
    ours = nn.MultiheadAttention(8, 2, dtype=F64, add_zero_attn=True, normalizer=normalizers.Softmax(0.5, sink=0.3))
    sinks = nn.MultiheadAttention(
        8,
        2,
        dtype=F64,
        normalizer=normalizers.Softmax(0.5, sink=torch.tensor([0.0, 0.3], dtype=F64).logsumexp(0).item()),
    )
    sinks.load_state_dict(ours.state_dict())
    x = torch.randn(2, 6, 8, dtype=F64)
    torch.testing.assert_close(ours(x), sinks(x))


@pytest.mark.slow
def test_dropout_drops_them_too():
    torch.manual_seed(0)
    ours = nn.MultiheadAttention(8, 2, dtype=F64, add_bias_kv=True, dropout_p=0.5)
    x = torch.randn(1, 3, 8, dtype=F64)
    mean = torch.stack([ours(x) for _ in range(2000)]).mean(0)
    torch.testing.assert_close(mean, ours.eval()(x), atol=0.1, rtol=0)
    assert not torch.equal(ours.train()(x), ours(x))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "location", "max_length": 9}, "add_zero_attn: expected a score of saccade.scores.*scores.Location"),
        ({"score": lambda q, k: q @ k.mT}, "add_zero_attn: expected a score of saccade.scores.*a callable"),
        ({"normalizer": normalizers.Sparsemax()}, "add_zero_attn: expected normalizers.Softmax, got Sparsemax"),
        ({"read": reads.Argmax()}, "add_zero_attn: expected reads.Soft, got Argmax"),
    ],
    ids=["location", "callable", "sparsemax", "argmax"],
)
def test_what_they_mean_nothing_to(options, message):
    with pytest.raises(ArgumentError, match=message):
        nn.MultiheadAttention(8, 2, add_zero_attn=True, **options)


def test_a_read_of_one_call_is_asked_too():
    with pytest.raises(ArgumentError, match=r"add_bias_kv: expected reads.Soft, got TopK"):
        nn.MultiheadAttention(8, 2, add_bias_kv=True, score=scores.Dot())(torch.zeros(1, 3, 8), read=reads.TopK(2))
