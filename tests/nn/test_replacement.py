"""A model of torch with Saccade's attention computes what it computed before."""

import copy
import io

import pytest
import torch
from torch import nn

from saccade import normalizers, scores
from saccade._integrations import call as foreign
from saccade.errors import ArgumentError, ShapeError
from saccade.nn import MultiheadAttention, Replaced, replace
from tiers import every

F64 = torch.float64
NESTED_WARNING = "ignore:The PyTorch API of nested tensors is in prototype stage:UserWarning"


def pair(model):
    """A copy of a model as it is, and the model with Saccade's attention."""
    theirs = copy.deepcopy(model)
    assert replace(model).names
    return theirs, model


def assert_equal(theirs, ours, call, atol=1e-6):
    """Both models give one output, and one gradient of each parameter."""
    expected, output = call(theirs), call(ours)
    torch.testing.assert_close(output, expected, atol=atol, rtol=1e-5)
    expected.square().sum().backward()
    output.square().sum().backward()
    gradients = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    assert gradients.keys() == dict(ours.named_parameters()).keys()
    for name, parameter in ours.named_parameters():
        torch.testing.assert_close(parameter.grad, gradients[name], atol=1e-5, rtol=1e-4)


def attention(**options):
    torch.manual_seed(0)
    module = nn.MultiheadAttention(24, 4, **options)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)
    return module


def inputs(module, batched=True, dtype=torch.float32):
    shapes = [(5, 2, 24), (7, 2, module.kdim), (7, 2, module.vdim)]
    tensors = [torch.randn(shape, dtype=dtype) for shape in shapes]
    if not batched:
        return [tensor[:, 0] for tensor in tensors]
    return [tensor.transpose(0, 1) for tensor in tensors] if module.batch_first else tensors


@every("averaged", [True, False])
@every("batched", [True, False])
@every("batch_first", [True, False])
@every(
    "options",
    [
        {},
        {"bias": False},
        {"kdim": 10, "vdim": 14},
        {"add_bias_kv": True},
        {"add_zero_attn": True},
        {"add_bias_kv": True, "add_zero_attn": True, "vdim": 14},
    ],
)
def test_outputs_and_weights_are_torchs(options, batch_first, batched, averaged):
    theirs, ours = pair(attention(batch_first=batch_first, dtype=F64, **options))
    arguments = inputs(theirs, batched, F64)
    expected, weights = theirs(*arguments, average_attn_weights=averaged)
    torch.testing.assert_close(ours(*arguments, average_attn_weights=averaged), (expected, weights))
    output, none = ours(*arguments, need_weights=False)
    torch.testing.assert_close(output, expected)
    assert none is None


def padding(kind):
    forbidden = torch.arange(7) >= torch.tensor([[7], [3]])
    return forbidden if kind == "bool" else torch.where(forbidden, -torch.inf, torch.randn(2, 7))


def pairs_mask(kind, heads):
    forbidden = torch.rand(*((8,) if heads else ()), 5, 7) < 0.4
    forbidden[..., 0] = False
    return forbidden if kind == "bool" else torch.where(forbidden, -torch.inf, torch.randn(forbidden.shape))


@every("need_weights", [True, False])
@every("extra", [{}, {"add_bias_kv": True, "add_zero_attn": True}])
@every(
    "kinds", [("bool", None), ("float", None), (None, "bool"), (None, "float"), ("bool", "bool"), ("float", "float")]
)
@every("heads", [False, True])
def test_masks_are_torchs(kinds, heads, extra, need_weights):
    torch.manual_seed(0)
    theirs, ours = pair(attention(batch_first=True, **extra))
    first, second = kinds
    options = {
        "key_padding_mask": None if first is None else padding(first),
        "attn_mask": None if second is None else pairs_mask(second, heads),
        "need_weights": need_weights,
    }
    arguments = inputs(theirs)
    torch.testing.assert_close(ours(*arguments, **options), theirs(*arguments, **options), atol=1e-6, rtol=1e-5)
    assert_equal(theirs, ours, lambda module: module(*arguments, **options)[0])


@every("need_weights", [True, False])
def test_a_causal_hint(need_weights):
    theirs, ours = pair(attention(batch_first=True))
    x, mask = torch.randn(2, 5, 24), nn.Transformer.generate_square_subsequent_mask(5)
    options = {"attn_mask": mask, "is_causal": True, "need_weights": need_weights}
    torch.testing.assert_close(ours(x, x, x, **options), theirs(x, x, x, **options), atol=1e-6, rtol=1e-5)
    with pytest.raises(ArgumentError, match="is_causal: expected False without an attn_mask"):
        ours(x, x, x, is_causal=True)


@every("floats", [True, False])
def test_a_row_without_an_allowed_key_reads_zeros(floats):
    theirs, ours = pair(attention(batch_first=True))
    x, mask = torch.randn(2, 5, 24), torch.zeros(5, 5, dtype=torch.bool)
    mask[3] = True
    mask = torch.zeros(5, 5).masked_fill(mask, -torch.inf) if floats else mask
    expected, output = theirs(x, x, x, attn_mask=mask), ours(x, x, x, attn_mask=mask)
    assert expected[0][:, 3].isnan().all() and (output[1][:, 3] == 0).all()
    assert torch.equal(output[0][:, 3], ours.out_proj.bias.expand(2, -1))
    others = [0, 1, 2, 4]
    torch.testing.assert_close(output[0][:, others], expected[0][:, others], atol=1e-6, rtol=1e-5)


def test_shapes_that_do_not_fit():
    module = attention(batch_first=True)
    replace(module)
    x = torch.randn(2, 5, 24)
    with pytest.raises(ShapeError, match=r"attn_mask: expected \(5, 5\) or \(8, 5, 5\), got shape \(2, 5, 5\)"):
        module(x, x, x, attn_mask=torch.zeros(2, 5, 5))
    with pytest.raises(ShapeError, match=r"key_padding_mask: expected \(2, 5\), got shape \(5,\)"):
        module(x, x, x, key_padding_mask=torch.zeros(5))
    with pytest.raises(ArgumentError, match=r"True being forbidden, or float masks, got dtype torch.int64"):
        module(x, x, x, attn_mask=torch.zeros(5, 5, dtype=torch.long))
    with pytest.raises(ShapeError, match="key: expected 3 dimensions"):
        module(x, x[0], x[0])
    with pytest.raises(ArgumentError, match="query: expected a dense tensor, got a nested one"):
        module(*[torch.nested.nested_tensor([x[0], x[1, :3]], layout=torch.jagged)] * 3)


def encoder(nested, norm_first=False, layers=2):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(24, 4, 32, 0.1, batch_first=True, norm_first=norm_first)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=nested)


@pytest.mark.filterwarnings(NESTED_WARNING)
@every("nested", [True, False])
def test_an_encoder_takes_no_fused_kernel(nested):
    theirs, ours = pair(encoder(nested).eval())
    x, lengths = torch.randn(2, 7, 24), torch.tensor([7, 3])
    calls = recorded(lambda: ours(x))
    assert len(calls) == 2
    assert_equal(theirs, ours, lambda model: model(x))
    with torch.no_grad():
        options = {"src_key_padding_mask": torch.arange(7) >= lengths[:, None]}
        assert len(recorded(lambda: ours(x, **options))) == 2
        expected, output = theirs(x, **options), ours(x, **options)
        torch.testing.assert_close(ours(x), theirs(x), atol=1e-6, rtol=1e-5)
    if nested:
        assert (expected[1, 3:] == 0).all()
    for index, length in enumerate(lengths):
        torch.testing.assert_close(output[index, :length], expected[index, :length], atol=1e-6, rtol=1e-5)


@pytest.mark.filterwarnings(NESTED_WARNING)
@every("replaced", [(0,), (1,), (0, 1)])
def test_layers_alone_get_the_nested_tensors_of_their_encoder(replaced):
    ours = encoder(nested=True).eval()
    theirs = copy.deepcopy(ours)
    for number in replaced:
        assert replace(ours.layers[number]).names == ("self_attn",)
    x, padding = torch.randn(3, 7, 24), torch.arange(7) >= torch.tensor([[7], [3], [1]])
    with torch.no_grad():
        expected = theirs(x, src_key_padding_mask=padding)
        outputs = []
        calls = recorded(lambda: outputs.append(ours(x, src_key_padding_mask=padding)))
    torch.testing.assert_close(outputs[0], expected, atol=1e-6, rtol=1e-5)
    assert [call.module for call in calls] == [ours.layers[number].self_attn for number in replaced]


def recorded(run):
    """The calls that a recorder of this thread gets."""
    calls = []

    class Recorder:
        def compute(self, call, own, aux, below):
            calls.append(call)
            return below(own, aux)

    foreign.STACK.recorders.append(Recorder())
    try:
        run()
    finally:
        foreign.STACK.recorders.pop()
    return calls


def test_a_recorder_gets_each_call():
    model = nn.Transformer(24, 4, 1, 1, 32, batch_first=True).eval()
    replace(model)
    calls = recorded(lambda: model(torch.randn(2, 7, 24), torch.randn(2, 5, 24)))
    names = {module: name for name, module in model.named_modules()}
    assert [(names[call.module], call.kind) for call in calls] == [
        ("encoder.layers.0.self_attn", "self"),
        ("decoder.layers.0.self_attn", "self"),
        ("decoder.layers.0.multihead_attn", "cross"),
    ]
    assert calls[2].query.shape == (2, 4, 5, 6) and calls[2].key.shape == (2, 4, 7, 6)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True, but:UserWarning")  # without batch_first
@every("batch_first", [True, False])
def test_a_transformer(batch_first):
    torch.manual_seed(0)
    theirs, ours = pair(nn.Transformer(24, 4, 1, 2, 32, batch_first=batch_first).eval())
    source, target = torch.randn(7, 7, 24), torch.randn(7, 5, 24)
    if not batch_first:
        source, target = source.transpose(0, 1), target.transpose(0, 1)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    pads = torch.zeros(7, 7).masked_fill(torch.arange(7) >= torch.arange(1, 8)[:, None], -torch.inf)
    options = {"tgt_mask": mask, "tgt_is_causal": True, "src_key_padding_mask": pads, "memory_key_padding_mask": pads}
    assert_equal(theirs, ours, lambda model: model(source, target, **options), atol=2e-6)


class TextTower(nn.Module):
    """The text half of CLIP as its code has it: layers with a float causal mask, time first."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 24)
        self.attentions = nn.ModuleList(nn.MultiheadAttention(24, 4) for _ in range(2))
        self.register_buffer("mask", torch.full((7, 7), -torch.inf).triu(1), persistent=False)

    def forward(self, tokens):
        x = self.embedding(tokens).transpose(0, 1)
        for attention in self.attentions:
            x = x + attention(x, x, x, need_weights=False, attn_mask=self.mask)[0]
        return x.transpose(0, 1)


def test_a_text_tower():
    torch.manual_seed(0)
    theirs, ours = pair(TextTower())
    tokens = torch.randint(11, (2, 7))
    assert_equal(theirs, ours, lambda model: model(tokens))


def test_states_load_both_ways():
    theirs, ours = pair(encoder(False))
    before = theirs.state_dict()
    assert list(ours.state_dict()) == list(before)
    other = encoder(False)
    nn.init.normal_(other.layers[0].self_attn.in_proj_weight)
    ours.load_state_dict(other.state_dict())
    theirs.load_state_dict(ours.state_dict())
    assert torch.equal(theirs.layers[0].self_attn.in_proj_weight, other.layers[0].self_attn.in_proj_weight)
    file = io.BytesIO()
    torch.save(ours.state_dict(), file)
    file.seek(0)
    theirs.load_state_dict(torch.load(file, weights_only=True))


def test_parameters_hooks_and_mode_stay():
    module, calls = encoder(False).to(F64).eval(), []
    module.layers[1].self_attn.in_proj_weight = module.layers[0].self_attn.in_proj_weight
    module.layers[0].self_attn.register_forward_hook(lambda *_: calls.append("hook"))
    module.layers[1].self_attn.train()
    parameters = dict(module.named_parameters())
    replaced = replace(module)
    assert replaced == Replaced(("layers.0.self_attn", "layers.1.self_attn"), {})
    assert all(parameter is parameters[name] for name, parameter in module.named_parameters())
    first, second = (layer.self_attn for layer in module.layers)
    assert first.in_proj_weight is second.in_proj_weight and not first.training and second.training
    assert isinstance(first, nn.MultiheadAttention) and first.batch_first and first.num_heads == 4
    assert module(torch.randn(2, 5, 24, dtype=F64)).dtype == F64 and calls == ["hook"]


def test_a_shared_module_is_replaced_once():
    shared = attention()
    model = nn.ModuleDict({"first": shared, "second": shared})
    assert replace(model).names == ("first",)
    assert model["second"] is model["first"] is shared


def test_a_deep_copy_computes_the_same():
    model = encoder(False).eval()
    replace(model, normalizer=normalizers.Entmax(1.5))
    x = torch.randn(2, 5, 24)
    assert torch.equal(copy.deepcopy(model)(x), model(x))


def test_another_normalizer_and_score():
    module, ours = attention(batch_first=True), MultiheadAttention(24, 4, normalizer=normalizers.Entmax(1.5))
    ours.load_state_dict(module.state_dict())
    replace(module, normalizer=normalizers.Entmax(1.5))
    x = torch.randn(2, 5, 24)
    output, weights = module(x, x, x)
    torch.testing.assert_close(output, ours(x))
    assert (weights == 0).any()
    module = attention(batch_first=True)
    replace(module, score=scores.ScaledDot(softcap=nn.Parameter(torch.tensor(2.0))))
    module(x, x, x)[0].sum().backward()
    assert module.score.softcap.grad.abs() > 0 and "score.softcap" in module.state_dict()


def test_dropout_drops_weights_in_training_alone():
    module = attention(dropout=0.5, batch_first=True)
    replace(module)
    x = torch.randn(2, 5, 24)
    output, weights = module(x, x, x)
    assert not torch.equal(module(x, x, x)[0], output)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 5))
    module.eval()
    assert torch.equal(module(x, x, x)[0], module(x, x, x)[0])


class Own(nn.MultiheadAttention):
    pass


class SelfAttention(nn.Module):
    pass


def test_modules_that_are_left_have_reasons():
    blocks = {"torch": attention(), "own": Own(24, 4), "other": SelfAttention(), "ours": MultiheadAttention(24, 4)}
    model = nn.ModuleDict(blocks)
    left = {
        "own": "Own is a subclass of torch.nn.MultiheadAttention, which may compute something else",
        "other": "SelfAttention is no torch.nn.MultiheadAttention",
        "ours": "it is a module of Saccade",
    }
    assert replace(model) == Replaced(("torch",), left)
    again = replace(model, required=False)
    assert again == Replaced((), {"torch": "it is replaced already", **left})
    with pytest.raises(ArgumentError, match=r"got 4 other modules, for example torch: it is replaced already\."):
        replace(model)


def test_nothing_to_replace_is_an_error():
    with pytest.raises(
        ArgumentError, match=r"^model: expected a torch.nn.MultiheadAttention in it, got Linear without"
    ):
        replace(nn.Linear(2, 2))
    assert replace(nn.Linear(2, 2), required=False) == Replaced((), {})
    with pytest.raises(ArgumentError, match="normalizer: expected an instance, got the class Sparsemax"):
        replace(attention(), normalizer=normalizers.Sparsemax)
    with pytest.raises(TypeError, match=r"model: expected a torch.nn.Module, got list"):
        replace([])
