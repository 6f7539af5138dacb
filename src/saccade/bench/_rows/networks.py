"""Networks: external memories, mixtures of experts, regression, training steps."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade._plainly import plainly
from saccade._system.environment import bound_shape_caches, matmul_precision
from saccade.bench.formulas import joined, training
from saccade.bench.row import Prepare, Row, Run, Setup, Work, at_most, package, times
from saccade.kernels.cells import lstm_cell
from saccade.models.padded import Padded
from saccade.models.rnnsearch import Options, RNNSearch
from saccade.nn import MixtureOfExperts, MultiheadAttention
from saccade.nn._bandwidth import leave_one_out
from saccade.nn.external_memory import ExternalMemory

_STEPS, _INPUT = 10, 8


class _Sizes(NamedTuple):
    """Sizes of a network with an LSTM controller of the input and the last reads."""

    name: str
    batch: int
    cells: int
    cell_dim: int
    hidden: int
    reads: int


_NTM, _DNC = _Sizes("NTM", 16, 128, 20, 100, 1), _Sizes("DNC", 32, 64, 32, 128, 4)


def memories(setup: Setup) -> list[Row]:
    """Return the rows of external memories beside plain formulas and pytorch-ntm's."""

    def inputs(batch: int, setup: Setup) -> tuple[Tensor, ...]:
        return (setup.normal(_STEPS, batch, _INPUT),)

    ntm, dnc = (partial(_network, sizes, _controlled) for sizes in (_NTM, _DNC))
    peers: tuple[tuple[_Sizes, Prepare, str, Prepare], ...] = (
        (_NTM, ntm, "pytorch-ntm's formulas", partial(_network, _NTM, _per_head)),
        (_NTM, ntm, "plain formulas", partial(_plain, ntm)),
        (_DNC, dnc, "plain formulas", partial(_plain, dnc)),
    )
    return [
        Row(
            family=f"{sizes.name}, {_STEPS} steps forward+backward",
            shape=joined((sizes.batch, sizes.cells, sizes.cell_dim)),
            peer=peer,
            inputs=partial(inputs, sizes.batch),
            ours=ours,
            theirs=theirs,
            targets=(times(3 if sizes is _NTM else 2),) if setup.device.type == "cpu" else (),
            quick=peer == "plain formulas",
        )
        for sizes, ours, peer, theirs in peers
    ]


def _network(sizes: _Sizes, function: Callable[..., Tensor], inputs: Tensor) -> Run:
    """A function of sizes, memory, controller and inputs, with gradients of weights."""
    torch.manual_seed(0)
    addressing: Any = "shift" if sizes is _NTM else "links"
    memory = ExternalMemory(sizes.hidden, sizes.cell_dim, num_reads=sizes.reads, addressing=addressing)
    lstm = nn.LSTMCell(_INPUT + sizes.reads * sizes.cell_dim, sizes.hidden)
    weights = [weight for module in (memory, lstm) for weight in module.to(inputs.device).parameters()]
    with torch.no_grad():
        for weight in weights:  # starts at the scale of the writes
            weight.normal_(std=1 if weight.shape[-1] == sizes.cell_dim else sizes.hidden**-0.5)
    return training(lambda *_: function(sizes, memory, lstm, inputs))(*weights)


def _plain(ours: Prepare, *inputs: Tensor) -> Run:
    """Our call by plain formulas of PyTorch."""
    return plainly()(ours(*inputs))


def _controlled(sizes: _Sizes, memory: ExternalMemory, lstm: nn.LSTMCell, inputs: Tensor) -> Tensor:
    state = memory.start(sizes.batch, sizes.cells)
    hidden = cell = inputs.new_zeros(sizes.batch, sizes.hidden)
    step, reads = lstm_cell(lstm.weight_hh, lstm.bias_hh), []
    for x in inputs:
        gates = F.linear(torch.cat((x, state.read.flatten(1)), 1), lstm.weight_ih, lstm.bias_ih)
        hidden, cell = step(gates, hidden, cell)
        state = memory(hidden, state)
        reads.append(state.read)
    return torch.stack(reads)


def _per_head(sizes: _Sizes, module: ExternalMemory, lstm: nn.LSTMCell, inputs: Tensor) -> Tensor:
    """The NTM with pytorch-ntm's formulas (github.com/loudinthecloud/pytorch-ntm).

    By the equations of Graves et al. 2014: a linear layer for each head, cosine similarity of all cells, powers as
    they stand, and the convolution in a loop over the batch. The order of a step and the add vector's tanh are ours, so
    that both sides compute the same numbers.
    """
    size, head = sizes.cell_dim, sizes.cell_dim + 6
    weight, bias = module.heads.weight, module.heads.bias
    memory = module.first_cell.expand(sizes.batch, sizes.cells, -1)
    read = module.first_read.expand(sizes.batch, -1, -1)[:, 0]
    reading = writing = F.one_hot(torch.zeros(sizes.batch, dtype=torch.int64, device=read.device), sizes.cells).to(read)
    state = (read.new_zeros(sizes.batch, sizes.hidden),) * 2
    reads = []
    for x in inputs:
        state = lstm(torch.cat((x, read), 1), state)
        outputs = F.linear(state[0], weight[head:], bias[head:])
        writing = _addressed(memory, writing, outputs[:, :head])
        erase, add = outputs[:, head : head + size].sigmoid(), outputs[:, head + size :].tanh()
        memory = memory * (1 - writing.unsqueeze(-1) @ erase.unsqueeze(1)) + writing.unsqueeze(-1) @ add.unsqueeze(1)
        reading = _addressed(memory, reading, F.linear(state[0], weight[:head], bias[:head]))
        read = (reading.unsqueeze(1) @ memory).squeeze(1)
        reads.append(read[:, None])
    return torch.stack(reads)


def _addressed(memory: Tensor, before: Tensor, outputs: Tensor) -> Tensor:
    """Weights of one head, equations 5 to 9."""
    key, beta, gate, gamma, shifts = outputs.split((memory.shape[-1], 1, 1, 1, 3), -1)
    similar = F.cosine_similarity(memory + 1e-16, key.unsqueeze(1) + 1e-16, dim=-1)
    weights = (F.softplus(beta) * similar).softmax(1)
    weights = gate.sigmoid() * weights + (1 - gate.sigmoid()) * before
    around = torch.cat((weights[:, -1:], weights, weights[:, :1]), 1)
    spread = shifts.softmax(-1).flip(-1)  # a correlation with these is the convolution
    moved = torch.zeros_like(weights)
    for b in range(len(moved)):
        moved[b] = F.conv1d(around[b].view(1, 1, -1), spread[b].view(1, 1, -1)).view(-1)
    powers = moved ** (1 + F.softplus(gamma))
    return powers / (powers.sum(1, keepdim=True) + 1e-16)


def regression(setup: Setup) -> list[Row]:
    """Return the rows of a leave-one-out bandwidth, beside statsmodels."""

    def inputs(count: int, setup: Setup) -> tuple[Tensor, ...]:
        points = 6.3 * torch.rand(count, 1, device=setup.device).double()
        return points, points.sin() + 0.3 * setup.normal(count, 1)

    def theirs(points: Tensor, values: Tensor) -> Run:
        kind = package("statsmodels.nonparametric.kernel_regression").KernelReg
        x, y = points[:, 0].cpu().numpy(), values[:, 0].double().cpu().numpy()

        def run() -> Tensor:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the package about its random generator
                return torch.tensor(kind(y, x, "c", reg_type="lc", bw="cv_ls").bw)

        return run

    return [
        Row(
            family="bandwidth by leave-one-out",
            shape=f"{count}",
            size=count,
            peer="statsmodels cv_ls",
            inputs=partial(inputs, count),
            ours=lambda points, values: lambda: torch.tensor([leave_one_out(points, values.double(), "gaussian")]),
            theirs=theirs,
            targets=(times(10),) if count == 1000 else (),
            quick=count == 100,
        )
        for count in (100, 300, 1000)
    ]


_TOKENS, _DIM, _HIDDEN, _CHOSEN, _FEWEST = 1 << 15, 128, 1024, 2, 4
"""Tokens and sizes of mixtures. 256 experts have 256 tokens each, mostly products."""


def experts(setup: Setup) -> list[Row]:
    """Return the rows of mixtures by numbers of experts, beside one of four experts."""

    def prepare(count: int, noise: bool, tokens: Tensor) -> Run:
        torch.manual_seed(0)
        mixture = MixtureOfExperts(_DIM, count, _CHOSEN, hidden_dim=_HIDDEN, noise=noise).to(tokens.device)

        def outputs(tokens: Tensor, *_: Tensor) -> tuple[Tensor, Tensor]:
            output, balance = mixture(tokens)
            return output, balance.loss

        return training(outputs)(tokens, *mixture.parameters())

    return [
        Row(
            family=f"mixture, {'noise and losses' if noise else 'no noise'} forward+backward",
            shape=f"{count} experts",
            size=count,
            peer=f"{_FEWEST} experts",
            inputs=lambda setup: (setup.normal(_TOKENS, _DIM, grad=True),),
            ours=partial(prepare, count, noise),
            theirs=partial(prepare, _FEWEST, noise),
            work=Work(2.0 * 3 * 2 * _TOKENS * _CHOSEN * _DIM * _HIDDEN, "FLOP", "multiply"),
            targets=(at_most(1.3),),
            same=False,  # other experts give other outputs
            quick=count == 16,
        )
        for count, noise in ((16, False), (64, False), (256, False), (256, True))
    ]


_BATCH, _TOKENS_EACH, _EMBEDDING, _HEADS = 8, 512, 512, 8


def multihead(setup: Setup) -> list[Row]:
    """Return the row of multi-head attention on a GPU, beside torch's module."""
    if setup.device.type != "cuda":
        return []
    ours, theirs = (partial(_multihead, by_torch) for by_torch in (False, True))
    return [
        Row(
            family="nn.MultiheadAttention forward+backward",
            shape=joined((_BATCH, _TOKENS_EACH, _EMBEDDING)),
            peer="torch's module",
            inputs=lambda setup: (setup.normal(_BATCH, _TOKENS_EACH, _EMBEDDING, grad=True),),
            ours=ours,
            theirs=theirs,
            targets=(times(1),),
            half=True,
        )
    ]


def _multihead(by_torch: bool, tokens: Tensor) -> Run:
    torch.manual_seed(0)
    like = nn.MultiheadAttention(_EMBEDDING, _HEADS, batch_first=True)
    module = like if by_torch else MultiheadAttention(_EMBEDDING, _HEADS)
    module.load_state_dict(like.state_dict())
    module.to(tokens)

    def run(tokens: Tensor, *_: Tensor) -> Tensor:
        output: Tensor = module(tokens, tokens, tokens, need_weights=False)[0] if by_torch else module(tokens)
        return output

    return training(run)(tokens, *module.parameters())


_DRAWS = {"read": "reinforce", "samples": 2}
_PAPER = {"baseline": "moving-average", "charge": "whole", "soft_share": 0.5, "entropy_bonus": 0.02}
_HARD: dict[str, dict[str, Any]] = {
    "straight-through": {"read": "straight-through"},
    "reinforce, 2 draws": _DRAWS,
    "reinforce as in the paper": _DRAWS | _PAPER,
}
"""Measured options of hard attention. The paper is Xu et al. 2015."""
_SENTENCES, _WORDS, _VOCABULARY = 64, 14, 4000


def trainings(setup: Setup) -> list[Row]:
    """Return the rows of a translator's training step: kernels, reads and memory."""
    soft, cpu = partial(_step, {}), setup.device.type == "cpu"
    peers: list[tuple[str, Prepare, str, Prepare]] = [
        *([("kernels", soft, "plain formulas", partial(_plain, soft))] if cpu else []),
        *((name, partial(_step, options), "soft attention", soft) for name, options in _HARD.items()),
    ]
    made = [
        Row(
            family=f"rnnsearch step forward+backward, {family}",
            shape=joined((_SENTENCES, _WORDS)),
            peer=peer,
            inputs=lambda setup: (torch.zeros(0, device=setup.device),),
            ours=ours,
            theirs=theirs,
            same=peer == "plain formulas",
            quick=peer == "plain formulas",
        )
        for family, ours, peer, theirs in peers
    ]
    return [*made, *([_shapes()] if cpu else [])]


def _step(options: dict[str, Any], like: Tensor) -> Run:
    """RNNsearch on one batch: the loss, and the norms of the gradients of all weights."""
    torch.manual_seed(0)
    model = RNNSearch(_VOCABULARY, _VOCABULARY, Options(hidden_dim=256, embedding_dim=256, **options))
    model.to(like.device).train()
    lengths = torch.randint(_WORDS // 2, _WORDS + 1, (_SENTENCES,), device=like.device)
    source, target, following = torch.randint(4, _VOCABULARY, (3, _SENTENCES, _WORDS), device=like.device)
    following = following * (torch.arange(_WORDS, device=like.device) < lengths[:, None])
    learning = [weight for weight in model.parameters() if weight.requires_grad]

    def run() -> tuple[Tensor, ...]:
        loss = model(Padded(source, lengths), target, following, 0.1)
        gradients = torch.autograd.grad(loss, learning, allow_unused=True, materialize_grads=True)
        return loss, torch.stack(torch._foreach_norm(gradients))

    return run


def _shapes() -> Row:
    """Memory of products of many shapes, by the number of shapes that oneDNN keeps."""

    def prepare(first: Tensor, second: Tensor, bounded: bool = False) -> Run:
        @matmul_precision("medium")  # rounded products of a CPU with bfloat16 units are oneDNN's
        def run() -> None:
            for count in range(1, len(first) + 1):
                (first[:count] @ second).sum()

        if bounded:
            bound_shape_caches()
        return run

    return Row(
        family="memory of products of 1000 shapes",
        shape="1000x512x512",
        peer="all shapes kept",
        inputs=lambda setup: (setup.normal(1000, 512), setup.normal(512, 512)),
        ours=partial(prepare, bounded=True),
        theirs=prepare,
        memory=True,
        same=False,
    )
