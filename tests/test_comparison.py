"""Every cell of the README's comparison: a call of each library on a CPU, or its signature."""

import inspect
import re
from functools import partial
from pathlib import Path

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import AuxRequest as FlexRequest
from torch.nn.attention.flex_attention import flex_attention
from torch.nn.functional import scaled_dot_product_attention as sdpa
from torch.profiler import profile

from saccade import AuxRequest, attend, normalizers, reads, scores

pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")
README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
HEADER, _, *LINES = re.findall(r"^\|.*", README.partition("## Beside other libraries\n")[2].partition("\n## ")[0], re.M)
COLUMNS = [name.strip() for name in HEADER.strip("|").split("|")][1:]
TABLE = {(row := [cell.strip() for cell in line.strip("|").split("|")])[0]: row[1:] for line in LINES}
LENGTH = 512
EMPTY = torch.tensor([True, True, False, True])[:, None].expand(4, 5)  # query 2 may attend to nothing


@pytest.fixture
def entmax():
    return pytest.importorskip("entmax", reason="entmax is not installed")


@pytest.fixture
def x():
    return pytest.importorskip("x_transformers", reason="x-transformers is not installed")


def cells(row):
    return dict(zip(COLUMNS, TABLE[row], strict=True))


def draw(*lengths, size=8):
    lengths = lengths or (4, 5, 5)
    return [torch.randn(1, 2, length, size, requires_grad=True) for length in lengths]


def takes(function, word):
    return any(word in name for name in inspect.signature(function).parameters)


def near(left, right):
    return torch.allclose(left, right, atol=1e-5)


def plain(query, key, value, weights=torch.softmax):
    return weights(query @ key.mT / query.shape[-1] ** 0.5, -1) @ value


def trains(attention, *tensors):
    """Whether all the tensors get a gradient."""
    try:
        gradients = torch.autograd.grad(attention().square().sum(), tensors)
    except NotImplementedError:  # FlexAttention does not support backward on CPU
        return False
    return all(bool(gradient.abs().sum() > 0) for gradient in gradients)


def largest(function):
    """The largest allocation of a call, in bytes; the first call compiles kernels."""
    function()
    with profile(profile_memory=True) as profiled:
        function()
    return max(event.self_cpu_memory_usage for event in profiled.events())


def lays_out(function):
    """Whether a call ever holds as many numbers as the full matrix has."""
    return largest(function) >= 4 * LENGTH * LENGTH


def second(attention, query, key, value):
    """A derivative of the square of a first one."""
    (first,) = torch.autograd.grad(attention(query, key, value).sin().sum(), query, create_graph=True)
    return torch.autograd.grad(first.square().sum(), key)[0]


def test_the_table_has_all_libraries_and_rows():
    assert COLUMNS == ["Saccade", "SDPA", "FlexAttention", "x-transformers", "entmax"]
    tests = [name for name in globals() if name.startswith("test_row_")]
    assert len(TABLE) == 11 and all(len(row) == 5 for row in TABLE.values())
    assert len(tests) + 1 == len(TABLE)  # a test of two rows: additive scores and any score


@pytest.mark.parametrize("row", ["additive score, trained", "any score in Python, trained"])
def test_row_scores(row, x):
    query, key, value = draw()
    v = torch.randn(8, requires_grad=True)

    def score(q, k):
        pairs = q[..., :, None, :] + k[..., None, :, :]
        return (torch.tanh(pairs) if row.startswith("additive") else pairs.abs()) @ v

    def mod(_, batch, head, i, j):
        pair = query.detach()[batch, head, i] + key.detach()[batch, head, j]
        return ((torch.tanh(pair) if row.startswith("additive") else pair.abs()) * v).sum()

    expected = score(query, key).softmax(-1) @ value
    used = scores.Additive(v) if row.startswith("additive") else score
    assert near(attend(query, key, value, score=used), expected)
    assert trains(lambda: attend(query, key, value, score=used), query, key, value, v)
    assert near(flex_attention(query.detach(), key.detach(), value.detach(), score_mod=mod), expected)
    assert not trains(lambda: flex_attention(query, key, value, score_mod=mod), query, key, value, v)
    assert not any(takes(function, "score") for function in (torch.nn.MultiheadAttention, x.attend.Attend))
    assert "score" not in sdpa.__doc__.partition("->")[0]
    assert list(cells(row).values()) == ["yes", "no", "forward only", "no", "–"]


def test_row_sparsemax(x, entmax):
    query, key, value = draw()
    expected = plain(query, key, value, entmax.sparsemax)
    assert near(attend(query, key, value, normalizer=normalizers.Sparsemax()), expected)
    assert not takes(flex_attention, "normalizer") and not takes(flex_attention, "softmax")
    with pytest.raises(TypeError):
        sdpa(query, key, value, normalizer=entmax.sparsemax)
    assert not takes(x.attend.Attend, "sparsemax")
    used = x.attend.Attend(custom_attn_fn=lambda scores, **_: entmax.sparsemax(scores, dim=-1))
    assert near(used(query, key, value)[0], expected)
    assert list(cells("sparsemax").values()) == ["yes", "no", "no", "your function", "yes"]


def test_row_hard_read(x):
    query, key, value = draw()
    expected = value.gather(-2, (query @ key.mT).argmax(-1)[..., None].expand(*query.shape[:-1], 8))
    ours = attend(query, key, value, read=reads.Argmax(estimator="straight_through"))
    theirs = x.attend.Attend(hard=True)(query, key, value)[0]
    assert near(ours, expected) and near(theirs, expected)
    assert trains(lambda: ours, query, key, value) and trains(lambda: theirs, query, key, value)
    assert not any(takes(flex_attention, word) for word in ("hard", "read", "sample"))
    with pytest.raises(TypeError):
        sdpa(query, key, value, hard=True)
    assert list(cells("hard read with a gradient").values()) == ["yes", "no", "no", "yes", "no"]


def test_row_empty_rows(x, entmax):
    query, key, value = (tensor.detach() for tensor in draw())
    flex = flex_attention(query, key, value, score_mod=lambda s, b, h, i, j: torch.where(EMPTY[i, j], s, -torch.inf))
    theirs = x.attend.Attend()(query, key, value, mask=EMPTY[None, None])[0]
    for output in (attend(query, key, value, mask=EMPTY), sdpa(query, key, value, attn_mask=EMPTY), flex, theirs):
        assert bool((output[..., 2, :] == 0).all()) and bool((output[..., 1, :] != 0).all())
    smallest = torch.full((1, 5), torch.finfo(torch.float32).min)
    assert near(entmax.sparsemax(smallest), torch.full((1, 5), 0.2))
    assert list(cells("a row with nothing allowed gives zeros").values()) == ["yes", "yes", "yes", "yes", "no"]


def test_row_learned_bias(x):
    query, key, value = draw()
    bias = torch.randn(2, 4, 5, requires_grad=True)
    inputs = (query, key, value, bias)
    assert trains(lambda: attend(query, key, value, bias=bias), *inputs)
    assert trains(lambda: sdpa(query, key, value, attn_mask=bias), *inputs)
    assert trains(lambda: x.attend.Attend()(query, key, value, attn_bias=bias)[0], *inputs)
    flex = partial(flex_attention, score_mod=lambda score, batch, head, i, j: score + bias[head, i, j])
    assert not trains(lambda: flex(query, key, value), *inputs)
    assert list(cells("learned tensor bias, trained").values()) == ["yes", "yes", "no", "yes", "–"]


def test_row_weights(x, entmax):
    query, key, value = draw()
    expected = torch.softmax(query @ key.mT / 8**0.5, -1)
    ours = attend(query, key, value, aux=AuxRequest(weights=True))[1].weights
    theirs = x.attend.Attend()(query, key, value)[1].post_softmax_attn
    assert near(ours, expected) and near(theirs, expected)
    assert trains(lambda: ours, query, key) and trains(lambda: theirs, query, key)
    assert trains(lambda: entmax.sparsemax(query @ key.mT, dim=-1), query, key)
    assert "weight" not in sdpa.__doc__.partition("->")[0]
    assert takes(flex_attention, "return_aux")
    assert set(FlexRequest.__annotations__) == {"lse", "max_scores"}
    assert list(cells("weights, with gradients").values()) == ["yes", "no", "no", "yes", "yes"]


def test_row_entropy(x, entmax):
    query, key, value = (tensor.detach() for tensor in draw(LENGTH, LENGTH, LENGTH))
    weights = torch.softmax(query @ key.mT / 8**0.5, -1)
    _, aux = attend(query, key, value, aux=AuxRequest(entropy=True), backend="chunked")
    assert torch.allclose(aux.entropy, torch.special.entr(weights).sum(-1), atol=1e-4)
    assert not lays_out(lambda: attend(query[:, :1], key[:, :1], value[:, :1], aux=AuxRequest(entropy=True)))
    assert not any(takes(function, "entropy") for function in (flex_attention, x.attend.Attend, entmax.sparsemax))
    assert "entropy" not in sdpa.__doc__ and "entropy" not in x.attend.Intermediates.__annotations__
    assert list(cells("entropy without the full matrix").values()) == ["yes", "no", "no", "no", "no"]


def test_row_memory(x, entmax):
    query, key, value = (tensor[:, :1] for tensor in draw(LENGTH, LENGTH, LENGTH))

    def trained(attention):
        return lambda: torch.autograd.grad(attention(query, key, value).sum(), query)

    assert not lays_out(trained(attend)) and not lays_out(trained(sdpa))
    assert lays_out(trained(lambda *tensors: x.attend.Attend()(*tensors)[0]))
    assert not lays_out(trained(lambda *tensors: x.attend.Attend(flash=True)(*tensors)[0]))
    assert lays_out(trained(lambda *tensors: plain(*tensors, weights=entmax.sparsemax)))
    assert not trains(lambda: flex_attention(query, key, value), query)
    assert list(cells("trains without the full matrix").values()) == ["yes", "yes", "no", "with `flash`", "no"]


def test_row_second_derivatives(x, entmax):
    inputs = draw()
    expected = second(plain, *inputs)
    assert near(second(attend, *inputs), expected)
    assert near(second(lambda *tensors: x.attend.Attend()(*tensors)[0], *inputs), expected)
    with pytest.raises(RuntimeError, match="flash_attention_for_cpu_backward is not implemented"):
        second(sdpa, *inputs)
    with sdpa_kernel(SDPBackend.MATH):
        assert near(second(sdpa, *inputs), expected)
    with pytest.raises(NotImplementedError):
        second(flex_attention, *inputs)
    for theirs, alpha, right in ((entmax.sparsemax, 2.0, True), (entmax.entmax15, 1.5, False)):
        ours = second(partial(attend, normalizer=normalizers.Entmax(alpha)), *inputs)
        assert near(second(partial(plain, weights=theirs), *inputs), ours) is right
    assert list(cells("gradients of gradients").values()) == ["yes", "math kernel only", "no", "yes", "sparsemax only"]


def test_row_language_model(x, entmax):
    import saccade

    decoder = x.Decoder(dim=8, depth=1, heads=2)
    model = x.TransformerWrapper(num_tokens=11, max_seq_len=6, attn_layers=decoder)
    assert model(torch.zeros(1, 6, dtype=torch.int64)).shape == (1, 6, 11)
    libraries = (saccade.nn, torch.nn.attention, entmax)
    assert not any("Language" in name or "Transformer" in name for library in libraries for name in dir(library))
    assert list(cells("a language model in one class").values()) == ["no", "no", "no", "yes", "no"]
