"""An external memory is what its papers' equations say, for any number of cells, to the derivatives."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade import nn
from saccade.errors import ArgumentError, ShapeError
from saccade.nn import addressing
from tiers import every

MEMORIES = {
    "shift": lambda **more: nn.ExternalMemory(5, 3, num_reads=2, num_writes=2, max_shift=1, **more),
    "links": lambda **more: nn.ExternalMemory(5, 3, num_reads=2, addressing="links", **more),
}


def made(name, scale=3.0):
    torch.manual_seed(1)
    memory = MEMORIES[name](dtype=torch.float64)
    with torch.no_grad():
        memory.heads.weight.mul_(scale)  # so that gates are not all one half
    return memory


def run(memory, steps, cells=7, batch=2):
    state, states = memory.start(batch, cells), []
    inputs = torch.randn(steps, batch, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    for one in inputs:
        state = memory(one, state)
        states.append(state)
    return inputs, states


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def softplus(x):
    return math.log1p(math.exp(x))


def softmax(xs):
    powers = [math.exp(x - max(xs)) for x in xs]
    return [power / sum(powers) for power in powers]


def by_content(key, beta, cells):
    norm = math.hypot(*key)
    return softmax([beta * sum(a * b for a, b in zip(key, m, strict=True)) / (norm * math.hypot(*m)) for m in cells])


def moved(asked, cells, before):
    """Equations 5 to 9, number by number."""
    key, (beta, gate, gamma), shifts = asked[:3], asked[3:6], softmax(asked[6:9])
    found, share = by_content(key, softplus(beta), cells), sigmoid(gate)
    gated = [share * c + (1 - share) * b for c, b in zip(found, before, strict=True)]
    n = len(cells)
    turned = [0.0] * n
    for i in range(n):
        for by, part in zip((-1, 0, 1), shifts, strict=True):
            turned[(i + by) % n] += gated[i] * part
    powers = [w ** (1 + softplus(gamma)) for w in turned]
    return [power / sum(powers) for power in powers]


def written(cells, weights, erase, add):
    """Equations 3 and 4: all heads erase, then all add."""
    for i, cell in enumerate(cells):
        for f in range(3):
            for w, e in zip(weights, erase, strict=True):
                cell[f] *= 1 - w[i] * sigmoid(e[f])
            cell[f] += sum(w[i] * math.tanh(a[f]) for w, a in zip(weights, add, strict=True))


def test_shifting_heads_are_the_equations():
    memory = made("shift")
    inputs, states = run(memory, 4, batch=1)
    cells, places = [memory.first_cell.tolist() for _ in range(7)], [[1.0] + [0.0] * 6 for _ in range(4)]
    for given_input, state in zip(inputs, states, strict=True):
        asked = memory.heads(given_input)[0].tolist()
        reads, writes = [asked[:9], asked[9:18]], [asked[18:33], asked[33:48]]
        places[2:] = [moved(one[:9], cells, place) for one, place in zip(writes, places[2:], strict=True)]
        written(cells, places[2:], [one[9:12] for one in writes], [one[12:] for one in writes])
        places[:2] = [moved(one, cells, place) for one, place in zip(reads, places[:2], strict=True)]
        torch.testing.assert_close(state.memory[0], torch.tensor(cells, dtype=torch.float64))
        found = torch.cat((state.read_weights, state.write_weights), 1)[0]
        torch.testing.assert_close(found, torch.tensor(places, dtype=torch.float64))
        torch.testing.assert_close(state.read, state.read_weights @ state.memory)


def test_linking_heads_are_the_equations():
    memory, n = made("links"), 7
    inputs, states = run(memory, 5, batch=1)
    cells, reading, writing = [memory.first_cell.tolist() for _ in range(n)], [[0.0] * n] * 2, [0.0] * n
    used, last, links = [0.0] * n, [0.0] * n, [[0.0] * n for _ in range(n)]
    for given_input, state in zip(inputs, states, strict=True):
        asked = memory.heads(given_input)[0].tolist()
        reads, ask = [asked[:8], asked[8:16]], asked[16:]
        for i in range(n):
            used[i] += writing[i] - used[i] * writing[i]
            for one, weights in zip(reads, reading, strict=True):
                used[i] *= 1 - sigmoid(one[4]) * weights[i]
        free, product = [0.0] * n, 1.0
        for i in sorted(range(n), key=lambda i: used[i]):
            free[i], product = (1 - used[i]) * product, product * used[i]
        like = by_content(ask[:3], 1 + softplus(ask[3]), cells)
        share, gate = sigmoid(ask[4]), sigmoid(ask[5])
        writing = [gate * (share * a + (1 - share) * c) for a, c in zip(free, like, strict=True)]
        written(cells, [writing], [ask[6:9]], [ask[9:12]])
        links = [
            [0.0 if i == j else (1 - writing[i] - writing[j]) * links[i][j] + writing[i] * last[j] for j in range(n)]
            for i in range(n)
        ]
        last = [(1 - sum(writing)) * p + w for p, w in zip(last, writing, strict=True)]
        following = []
        for one, weights in zip(reads, reading, strict=True):
            back, same, forth = softmax(one[5:])
            found = by_content(one[:3], 1 + softplus(one[3]), cells)
            before = [sum(links[j][i] * weights[j] for j in range(n)) for i in range(n)]
            after = [sum(links[i][j] * weights[j] for j in range(n)) for i in range(n)]
            ways = zip(before, found, after, strict=True)
            following.append([back * b + same * c + forth * f for b, c, f in ways])
        reading = following
        wanted_parts = {"memory": cells, "read_weights": reading, "write_weights": [writing]}
        wanted_parts |= {"usage": used, "precedence": last, "links": links}
        for name, wanted in wanted_parts.items():
            torch.testing.assert_close(getattr(state, name)[0], torch.tensor(wanted, dtype=torch.float64), msg=name)


@pytest.mark.parametrize("name", MEMORIES)
def test_gradients_are_those_of_differences(name):
    memory = made(name)
    parameters = dict(memory.named_parameters())

    def last(inputs, *values):
        named = dict(zip(parameters, values, strict=True))
        return torch.func.functional_call(_Starting(memory), {f"memory.{k}": v for k, v in named.items()}, (inputs,))

    inputs = torch.randn(3, 2, 5, dtype=torch.float64, requires_grad=True)
    values = [value.detach().requires_grad_() for value in parameters.values()]
    assert torch.autograd.gradcheck(last, (inputs, *values))


class _Starting(torch.nn.Module):
    def __init__(self, memory):
        super().__init__()
        self.memory = memory

    def forward(self, inputs):
        state = self.memory.start(inputs.shape[1], 4)
        for one in inputs:
            state = self.memory(one, state)
        return state.read, state.memory


@pytest.mark.parametrize("name", MEMORIES)
@given(cells=st.integers(1, 9), batch=st.integers(1, 3), steps=st.integers(1, 6))
def test_weights_are_shares_of_any_number_of_cells(name, cells, batch, steps):
    memory = made(name, scale=30.0)
    _, states = run(memory, steps, cells, batch)
    for state in (type(one)(*(part if part is None else part.detach() for part in one)) for one in states):
        weights = torch.cat((state.read_weights, state.write_weights), 1)
        assert bool((weights >= -1e-12).all())
        assert float(weights.sum(-1).max()) <= 1 + 1e-9
        if name == "shift":
            torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
        else:
            assert float(state.links.diagonal(dim1=-2, dim2=-1).abs().max()) == 0.0
            assert float(state.links.sum(-1).max()) <= 1 + 1e-9
            assert float(state.links.sum(-2).max()) <= 1 + 1e-9
            assert -1e-12 <= float(state.usage.min()) <= float(state.usage.max()) <= 1 + 1e-9


@pytest.mark.parametrize("name", MEMORIES)
def test_a_batch_is_its_examples_and_keeps_its_state(name):
    memory, inputs = made(name), torch.randn(4, 3, 5, dtype=torch.float64)
    state = memory.start(3, 6)
    alone = [memory.start(1, 6) for _ in range(3)]
    for one in inputs:
        copies = [None if part is None else part.clone() for part in state]
        following = memory(one, state)
        for part, copy in zip(state, copies, strict=True):
            assert part is copy is None or torch.equal(part, copy)
        state, alone = following, [memory(one[i : i + 1], each) for i, each in enumerate(alone)]
    for i, each in enumerate(alone):
        torch.testing.assert_close(state.memory[i : i + 1], each.memory)
        torch.testing.assert_close(state.read[i : i + 1], each.read)


def test_the_same_weights_serve_memories_of_other_sizes():
    """With "shift" a head that moves one cell a step is at the same cell of a memory of 20 and of 200."""
    memory = nn.ExternalMemory(1, 2)
    with torch.no_grad():
        memory.heads.weight.zero_()
        memory.heads.bias.zero_()
        for head in memory.heads.bias[:8], memory.heads.bias[8:]:  # key of 2, β, gate, γ, 3 shifts
            head[3] = -50.0  # stay where you were
            head[4] = 50.0  # sharp
            head[7] = 50.0  # one cell on
    for cells in (20, 200):
        state = memory.start(1, cells)
        for step in range(1, 13):
            state = memory(torch.ones(1, 1), state)
            assert state.read_weights[0, 0].argmax().item() == step
            assert state.write_weights[0, 0, step].item() == pytest.approx(1.0)


@pytest.mark.parametrize("name", MEMORIES)
def test_a_state_keeps_its_type_from_step_to_step(name):
    memory, inputs = MEMORIES[name](), torch.randn(3, 2, 5)
    state = memory.start(2, 6)
    expected = run_on(memory, inputs, state)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = run_on(memory, inputs, state)
    assert all(part is None or part.dtype == torch.float32 for part in rounded)
    torch.testing.assert_close(rounded.read, expected.read, rtol=0.1, atol=0.02)
    halves = MEMORIES[name](dtype=torch.bfloat16)
    found = run_on(halves, inputs.bfloat16(), halves.start(2, 6))
    assert all(part is None or part.dtype == torch.bfloat16 for part in found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", MEMORIES)
def test_a_step_can_be_compiled_and_transformed(name):
    memory, inputs = made(name), torch.randn(2, 5, dtype=torch.float64)
    state = type(memory.start(2, 6))(*(None if part is None else part.detach() for part in memory.start(2, 6)))
    expected = memory(inputs, state)
    compiled = torch.compile(memory, fullgraph=True, backend="eager")(inputs, state)
    torch.testing.assert_close(compiled.read, expected.read)

    def total(inputs):
        return memory(inputs, state).read.sin().sum()

    (grad,) = torch.autograd.grad(total(tracked := inputs.clone().requires_grad_()), tracked)
    torch.testing.assert_close(torch.func.grad(total)(inputs), grad)


def run_on(memory, inputs, state):
    for one in inputs:
        state = memory(one, state)
    return state


def test_powers_do_not_vanish():
    weights = torch.full((1000,), 1e-3)
    weights[7] = 1.1e-3
    gamma = torch.tensor([200.0])
    assert float((weights**gamma).sum()) == 0.0  # what the formula as it stands divides by
    exact = 1 / (1 + 999 * (1 / 1.1) ** 200)
    assert float(addressing.sharpen(weights, gamma)[7]) == pytest.approx(exact, rel=1e-4)


SMALL, LINKED = nn.ExternalMemory(5, 3), nn.ExternalMemory(5, 3, addressing="links")


@every(
    ("make", "kind", "match"),
    [
        (lambda: nn.ExternalMemory(0, 3), ArgumentError, "controller_dim"),
        (lambda: nn.ExternalMemory(5, 3, num_reads=0), ArgumentError, "num_reads"),
        (lambda: nn.ExternalMemory(5, 3, max_shift=-1), ArgumentError, "max_shift"),
        (lambda: nn.ExternalMemory(5, 3, addressing="ring"), ArgumentError, "addressing: expected one of shift, links"),
        (lambda: nn.ExternalMemory(5, 3, addressing="links", num_writes=2), ArgumentError, "num_writes: expected 1"),
        (lambda: nn.ExternalMemory(5, 3, addressing="links", num_writes=0), ArgumentError, "num_writes: expected 1"),
        (lambda: nn.ExternalMemory(5, 3, num_writes=-1), ArgumentError, "num_writes: expected .*0"),
        (lambda: SMALL.start(2, 0), ArgumentError, "num_cells"),
        (lambda: SMALL(torch.zeros(2, 4), SMALL.start(2, 4)), ShapeError, "controller"),
        (lambda: SMALL(torch.zeros(2, 5), SMALL.start(3, 4)), ShapeError, "state"),
        (lambda: LINKED(torch.zeros(2, 5), SMALL.start(2, 4)), ShapeError, "state"),
    ],
)
def test_wrong_sizes_are_named(make, kind, match):
    with pytest.raises(kind, match=match):
        make()


def moved_once(by):
    torch.manual_seed(2)
    memory = nn.ExternalMemory(6, 4, num_reads=2, max_shift=2, by=by).double()
    state = memory.start(3, 7)
    for _ in range(3):
        state = memory(torch.randn(3, 6, dtype=torch.float64), state)
    controller = torch.randn(3, 6, dtype=torch.float64, requires_grad=True)
    return memory, state, controller, memory(controller, state)


def test_by_content_alone_a_head_finds_its_key():
    memory, state, controller, after = moved_once("content")
    asked = memory.heads(controller)[:, : 2 * memory._reader].unflatten(-1, (2, -1))
    key, beta = asked[..., :4], torch.nn.functional.softplus(asked[..., 4:5])
    torch.testing.assert_close(after.read_weights, addressing.content(key, beta, after.memory))
    elsewhere = state._replace(read_weights=state.read_weights.flip(-1), write_weights=state.write_weights.flip(-1))
    torch.testing.assert_close(memory(controller, elsewhere).read_weights, after.read_weights)


def test_a_memory_without_writers_is_only_read():
    memory = nn.ExternalMemory(5, 3, num_reads=2, num_writes=0).double()
    writer = nn.ExternalMemory(5, 3, num_reads=2, num_writes=1).double()
    readers = memory.heads.out_features
    with torch.no_grad():  # a writer that changes nothing: it adds and erases nothing
        writer.heads.weight[:readers], writer.heads.bias[:readers] = memory.heads.weight, memory.heads.bias
        writer.heads.weight[readers:], writer.heads.bias[readers:] = 0.0, 0.0
        writer.heads.bias[-6:-3] = -60.0
    contents, inputs = torch.randn(2, 7, 3, dtype=torch.float64), torch.randn(4, 2, 5, dtype=torch.float64)
    states = [part.start(2, 7)._replace(memory=contents) for part in (memory, writer)]
    for controller in inputs:
        states = [part(controller, state) for part, state in zip((memory, writer), states, strict=True)]
        assert torch.equal(states[0].memory, contents) and states[0].write_weights.shape == (2, 0, 7)
        torch.testing.assert_close(states[0].read_weights, states[1].read_weights)
        torch.testing.assert_close(states[0].read, states[1].read)
    assert len(memory.strengths) == 2


def test_by_location_alone_a_head_sees_no_contents():
    memory, state, controller, after = moved_once("location")
    other = memory(controller, state._replace(memory=torch.randn_like(state.memory)))
    torch.testing.assert_close(other.read_weights, after.read_weights)
    torch.testing.assert_close(other.write_weights, after.write_weights)
    assert "_settled" not in memory.state_dict()


@pytest.mark.parametrize(
    ("given", "got"), [({"by": "luck"}, "'luck'"), ({"by": "content", "addressing": "links"}, "'content'")]
)
def test_what_heads_cannot_go_by_is_refused(given, got):
    with pytest.raises(ArgumentError, match=f"by: expected .* got {got}"):
        nn.ExternalMemory(4, 3, **given)


@pytest.mark.parametrize("name", ["memory", "read", "read_weights", "write_weights", "usage", "precedence", "links"])
def test_a_state_with_a_part_of_another_size_is_refused(name):
    memory = nn.ExternalMemory(16, 4, num_reads=2, addressing="links")
    state = memory.start(3, 10)
    small = getattr(state, name)[..., :2]
    with pytest.raises(ShapeError, match="state.[a-z_]+: expected .* Begin with start"):
        memory(torch.randn(3, 16), state._replace(**{name: small}))


def test_a_state_of_another_addressing_is_refused():
    shift, links = nn.ExternalMemory(16, 4), nn.ExternalMemory(16, 4, addressing="links")
    for memory, other in ((shift, links), (links, shift)):
        with pytest.raises(ShapeError, match="state.usage: expected"):
            memory(torch.randn(3, 16), other.start(3, 10))
        for controller in (torch.randn(3, 2, 16), torch.randn(16)):
            with pytest.raises(ShapeError, match="controller: expected"):
                memory(controller, memory.start(3, 10))


@pytest.mark.parametrize("addressing", ["shift", "links"])
def test_meta_tensors_have_the_shapes_of_real_ones(addressing):
    memory = nn.ExternalMemory(4, 3, num_reads=2, addressing=addressing, device="meta")
    before = memory.start(2, 5)
    after = memory(torch.empty(2, 4, device="meta"), before)
    for old, new in zip(before, after, strict=True):
        assert (old is None and new is None) or (new.is_meta and new.shape == old.shape)
