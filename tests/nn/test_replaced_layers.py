"""Layers in the place of a module's projections: adapters, quantized layers and hooks compute what they compute."""

import copy
import warnings
from functools import partial

import pytest
import torch
from torch import nn

from saccade import AuxRequest
from saccade.errors import ArgumentError
from saccade.kernels.topk import dense
from saccade.models import (
    adaptive_attention,
    captioning,
    lrcn,
    luong,
    ntm,
    question_only,
    show_attend_and_tell,
    transformer,
    visual_memory,
)
from saccade.models.adaptive_attention import AdaptiveAttention
from saccade.models.first_step_rnn import FirstStepRNN
from saccade.models.generative import GenerativeAnswerer
from saccade.models.image_encoder import FeatureEncoder, Visual
from saccade.models.lrcn import LRCN
from saccade.models.luong import Luong
from saccade.models.m_rnn import MRNN
from saccade.models.memorizer import Sizes
from saccade.models.ntm import NTM
from saccade.models.padded import Padded
from saccade.models.question_only import QuestionOnly
from saccade.models.show_and_tell import ShowAndTell
from saccade.models.show_attend_and_tell import ShowAttendAndTell
from saccade.models.transformer import Transformer
from saccade.models.visual_memory import VisualMemory
from saccade.nn import (
    Attention,
    AttentionPool,
    ExternalMemory,
    MultiheadAttention,
    PastAttention,
    SetAttention,
    SetPool,
)
from saccade.nn.gated_lstm import GatedLSTM


class LowRank(nn.Module):
    """A linear map and the product of two narrow ones, W x + b + B A x; it has no weight."""

    def __init__(self, base):
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, 2, bias=False)
        self.up = nn.Linear(2, base.out_features, bias=False)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))

    def effective(self):
        return self.base.weight + self.up.weight @ self.down.weight, self.base.bias


class Stored(nn.Module):
    """A linear map whose weight lies in another dtype than it computes in."""

    def __init__(self, base, dtype):
        super().__init__()
        scale = base.weight.abs().amax(1, keepdim=True) / 127 if dtype == torch.int8 else base.weight.new_ones(1)
        stored = base.weight.detach() / scale.detach()
        self.register_buffer("weight", (stored.round() if dtype == torch.int8 else stored).to(dtype))
        self.register_buffer("scale", scale.detach())
        self.bias = base.bias

    def forward(self, x):
        return nn.functional.linear(x, *self.effective())

    def effective(self):
        return self.weight.to(self.scale.dtype) * self.scale, self.bias


class Hooked(nn.Linear):
    """Only the effective weights of a linear map with hooks: they double its input and triple its output."""

    def effective(self):
        return 6 * self.weight, None if self.bias is None else 3 * self.bias


def hooked(base):
    base.register_forward_pre_hook(lambda module, inputs: (2 * inputs[0],))
    base.register_forward_hook(lambda module, inputs, output: 3 * output)
    base.effective = partial(Hooked.effective, base)
    return base


KINDS = {
    "low-rank": LowRank,
    "int8": partial(Stored, dtype=torch.int8),
    "bfloat16": partial(Stored, dtype=torch.bfloat16),
    "hooks": hooked,
}
X, LENGTHS = torch.randn(3, 5, 6, generator=torch.Generator().manual_seed(1)), torch.tensor([5, 3, 1])
TARGET, WANTED = torch.tensor([[1, 4, 5], [1, 6, 0], [1, 7, 8]]), torch.tensor([[4, 5, 2], [6, 2, 0], [7, 8, 2]])
SOURCE = Padded(torch.tensor([[4, 5, 6, 7], [5, 4, 0, 0], [6, 0, 0, 0]]), torch.tensor([4, 2, 1]))
SIZES = {"cell_dim": 7, "hidden_dim": 8, "embedding_dim": 5}
BOXES = torch.tensor([0.0, 0.0, 0.5, 1.0]).expand(3, 4, 4)
VISUAL = Visual(torch.rand(3, 4, 7, generator=torch.Generator().manual_seed(2)), BOXES, torch.tensor([4, 4, 2]))


def remembered(module, x):
    return module(x, memory=module.remember(x[..., :6]))


def memorized(module, x):
    state = module.start(len(x), 4)
    for part in x.unbind(1):
        state = module(part, state)
    return state.read


def written(model, source):
    """The logits and the cost of known tokens, and the logits after the first of them."""
    logits, _ = model.step(TARGET[:, 0], model.encode(source))
    return torch.cat([model(source, TARGET).flatten(), dense(logits).flatten(), model(source, TARGET, WANTED)[None]])


def captioner(kind, options):
    return lambda: kind(FeatureEncoder(7, 7), 9, options), partial(written, source=VISUAL)


MODULES = {
    "attention": (partial(Attention, 6, hidden_dim=8, output_dim=4), lambda module: module(X)),
    "dot": (partial(Attention, 6, hidden_dim=8, score="scaled_dot"), lambda module: remembered(module, X)),
    "heads": (partial(MultiheadAttention, 6, 2, output_gate="headwise"), lambda module: module(X)),
    "keys of other sizes": (partial(MultiheadAttention, 6, 2, kdim=5, vdim=4), lambda m: m(X, X[..., :5], X[..., 1:5])),
    "pool": (partial(AttentionPool, 6, hidden_dim=4, score="additive"), lambda module: module(X)),
    "past": (partial(PastAttention, 6, 4), lambda module: module.run(X, lengths=LENGTHS)[0]),
    "set": (partial(SetAttention, 6, 2, num_inducing=2), lambda module: module(X)),
    "seeds": (partial(SetPool, 6, 2), lambda module: module(X)),
    "memory": (partial(ExternalMemory, 6, 3), lambda module: memorized(module, X)),
    "links": (partial(ExternalMemory, 6, 3, addressing="links"), lambda module: memorized(module, X)),
    "neural turing machine": (
        partial(NTM, Sizes(6, 3), ntm.Options(hidden_dim=5, cell_dim=4, cells=3)),
        lambda model: model(Padded(X, LENGTHS)),
    ),
    "transformer": (
        partial(Transformer, 9, 9, transformer.Options(hidden_dim=8, heads=2, layers=1, feedforward_dim=6)),
        partial(written, source=SOURCE),
    ),
    "luong": (
        partial(Luong, 9, 9, luong.Options(hidden_dim=6, embedding_dim=4, input_feeding=True)),
        partial(written, source=SOURCE),
    ),
    "show-and-tell": captioner(ShowAndTell, captioning.Options(**SIZES)),
    "m-rnn": captioner(MRNN, captioning.Options(**SIZES)),
    "first-step-rnn": captioner(FirstStepRNN, captioning.Options(**SIZES)),
    "lrcn": captioner(LRCN, lrcn.Options(**SIZES)),
    "visual-memory": captioner(VisualMemory, visual_memory.Options(**SIZES)),
    "show-attend-and-tell": captioner(ShowAttendAndTell, show_attend_and_tell.Options(**SIZES)),
    "adaptive": captioner(AdaptiveAttention, adaptive_attention.Options(**SIZES)),
    "answers": (
        lambda: GenerativeAnswerer(QuestionOnly(None, 9, 8, question_only.Options(hidden_dim=8)), 9, 8),
        lambda model: model((VISUAL, SOURCE), TARGET, WANTED),
    ),
}


@pytest.fixture(params=MODULES)
def case(request):
    torch.manual_seed(0)
    make, call = MODULES[request.param]
    return make().eval(), call


def replaced(module, kind):
    """Put a layer of a kind in the place of each linear child, and return the parameters that amount to them."""
    places = [(name, child) for name, child in module.named_modules() if type(child) is nn.Linear]
    parameters = dict(module.named_parameters())
    layers = []
    for name, child in places:
        parent, _, last = name.rpartition(".")
        layers.append((name, KINDS[kind](child)))
        setattr(module.get_submodule(parent), last, layers[-1][1])
    for name, layer in layers:
        weight, bias = layer.effective()
        parameters |= {f"{name}.weight": weight} | ({} if bias is None else {f"{name}.bias": bias})
    return parameters, [layer for _, layer in layers]


@pytest.mark.parametrize("kind", KINDS)
def test_a_replaced_layer_is_called(case, kind):
    (module, call), plain = case, copy.deepcopy(case[0])
    parameters, layers = replaced(module, kind)
    expected = torch.func.functional_call(_Called(plain, call), {f"module.{n}": p for n, p in parameters.items()}, ())
    with torch.no_grad():
        torch.testing.assert_close(call(module), expected.detach(), rtol=1e-4, atol=1e-5)
    output = call(module)
    torch.testing.assert_close(output, expected, rtol=1e-4, atol=1e-5)
    if kind == "low-rank":
        learning = [part.weight for layer in layers for part in (layer.down, layer.up)]
        direction = torch.linspace(-1, 1, output.numel()).view(output.shape)
        found, due = ((each * direction).sum() for each in (output, expected))
        pairs = [torch.autograd.grad(each, learning, allow_unused=True) for each in (found, due)]
        torch.testing.assert_close(*pairs, rtol=1e-3, atol=1e-5)


class _Called(nn.Module):
    def __init__(self, module, call):
        super().__init__()
        self.module, self.call = module, call

    def forward(self):
        return self.call(self.module)


def test_a_dynamically_quantized_module_answers(case):
    module, call = case
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # torch announces another package
        quantized = torch.ao.quantization.quantize_dynamic(module, dtype=torch.qint8)
        expected, found = call(module), call(quantized)
    error = (found - expected).norm() / expected.norm()
    assert 0 < error < 0.05


def test_hooks_of_a_recurrent_cell_run():
    torch.manual_seed(0)
    cell, calls = PastAttention(6, 4), []
    expected = cell.run(X)[0]
    cell.lstm.register_forward_hook(lambda module, inputs, output: calls.append(output))
    torch.testing.assert_close(cell.run(X)[0], expected)
    assert len(calls) == X.shape[1]


def test_gates_of_another_lstm_are_refused():
    module = GatedLSTM(6, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantized = torch.ao.quantization.quantize_dynamic(module, dtype=torch.qint8)
    outputs, _ = quantized(X, lengths=LENGTHS)
    torch.testing.assert_close(outputs, module(X, lengths=LENGTHS)[0], rtol=0.1, atol=0.05)
    with pytest.raises(ArgumentError, match=r"aux: expected None unless lstm is a torch\.nn\.LSTM"):
        quantized(X, aux=AuxRequest(weights=True))
