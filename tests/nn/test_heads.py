import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from saccade import attend, biases, masks, nn, remember
from saccade.errors import ArgumentError, ShapeError
from saccade.nn._heads import beside_heads

LENGTHS, BASE = (8, 5), 100.0


def module(kv_heads=4, **options):
    torch.manual_seed(0)
    return nn.MultiheadAttention(16, 4, num_kv_heads=kv_heads, rotary_base=BASE, dtype=torch.double, **options)


def by_torch(attention: nn.MultiheadAttention, x: Tensor) -> Tensor:
    """Causal attention of one sequence `(L, D)` by torch's function, turned by complex numbers."""
    parts = torch.nn.functional.linear(x, attention.in_proj_weight, attention.in_proj_bias).split(attention.sizes, -1)
    query, key, value = (part.unflatten(-1, (-1, attention.head_dim)).transpose(0, 1) for part in parts)
    angles = torch.arange(len(x))[:, None] * BASE ** (-torch.arange(2) / 2)

    def turned(heads):
        return torch.cat(torch.view_as_real(torch.complex(*heads.chunk(2, -1)) * torch.exp(1j * angles)).unbind(-1), -1)

    heads = scaled_dot_product_attention(turned(query), turned(key), value, is_causal=True, enable_gqa=True)
    return attention.out_proj(heads.transpose(0, 1).flatten(1))


@pytest.mark.parametrize("left", [True, False], ids=["left", "right"])
@pytest.mark.parametrize("kv_heads", [4, 2])
def test_a_padded_prompt_goes_on_as_the_unpadded_one(kv_heads, left):
    attention, total = module(kv_heads).eval(), 3
    sequences = [torch.randn(length + total, 16, dtype=torch.double) for length in LENGTHS]
    prompt, positions = torch.randn(2, 8, 16, dtype=torch.double), torch.zeros(2, 8, dtype=torch.long)
    own = torch.zeros(2, 8, dtype=torch.bool)
    for row, (sequence, length) in enumerate(zip(sequences, LENGTHS, strict=True)):
        where = slice(8 - length, 8) if left else slice(0, length)
        prompt[row, where], positions[row, where] = sequence[:length], torch.arange(length)
        own[row, where] = True
    heads = (slice(None), *[None] * (1 if kv_heads == 4 else 2), None)
    memory = attention.remember(prompt, mask=own[heads], positions=positions, capacity=9)
    within = attention(prompt, mask=masks.Causal() & own[heads], positions=positions)
    outputs = []
    for step in range(total):
        token = torch.stack([sequence[length + step] for sequence, length in zip(sequences, LENGTHS, strict=True)])
        place = torch.tensor(LENGTHS)[:, None] + step
        memory = attention.append(memory, token[:, None], positions=place)
        outputs.append(attention(token[:, None], memory=memory))
        said = attention(token[:, None], memory=memory, positions=place)
        torch.testing.assert_close(said, outputs[-1])
    for row, sequence in enumerate(sequences):
        expected = by_torch(attention, sequence)
        torch.testing.assert_close(within[row][own[row]], expected[: LENGTHS[row]])
        torch.testing.assert_close(torch.cat(outputs, 1)[row], expected[LENGTHS[row] :])
    assert memory.positions.tolist()[1][-3:] == [5, 6, 7]
    order = torch.tensor([1, 1, 0])
    torch.testing.assert_close(attention(token[order, None], memory=memory.select(order)), outputs[-1][order])
    assert memory.truncate(8).positions.tolist() == positions.tolist()


def test_positions_that_are_not_said_are_not_guessed():
    attention, x = module(), torch.randn(2, 4, 16, dtype=torch.double)
    memory = attention.remember(x, positions=torch.arange(4))
    torch.testing.assert_close(attention(x, memory=memory), attention(x, memory=attention.remember(x)))
    with pytest.raises(ArgumentError, match="positions: expected those of the new keys"):
        attention.append(memory, x)
    with pytest.raises(ArgumentError, match="Append by that module's append"):
        memory.append(memory.key, memory.value)
    with pytest.raises(ArgumentError, match="got other keys than queries"):
        attention(x, x + 1, positions=torch.arange(4))
    late = attention.append(attention.remember(x), x, positions=torch.tensor([[9, 9, 9, 9], [1, 2, 3, 4]]))
    assert late.positions.tolist()[0] == [0, 1, 2, 3, 9, 9, 9, 9]


@pytest.mark.parametrize(
    ("positions", "kind", "match"),
    [
        (torch.arange(5), ShapeError, "positions: expected .*L = 4, got shape .5,"),
        (torch.zeros(3, 4), ShapeError, "positions: expected leading dimensions"),
        (torch.zeros(1, 2, 4), ShapeError, "positions: expected"),
        ([0, 1, 2, 3], ArgumentError, "positions: expected a tensor"),
    ],
)
def test_positions_fit(positions, kind, match):
    attention, x = module(), torch.randn(2, 4, 16, dtype=torch.double)
    for call in (attention, attention.remember):
        with pytest.raises(kind, match=match):
            call(x, positions=positions)


def test_positions_are_read_by_rotary_modules_alone():
    attention, x = nn.MultiheadAttention(16, 4), torch.randn(2, 4, 16)
    for call in (attention, attention.remember):
        with pytest.raises(ArgumentError, match="positions: expected None.*rotary_base"):
            call(x, positions=torch.arange(4))


LENGTH = torch.tensor([4, 2])
SAID = {
    "lengths": lambda n: masks.Lengths(n),
    "composed": lambda n: ~(masks.Lengths(n) & masks.Causal()) | masks.Prefix(n),
    "aligned": lambda n: masks.Causal(align=n) & masks.Window(1, 0, align=n),
}


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("kv_heads", [4, 2])
def test_what_is_said_of_examples_needs_no_dimension_of_heads(kv_heads, name):
    attention, x = nn.MultiheadAttention(16, 4, num_kv_heads=kv_heads), torch.randn(2, 5, 16)
    heads = LENGTH[:, None] if kv_heads == 4 else LENGTH[:, None, None]
    torch.testing.assert_close(attention(x, mask=SAID[name](LENGTH)), attention(x, mask=SAID[name](heads)))


def test_one_rule_of_lengths_for_all_modules():
    x, lengths = torch.randn(2, 5, 16), masks.Lengths(LENGTH)
    several = nn.MultiheadAttention(16, 4)
    for found in (
        several(x, mask=lengths),
        several(x[:, :1], memory=several.append(several.remember(x[:, :4], mask=lengths), x[:, 4:])),
        nn.Attention(16)(x, mask=lengths),
        nn.AttentionPool(16)(x, mask=lengths),
    ):
        assert found.shape[0] == 2
    ids = torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 1, 2]])
    same = several(x, mask=masks.Documents(ids, ids))
    torch.testing.assert_close(same, several(x, mask=(ids[:, :, None] == ids[:, None])[:, None]))
    torch.testing.assert_close(several(x[0], mask=masks.Lengths(LENGTH[0])), several(x, mask=lengths)[0])


@pytest.mark.parametrize("batch", [3, 4])
def test_centres_of_each_example_are_those_of_all_its_heads(batch):
    """Also where there are as many heads as examples."""
    attention, x = nn.MultiheadAttention(16, 4).eval(), torch.randn(batch, 5, 16)
    center = torch.arange(float(batch))[:, None].expand(batch, 5)
    together = attention(x, mask=masks.Around(center, 1) & masks.Lengths(torch.full((batch,), 4)))
    for example in range(batch):
        alone = attention(x[example], mask=masks.Around(center[example], 1) & masks.Lengths(torch.tensor(4)))
        torch.testing.assert_close(together[example], alone)
    own = torch.arange(4.0)[:, None].expand(1, 4, 5)
    assert beside_heads(masks.Around(own, 1), rank=1, heads=1).center is own


@pytest.mark.parametrize("kv_heads", [4, 2])
@pytest.mark.parametrize("place", ["bias", "gate"])
def test_a_window_around_the_centres_of_a_mask_is_where_the_mask_is(kv_heads, place):
    attention, x = nn.MultiheadAttention(16, 4, num_kv_heads=kv_heads).eval(), torch.randn(4, 5, 16)
    center, width = torch.arange(4.0)[:, None].expand(4, 5), torch.rand(4, 5) + 0.5

    def of(examples):
        window = biases.GaussianWindow(center[examples], width[examples])
        both = window + torch.zeros(5, 5) if place == "bias" else window * torch.ones(5, 5)
        return attention(x[examples], mask=masks.Around(center[examples], 1), **{place: both})

    together = of(slice(None))
    for example in range(4):
        torch.testing.assert_close(together[example], of(example))


def test_what_has_dimensions_of_heads_keeps_them():
    own = masks.Lengths(torch.tensor([[4, 3], [2, 1]])) & torch.ones(5, dtype=torch.bool)
    assert beside_heads(own, rank=1, heads=1).first.key_lengths is own.first.key_lengths
    x = torch.randn(2, 5, 16)
    bias = biases.Alibi(torch.ones(4))
    assert nn.MultiheadAttention(16, 4)(x, mask=masks.Around(torch.zeros(5), 2), bias=bias).shape == x.shape


def test_more_queries_than_positions_are_to_be_placed():
    attention, x = module(), torch.randn(1, 3, 16).double()
    memory = attention.remember(x[:, :2], positions=torch.tensor([0, 4]))
    with pytest.raises(ArgumentError, match="positions: expected those of 3 queries"):
        attention(x, memory=memory)
    assert attention(x, memory=memory, positions=torch.tensor([0, 4, 5])).shape == x.shape
    counted = attention.remember(x[:, :2])
    torch.testing.assert_close(
        attention(x, memory=counted), attention(x, memory=counted, positions=torch.tensor([-1, 0, 1]))
    )


def test_queries_of_a_written_memory_have_no_positions():
    module, x = nn.MultiheadAttention(16, 4).eval(), torch.randn(2, 6, 16)
    memory = module.remember(x[:, :4])
    slots = remember(memory.key, memory.value, positions=torch.arange(4))
    assert slots.positions is not None
    torch.testing.assert_close(module(x, memory=slots), module(x, memory=memory))


def test_a_prepared_mask_of_examples_serves_modules_with_heads():
    lengths, x = masks.Lengths(torch.tensor([3, 8])), torch.randn(2, 8, 16)
    prepared = masks.prepare(lengths, 8, 8, "cpu")
    for module in (
        nn.MultiheadAttention(16, 4),
        nn.MultiheadAttention(16, 4, num_kv_heads=2),
        nn.Attention(16, 16, 16),
    ):
        torch.testing.assert_close(module(x, mask=prepared), module(x, mask=lengths))
    widened = [beside_heads(prepared, rank=1, heads=heads).state for heads in (1, 1, 2)]
    assert widened[0] is widened[1] and len({prepared.state, *widened}) == 3


def test_a_prepared_mask_serves_modules_and_plain_calls():
    center = torch.arange(1100.0)
    plain = masks.Around(torch.stack([center, center.flip(0)]), 20.0)  # of two examples, or of two heads
    prepared, module, x = masks.prepare(plain, 1100, 1100, "cpu"), nn.MultiheadAttention(8, 2), torch.randn(2, 1100, 8)
    torch.testing.assert_close(module(x, mask=prepared), module(x, mask=plain))
    heads = torch.randn(2, 2, 1100, 4)
    output = attend(heads, heads, heads, mask=prepared)
    torch.testing.assert_close(output, attend(heads, heads, heads, mask=plain, backend="reference"))
