import inspect

import pytest
import torch

from saccade import attend, explain, nn
from saccade._definitions.argument_hints import OURS, choose
from saccade.errors import ArgumentError, ArgumentTypeError
from tiers import every

X = torch.randn(2, 5, 16)
CALLS = {
    "attend": lambda **more: attend(X, X, X, **more),
    "explain": lambda **more: explain(X, X, X, **more),
    "Attention": lambda **more: nn.Attention(16, **more),
    "MultiheadAttention": lambda **more: nn.MultiheadAttention(16, 4, **more),
    "AttentionPool": lambda **more: nn.AttentionPool(16, **more),
    "PastAttention": lambda **more: nn.PastAttention(16, 8, **more),
    "SetAttention": lambda **more: nn.SetAttention(16, 4, **more),
    "SetPool": lambda **more: nn.SetPool(16, 4, **more),
    "MixtureOfExperts": lambda **more: nn.MixtureOfExperts(16, 4, **more),
    "Attention.forward": lambda **more: nn.Attention(16)(X, **more),
    "MultiheadAttention.forward": lambda **more: nn.MultiheadAttention(16, 4)(X, **more),
    "AttentionPool.forward": lambda **more: nn.AttentionPool(16)(X, **more),
    "SetAttention.forward": lambda **more: nn.SetAttention(16, 4)(X, **more),
    "SetPool.forward": lambda **more: nn.SetPool(16, 4)(X, **more),
    "MixtureOfExperts.forward": lambda **more: nn.MixtureOfExperts(16, 4)(X, **more),
}
TORCHS = {
    "attn_mask": "mask=",
    "key_padding_mask": r"masks\.Lengths",
    "is_causal": r"mask=masks\.Causal\(\)",
    "need_weights": r"aux=AuxRequest\(weights=True\)",
    "batch_first": "batch is always first",
    "dropout": "dropout_p=",
}


@every("name", CALLS)
def test_torchs_arguments_are_answered_with_our_word(name):
    for argument, ours in TORCHS.items():
        with pytest.raises(ArgumentTypeError, match=f"^{argument}: expected an argument of .*{ours}") as error:
            CALLS[name](**{argument: True})
        assert "\n" not in str(error.value)


@every("name", CALLS)
def test_other_names_are_errors_as_ever(name):
    with pytest.raises(TypeError, match="colour: expected an argument of .*unknown name; it takes "):
        CALLS[name](colour=1)
    known = "mask" if name in ("attend", "explain") or name.endswith("forward") else "score"
    known = {"MixtureOfExperts": "drop"}.get(name, known)
    with pytest.raises(ArgumentTypeError, match=f"did you mean {known}="):
        CALLS[name](**{known + "s": None})


def test_no_signature_shows_what_is_refused():
    for function in (attend, explain, nn.Attention, nn.MultiheadAttention.forward, nn.AttentionPool.__init__):
        assert not {"foreign", *OURS} & inspect.signature(function).parameters.keys()


def test_inspection_shows_the_arguments_themselves():
    for function in (attend, explain, nn.Attention.__init__, nn.MultiheadAttention.forward, nn.AttentionPool.forward):
        shown = inspect.getfullargspec(function)
        assert shown.varargs is None and shown.varkw is None
        assert [*shown.args, *shown.kwonlyargs] == list(inspect.signature(function).parameters)


def test_a_name_outside_a_table_gets_a_hint():
    assert choose("--model", "b", {"a": 1, "b": 2}) == "b"
    with pytest.raises(ArgumentError, match="^--model: there is no c; there is: alpha, beta$"):
        choose("--model", "c", ["alpha", "beta"])
    with pytest.raises(ArgumentError, match="^--model: there is no alpa; did you mean alpha\\?$"):
        choose("--model", "alpa", ["alpha", "beta"])
