"""What holds of every model that reads a sequence and says what it remembers, and what is each one's own."""

import pytest
import torch
from torch import nn

from models.laws import parameters_that_learn, the_same_plainly, the_same_state
from near import assert_near, with_parameters
from saccade import look
from saccade.errors import ArgumentError
from saccade.kernels.gates import lstm_plain
from saccade.models import causal_transformer, dnc, lstm, ntm, past_attention
from saccade.models.memorizer import Sizes, initialize_lstm
from saccade.models.padded import Padded
from saccade.train.randomness import seeded
from tiers import every

BITS, SYMBOLS = Sizes(5, 3), Sizes(11, 7, symbols=True)
MODELS = {
    "ntm": lambda sizes: ntm.NTM(sizes, ntm.Options(hidden_dim=6, cells=7, cell_dim=4, read_heads=2, embedding_dim=5)),
    "dnc": lambda sizes: dnc.DNC(sizes, dnc.Options(hidden_dim=6, cells=7, cell_dim=4, embedding_dim=5)),
    "lstm": lambda sizes: lstm.LSTM(sizes, lstm.Options(hidden_dim=6, layers=2, embedding_dim=5)),
    "past-attention": lambda sizes: past_attention.PastAttention(
        sizes, past_attention.Options(hidden_dim=6, attention_dim=4, embedding_dim=5, window=3)
    ),
    "transformer": lambda sizes: causal_transformer.CausalTransformer(
        sizes, causal_transformer.Options(hidden_dim=8, heads=2, feedforward_dim=10, embedding_dim=5)
    ),
}
SHOWN = {
    "ntm": {"write": (7, 9), "read 1": (7, 9), "read 2": (7, 9)},
    "dnc": {"write": (7, 9), "read 1": (7, 9), "read 2": (7, 9), "usage": (7, 9), "links": (7, 7)},
    "lstm": {"output gate 1": (6, 9), "output gate 2": (6, 9)},
    "past-attention": {"past states": (9, 9)},
    "transformer": {"layer 1": (9, 9), "layer 2": (9, 9)},
}


def source(sizes, *lengths):
    numbers = torch.Generator().manual_seed(len(lengths))
    longest = max(lengths)
    if sizes.symbols:
        values = torch.randint(1, sizes.inputs, (len(lengths), longest), generator=numbers)
    else:
        values = torch.randint(0, 2, (len(lengths), longest, sizes.inputs), generator=numbers).float()
    return Padded(values, torch.tensor(lengths))


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


@pytest.fixture(params=[BITS, SYMBOLS], ids=["bits", "symbols"])
def sizes(request):
    return request.param


@pytest.fixture
def model(name, sizes):
    with seeded(3, name):
        return MODELS[name](sizes).eval()


@torch.no_grad()
def test_what_comes_later_changes_nothing_before_it(model, sizes):
    given, place = source(sizes, 9, 9), 4
    changed = given.values.clone()
    changed[:, place:] = changed[:, place:].flip(0) if sizes.symbols else 1 - changed[:, place:]
    one, other = model(given), model(Padded(changed, given.lengths))
    assert torch.equal(one[:, :place], other[:, :place]) and not torch.equal(one[:, place:], other[:, place:])


@torch.no_grad()
def test_padding_and_company_change_nothing(model, sizes):
    given = source(sizes, 9, 5, 2)
    together = model(given)
    for row, length in enumerate(given.lengths.tolist()):
        alone = model(Padded(given.values[row : row + 1, :length], given.lengths[row : row + 1]))
        torch.testing.assert_close(alone[0], together[row, :length], atol=1e-5, rtol=1e-5)


def test_every_parameter_learns_and_the_state_is_read_back(model, sizes, name):
    found = model(source(sizes, 9, 5))
    assert found.shape == (2, 9, sizes.targets)
    parameters_that_learn(model, found.square().sum())
    the_same_state(model, MODELS[name](sizes))


def test_kernels_and_formulas_are_the_same(model, sizes):
    given = source(sizes, 7, 7)

    def call(made):
        values = given.values if sizes.symbols else given.values.to(next(made.parameters()).dtype)
        output = made(Padded(values, given.lengths))
        return output, output.square().sum()

    the_same_plainly(model, call, call)


@torch.no_grad()
def test_traces_have_a_weight_for_each_place_and_step(model, sizes, name):
    with look.record(model, detach=True, required=False) as records:
        found = dict(model.trace(source(sizes, 9)))
    found |= model.attended(records)
    assert {key: tuple(values.shape) for key, values in found.items()} == SHOWN[name]
    for key, values in found.items():
        assert bool(((values >= 0) & (values <= 1 + 1e-5)).all())
        if key.startswith(("read", "layer")) and name != "dnc":  # those of a DNC may read nothing
            torch.testing.assert_close(values.sum(0), torch.ones(9))
        if key.startswith(("past", "layer")):
            assert bool((values.tril(-1) == 0).all())  # nothing of the future
        if key == "past states":
            torch.testing.assert_close(values.sum(0)[1:], torch.ones(8))
            assert bool((values.triu(4) == 0).all())  # nothing that left the window


@pytest.mark.parametrize(("kind", "cells"), [("ntm", 40), ("dnc", 40), ("ntm", 1), ("dnc", 1)])
def test_a_memory_has_any_number_of_cells_with_the_same_weights(kind, cells):
    model = MODELS[kind](BITS).eval()
    before = model(source(BITS, 6))
    model.cells = cells
    assert model.trace(source(BITS, 6))["write"].shape == (cells, 6)
    assert not torch.equal(model(source(BITS, 6)), before)


def test_in_training_the_memorys_size_is_drawn():
    options = ntm.Options(hidden_dim=4, cells=50, least_cells=3, most_cells=6, cell_dim=2)
    model, seen = ntm.NTM(BITS, options), set()
    start = model.memory.start
    model.memory.start = lambda batch, cells: seen.add(cells) or start(batch, cells)
    for number in range(60):
        with seeded(number):
            one = model(source(BITS, 4))
        with seeded(number):
            assert torch.equal(one, model(source(BITS, 4)))
    assert seen == {3, 4, 5, 6}
    model.eval()(source(BITS, 4))
    assert seen == {3, 4, 5, 6, 50}
    assert ntm.Options(cells=9).training_cells == (9, 9) and ntm.Options(least_cells=200).training_cells == (200, 200)


def test_the_controller_reads_its_input_and_what_was_read_before():
    """Step by step, with torch's cell in the place of ours and the memory's own step."""
    model = MODELS["ntm"](BITS).eval()
    given = source(BITS, 5, 5)

    def plain(*parameters):
        made = with_parameters(model, parameters)
        hidden, cell = made.first_hidden.expand(2, -1), made.first_cell.expand(2, -1)
        state = made.memory.start(2, 7)
        own = nn.LSTMCell(BITS.inputs + 8, 6, dtype=parameters[0].dtype)
        own.weight_ih = nn.Parameter(torch.cat([made.input.weight, made.recurrent.weight[:, 6:]], 1))
        own.weight_hh, own.bias_hh = nn.Parameter(made.recurrent.weight[:, :6]), made.recurrent.bias
        nn.init.zeros_(own.bias_ih)
        said = []
        for x in given.values.to(parameters[0].dtype).unbind(1):
            hidden, cell = own(torch.cat([x, state.read.flatten(1)], 1), (hidden, cell))
            state = made.memory(hidden, state)
            said.append(made.output(torch.cat([hidden, state.read.flatten(1)], 1)))
        return torch.stack(said, 1)

    with torch.no_grad():
        assert_near(model(given), plain, *model.parameters())


def test_dropped_features_are_the_controllers_alone():
    model = ntm.NTM(BITS, ntm.Options(hidden_dim=6, cells=7, cell_dim=4, dropout=0.5))
    steps = model.read(source(BITS, 8))
    with torch.no_grad():
        kept, dropped = model.eval().features(steps), model.train().features(steps)
    assert torch.equal(kept[..., 6:], dropped[..., 6:])
    assert bool((dropped[..., :6] == 0).any()) and not bool((kept[..., :6] == 0).any())


def test_a_controller_that_forgets_begins_anew_at_inputs():
    model = ntm.NTM(SYMBOLS, ntm.Options(hidden_dim=6, cells=7, cell_dim=4, forgetting=0.5)).train()
    values = torch.randint(2, 5, (40, 50, 3))
    values[:, ::5] = torch.tensor([1, 0, 0])  # blank: an answer
    torch.manual_seed(0)
    forgotten = model._forgotten(values)[..., 0]
    read = (values > 1).any(-1)
    assert not bool(forgotten[~read].any()) and abs(float(forgotten[read].float().mean()) - 0.5) < 0.05
    steps = model.read(Padded(values[:1], torch.tensor([50])))
    marks = torch.zeros(1, 50, 1, dtype=torch.bool)
    marks[:, 20] = True
    states = list(model._run(steps, marks))
    again = list(model._run(steps))
    torch.testing.assert_close(states[19][0], again[19][0])
    assert not torch.allclose(states[20][0], again[20][0])
    fresh = lstm_plain(
        model.input(steps.values[:, 20]),
        model.recurrent(torch.cat([model.first_hidden[None], again[19][1].read.flatten(1)], 1)),
        model.first_cell[None],
    )
    torch.testing.assert_close(states[20][0], fresh[0])
    assert model.eval()._forgotten(values) is None
    bits = ntm.NTM(BITS, ntm.Options(hidden_dim=6, cells=7, cell_dim=4, forgetting=0.999)).train()
    given = torch.ones(2, 40, BITS.inputs)
    given[:, 3] = 0
    assert bool(bits._forgotten(given)[:, 4:].any()) and not bool(bits._forgotten(given)[:, 3].any())


def test_what_the_controller_hands_on_may_be_normalized():
    model = dnc.DNC(BITS, dnc.Options(hidden_dim=30, cells=7, cell_dim=4, normalize=True))
    found = model.features(model.read(source(BITS, 8)))[..., :30].detach()
    torch.testing.assert_close(found.mean(-1), torch.zeros(found.shape[:-1]), atol=1e-5, rtol=0)
    assert float((found.var(-1, unbiased=False) - 1).abs().max()) < 0.05


def test_a_sentence_is_the_sum_of_its_words_by_their_places():
    model = MODELS["lstm"](SYMBOLS)
    given = torch.tensor([[[3, 4, 5], [6, 0, 0]]])
    steps = model.read(Padded(given, torch.tensor([2]))).values.detach()
    words, dim = model.embedding.weight.detach(), 5
    for row, ids in enumerate(([3, 4, 5], [6])):
        expected = torch.zeros(dim)
        for j, word in enumerate(ids, 1):
            for k in range(1, dim + 1):
                weight = (1 - j / len(ids)) - (k / dim) * (1 - 2 * j / len(ids))
                expected[k - 1] += weight * words[word, k - 1]
        torch.testing.assert_close(steps[0, row], expected)
    turned = model.read(Padded(given[:, :1].flip(-1), torch.tensor([1]))).values
    assert not torch.allclose(turned[0, 0], steps[0, 0])  # the order counts
    more = model.read(Padded(torch.nn.functional.pad(given, (0, 4)), torch.tensor([2]))).values
    torch.testing.assert_close(more, steps)


def test_heads_and_gates_begin_as_they_are_told():
    model = ntm.NTM(BITS, ntm.Options(forget_bias=-1.5, strength_bias=3.0, hidden_dim=4, cells=5))
    bias = model.recurrent.bias.detach()
    assert bias[4:8].tolist() == [-1.5] * 4 and float(bias.sum()) == -6.0
    bias = model.memory.heads.bias.detach()
    assert bias[model.memory.strengths].tolist() == [3.0, 3.0] and float(bias.sum()) == 6.0
    weight, offset = torch.empty(8, 100), torch.empty(8)
    initialize_lstm(weight, offset, 2.0)
    assert float(weight.abs().max()) <= 0.1 and offset.tolist() == [0, 0, 2, 2, 0, 0, 0, 0]


@every(
    ("kind", "given", "message"),
    [
        (ntm.Options, {"cells": 0}, "--cells: expected a number from 1 to"),
        (ntm.Options, {"write_heads": 0}, "--write-heads: expected a number from 1 to"),
        (
            ntm.Options,
            {"least_cells": 9, "most_cells": 8},
            "--least-cells: expected cells from one number .* got 9 to 8",
        ),
        (ntm.Options, {"least_cells": 0}, "--least-cells: expected cells from one"),
        (ntm.Options, {"most_cells": 100}, "--most-cells: expected cells .* got 128 to 100"),
        (ntm.Options, {"by": "luck"}, "--by: expected one of both, content, location, got luck"),
        (ntm.Options, {"dropout": 1.0}, "--dropout: expected 0 <= dropout < 1, got 1.0"),
        (dnc.Options, {"forgetting": 1.0}, "--forgetting: expected 0 <= forgetting < 1, got 1.0"),
        (dnc.Options, {"strength_bias": float("nan")}, "--strength-bias: expected a number from -100 to 100, got nan"),
        (dnc.Options, {"read_heads": 0}, "--read-heads: expected a number from 1 to"),
        (lstm.Options, {"layers": 0}, "--layers: expected a number from 1 to 100, got 0"),
        (past_attention.Options, {"window": 0}, "--window: expected a number from 1 to"),
        (past_attention.Options, {"attention_dim": 0}, "--attention-dim: expected a number from 1 to"),
        (causal_transformer.Options, {"experts": 4}, "--experts: expected none of a transformer that memorizes, got 4"),
        (causal_transformer.Options, {"embedding_dim": 0}, "--embedding-dim: expected a number from 1 to"),
        (causal_transformer.Options, {"hidden_dim": 9}, "--hidden-dim: expected a multiple of --heads = 4, got 9"),
    ],
)
def test_wrong_options_are_named_as_they_are_typed(kind, given, message):
    with pytest.raises(ArgumentError, match=message):
        kind(**given)
