"""Law 7: bad input is one clear error at the public edge that says expected, got, and the argument's name."""

import pytest
import torch

from laws.table import Sizes
from saccade import AuxRequest, attend, biases, errors, explain, masks, merge, nn, normalizers, reads, remember, scores
from tiers import every

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
    "query": [{"query": [1.0]}, {"query": Q[0, 0, 0]}, {"query": Q.long()}, {"query": Q.to(torch.complex64)}],
    "key": [
        {"key": None},
        {"key": K[..., :5]},
        {"key": K.float()},
        {"key": torch.randn(5, 3, n.k, n.d, dtype=torch.float64)},
        {"key": K.to("meta")},
    ],
    "value": [
        {"value": V[..., :3, :]},
        {"value": V.half()},
        {"value": V.expand(4, 2, 3, n.k, n.e)[:, :1].expand(4, 5, 3, n.k, n.e)},
    ],
    "score": [
        {"score": scores.Dot},
        {"score": "dot"},
        {"score": lambda q, k: q @ k.mT[..., :2]},
        {"score": lambda q, k: 1.0},
    ],
    "scale of": [
        {"score": scores.ScaledDot(torch.ones(2, 3))},
        {"score": scores.ScaledDot(torch.ones(1, dtype=torch.long))},
    ],
    "softcap": [
        lambda: scores.ScaledDot(softcap=0.0),
        {"score": scores.ScaledDot(softcap=torch.zeros(1, 1))},
        {"score": scores.ScaledDot(softcap=torch.ones(5, 1, 1, 1))},
    ],
    "beta": [
        {"score": scores.Cosine(torch.ones(2, 3, dtype=torch.float64))},
        {"score": scores.Cosine(torch.ones(1, dtype=torch.long))},
    ],
    "weight": [
        {"score": scores.General(ONES)},
        {"score": scores.General([[1.0]])},
        {"score": scores.General(torch.ones(n.d, n.d))},
        {"score": scores.Location(torch.ones(n.k - 1, n.d, dtype=torch.float64))},
        {"score": scores.Location(ONES)},
    ],
    "v of scores.Additive": [
        {"score": scores.Additive(tensor(1.0))},
        {"score": scores.Additive(torch.ones(n.d))},
        {"score": scores.Additive(1.0)},
    ],
    "bandwidth": [
        lambda: scores.Gaussian(0.0),
        lambda: scores.Kernel("boxcar", -1.0),
        {"score": scores.Gaussian(tensor(-1.0))},
        {"score": scores.Gaussian(ONES)},
    ],
    "name": [lambda: scores.Kernel("gausian", 1.0)],
    "normalizer": [
        {"normalizer": normalizers.Softmax},
        {"normalizer": "softmax"},
        {"normalizer": lambda s, m: s[..., :1]},
    ],
    "temperature": [lambda: normalizers.Softmax(temperature=0.0), {"normalizer": normalizers.Softmax(tensor(0.0))}],
    "sink": [{"normalizer": normalizers.Softmax(sink=ONES)}],
    "alpha": [
        lambda: normalizers.Entmax(0.5),
        lambda: normalizers.Entmax(float("nan")),
        {"normalizer": normalizers.Entmax(tensor(0.9))},
    ],
    "bias of normalizers.Sigmoid": [{"normalizer": normalizers.Sigmoid(ONES)}],
    "eps": [lambda: normalizers.Sum(-1.0)],
    "mask": [
        {"mask": [[True]]},
        {"mask": ONES},
        {"mask": torch.ones(n.q, n.k + 1, dtype=torch.bool)},
        {"mask": masks.Causal},
        {"mask": ONES.bool().to("meta")},
    ],
    "align": [
        {"mask": masks.Causal()},
        {"mask": masks.Window(1, 1)},
        {"mask": masks.Causal("middle")},
        {"mask": masks.Causal(1.5)},
        {"mask": masks.Causal(True)},
        {"mask": masks.Causal(tensor(1.0))},
        {"bias": biases.Alibi(tensor(1.0, 1.0, 1.0))},
        {"bias": biases.RelativePosition(tensor(1.0), align="left")},
        {"mask": masks.Causal(torch.tensor([1, 2, 3]))},
    ],
    "left": [lambda: masks.Window(-1, 0)],
    "right": [lambda: masks.Window(0, -1)],
    "radius": [lambda: masks.Around(tensor(1.0), -1.0)],
    "center": [
        {"mask": masks.Around(1.0, 1.0)},
        {"mask": masks.Around(torch.zeros(n.q, dtype=torch.uint16), 1.0)},
        {"mask": masks.Around(tensor(1.0, 2.0), 1.0)},
        {"gate": biases.GaussianWindow(tensor(1.0, 2.0), 1.0)},
    ],
    "width": [
        lambda: biases.GaussianWindow(tensor(1.0), 0.0),
        {"bias": biases.GaussianWindow(tensor(1.0), tensor(-1.0))},
    ],
    "key_lengths": [
        lambda: masks.Lengths([1, 2]),
        {"mask": masks.Lengths(tensor(1.0, 2.0))},
        {"mask": masks.Lengths(torch.tensor([3, 4]))},
        {"mask": masks.Lengths(torch.tensor([[3], [n.k + 1]]))},
        {"mask": masks.Lengths(torch.tensor([[-1], [1]]))},
        {"mask": masks.Lengths(torch.ones(2, 2).long())},
    ],
    "query_ids": [
        {"mask": masks.Documents(torch.zeros(3).long(), torch.zeros(n.k).long())},
        {"mask": masks.Documents(torch.zeros(2, n.q).long(), torch.zeros(n.k).long())},
    ],
    "key_ids": [
        {"mask": masks.Documents(torch.zeros(n.q).long(), torch.zeros(3).long())},
        {"mask": masks.Documents(torch.zeros(n.q).long(), 1)},
    ],
    "cu_seqlens": [
        {"mask": masks.Packed(torch.tensor([0, 2, n.q]), torch.tensor([0, 2, n.k + 1]))},
        {"mask": masks.Packed(torch.tensor([0, 4, 2, n.q]), torch.tensor([0, 1, 2, n.k]))},
        {"mask": masks.Packed(torch.tensor([1, n.q]), torch.tensor([0, n.k]))},
        {"mask": masks.Packed(torch.tensor([0, 2, n.q]), torch.tensor([0, n.k]))},
        {"mask": masks.Packed(torch.tensor([0, 2, n.q]))},
        {"mask": masks.Packed(torch.tensor([0]))},
        {"mask": masks.Packed(tensor(0, n.q), torch.tensor([0, n.k]))},
        {"mask": masks.Packed([0, n.q], torch.tensor([0, n.k]))},
        {"mask": masks.Packed(torch.tensor([[0, n.q]] * 2), torch.tensor([0, n.k]))},
    ],
    "length of masks.Prefix": [lambda: masks.Prefix(-1), {"mask": masks.Prefix(torch.tensor([1, 2]))}],
    "scale": [{"score": scores.ScaledDot(tensor(1.0).to_sparse())}],
    "bias": [
        {"bias": ONES.to_sparse()},
        {"bias": ONES.bool()},
        {"bias": 1.0},
        {"bias": ONES[:, :2]},
        {"bias": biases.Alibi(tensor(1.0)) * ONES},
    ],
    "slopes": [{"bias": biases.Alibi(tensor(1.0, 2.0), "end")}, {"bias": biases.Alibi(0.5, "end")}],
    "table": [
        {"bias": biases.RelativePosition(tensor(1.0, 2.0), "end")},
        {"bias": biases.RelativePosition(torch.ones(2, 3, dtype=torch.float64), "end")},
    ],
    "gate": [{"gate": ONES.to_sparse()}, {"gate": ONES.long()}, {"gate": ONES[:2]}, {"gate": "sigmoid"}],
    "read": [{"read": reads.Argmax}, {"read": "argmax"}, {"read": lambda w, v: w @ v}],
    "estimator": [lambda: reads.Sample("reparameterize"), lambda: reads.Argmax("reinforce")],
    "uniform": [
        lambda: reads.Sample(generator=torch.Generator(), uniform=tensor(0.5)),
        {"read": reads.Sample(uniform=tensor(1.0))},
        {"read": reads.Sample(uniform=tensor(-0.1))},
        {"read": reads.Sample(uniform=torch.zeros(3, dtype=torch.long))},
        {"read": reads.Sample(uniform=tensor(0.1, 0.2))},
        {"read": reads.Sample(uniform=0.5)},
    ],
    "k": [lambda: reads.TopK(0), lambda: reads.TopK(2.0), lambda: reads.TopK(True)],
    "dropout_p": [{"dropout_p": 1.5}, {"dropout_p": -0.1}, {"dropout_p": float("nan")}],
    "aux": [{"aux": True}, {"aux": {"weights": True}}, {"aux": AuxRequest}],
    "aux.lse": [{"aux": AuxRequest(lse=True), "normalizer": normalizers.Sparsemax()}],
    "aux.index": [{"aux": AuxRequest(index=True)}, {"aux": AuxRequest(index=True), "read": reads.TopK(1)}],
    "aux.log_prob": [{"aux": AuxRequest(log_prob=True)}, {"aux": AuxRequest(log_prob=True), "read": reads.Argmax()}],
    "aux.entropy": [
        {"aux": AuxRequest(entropy=True), "normalizer": normalizers.Sigmoid()},
        {"aux": AuxRequest(entropy=True), "gate": ONES},
        {"aux": AuxRequest(entropy=True), "normalizer": normalizers.Softmax(sink=0.0)},
        {"aux": AuxRequest(entropy=True), "normalizer": normalizers.Sum(1.0)},
    ],
    "top": [lambda: AuxRequest(top=-1), lambda: AuxRequest(top=True), lambda: AuxRequest(top=1.0)],
    "backend": [{"backend": "fastest"}, {"backend": ""}],
    "layout": [lambda: biases.rotate(Q[..., :4], torch.arange(n.q), layout="other")],
    "base": [lambda: biases.rotate(Q[..., :4], torch.arange(n.q), base=0.0)],
    "x": [lambda: biases.rotate(Q, torch.arange(n.q))],
    "positions": [
        lambda: biases.rotate(Q[..., :4], torch.arange(3)),
        lambda: biases.rotate(Q[..., :4], torch.ones(7, 3, n.q)),
        lambda: biases.rotate(Q[..., :4]),
        lambda: biases.rotate(Q[..., :4], torch.arange(n.q), tables=(torch.ones(n.q, 2), torch.ones(n.q, 2))),
    ],
    "features": [
        lambda: biases.rotate(Q[..., :4], torch.arange(n.q), features=3),
        lambda: biases.rotate(Q[..., :4], torch.arange(n.q), features=6),
        lambda: biases.rotate(Q[..., :4], torch.arange(n.q), features=-2),
    ],
    "frequencies": [
        lambda: biases.rotate(Q[..., :4], torch.arange(n.q), frequencies=torch.ones(3)),
        lambda: biases.rotate(Q[..., :4], torch.arange(n.q), frequencies=[1.0, 2.0]),
        lambda: biases.rotate(Q[..., :4], torch.arange(n.q), frequencies=torch.ones(2), base=100.0),
        lambda: biases.rotate(Q[..., :4], torch.arange(n.q), frequencies=torch.ones(19, 2)),
    ],
    "tables": [
        lambda: biases.rotate(Q[..., :4], tables=torch.ones(n.q, 2)),
        lambda: biases.rotate(Q[..., :4], tables=(torch.ones(n.q, 2), torch.ones(n.q, 3))),
        lambda: biases.rotate(Q[..., :4], tables=(torch.ones(n.q + 1, 2), torch.ones(n.q + 1, 2))),
        lambda: biases.rotate(Q[..., :4], tables=(torch.ones(2), torch.ones(n.q, 2))),
        lambda: biases.rotate(Q[..., :4], tables=(torch.ones(n.q, 2), torch.ones(n.q, 2)), base=10.0),
    ],
    "capacity": [lambda: remember(K, V, capacity=-1), lambda: remember(K, V, capacity=2.5)],
    "score ": [lambda: remember(K, V, score="dot")],
    "value ": [lambda: remember(K, V[..., :2, :]), grown(value=V[:1, :, :1]), grown(value=V[..., :1, :2])],
    "key ": [
        grown(key=K[..., :1, :3]),
        grown(key=K[:1, :, :1], value=V[:1, :, :1]),
        grown(value=V[..., :1, :].float(), key=K[..., :1, :].float()),
    ],
    "mask ": [lambda: remember(K, V, mask=ONES.bool()), lambda: remember(K, V, mask=ONES[:1])],
    "batch_index": [
        lambda: remember(K[0, 0], V[0, 0]).select(torch.tensor([0])),
        lambda: remember(K, V).select(tensor(0.0)),
        lambda: remember(K, V).select([0]),
    ],
    "n": [lambda: remember(K, V).truncate(-1), lambda: remember(K, V).truncate(n.k + 1)],
    "lses": [lambda: merge([], []), lambda: merge([Q], []), lambda: merge([Q], [Q])],
    "num_heads": [lambda: nn.MultiheadAttention(24, 5), lambda: nn.MultiheadAttention(24, 0)],
    "output_gate": [lambda: nn.MultiheadAttention(24, 4, output_gate="soft")],
    "qk_norm": [lambda: nn.MultiheadAttention(24, 4, qk_norm="l2")],
    "head_dim": [lambda: nn.MultiheadAttention(24, 5, head_dim=0)],
    "num_kv_heads": [lambda: nn.MultiheadAttention(24, 4, num_kv_heads=3)],
    "score  ": [lambda: nn.Attention(4, score="bilinear"), lambda: nn.MultiheadAttention(4, 2, score="bilinear")],
    "max_length": [lambda: nn.Attention(4, score="location")],
    "hidden_dim": [lambda: nn.Attention(4, 5, score="dot")],
    "memory": [
        lambda: nn.Attention(4)(
            Q[..., :4].float(), Q[..., :4].float(), memory=nn.Attention(4).remember(Q[..., :4].float())
        )
    ],
}
CASES = [(name.strip(), case if callable(case) else call(**case)) for name, cases in ATTEND.items() for case in cases]


@every("name, bad", CASES)
def test_one_clear_error(name, bad):
    with pytest.raises(errors.SaccadeError) as caught:
        bad()
    message = str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert name in message.split(":")[0], message
    assert "expected" in message and "got" in message and "\n" not in message, message


@pytest.mark.parametrize(
    "wrong",
    [{"mask": ONES}, {"bias": ONES.bool()}, {"gate": ONES.bool()}, {"query": Q.long()}],
    ids=["mask", "bias", "gate", "query"],
)
def test_a_wrong_type_is_a_type_error_too(wrong):
    with pytest.raises(TypeError):
        call(**wrong)()


@every(
    ("bad", "way_out"),
    [
        ({"mask": ONES}, "bias="),
        ({"bias": ONES.bool()}, "mask="),
        ({"key": K[..., :5]}, "General"),
        ({"key": K.to("meta")}, ".to(query.device)"),
        ({"mask": masks.Causal()}, "align='end'"),
        ({"mask": masks.Lengths(torch.tensor([3, 4]))}, "tensor[:, None]"),
        ({"score": scores.Dot}, "Dot(...)"),
        ({"bias": biases.Alibi(tensor(1.0)) * ONES}, "gate="),
    ],
)
def test_the_message_says_the_way_out(bad, way_out):
    with pytest.raises(errors.SaccadeError) as caught:
        call(**bad)()
    assert way_out in str(caught.value)


def test_explain_refuses_what_attend_refuses():
    with pytest.raises(errors.ShapeError, match="key"):
        explain(Q, K[..., :5], V)


def test_values_are_not_looked_at_under_vmap_and_compile():
    lengths = torch.tensor([[3], [99]])
    bad = {"mask": masks.Lengths(lengths)}
    with pytest.raises(errors.ArgumentError, match="key_lengths"):
        attend(Q, K, V, **bad)
    assert torch.func.vmap(lambda q: attend(q, K, V, **bad))(Q[None]).shape == (1, 2, 3, n.q, n.e)


def test_the_tree_of_errors():
    assert issubclass(errors.ArgumentError, (errors.SaccadeError, ValueError)) and issubclass(
        errors.ShapeError, ValueError
    )
    assert issubclass(errors.ArgumentTypeError, TypeError) and not issubclass(errors.UnsupportedBackend, ValueError)
