"""Models that write about images, held to their papers' equations and to what every writer is held to."""

from functools import partial

import pytest
import torch
from torch.nn import functional as F

from models import laws
from saccade import AuxRequest, look
from saccade.errors import ArgumentError
from saccade.models import (
    adaptive_attention,
    caption_transformer,
    captioning,
    lrcn,
    show_attend_and_tell,
    visual_memory,
)
from saccade.models.adaptive_attention import AdaptiveAttention, SentinelAttention
from saccade.models.caption_transformer import CaptionTransformer
from saccade.models.first_step_rnn import FirstStepRNN
from saccade.models.image_encoder import FeatureEncoder, ImageEncoder, Visual
from saccade.models.lrcn import LRCN
from saccade.models.m_rnn import MRNN
from saccade.models.show_and_tell import ShowAndTell
from saccade.models.show_attend_and_tell import ShowAttendAndTell
from saccade.models.visual_memory import VisualMemory
from saccade.nn import Attention
from tiers import every

SIZES = {"widths": "4,6", "stem_stride": 4, "cell_dim": 7, "hidden_dim": 10, "embedding_dim": 5}
HARD = {"read": "reinforce", "baseline": "moving-average", "soft_share": 0.5}
LAYERS = {"widths": "4,6", "stem_stride": 4, "cell_dim": 7, "hidden_dim": 12, "heads": 3, "layers": 2}
MODELS = {
    "show-and-tell": (ShowAndTell, captioning.Options(**SIZES)),
    "m-rnn": (MRNN, captioning.Options(**SIZES)),
    "first-step-rnn": (FirstStepRNN, captioning.Options(**SIZES)),
    "lrcn": (LRCN, lrcn.Options(**SIZES)),
    "lrcn 1u": (LRCN, lrcn.Options(**SIZES, stack="1u")),
    "lrcn 2u": (LRCN, lrcn.Options(**SIZES, stack="2u")),
    "visual-memory": (VisualMemory, visual_memory.Options(**{**SIZES, "hidden_dim": 9})),
    "soft": (ShowAttendAndTell, show_attend_and_tell.Options(**SIZES)),
    "by word": (ShowAttendAndTell, show_attend_and_tell.Options(**SIZES, query="state-and-word")),
    "hard by word": (ShowAttendAndTell, show_attend_and_tell.Options(**SIZES, **HARD, query="state-and-word")),
    "sparsemax": (ShowAttendAndTell, show_attend_and_tell.Options(**SIZES, normalizer="sparsemax")),
    "entmax": (ShowAttendAndTell, show_attend_and_tell.Options(**SIZES, normalizer="entmax", doubly_stochastic=1.0)),
    "doubly stochastic": (ShowAttendAndTell, show_attend_and_tell.Options(**SIZES, doubly_stochastic=1.0)),
    "hard": (ShowAttendAndTell, show_attend_and_tell.Options(**SIZES, **HARD)),
    "straight-through": (ShowAttendAndTell, show_attend_and_tell.Options(**SIZES, read="straight-through")),
    "adaptive": (AdaptiveAttention, adaptive_attention.Options(**SIZES)),
    "spatial": (AdaptiveAttention, adaptive_attention.Options(**SIZES, sentinel=False)),
    "transformer": (CaptionTransformer, caption_transformer.Options(**LAYERS, feedforward_dim=20)),
}
FIRST = [
    *["show-and-tell", "m-rnn", "first-step-rnn", "lrcn", "visual-memory", "soft", "hard", "adaptive", "transformer"],
]
CASES = [name if name in FIRST else pytest.param(name, marks=pytest.mark.slow) for name in MODELS]
WORDS = 11
IMAGES = torch.rand(3, 3, 32, 40, generator=torch.Generator().manual_seed(1), dtype=torch.double)
TARGET = torch.tensor([[1, 4, 5, 6], [1, 7, 2, 0], [1, 9, 8, 10]])
WANTED = torch.tensor([[4, 5, 6, 2], [7, 2, 0, 0], [9, 8, 10, 2]])


def made(name, encoder=None):
    torch.manual_seed(0)
    kind, options = MODELS[name]
    return kind(encoder or ImageEncoder(3, options), WORDS, options).double()


@pytest.fixture(params=CASES)
def model(request):
    return made(request.param).eval()


def test_word_by_word_and_alone_it_writes_as_together(model):
    whole = model(Visual(IMAGES), TARGET)
    state, logits = model.encode(Visual(IMAGES)), []
    for token in TARGET.unbind(1):
        output, state = model.step(token, state)
        logits.append(output.dense())
    torch.testing.assert_close(torch.stack(logits, 1), whole, rtol=1e-9, atol=1e-11)
    alone = model(Visual(IMAGES[1:2]), TARGET[1:2])
    torch.testing.assert_close(alone[0], whole[1], rtol=1e-9, atol=1e-11)


def test_outputs_of_a_beam_go_on_by_themselves(model):
    state, rows = model.encode(Visual(IMAGES)), torch.tensor([[0, 0], [1, 1], [2, 2]])
    beam = model.step(TARGET[:, :1].repeat_interleave(2, 0)[:, 0], state.select(rows, torch.arange(3)))[1]
    swapped = beam.select(torch.tensor([[1, 0], [3, 3], [5, 4]]), None)
    tokens = torch.tensor([4, 5, 6, 6, 7, 8])
    logits = model.step(tokens, swapped)[0].dense()
    single = model.step(TARGET[:, 0], state)[1]
    for row, image in ((0, 0), (2, 1), (5, 2)):
        own = single.select(torch.tensor([[image]]), torch.tensor([image]))
        torch.testing.assert_close(logits[row], model.step(tokens[row : row + 1], own)[0].dense()[0])


@pytest.mark.parametrize("name", CASES)
def test_everything_learns(name):
    model = made(name).train()
    laws.parameters_that_learn(model, model(Visual(IMAGES), TARGET, WANTED, 0.1))


@every("name", FIRST)
def test_another_model_answers_alike_with_its_state(name):
    laws.the_same_state(made(name), made(name))


@pytest.mark.parametrize("name", CASES)
def test_padding_of_regions_and_of_captions_changes_nothing(name):
    model = made(name, FeatureEncoder(5, 7)).eval()
    features, boxes = torch.randn(2, 6, 5, dtype=torch.double), torch.rand(2, 6, 4, dtype=torch.double)
    logits = model(Visual(features, boxes, torch.tensor([6, 4])), TARGET[:2])
    alone = model(Visual(features[1:, :4], boxes[1:, :4], torch.tensor([4])), TARGET[1:2, :3])
    torch.testing.assert_close(logits[1:, :3], alone)
    features[1, 4:], boxes[1, 4:] = torch.nan, torch.nan
    torch.testing.assert_close(model(Visual(features, boxes, torch.tensor([6, 4])), TARGET[:2]), logits)


def test_an_alignment_is_a_row_of_shares_for_each_word(model):
    with look.record(model, detach=True, required=False) as records:
        model.decode(TARGET, model.encode(Visual(IMAGES)))
    found = model.alignment(records)
    if isinstance(model, captioning.MeanCaptioner):
        assert found is None
        return
    cells = model.image_encoder(Visual(IMAGES)).values.shape[1]
    assert found.shape == (3, 4, cells)
    if isinstance(model, AdaptiveAttention) and model.sentinel_proj is not None:
        left = found.sum(-1)  # to the image by the sentinel
        assert bool(((left > 0) & (left < 1)).all())
    else:
        torch.testing.assert_close(found.sum(-1), torch.ones(3, 4, dtype=torch.double))
    if isinstance(model, ShowAttendAndTell) and model.options.read != "soft":
        assert set(found.unique().tolist()) == {0.0, 1.0}


def lstm(inputs, cell):
    first, forget, candidate, last = inputs.chunk(4)
    cell = torch.sigmoid(forget) * cell + torch.sigmoid(first) * torch.tanh(candidate)
    return torch.sigmoid(last) * torch.tanh(cell), cell


def pictured(model, cells):
    """The one vector of an image: the mean of its cells, standardized by what training has seen."""
    norm = model.norm.norm
    image = (cells.mean(0) - norm.running_mean) / (norm.running_var + norm.eps).sqrt()
    return image if norm.weight is None else norm.weight * image + norm.bias


def told(model, cells, target):
    """Show and tell of one image, Eq. 10 to 12."""
    nothing, image = cells.new_zeros(10), model.image_proj(pictured(model, cells))
    hidden, cell = lstm(model.input_proj(image) + model.hidden_proj(nothing), nothing)
    for token in target:
        hidden, cell = lstm(model.input_proj(model.embedding(token)) + model.hidden_proj(hidden), cell)
        yield model.words(hidden), None


def met(model, cells, target):
    """The multimodal RNN of one image, Eq. 1 to 3."""
    past = cells.new_zeros(10)
    for token in target:
        word = F.relu(model.second(model.embedding(token)))
        past = F.relu(model.hidden_proj(past) + model.input_proj(word))
        sums = model.word_proj(word) + model.past_proj(past) + model.image_proj(pictured(model, cells))
        yield model.words(1.7159 * torch.tanh(sums * 2 / 3)), None


def biased(model, cells, target):
    """Rectified units with the image at their first step, of one image, Eq. 13 to 15."""
    hidden, bias = cells.new_zeros(10), model.image_proj(pictured(model, cells))
    for number, token in enumerate(target):
        inputs = model.input_proj(model.embedding(token)) + model.hidden_proj(hidden)
        hidden = F.relu(inputs + bias if number == 0 else inputs)
        yield model.words(hidden), None


def stacked(model, cells, target, *, stack):
    """One or two LSTMs of one image."""
    first, second = ([cells.new_zeros(10), cells.new_zeros(10)] for _ in range(2))
    image, nothing = model.image_proj(pictured(model, cells)), cells.new_zeros(40)
    for token in target:
        seen = nothing if stack == "2f" else image
        inputs = model.input_proj(model.embedding(token)) + seen
        first = lstm(inputs + model.hidden_proj(first[0]), first[1])
        if stack == "1u":
            yield model.words(first[0]), None
            continue
        inputs = model.second_input(first[0]) + (image if stack == "2f" else nothing)
        second = lstm(inputs + model.second_hidden(second[0]), second[1])
        yield model.words(second[0]), None


def remembered(model, cells, target):
    """The visual memory of one image, whose first five of nine units see it."""
    image = model.image_proj(pictured(model, cells))
    state, memory = cells.new_zeros(9), cells.new_zeros(9)
    for token in target:
        word = model.embedding(token)
        inputs = model.input_proj(word) + model.hidden_proj(state)
        state = torch.sigmoid(torch.cat([inputs[:5] + image, inputs[5:]]))
        memory = torch.sigmoid(model.memory_input(word) + model.memory_hidden(memory))
        yield model.words(torch.cat([state, memory])), None


def nearest(scores, _dim):
    """The point of the simplex that is nearest to some scores."""
    ordered = scores.sort(descending=True).values
    thresholds = (ordered.cumsum(0) - 1) / torch.arange(1, len(scores) + 1)
    return (scores - thresholds[ordered > thresholds][-1]).clamp_min(0)


def attended(model, cells, target, *, weigh=F.softmax):
    """Show, attend and tell of one image, softly, Eq. 4 to 9 and 13."""
    hidden, cell = (torch.tanh(first(cells.mean(0))) for first in (model.first_hidden, model.first_cell))
    attention = model.attention
    v, keys = attention.score.get().v, attention.key_projection(cells)
    for token in target:
        word = model.embedding(token)
        query = hidden if model.options.query == "state" else torch.cat([hidden, word])
        weights = weigh(torch.tanh(attention.query_projection(query) + keys) @ v, 0)
        context = torch.sigmoid(model.gate(hidden)) * (weights @ cells)
        inputs = model.input_proj(word) + model.context_proj(context) + model.hidden_proj(hidden)
        hidden, cell = lstm(inputs, cell)
        yield model.words(word + model.read_hidden(hidden) + model.read_context(context)), weights


def adaptive(model, cells, target, *, sentinel=True):
    """Adaptive attention of one image, Eq. 5 to 16."""
    hidden, memory, attention = cells.new_zeros(10), cells.new_zeros(10), model.attention
    mean, values = F.relu(model.mean_proj(pictured(model, cells))), F.relu(model.cell_proj(cells))
    v = attention.score.get().v
    for token in target:
        before, inputs = hidden, model.input_proj(model.embedding(token)) + model.image_proj(mean)
        hidden, memory = lstm(inputs[:40] + model.hidden_proj(before), memory)
        query = attention.query_projection(hidden)
        logits, read = torch.tanh(attention.key_projection(values) + query) @ v, values
        if sentinel:
            own = torch.sigmoid(inputs[40:] + model.sentinel_proj(before)) * torch.tanh(memory)
            compared = torch.tanh(attention.sentinel_projection(own) + query)
            logits, read = torch.cat([logits, (compared @ v)[None]]), torch.cat([values, own[None]])
        weights = logits.softmax(0)
        yield model.words(weights @ read + hidden), weights[: len(cells)]


EQUATIONS = {
    "show-and-tell": told,
    "m-rnn": met,
    "first-step-rnn": biased,
    **{name: partial(stacked, stack=name[-2:]) for name in ("lrcn 1u", "lrcn 2u")},
    "lrcn": partial(stacked, stack="2f"),
    "visual-memory": remembered,
    "soft": attended,
    "by word": attended,
    "sparsemax": partial(attended, weigh=nearest),
    "adaptive": adaptive,
    "spatial": partial(adaptive, sentinel=False),
}


@every(("name", "write"), EQUATIONS.items())
def test_it_is_what_the_equations_say(name, write):
    model = made(name)
    model(Visual(IMAGES), TARGET)  # what is standardized has seen a batch
    model.eval()
    logits, cells = model(Visual(IMAGES), TARGET), model.image_encoder(Visual(IMAGES)).values
    for row in range(3):
        expected = torch.stack([found for found, _ in write(model, cells[row], TARGET[row])])
        torch.testing.assert_close(logits[row], expected)
        with look.record(model, detach=True, required=False) as records:
            model.decode(TARGET[row : row + 1], model.encode(Visual(IMAGES[row : row + 1])))
        weights = [found for _, found in write(model, cells[row], TARGET[row])]
        if weights[0] is not None:
            torch.testing.assert_close(model.alignment(records)[0], torch.stack(weights))


@every("regions", [False, True])
@every("name", FIRST)
def test_several_captions_of_an_image_repeat_it(name, regions):
    about, model = torch.tensor([1, 0, 1]), made(name, FeatureEncoder(5, 7) if regions else None).eval()
    model.training = True  # of itself alone: its parts have neither dropout nor statistics of a batch
    if (attention := getattr(model, "attention", None)) is not None:
        attention.training = True  # draws, where one cell is read
    features, boxes, lengths = torch.rand(2, 6, 5).double(), torch.rand(2, 6, 4).double(), torch.tensor([6, 4])
    seen = Visual(features, boxes, lengths) if regions else Visual(IMAGES[:2])
    twice = Visual(*(None if part is None else part[about] for part in seen[:3]))
    found = []
    for one in (seen._replace(about=about), twice):
        torch.manual_seed(0)
        model.zero_grad()
        cost = model(one, TARGET, WANTED)
        cost.backward()
        torch.manual_seed(0)
        grads = [part.grad.clone() for part in model.parameters() if part.grad is not None]
        found.append([model(one, TARGET).detach(), cost.detach(), *grads])
    for together, apart in zip(*found, strict=True):
        torch.testing.assert_close(together, apart)


@every("name", FIRST)
def test_half_precision_is_learned_in(name):
    model = made(name).float().train()
    with torch.autocast("cpu", torch.bfloat16):
        cost = model(Visual(IMAGES.float()), TARGET, WANTED)
    cost.backward()
    grads = [part.grad for part in model.parameters() if part.grad is not None]
    assert bool(cost.isfinite()) and grads and all(bool(grad.isfinite().all()) for grad in grads)


def test_a_sentinel_is_one_more_thing_to_attend_to():
    torch.manual_seed(0)
    attention = SentinelAttention(6, 4).double()
    cells, query, sentinel = torch.randn(2, 5, 6).double(), torch.randn(2, 3, 6).double(), torch.randn(2, 3, 6).double()
    attention.sentinel_projection.weight.data = attention.key_projection.weight.data  # as if it were a cell
    memory, aux = attention.remember(cells), AuxRequest(weights=True)
    output, found = attention(query, sentinel, memory=memory, aux=aux)
    for row, own in enumerate(sentinel.unbind(1)):
        with_own = attention.remember(torch.cat([cells, own[:, None]], 1))
        expected, said = Attention.forward(attention, query[:, row : row + 1], memory=with_own, aux=aux)
        torch.testing.assert_close(output[:, row : row + 1], expected)
        torch.testing.assert_close(found.weights[:, row : row + 1], said.weights)
    assert attention(query, sentinel, memory=memory).equal(output)
    with pytest.raises(ArgumentError, match="aux: expected weights alone"):
        attention(query, sentinel, memory=memory, aux=AuxRequest(entropy=True))


def test_gradients_of_a_sentinel_are_its_definitions():
    torch.manual_seed(0)
    attention = SentinelAttention(3, 2).double()
    given = [torch.randn(2, 4, 3, dtype=torch.double, requires_grad=True) for _ in range(3)]

    def read(query, sentinel, cells):
        return attention(query, sentinel, memory=attention.remember(cells))

    assert torch.autograd.gradcheck(read, given)


@pytest.mark.parametrize("normalizer", ["sparsemax", "entmax"])
def test_sparse_weights_are_of_few_cells_and_learned(normalizer):
    soft, sparse = made("soft").eval(), made(normalizer).eval()
    for model in (soft, sparse):  # the same weights: a normalizer has none
        model.load_state_dict(soft.state_dict())
        model.attention.score.get().v.data.mul_(30)  # so that scores lie far apart
    assert 0 < int((looked(sparse) > 0).sum()) < int((looked(soft) > 0).sum())
    sparse(Visual(IMAGES), TARGET, WANTED).backward()
    given = sparse.attention.query_projection.weight.grad
    assert bool(given.isfinite().all()) and bool(given.any())


def looked(model):
    """The weights of all words."""
    with look.record(model, detach=True, required=False) as records:
        model.decode(TARGET, model.encode(Visual(IMAGES)))
    return model.alignment(records)


def test_the_penalty_is_of_the_words_that_are_there():
    plain, model = made("soft").eval(), made("doubly stochastic").eval()
    model.load_state_dict(plain.state_dict())
    cells, total = model.image_encoder(Visual(IMAGES)).values, 0.0
    for row, length in enumerate((4, 2, 4)):
        weights = torch.stack([found for _, found in attended(model, cells[row], TARGET[row])])[:length]
        total += (1 - weights.sum(0)).square().sum().item()
    model.training = True  # of itself alone: its parts have neither dropout nor statistics of a batch
    cost, without = model(Visual(IMAGES), TARGET, WANTED), plain(Visual(IMAGES), TARGET, WANTED)
    assert (cost - without).item() == pytest.approx(total / 10)


def test_the_penalty_is_not_of_regions_that_are_padding():
    options = show_attend_and_tell.Options(**SIZES, doubly_stochastic=1.0)
    model = ShowAttendAndTell(FeatureEncoder(7, options.cell_dim), 11, options).eval()
    model.training = True  # of itself alone
    values, boxes, lengths = torch.rand(3, 5, 7), torch.rand(3, 5, 4).sort(-1).values, torch.tensor([5, 2, 3])
    wider = [torch.nn.functional.pad(part, (0, 0, 0, 6)) for part in (values, boxes)]
    cost, padded = (model(Visual(*parts, lengths), TARGET, WANTED) for parts in ((values, boxes), wider))
    torch.testing.assert_close(cost, padded)


def test_the_memory_reconstructs_the_image_from_the_words_alone():
    model = made("visual-memory")
    model(Visual(IMAGES), TARGET)  # running means have seen a batch
    model.eval()
    about = torch.tensor([2, 0, 0])
    seen = Visual(IMAGES, about=about)
    errors, total = model.reconstruction(seen, TARGET), 0.0
    cells = model.image_encoder(Visual(IMAGES)).values
    for row, length in enumerate((4, 2, 4)):
        memory, image = cells.new_zeros(9), pictured(model, cells[about[row]])
        for step, token in enumerate(TARGET[row, :length]):
            inputs = model.memory_input(model.embedding(token)) + model.memory_hidden(memory)
            memory = torch.sigmoid(inputs)
            error = (model.reconstruct(memory) - image).square().mean()
            torch.testing.assert_close(errors[row, step], error)
            total += error.item()
    plain = model(seen, TARGET, WANTED)
    model.training = True  # its norm is not, and uses running means
    assert (model(seen, TARGET, WANTED) - plain).item() == pytest.approx(total / 10)
    errors.sum().backward()
    grads = [part.grad for part in model.image_encoder.parameters() if part.grad is not None]
    assert not any(bool(grad.any()) for grad in grads)  # the image is a constant to the memory


def test_an_example_that_reads_the_mean_learns_as_soft(monkeypatch):
    soft, model = made("soft").eval(), made("hard").eval()
    state = soft.state_dict()
    model.load_state_dict({**model.state_dict(), **state})
    model.attention.train()
    monkeypatch.setattr(model.reinforce, "_soft", lambda rows: torch.ones(rows.numel(), dtype=torch.bool))
    cost, expected = (one(Visual(IMAGES), TARGET, WANTED) for one in (model, soft))
    torch.testing.assert_close(cost, expected)
    named = dict(soft.named_parameters())
    grads = torch.autograd.grad(cost, [dict(model.named_parameters())[name] for name in named])
    for name, own, true in zip(named, grads, torch.autograd.grad(expected, list(named.values())), strict=True):
        torch.testing.assert_close(own, true, msg=name)


def test_half_of_the_examples_read_the_mean():
    reinforce = made("hard").reinforce
    torch.manual_seed(0)
    rows = torch.arange(4000)[:, None].expand(-1, 2)
    found = reinforce._soft(rows).view(4000, 2)
    assert bool((found[:, 0] == found[:, 1]).all())
    assert abs(float(found.float().mean()) - 0.5) < 5 * 0.5 / 4000**0.5
    assert made("soft").reinforce is None


@every(
    ("said", "named"),
    [
        ({"doubly_stochastic": 1.0, "read": "reinforce"}, "--doubly-stochastic"),
        ({"doubly_stochastic": -1.0}, "--doubly-stochastic"),
        ({"soft_share": 0.5}, "--soft-share"),
        ({"soft_share": 1.5, "read": "reinforce"}, "--soft-share"),
        ({"normalizer": "relu"}, "--normalizer"),
        ({"attention_dim": 0}, "--attention-dim"),
        ({"hidden_dim": 0}, "--hidden-dim"),
        ({"widths": "x"}, "--widths"),
    ],
)
def test_options_that_mean_nothing_are_refused_by_name(said, named):
    with pytest.raises(ArgumentError, match=named):
        show_attend_and_tell.Options(**said)


@every("weight", [-1.0, float("inf"), float("nan")])
def test_a_weight_of_the_reconstruction_is_a_number_from_0_on(weight):
    with pytest.raises(ArgumentError, match="--reconstruction-weight: expected a finite number"):
        visual_memory.Options(reconstruction_weight=weight)


def test_a_stack_is_one_of_three():
    with pytest.raises(ArgumentError, match="--stack: expected 1u, 2u or 2f, got 3u"):
        lrcn.Options(stack="3u")


def test_positions_of_words_are_waves_or_none():
    with pytest.raises(ArgumentError, match="--positions"):
        caption_transformer.Options(positions="rotary")


@pytest.mark.slow
@pytest.mark.parametrize("name", FIRST)
def test_it_learns_what_three_images_are_called(name):
    model = made(name).float().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    images = Visual(IMAGES.float())
    for _ in range(80):
        optimizer.zero_grad()
        model(images, TARGET, WANTED).backward()
        optimizer.step()
    found = model.eval()(images, TARGET).argmax(-1)
    right = (found == WANTED)[WANTED != 0]
    assert float(right.float().mean()) >= 0.8
