"""Which backend "auto" takes: a table over devices, sizes and parts of a call, which nobody changes by accident."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from saccade import AuxRequest, biases, explain, masks, normalizers, reads, scores
from saccade.backends import flex, triton

SIZES = {  # batch, queries, keys, features
    "tiny": ((2, 3), 5, 7, 16),
    "step": ((4,), 1, 300, 32),
    "mid": ((2,), 100, 120, 64),
    "long": ((1, 2), 1100, 1100, 32),
    "huge": ((1, 8), 4096, 4096, 64),
    "vast": ((2, 16), 8192, 8192, 64),
}
PARTS = {
    "additive": lambda make, *_: {"score": scores.Additive(make(make.features))},
    "cosine": lambda *_: {"score": scores.Cosine()},
    "softcap": lambda *_: {"score": scores.ScaledDot(softcap=2.0)},
    "callable": lambda *_: {"score": lambda query, key: query @ key.mT},
    "sink": lambda *_: {"normalizer": normalizers.Softmax(sink=0.5)},
    "sparsemax": lambda *_: {"normalizer": normalizers.Sparsemax()},
    "entmax": lambda *_: {"normalizer": normalizers.Entmax()},
    "sigmoid": lambda *_: {"normalizer": normalizers.Sigmoid()},
    "causal": lambda *_: {"mask": masks.Causal("start")},
    "window": lambda *_: {"mask": masks.Window(8, 0, align="end")},
    "wide": lambda *_: {"mask": masks.Window(6000, None, align="end")},
    "lengths": lambda make, *_: {"mask": masks.Lengths(make(dtype=torch.int64))},
    "bias": lambda make, q_len, k_len: {"bias": make(q_len, k_len)},
    "gate": lambda make, q_len, k_len: {"gate": make(q_len, k_len)},
    "alibi": lambda make, *_: {"bias": biases.Alibi(make(), align="end")},
    "sample": lambda *_: {"read": reads.Sample()},
    "topk": lambda *_: {"read": reads.TopK(2)},
    "dropout": lambda *_: {"dropout_p": 0.1},
    "lse": lambda *_: {"aux": AuxRequest(lse=True)},
    "entropy": lambda *_: {"aux": AuxRequest(entropy=True)},
    "narrow": lambda *_: {},
    "learned": lambda *_: {},
    "double": lambda *_: {},
    "half": lambda *_: {},
}
"""Arguments by a word of the table; the last four are of the tensors."""


class Make:
    """Tensors on a device, without their data."""

    def __init__(self, device, words, features):
        self.device, self.learned, self.features = device, "learned" in words, features
        self.dtype = torch.float64 if "double" in words else torch.bfloat16 if "half" in words else torch.float32

    def __call__(self, *shape, dtype=None):
        options = {"dtype": dtype or self.dtype, "requires_grad": self.learned and dtype is None}
        if self.device == "cuda":
            with FakeTensorMode():
                return torch.empty(shape, device="cuda", **options)
        if self.device == "meta" or options["requires_grad"]:
            return torch.empty(shape, device=self.device, **options)
        return torch.full((), 4, dtype=options["dtype"]).expand(shape)


def preferred(device, size, *words):
    """The backend of one row."""
    batch, q_len, k_len, features = SIZES[size]
    make = Make(device, words, features)
    query, key = make(*batch, q_len, features), make(*batch, k_len, features)
    value = make(*batch, k_len, 8) if "narrow" in words else key
    options = {name: part for word in words for name, part in PARTS[word](make, q_len, k_len).items()}
    return explain(query, key, value, **options).backend


TABLE = {
    "cpu tiny": {
        "sdpa": "",
        "reference": "additive softcap callable sink sigmoid gate sample topk lse entropy",
        "cpu": "sparsemax entmax",
    },
    "cpu step": {
        "sdpa": "",
        "reference": "additive softcap callable sink sigmoid gate sample topk lse entropy",
        "cpu": "sparsemax entmax",
    },
    "cpu mid": {
        "sdpa": "",
        "cpu": "additive sparsemax entmax",
        "reference": "softcap callable sink sigmoid gate sample topk lse entropy",
    },
    "cpu long": {
        "sdpa": "",
        "cpu": "additive softcap callable sparsemax entmax window lengths gate sample topk lse entropy",
        "chunked": "sigmoid",
    },
    "cpu huge": {
        "sdpa": "",
        "cpu": "additive softcap callable sparsemax entmax window lengths gate sample topk dropout lse entropy narrow",
        "chunked": "sigmoid",
    },
    "cuda step": {
        "sdpa": "",
        "triton": "additive softcap sink sparsemax entmax sigmoid window wide lengths alibi sample topk lse entropy",
        "reference": "callable gate",
    },
    "cuda long": {
        "sdpa": "",
        "triton": "additive softcap sink sparsemax entmax sigmoid window wide lengths alibi sample topk lse entropy",
        "reference": "callable gate",
    },
    "cuda vast": {
        "sdpa": "",
        "triton": "additive softcap sink sparsemax entmax sigmoid window wide lengths alibi sample topk lse entropy",
        "chunked": "callable gate",
    },
    "meta mid": {
        "sdpa": "",
        "reference": "additive softcap callable sink sparsemax entmax sigmoid gate sample topk lse entropy",
    },
    "meta long": {
        "sdpa": "",
        "chunked": "additive",
        "reference": "softcap callable sink sparsemax entmax sigmoid gate sample topk lse entropy",
    },
    "meta vast": {
        "sdpa": "",
        "chunked": "additive softcap callable sink sparsemax entmax sigmoid gate sample topk lse entropy",
    },
}
"""What is taken for the call of a device and size, and for the same with one word; every other word changes nothing."""

TOGETHER = {
    "cpu long window sink": "chunked",
    "cpu long window bias": "cpu",
    "cpu huge window sparsemax": "cpu",
    "cpu step lengths additive": "reference",
    "cpu long dropout narrow": "sdpa",
    "cuda vast window half": "triton",
    "cuda long entropy additive": "triton",
    "cuda huge lse softcap": "triton",
    "cuda vast window sink": "triton",
    "meta long entropy sparsemax": "reference",
    "cpu mid additive learned": "cpu",
    "cpu long additive gate": "cpu",
    "cuda long additive learned": "triton",
    "cpu long window double": "cpu",
}


@pytest.fixture(autouse=True)
def everything_is_there(monkeypatch):
    monkeypatch.setattr(flex, "TRITON", True)
    monkeypatch.setattr(triton, "MISSING", False)


@pytest.mark.parametrize("call", TABLE)
def test_one_part_of_a_call_has_its_backend(call):
    [(usual, _), *_] = TABLE[call].items()
    expected = dict.fromkeys(PARTS, usual) | {
        word: name for name, words in TABLE[call].items() for word in words.split()
    }
    assert preferred(*call.split()) == usual
    assert {word: preferred(*call.split(), word) for word in PARTS} == expected


@pytest.mark.parametrize("call", TOGETHER)
def test_parts_together_have_their_backend(call):
    assert preferred(*call.split()) == TOGETHER[call]
