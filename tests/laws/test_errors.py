"""Law 7: bad input is one clear error at the public edge that says expected, got, and the argument's name."""

import pytest
import torch
from laws.table import Sizes

from saccade import AuxRequest, attend, biases, errors, explain, masks, merge, nn, normalizers, reads, remember, scores

n = Sizes()
Q, K, V = (torch.randn(2, 3, length, dim, dtype=torch.float64) for length, dim in ((n.q, n.d), (n.k, n.d), (n.k, n.e)))
ONES = torch.ones(n.q, n.k, dtype=torch.float64)


def call(**options):
    """`attend` on good tensors with one bad option."""
    return lambda: attend(**{"query": Q, "key": K, "value": V, **options})


def tensor(*values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype)


def grown(**changes):
    """A memory appended to with one bad argument."""
    new = {"key": K[..., :1, :], "value": V[..., :1, :], **changes}
    return lambda: remember(K, V).append(**new)


ATTEND = {
    "query": [dict(query=[1.0]), dict(query=Q[0, 0, 0]), dict(query=Q.long()), dict(query=Q.to(torch.complex64))],
    "key": [dict(key=None), dict(key=K[..., :5]), dict(key=K.float()), dict(key=torch.randn(5, 3, n.k, n.d, dtype=torch.float64)), dict(key=K.to("meta"))],
    "value": [dict(value=V[..., :3, :]), dict(value=V.half()), dict(value=V.expand(4, 2, 3, n.k, n.e)[:, :1].expand(4, 5, 3, n.k, n.e))],
    "score": [dict(score=scores.Dot), dict(score="dot"), dict(score=lambda q, k: q @ k.mT[..., :2]), dict(score=lambda q, k: 1.0)],
    "softcap": [lambda: scores.ScaledDot(softcap=0.0)],
    "beta": [dict(score=scores.Cosine(torch.ones(2, 3, dtype=torch.float64))), dict(score=scores.Cosine(torch.ones(1, dtype=torch.long)))],
    "weight": [
        dict(score=scores.General(ONES)), dict(score=scores.General([[1.0]])), dict(score=scores.General(torch.ones(n.d, n.d))),
        dict(score=scores.Location(torch.ones(n.k - 1, n.d, dtype=torch.float64))), dict(score=scores.Location(ONES)),
    ],
    "v of scores.Additive": [dict(score=scores.Additive(tensor(1.0))), dict(score=scores.Additive(torch.ones(n.d))), dict(score=scores.Additive(1.0))],
    "bandwidth": [lambda: scores.Gaussian(0.0), lambda: scores.Kernel("boxcar", -1.0), dict(score=scores.Gaussian(tensor(-1.0))), dict(score=scores.Gaussian(ONES))],
    "name": [lambda: scores.Kernel("gausian", 1.0)],
    "normalizer": [dict(normalizer=normalizers.Softmax), dict(normalizer="softmax"), dict(normalizer=lambda s, m: s[..., :1])],
    "temperature": [lambda: normalizers.Softmax(temperature=0.0), dict(normalizer=normalizers.Softmax(tensor(0.0)))],
    "sink": [dict(normalizer=normalizers.Softmax(sink=ONES))],
    "alpha": [lambda: normalizers.Entmax(0.5), lambda: normalizers.Entmax(float("nan")), dict(normalizer=normalizers.Entmax(tensor(0.9)))],
    "bias of normalizers.Sigmoid": [dict(normalizer=normalizers.Sigmoid(ONES))],
    "eps": [lambda: normalizers.Sum(-1.0)],
    "mask": [dict(mask=[[True]]), dict(mask=ONES), dict(mask=torch.ones(n.q, n.k + 1, dtype=torch.bool)), dict(mask=masks.Causal), dict(mask=ONES.bool().to("meta"))],
    "align": [
        dict(mask=masks.Causal()), dict(mask=masks.Window(1, 1)), dict(mask=masks.Causal("middle")), dict(mask=masks.Causal(1.5)), dict(mask=masks.Causal(True)),
        dict(mask=masks.Causal(tensor(1.0))), dict(bias=biases.Alibi(tensor(1.0, 1.0, 1.0))), dict(bias=biases.RelativePosition(tensor(1.0), align="left")),
        dict(mask=masks.Causal(torch.tensor([1, 2, 3]))),
    ],
    "left": [lambda: masks.Window(-1, 0)],
    "right": [lambda: masks.Window(0, -1)],
    "radius": [lambda: masks.Around(tensor(1.0), -1.0)],
    "center": [dict(mask=masks.Around(1.0, 1.0)), dict(mask=masks.Around(tensor(1.0, 2.0), 1.0)), dict(gate=biases.GaussianWindow(tensor(1.0, 2.0), 1.0))],
    "width": [lambda: biases.GaussianWindow(tensor(1.0), 0.0), dict(bias=biases.GaussianWindow(tensor(1.0), tensor(-1.0)))],
    "key_lengths": [
        lambda: masks.Lengths([1, 2]), dict(mask=masks.Lengths(tensor(1.0, 2.0))), dict(mask=masks.Lengths(torch.tensor([3, 4]))),
        dict(mask=masks.Lengths(torch.tensor([[3], [n.k + 1]]))), dict(mask=masks.Lengths(torch.tensor([[-1], [1]]))), dict(mask=masks.Lengths(torch.ones(2, 2).long())),
    ],
    "query_ids": [dict(mask=masks.Documents(torch.zeros(3).long(), torch.zeros(n.k).long())), dict(mask=masks.Documents(torch.zeros(2, n.q).long(), torch.zeros(n.k).long()))],
    "key_ids": [dict(mask=masks.Documents(torch.zeros(n.q).long(), torch.zeros(3).long())), dict(mask=masks.Documents(torch.zeros(n.q).long(), 1))],
    "length of masks.Prefix": [lambda: masks.Prefix(-1), dict(mask=masks.Prefix(torch.tensor([1, 2])))],
    "bias": [dict(bias=ONES.bool()), dict(bias=1.0), dict(bias=ONES[:, :2]), dict(bias=biases.Alibi(tensor(1.0)) * ONES)],
    "slopes": [dict(bias=biases.Alibi(tensor(1.0, 2.0), "end")), dict(bias=biases.Alibi(0.5, "end"))],
    "table": [dict(bias=biases.RelativePosition(tensor(1.0, 2.0), "end")), dict(bias=biases.RelativePosition(torch.ones(2, 3, dtype=torch.float64), "end"))],
    "gate": [dict(gate=ONES.long()), dict(gate=ONES[:2]), dict(gate="sigmoid")],
    "read": [dict(read=reads.Argmax), dict(read="argmax"), dict(read=lambda w, v: w @ v)],
    "estimator": [lambda: reads.Sample("reparameterize")],
    "uniform": [
        lambda: reads.Sample(generator=torch.Generator(), uniform=tensor(0.5)), dict(read=reads.Sample(uniform=tensor(1.0))), dict(read=reads.Sample(uniform=tensor(-0.1))),
        dict(read=reads.Sample(uniform=torch.zeros(3, dtype=torch.long))), dict(read=reads.Sample(uniform=tensor(0.1, 0.2))), dict(read=reads.Sample(uniform=0.5)),
    ],
    "k": [lambda: reads.TopK(0), lambda: reads.TopK(2.0), lambda: reads.TopK(True)],
    "dropout_p": [dict(dropout_p=1.5), dict(dropout_p=-0.1), dict(dropout_p=float("nan"))],
    "aux": [dict(aux=True), dict(aux={"weights": True}), dict(aux=AuxRequest)],
    "aux.lse": [dict(aux=AuxRequest(lse=True), normalizer=normalizers.Sparsemax())],
    "aux.index": [dict(aux=AuxRequest(index=True)), dict(aux=AuxRequest(index=True), read=reads.TopK(1))],
    "aux.log_prob": [dict(aux=AuxRequest(log_prob=True)), dict(aux=AuxRequest(log_prob=True), read=reads.Argmax())],
    "aux.entropy": [dict(aux=AuxRequest(entropy=True), normalizer=normalizers.Sigmoid()), dict(aux=AuxRequest(entropy=True), gate=ONES),
                    dict(aux=AuxRequest(entropy=True), normalizer=normalizers.Softmax(sink=0.0)), dict(aux=AuxRequest(entropy=True), normalizer=normalizers.Sum(1.0))],
    "top": [lambda: AuxRequest(top=-1), lambda: AuxRequest(top=True), lambda: AuxRequest(top=1.0)],
    "backend": [dict(backend="fastest"), dict(backend="")],
    "layout": [lambda: biases.rotate(Q[..., :4], torch.arange(n.q), layout="other")],
    "base": [lambda: biases.rotate(Q[..., :4], torch.arange(n.q), base=0.0)],
    "x": [lambda: biases.rotate(Q, torch.arange(n.q))],
    "positions": [lambda: biases.rotate(Q[..., :4], torch.arange(3)), lambda: biases.rotate(Q[..., :4], torch.ones(7, 3, n.q))],
    "capacity": [lambda: remember(K, V, capacity=-1), lambda: remember(K, V, capacity=2.5)],
    "score ": [lambda: remember(K, V, score="dot")],
    "value ": [lambda: remember(K, V[..., :2, :]), grown(value=V[:1, :, :1]), grown(value=V[..., :1, :2])],
    "key ": [grown(key=K[..., :1, :3]), grown(key=K[:1, :, :1], value=V[:1, :, :1]), grown(value=V[..., :1, :].float(), key=K[..., :1, :].float())],
    "mask ": [lambda: remember(K, V, mask=ONES.bool()), lambda: remember(K, V, mask=ONES[:1])],
    "batch_index": [lambda: remember(K[0, 0], V[0, 0]).select(torch.tensor([0])), lambda: remember(K, V).select(tensor(0.0)), lambda: remember(K, V).select([0])],
    "n": [lambda: remember(K, V).truncate(-1), lambda: remember(K, V).truncate(n.k + 1)],
    "lses": [lambda: merge([], []), lambda: merge([Q], []), lambda: merge([Q], [Q])],
    "num_heads": [lambda: nn.MultiheadAttention(24, 5), lambda: nn.MultiheadAttention(24, 0)],
    "num_kv_heads": [lambda: nn.MultiheadAttention(24, 4, num_kv_heads=3)],
    "score  ": [lambda: nn.Attention(4, score="bilinear"), lambda: nn.MultiheadAttention(4, 2, score="bilinear")],
    "max_length": [lambda: nn.Attention(4, score="location")],
    "hidden_dim": [lambda: nn.Attention(4, 5, score="dot")],
    "memory": [lambda: nn.Attention(4)(Q[..., :4].float(), Q[..., :4].float(), memory=nn.Attention(4).remember(Q[..., :4].float()))],
}  # fmt: skip
CASES = [(name.strip(), case if callable(case) else call(**case)) for name, cases in ATTEND.items() for case in cases]


@pytest.mark.parametrize(("name", "bad"), CASES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(CASES)])
def test_one_clear_error(name, bad):
    with pytest.raises(errors.SaccadeError) as caught:
        bad()
    message = str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert name in message.split(":")[0], message
    assert "expected" in message and "got" in message and "\n" not in message, message


@pytest.mark.parametrize("wrong", [dict(mask=ONES), dict(bias=ONES.bool()), dict(gate=ONES.bool()), dict(query=Q.long())], ids=["mask", "bias", "gate", "query"])
def test_a_wrong_type_is_a_type_error_too(wrong):
    with pytest.raises(TypeError):
        call(**wrong)()


@pytest.mark.parametrize(
    ("bad", "way_out"),
    [
        (dict(mask=ONES), "bias="), (dict(bias=ONES.bool()), "mask="), (dict(key=K[..., :5]), "General"), (dict(key=K.to("meta")), ".to(query.device)"),
        (dict(mask=masks.Causal()), "align='end'"), (dict(mask=masks.Lengths(torch.tensor([3, 4]))), "lengths[..., None]"), (dict(score=scores.Dot), "Dot(...)"),
        (dict(bias=biases.Alibi(tensor(1.0)) * ONES), "gate="),
    ],
)  # fmt: skip
def test_the_message_says_the_way_out(bad, way_out):
    with pytest.raises(errors.SaccadeError) as caught:
        call(**bad)()
    assert way_out in str(caught.value)


def test_explain_refuses_what_attend_refuses():
    with pytest.raises(errors.ShapeError, match="key"):
        explain(Q, K[..., :5], V)


@pytest.mark.parametrize("name", ["cpu", "flex", "triton"])
def test_a_reserved_backend_says_why_it_serves_nothing(name):
    with pytest.raises(errors.UnsupportedBackend, match=f"{name}.*Saccade"):
        attend(Q, K, V, backend=name)


def test_values_are_not_looked_at_under_vmap_and_compile():
    lengths = torch.tensor([[3], [99]])
    bad = {"mask": masks.Lengths(lengths)}
    with pytest.raises(errors.ArgumentError, match="key_lengths"):
        attend(Q, K, V, **bad)
    assert torch.func.vmap(lambda q: attend(q, K, V, **bad))(Q[None]).shape == (1, 2, 3, n.q, n.e)


def test_the_tree_of_errors():
    assert issubclass(errors.ArgumentError, (errors.SaccadeError, ValueError)) and issubclass(errors.ShapeError, ValueError)
    assert issubclass(errors.ArgumentTypeError, TypeError) and not issubclass(errors.UnsupportedBackend, ValueError)
