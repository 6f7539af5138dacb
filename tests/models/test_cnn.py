import pytest
import torch

from saccade.errors import ArgumentError, ShapeError
from saccade.look import record
from saccade.models import cnn, cnn_attention
from saccade.models.cnn import CNN
from saccade.models.cnn_attention import CNNAttention, SelfAttention
from saccade.models.colours import colour_shares
from tiers import every

KINDS = [CNN, CNNAttention]


def small(kind, channels=3, classes=5, **options):
    sizes = {"widths": "4,8,6"} | ({"attention_dim": 4, "attention_gain": 1.0} if kind is CNNAttention else {})
    return kind(channels, classes, kind.Options(**{**sizes, **options})).eval()


def parameters(model):
    return sum(parameter.numel() for parameter in model.parameters())


@every("kind", KINDS)
@every(
    ("size", "stride", "stem"),
    [
        ((8, 8), 1, "patch"),
        ((9, 31), 3, "double"),
        ((32, 32), 2, "patch"),
        ((70, 13), 8, "double"),
        ((8, 8), 8, "patch"),
    ],
)
def test_images_of_any_size_are_classified(kind, size, stride, stem):
    assert small(kind, stem_stride=stride, stem=stem)(torch.rand(2, 3, *size)).shape == (2, 5)


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_of_one_cell_is_learned_from_alone(kind):
    """One number a channel has no deviation: the running one stands for it, and stays."""
    model = small(kind, stem_stride=4).train()
    before = {name: value.clone() for name, value in model.named_buffers() if "running" in name}
    model(torch.rand(1, 3, 8, 8)).sum().backward()
    after = dict(model.named_buffers())
    assert model.output.weight.grad.isfinite().all()
    stayed = {name for name, value in before.items() if torch.equal(value, after[name])}
    assert {name for name in before if name.startswith("stages.1.")} <= stayed < {*before}


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_is_classified_alone_as_among_others(kind):
    model, images = small(kind), torch.rand(7, 3, 11, 13)
    together = model(images)
    for place, image in enumerate(images):
        assert torch.allclose(model(image[None])[0], together[place], atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_constants_of_channels_are_part_of_the_model(kind):
    plain = small(kind)
    told = kind(3, 5, kind.Options(**{"widths": "4,8,6"} | ({"attention_dim": 4} if kind is CNNAttention else {})),
                mean=(0.1, 0.2, 0.3), std=(0.5, 1.0, 2.0)).eval()  # fmt: skip
    state = plain.state_dict()
    told.load_state_dict({name: told.state_dict()[name] if name in ("mean", "std") else state[name] for name in state})
    images = torch.rand(2, 3, 9, 10)
    scaled = (images - torch.tensor([0.1, 0.2, 0.3])[:, None, None]) / torch.tensor([0.5, 1.0, 2.0])[:, None, None]
    assert torch.allclose(told(images), plain(scaled / 2 + 0.5), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_learns(kind):
    model = small(kind).train()
    model(torch.rand(3, 3, 16, 16)).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        if not name.endswith("in_proj_bias"):  # a key's moves no weight
            assert bool(parameter.grad.abs().sum() > 0), name


def test_attention_adds_few_parameters():
    plain, attentive = CNN(3, 10), CNNAttention(3, 10)
    assert parameters(plain) == 483_402
    assert parameters(plain) < parameters(attentive) < 1.02 * parameters(plain)


def test_without_a_gain_attention_begins_as_nothing():
    plain, attentive = small(CNN), small(CNNAttention, attention_gain=0.0)
    attentive.load_state_dict(plain.state_dict(), strict=False)
    images = torch.rand(2, 3, 16, 16)
    assert torch.allclose(plain(images), attentive(images), atol=1e-6)
    attentive.train()(images).sum().backward()
    assert bool(attentive.across.after.norm.weight.grad.abs().sum() > 0)


def test_attention_is_what_its_equations_say():
    module, x = SelfAttention(6, 4, 2, gain=0.7).eval(), torch.randn(1, 6, 3, 5)
    heads = module.attention
    narrow = module.before(x)[0].flatten(1).T + cnn_attention._code(3, 5, 4)
    query, key, value = (narrow @ heads.in_proj_weight.T + heads.in_proj_bias).split(4, 1)
    found = []
    for head in range(2):
        part = slice(2 * head, 2 * head + 2)
        weights = torch.softmax(query[:, part] @ key[:, part].T / 2**0.5, 1)
        found.append(weights @ value[:, part])
    joined = torch.cat(found, 1) @ heads.out_proj.weight.T + heads.out_proj.bias
    expected = x + module.after(joined.T.reshape(1, 4, 3, 5))
    assert torch.allclose(module(x), expected, atol=1e-5)


def test_what_is_attended_to_can_be_recorded():
    model = small(CNNAttention)
    with record(model) as records, torch.no_grad():
        model(torch.rand(2, 3, 32, 24))
    [(name, aux)] = records
    assert name == "across.attention"
    assert aux.weights.shape == (2, 2, 8 * 6, 8 * 6)
    assert torch.allclose(aux.weights.sum(-1), torch.ones(2, 2, 48))


@every("channels", [1, 2, 3, 4, 7, 32])
def test_no_two_positions_have_the_same_code(channels):
    code = cnn_attention._code(7, 5, channels)
    assert code.shape == (35, channels)
    larger = cnn_attention._code(9, 6, channels).unflatten(0, (9, 6))[:7, :5].flatten(0, 1)
    assert torch.equal(code, larger)  # a position's code is its own, whatever the size of the map
    if channels > 2:
        assert len(code.unique(dim=0)) == 35


@pytest.mark.parametrize("kind", KINDS)
def test_bfloat16_is_near(kind):
    model, images = small(kind), torch.rand(3, 3, 16, 16)
    with torch.autocast("cpu", torch.bfloat16):
        near = model(images)
    assert torch.allclose(near.float(), model(images), atol=0.1, rtol=0.1)


@pytest.mark.parametrize("shape", [(3, 16, 16), (2, 1, 16, 16), (2, 3, 7, 16), (2, 3, 16, 7)])
def test_what_is_no_image_is_refused(shape):
    with pytest.raises(ShapeError, match=r"images: expected shape \(batch, 3, height, width\) of 8 pixels or more"):
        small(CNN)(torch.rand(shape))


@pytest.mark.parametrize(
    ("constants", "message"),
    [
        ({"mean": (0.5, 0.5)}, "mean: expected 3 finite numbers"),
        ({"std": (0.5, 0.0, 0.5)}, "std: expected 3 finite numbers above 0, one a channel"),
        ({"mean": (0.5, float("nan"), 0.5)}, "mean: expected 3 finite numbers"),
    ],
)
def test_constants_that_mean_nothing_are_refused(constants, message):
    with pytest.raises(ArgumentError, match=message):
        CNN(3, 5, **constants)


@every(
    ("options", "message"),
    [
        ({"widths": "32;64"}, "--widths: expected numbers from 1 to 4096 with commas"),
        ({"widths": ""}, "--widths: expected numbers"),
        ({"widths": "0,4"}, "--widths: expected numbers"),
        ({"widths": "5000"}, "--widths: expected numbers"),
        ({"widths": "1,1,1,1,1,1,1"}, "--widths: expected at most 6 stages, got 7"),
        ({"blocks": 0}, "--blocks: expected a number from 1 to 64, got 0"),
        ({"stem_stride": 9}, "--stem-stride: expected a number from 1 to 8, got 9"),
        ({"stem": "none"}, "--stem: expected patch or double, got none"),
        ({"dropout": 1.0}, "--dropout: expected 0 <= dropout < 1"),
        ({"heads": 3}, "--heads: expected a divisor of 32 features, got 3"),
        ({"attention_dim": 0}, "--attention-dim: expected a number from 1"),
        ({"attention_stage": 4}, r"--attention-stage: expected a stage from 1 to 3 \(--widths\), got 4"),
        ({"attention_gain": -1.0}, "--attention-gain: expected a number from 0 to 1, got -1.0"),
    ],
)
def test_sizes_that_mean_nothing_are_refused(options, message):
    kind = cnn_attention if any("attention" in name or name == "heads" for name in options) else cnn
    with pytest.raises(ArgumentError, match=message):
        kind.Options(**options)


@pytest.mark.parametrize("kind", KINDS)
def test_shares_of_colours_are_a_linear_part_that_begins_at_zero(kind):
    images, plain, coloured = torch.rand(3, 3, 16, 16), small(kind), small(kind, colours=True)
    coloured.load_state_dict(plain.state_dict(), strict=False)
    torch.testing.assert_close(coloured(images), plain(images))
    assert set(coloured.state_dict()) - set(plain.state_dict()) == {"colours.weight"}
    with torch.no_grad():
        coloured.colours.weight.normal_()
    torch.testing.assert_close(coloured(images), plain(images) + 8 * colour_shares(images) @ coloured.colours.weight.T)
