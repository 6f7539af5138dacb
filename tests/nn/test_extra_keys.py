"""Keys of the module's own, against torch's `add_bias_kv` and `add_zero_attn`."""

import pytest
import torch

from saccade import AuxRequest, masks, nn, normalizers, reads, scores
from saccade.errors import ArgumentError

F64 = torch.float64
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
