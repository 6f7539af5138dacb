"""Monitoring of attention in training."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import torch
from torch import Tensor
from torch import nn as torch_nn

from saccade import AuxOutput, AuxRequest, nn
from saccade._definitions.checks import whole
from saccade._integrations.call import AttentionCall, Kernel
from saccade.errors import ArgumentError, ArgumentTypeError, SaccadeError, pip_install
from saccade.look._recording import Recorder, kind_of, nothing_recorded
from saccade.look._state import unchanged
from saccade.look._statistics import Selection, statistics
from saccade.nn._parameters import Parameters
from saccade.normalizers import Softmax

_TOP = 8
_REQUEST = AuxRequest(entropy=True, top=_TOP, received=True)
_ALL = Selection(None, None)
_UNIFORM = Softmax(temperature=1e12)  # scores / T are all about 0, so that entropies are log(allowed keys)
_COLLAPSED, _READINGS = 0.05, 3
_WAY_OUT = "Lower the learning rate, warm it up for longer, or normalize queries and keys (qk_norm= of the module)"


class Monitor:
    r"""Entropy, sink and distance of every head, every few hundred training steps.

    .. math::
        \text{entropy} &= \operatorname{mean}_i H_i, \quad H_i = -\sum_j w_{ij} \log w_{ij} \qquad
        \text{entropy share} = \sum_i H_i \Big/ \sum_i \log n_i \\
        \text{sink share} &= \sum_i w_{i0} \Big/ \sum_{ij} w_{ij} \qquad
        \text{top-8 distance} = \sum_{i,\, j \in T_i} w_{ij} |i - j| \Big/ \sum_{i,\, j \in T_i} w_{ij}

    Sums and means are over the queries i of a batch with a key to read. Query i has \(n_i\) allowed keys, and \(T_i\)
    are the 8 with the largest weights. So a share of 1 is uniform attention, and 0 reads one key. All of it takes
    linear memory. Names are for example "attention/encoder.0.attention/head 3/entropy".

    Every `nn.Attention` and `nn.MultiheadAttention` is read, also inside another module, and so are models of other
    libraries that `look.record` observes. The statistics are computed again after each call, without a graph, and
    random numbers and buffers are then put back. So outputs, gradients and random numbers of the training are those
    without a monitor, bit for bit. Distances are those of self-attention. Entropies are missing for a gate or a
    normalizer whose rows do not sum to one. With a learned sink they count it as one more key, as `look.record` does.

    A head warns once if its entropy share is below 5% in three successive readings. Such a collapse often comes before
    a divergence (Zhai et al. 2023, "Stabilizing Transformer Training by Preventing Attention Entropy Collapse"). Key 0
    is often a sink (Xiao et al. 2024, "Efficient Streaming Language Models with Attention Sinks").

    Args:
        every: steps from one reading to the next. The first step that the monitor meets is read, and then the first of
            each multiple of `every`. With accumulated gradients that is the first batch of the step.
        log: a callable `log(values, step)`, a Lightning logger (`log_metrics`), or a `SummaryWriter` (`add_scalar`).
            None logs to the loggers of Lightning's trainer, and otherwise keeps `latest` alone.

    Attributes:
        latest: the last reading, as a dictionary from names to numbers.

    Raises:
        ArgumentError: every below 1, or a first reading without a call that can be read.
        ArgumentTypeError: a log of another kind.

    Example:
        >>> model = torch_nn.ModuleDict({"read": nn.MultiheadAttention(8, 2)})
        >>> monitor = Monitor(every=100, log=lambda values, step: print(step, len(values)))
        >>> for step in range(201):
        ...     with monitor.step(model, step):
        ...         loss = model["read"](torch.randn(1, 5, 8)).sum()
        0 8
        100 8
        200 8
        >>> list(monitor.latest)[:2]
        ['attention/read/head 0/entropy', 'attention/read/head 0/entropy share']
    """

    def __init__(self, every: int = 500, *, log: Any = None) -> None:
        whole("every", every, least=1)
        if (
            log is not None
            and not callable(log)
            and not any(hasattr(log, name) for name in ("log_metrics", "add_scalar"))
        ):
            expected = "expected a callable, a Lightning logger or a SummaryWriter"
            raise ArgumentTypeError(f"log: {expected}, got {type(log).__name__}. Pass for example log=print.")
        self.every, self.log = every, log
        self.latest: dict[str, float] = {}
        self._block: int | None = None
        self._low: dict[str, int] = {}

    def callback(self) -> Any:
        """Make a callback for Lightning's `Trainer(callbacks=[monitor.callback()])`.

        It reads training batches alone, by the trainer's `global_step`. It is an object of its own, since Lightning
        takes callbacks of its class, and this package works without Lightning.

        Raises:
            SaccadeError: Lightning is not installed.
        """
        try:
            from saccade.look._lightning import MonitorCallback
        except ImportError as error:
            raise SaccadeError(f"a callback needs Lightning: {pip_install('train')}") from error
        return MonitorCallback(self._step)

    @contextmanager
    def step(self, model: torch_nn.Module, step: int) -> Iterator[None]:
        """Read the calls of a model in this block, if a reading is due.

        Args:
            model: the model, in training or evaluation, not compiled.
            step: number of the optimizer's step.

        Raises:
            ArgumentError: in the first reading, a block without a call of attention.
        """
        with self._step(model, step):
            yield

    @contextmanager
    def _step(self, model: torch_nn.Module, step: int, loggers: Iterable[Any] = ()) -> Iterator[None]:
        first, block = self._block is None, step // self.every
        if block == self._block:
            yield
            return
        self._block = block
        reader = _Reader(model, _REQUEST)
        with reader.installed(model):
            yield
        if first and not reader.sums:
            raise ArgumentError(nothing_recorded(model, reader))
        self.latest = reader.values()
        for log in loggers if self.log is None else [self.log]:
            _write(log, self.latest, step)
        self._warn(step)

    def _warn(self, step: int) -> None:
        """Warn of each head of low entropy, in its third such reading."""
        for name, value in self.latest.items():
            if not name.endswith("/entropy share") or self._low.get(name, 0) >= _READINGS:
                continue
            self._low[name] = self._low.get(name, 0) + 1 if value < _COLLAPSED else 0
            if self._low[name] == _READINGS:
                head = name.removeprefix("attention/").removesuffix("/entropy share").replace("/head", ", head")
                warnings.warn(
                    f"{head}: entropy is {value:.1%} of uniform attention's at step {step}, below {_COLLAPSED:.0%} in "
                    f"{_READINGS} successive readings. {_WAY_OUT}.",
                    stacklevel=2,
                )


def _write(log: Any, values: dict[str, float], step: int) -> None:
    if hasattr(log, "log_metrics"):
        log.log_metrics(values, step)
    elif hasattr(log, "add_scalar"):
        for name, value in values.items():
            log.add_scalar(name, value, step)
    else:
        log(values, step)


class _Reader(Recorder):
    """Computes statistics after each call, as sums over queries for each head."""

    ours = nn.Attention, nn.MultiheadAttention

    def __init__(self, model: torch_nn.Module, request: AuxRequest) -> None:
        super().__init__(model, request)
        self.sums = dict[str, _Sums]()

    def ask(self, module: torch_nn.Module, args: Any, kwargs: dict[str, Any]) -> None:
        """Before a call of Saccade's module: leave it as it is."""

    def take(self, module: torch_nn.Module, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        """After a call of Saccade's module: compute it again for its statistics."""
        if result is None:  # the call failed
            return
        with unchanged(module):
            aux, uniform = _read(
                lambda request: module.forward(*args, **{**kwargs, "aux": request})[-1],
                lambda request: _uniform(module).forward(*args, **{**kwargs, "aux": request})[-1],
            )
        ordered = kind_of(module, args, kwargs) == "self" and getattr(kwargs.get("memory"), "positions", None) is None
        self.add(self.names[module], _sums(aux, uniform, isinstance(module, nn.MultiheadAttention), ordered))

    def observes(self, kernel: Kernel | None) -> bool:
        """Leave the output of every call to its own kernel."""
        return True

    def observe(self, name: str, call: AttentionCall) -> None:
        """Compute the statistics of a call of another library's module."""
        sink = getattr(call.normalizer, "sink", None)
        uniform = replace(call, normalizer=replace(_UNIFORM, sink=None if sink is None else 0.0))
        with torch.random.fork_rng([call.query.device] if call.query.is_cuda else []):
            aux = _read(
                lambda request: statistics(call, request, _ALL)[0],
                lambda request: statistics(uniform, request, _ALL)[0],
            )
        extra = isinstance(call.callers[0], torch_nn.MultiheadAttention) and call.key.shape[-2] > call.query.shape[-2]
        self.add(name, _sums(*aux, call.query.ndim > 3, call.kind != "cross" and not extra))

    def add(self, name: str, sums: "_Sums") -> None:
        """Add the sums of a call to those of its module."""
        self.marks[name].add("recorded")
        self.sums[name] = self.sums[name].add(sums) if name in self.sums else sums

    def values(self) -> dict[str, float]:
        """The finite numbers of a reading by their names."""
        values = {
            f"attention/{name or 'model'}/head {head}/{statistic}": number
            for name, sums in self.sums.items()
            for head, numbers in enumerate(zip(*(means.tolist() for means in sums.means().values()), strict=True))
            for statistic, number in zip(sums.means(), numbers, strict=True)
        }
        return {name: value for name, value in values.items() if isfinite(value)}


@dataclass(frozen=True)
class _Sums:
    """Sums over queries, numerator and denominator of each statistic, `(2, heads)`."""

    pairs: dict[str, Tensor]

    def add(self, other: "_Sums") -> "_Sums":
        names = dict.fromkeys([*self.pairs, *other.pairs])
        both = {name: [sums.pairs[name] for sums in (self, other) if name in sums.pairs] for name in names}
        return _Sums({name: sum(parts[1:], parts[0]) for name, parts in both.items()})

    def means(self) -> dict[str, Tensor]:
        return {name: above / below for name, (above, below) in self.pairs.items()}


def _read(
    statistics: Callable[[AuxRequest], AuxOutput], uniform: Callable[[AuxRequest], AuxOutput]
) -> tuple[AuxOutput, AuxOutput | None]:
    """Statistics of a call, and of equal weights if its rows sum to one."""
    try:
        return statistics(_REQUEST), uniform(AuxRequest(entropy=True))
    except ArgumentError:
        return statistics(replace(_REQUEST, entropy=False)), None


def _sums(aux: AuxOutput, uniform: AuxOutput | None, multihead: bool, ordered: bool) -> _Sums:
    """Sums of a call's statistics."""
    assert aux.top is not None
    assert aux.received is not None

    def heads(tensor: Tensor, dims: int) -> Tensor:
        """Sums over the last dimensions of a tensor, `(heads,)`."""
        tensor = tensor.float().sum(tuple(range(-dims, 0)))
        return tensor.reshape(-1, tensor.shape[-1]).sum(0) if multihead else tensor.sum()[None]

    (weights, keys), received, pairs = aux.top, aux.received, dict[str, Tensor]()
    if aux.entropy is not None and uniform is not None and uniform.entropy is not None:
        entropy, rows = heads(aux.entropy, 1), heads(weights[..., 0] > 0, 1)
        pairs["entropy"] = torch.stack((entropy, rows))
        pairs["entropy share"] = torch.stack((entropy, heads(uniform.entropy, 1)))
    pairs["sink share"] = torch.stack((heads(received[..., :1], 1), heads(received, 1)))
    if ordered:
        queries = torch.arange(weights.shape[-2], device=keys.device) + received.shape[-1] - weights.shape[-2]
        distances = (queries[:, None] - keys).abs()
        pairs[f"top-{_TOP} distance"] = torch.stack((heads(weights * distances, 2), heads(weights, 2)))
    return _Sums(pairs)


def _uniform(module: Any) -> Any:
    """A copy of a module with equal weights over allowed keys."""
    shadow = object.__new__(type(module))  # `copy.copy` refuses parametrized modules
    vars(shadow).update(vars(module))
    vars(shadow)["_modules"] = {**module._modules, "normalizer": Parameters(_UNIFORM)}
    return shadow
