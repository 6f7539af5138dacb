"""The answers of ONNX's `Attention` and `FlexAttention` (package onnx) are those of `attend`.

One test for all cases: to know their names takes as long as to ask them.
"""

import dataclasses

import pytest
import torch

pytest.importorskip("onnx", reason="onnx is not installed (pip install saccade-attention[dev])")

from peers.onnx_cases import answers, cases

UNEXPRESSED: dict[str, str] = {}
"""Cases that cannot be asked of `attend`, and why: none at present."""


def mismatch(case):
    """What is wrong with our answer, by the case's own tolerance or a half type's rounding; None where nothing is."""
    try:
        for ours, theirs in answers(case):
            half = theirs.dtype in (torch.float16, torch.bfloat16)
            finite = theirs[theirs.isfinite()].abs()
            atol = 4 * torch.finfo(theirs.dtype).eps * finite.max().item() if half and finite.numel() else 1e-6
            torch.testing.assert_close(ours.to(theirs.dtype), theirs, rtol=case.rtol, atol=atol)
    except Exception as error:  # noqa: BLE001  whatever it is, the case is told by its name
        return f"{type(error).__name__}: {error}"
    return None


def test_every_answer_is_onnxs():
    wrong = {name: mismatch(case) for name, case in cases().items() if name not in UNEXPRESSED}
    assert not {name: message for name, message in wrong.items() if message}


def test_what_cannot_be_asked_is_known_and_cannot_be():
    assert UNEXPRESSED.keys() <= cases().keys()
    assert not [name for name in UNEXPRESSED if mismatch(cases()[name]) is None]


def test_both_operators_have_cases_and_wrong_answers_are_told():
    kinds = [case.model.graph.node[0].op_type for case in cases().values()]
    assert kinds.count("Attention") > 80 and kinds.count("FlexAttention") > 10
    case = cases()["test_attention_4d"]
    ((inputs, outputs),) = case.data_sets
    assert "not close" in mismatch(dataclasses.replace(case, data_sets=[(inputs, [2 * outputs[0]])]))
