import math

import pytest
import torch

from models.translators import BATCH, LENGTHS, SOURCE, TARGET
from saccade.errors import ArgumentError
from saccade.models.bytenet import ByteNet, Options
from saccade.models.padded import Padded
from tiers import every

OPTIONS = Options(hidden_dim=5, sets=2, max_dilation=2)
LONG = torch.tensor([[1, *range(4, 11), *range(4, 11)], [1, 7, 2, *[0] * 12], [1, 9, 8, 2, *[0] * 11]])


def make(**changes):
    torch.manual_seed(0)
    return ByteNet(13, 11, Options(**{**vars(OPTIONS), **changes})).double().eval()


def sigma(norm, x):
    x = (x - x.mean()) / (x.var(correction=0) + norm.eps).sqrt()
    return (x * norm.weight + norm.bias).clamp(min=0)


def block(one, xs, *, causal):
    """A block on a list of positions, each convolution's sum written out."""
    size, dim = one.size, one.down.out_features
    entering = [sigma(one.norms[1], one.down(sigma(one.norms[0], x))) for x in xs]
    centre = size - 1 if causal else (size - 1) // 2
    made = []
    for place, x in enumerate(xs):
        total = one.convolution.bias.clone()
        for tap in range(size):
            there = place + (tap - centre) * one.dilation
            if 0 <= there < len(xs):
                total = total + one.convolution.weight[:, tap * dim : (tap + 1) * dim] @ entering[there]
        made.append(x + one.up(sigma(one.norms[2], total)))
    return made


@pytest.mark.parametrize("changes", [{}, {"kernel_size": 5}, {"stretch": 2.0}, {"sets": 1, "max_dilation": 8}])
def test_it_is_its_equations(changes):
    """One sentence and one position at a time."""
    model = make(**changes)
    with torch.no_grad():
        for norm in [part for part in model.modules() if isinstance(part, torch.nn.LayerNorm)]:
            norm.weight.uniform_(0.5, 1.5)
            norm.bias.normal_()
    for row, length in enumerate(LENGTHS.tolist()):
        scale, zero = math.sqrt(10), torch.zeros(10).double()
        xs = [model.source_embedding.weight[token] * scale for token in SOURCE[row, :length]]
        xs += [zero] * (math.ceil(model.options.stretch * length) - length)
        for one in model.encoder:
            xs = block(one, xs, causal=False)
        columns = [model.encoder_norm(x) for x in xs] + [zero] * len(LONG[row])
        xs = [model.target_embedding.weight[token] * scale for token in LONG[row]]
        xs = [x + column for x, column in zip(xs, columns, strict=False)]
        for one in model.decoder:
            xs = block(one, xs, causal=True)
        last = torch.stack([model.readout(sigma(model.decoder_norm, x)) for x in xs])
        expected = last @ model.target_embedding.weight.T + model.bias
        torch.testing.assert_close(model(BATCH, LONG)[row], expected, rtol=1e-10, atol=1e-10)


def influence(function, x):
    """Which outputs `(length, features)` depend on which inputs `(length, features)`."""
    return torch.autograd.functional.jacobian(function, x).abs().sum((1, 3)) > 0


def through(blocks, x, within=None):
    for one in blocks:
        x = one(x[None], within)[0]
    return x


def test_each_side_sees_exactly_its_receptive_field():
    """A set of dilations 1, 2, 4 reaches (k - 1) (1 + 2 + 4) positions back, or half of that on both sides."""
    length, model = 23, make(sets=1, max_dilation=4)
    x, within = torch.randn(length, 10).double(), torch.ones(1, length, 1, dtype=torch.bool)
    distance = torch.arange(length)[:, None] - torch.arange(length)
    assert torch.equal(influence(lambda x: through(model.encoder, x, within), x), distance.abs() <= 7)
    assert torch.equal(influence(lambda x: through(model.decoder, x), x), (distance >= 0) & (distance <= 14))


def test_its_dilations_double_and_begin_again():
    assert Options().dilations == (1, 2, 4, 8, 16) * 2
    assert [one.dilation for one in make().encoder] == [one.dilation for one in make().decoder] == [1, 2, 1, 2]


def test_targets_read_the_source_up_to_their_positions(monkeypatch):
    model = make(sets=1)  # which reaches 6 positions back
    state, target = model.encode(BATCH), LONG[:1]
    assert state.source.shape == (3, 9, 10)  # 1.2 times 7 tokens
    for row, width in enumerate((6, 4, 9)):
        assert bool((state.source[row, width:] == 0).all()) and bool((state.source[row, :width] != 0).any(1).all())

    def written(columns):
        monkeypatch.setattr(model, "encode", lambda source: type(state)(columns[None], state.caches))
        return model(BATCH, target)[0]

    found = influence(written, state.source[2].detach())
    distance = torch.arange(target.shape[1])[:, None] - torch.arange(9)
    assert torch.equal(found, (distance >= 0) & (distance <= 6))


def test_long_targets_are_the_same_step_by_step():
    model = make()
    together, state, logits = model(BATCH, LONG), model.encode(BATCH), []
    for token in LONG.unbind(1):
        output, state = model.step(token, state)
        logits.append(output.dense())
        assert [cache.shape for cache in state.caches] == [(3, 2 * one.dilation, 5) for one in model.decoder]
    torch.testing.assert_close(torch.stack(logits, 1), together, rtol=1e-10, atol=1e-12)
    for row, length in enumerate(LENGTHS):
        alone = model(Padded(SOURCE[row : row + 1, :length], LENGTHS[row : row + 1]), LONG[row : row + 1])
        torch.testing.assert_close(together[row], alone[0], rtol=1e-12, atol=1e-12)


def test_the_recipe_for_files_has_the_others_size():
    sizes = {name: ByteNet.recipes["files"][name] for name in ("hidden_dim", "dropout")}
    with torch.device("meta"):
        model = ByteNet(4000, 4000, Options(**sizes), joint=True)
    assert 3e6 < sum(p.numel() for p in model.parameters()) < 4e6


def test_it_has_no_alignment():
    model = make()
    model(BATCH, TARGET)
    assert model.alignment([]) is None


@every(
    ("changes", "named"),
    [
        ({"hidden_dim": 1}, "--hidden-dim"),
        ({"kernel_size": 1}, "--kernel-size: expected a number from 3"),
        ({"kernel_size": 4}, "--kernel-size: expected an odd number, got 4"),
        ({"sets": 0}, "--sets"),
        ({"max_dilation": 0}, "--max-dilation: expected a number from 1"),
        ({"max_dilation": 12}, "--max-dilation: expected a power of two, got 12"),
        ({"stretch": 0.5}, "--stretch: expected a number from 1 to 100, got 0.5"),
        ({"stretch": math.nan}, "--stretch"),
        ({"dropout": 1.0}, "--dropout"),
    ],
)
def test_what_means_nothing_is_refused_by_name(changes, named):
    with pytest.raises(ArgumentError, match=named):
        Options(**{**vars(OPTIONS), **changes})


@pytest.mark.parametrize(("length", "width"), [(50, 55), (100, 110), (7, 8)])
def test_a_decimal_stretch_is_what_it_says(length, width):
    model = ByteNet(13, 11, Options(hidden_dim=4, sets=1, max_dilation=2, stretch=1.1))
    assert model.encode(Padded(torch.full((1, length), 5), torch.tensor([length]))).source.shape[1] == width


def test_padding_that_has_learned_something_is_still_nothing():
    """With one vocabulary the embedding of padding is a row of the output matrix."""
    torch.manual_seed(0)
    model = ByteNet(13, 13, Options(hidden_dim=4, sets=1, max_dilation=2, stretch=2.0), joint=True).eval()
    before = model.encode(Padded(torch.tensor([[5, 6]]), torch.tensor([2]))).source
    with torch.no_grad():
        model.source_embedding.weight[0] = 3.0
    torch.testing.assert_close(model.encode(Padded(torch.tensor([[5, 6]]), torch.tensor([2]))).source, before)
