"""Mask functions of transformers become masks of Saccade with the same entries."""

import functools

import pytest
import torch

from saccade import masks
from saccade._definitions.structure import Grid
from saccade._integrations.mask_functions import Span, has_window, translated

masking = pytest.importorskip("transformers.masking_utils", reason="transformers is not installed")

PADDING = torch.tensor([0, 3])
BLOCKS = torch.tensor([[-1, 0, 0, 0, -1, -1, 1, 1, -1], [2, 2, -1, -1, 0, 0, 0, 0, -1]])
PACKED = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1, 1, 1, 1]])
POSITIONS = torch.tensor([[0, 1, 2, 0, 1, 2, 3, 0, 1], [0, 1, 0, 1, 2, 3, 4, 5, 6]])
FUNCTIONS = {
    "causal": masking.causal_mask_function,
    "everything": masking.bidirectional_mask_function,
    "window": masking.sliding_window_causal_mask_function(3),
    "window around": masking.sliding_window_bidirectional_mask_function(2),
    "chunks": masking.chunked_causal_mask_function(4, PADDING),
    "blocks": masking.or_masks(masking.causal_mask_function, masking.blockwise_overlay(BLOCKS)),
    "blocks in windows": masking.or_masks(
        masking.sliding_window_causal_mask_function(2), masking.blockwise_overlay(BLOCKS)
    ),
    "or everything": masking.or_masks(masking.causal_mask_function, masking.bidirectional_mask_function),
}
PACKED_FUNCTIONS = {
    "packed": masking.and_masks(masking.causal_mask_function, masking.packed_sequence_mask_function(PACKED)),
    "packed windows": masking.and_masks(
        masking.remap_positions_for_packed_sequence(masking.sliding_window_causal_mask_function(2), POSITIONS),
        masking.packed_sequence_mask_function(PACKED),
    ),
}
SPANS = {"whole": Span(9, 9, 0, 0), "step": Span(1, 9, 8, 0), "rolled": Span(2, 5, 7, 4)}


def dense(mask, span):
    size = (2, 1, span.q_len, span.k_len)
    if mask == "everything":
        return torch.ones(size, dtype=torch.bool)
    return mask.dense(Grid(span.q_len, span.k_len, 0, span.q_len, torch.device("cpu"), rank=2)).expand(size)


def check(function, span):
    expected = masking.sdpa_mask(
        2,
        span.q_len,
        span.k_len,
        span.q_start,
        span.k_start,
        mask_function=function,
        allow_is_causal_skip=False,
    )
    assert torch.equal(dense(translated(function, span), span), expected)


@pytest.mark.parametrize("span", SPANS.values(), ids=SPANS)
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_entries_are_those_of_transformers(function, span):
    check(function, span)


@pytest.mark.parametrize("function", PACKED_FUNCTIONS.values(), ids=PACKED_FUNCTIONS)
def test_packed_sequences(function):
    check(function, SPANS["whole"])


def test_the_default_is_causal():
    assert translated(None, SPANS["step"]) == masks.Causal(align=8)


@pytest.mark.parametrize(
    "function",
    [
        lambda batch, head, query, key: key <= query,
        masking.and_masks(masking.causal_mask_function, lambda batch, head, query, key: key != 2),
        masking.sliding_window_overlay(0),  # no key at all, which no window allows
        functools.partial(masking.causal_mask_function, 0),
    ],
    ids=["own", "part", "empty window", "partial"],
)
def test_unknown_functions_are_none(function):
    assert translated(function, SPANS["whole"]) is None


def test_windows_are_found_in_compositions():
    assert has_window(masks.Causal() & (masks.Documents(PACKED, PACKED) | masks.Window(2, None)))
    assert not has_window(masks.Causal() & masks.Documents(PACKED, PACKED))
