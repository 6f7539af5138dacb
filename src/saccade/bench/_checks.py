"""Checks of a GPU: CUDA graphs, compiled calls, and random calls with gradients.

`python -m saccade.bench._checks graphs DEVICE` and `... random DEVICE FIRST STEP` print a line for each check.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import torch
from torch import Tensor

from saccade import AuxRequest, attend, remember
from saccade._system.notes import output
from saccade.bench._rows.random_calls import drawn, vector
from saccade.bench.measure import distances
from saccade.masks import Lengths
from saccade.nn import MultiheadAttention
from saccade.scores import Additive, ScaledDot

CALLS = 2000
INTERRUPTED = 130  # exit code after Ctrl-C
_FAR, _EVERY, _MOST_WRONG = 1e-3, 100, 10  # a mismatch's relative distance; calls between lines; failures that end it
_BATCH, _LENGTH, _DIM = 2, 64, 32

Check = tuple[Callable[[Tensor], Any], Tensor]
"""A call of one tensor, and that tensor."""


def _multihead(device: torch.device, **options: Any) -> Check:
    module = MultiheadAttention(_DIM, 4).to(device).eval()
    return partial(module, **options), torch.randn(_BATCH, _LENGTH, _DIM, device=device)


def _read(device: torch.device, additive: bool) -> Check:
    key, v = torch.randn(_BATCH, _LENGTH, _DIM, device=device), torch.randn(_DIM, device=device)
    memory = remember(key, key, score=Additive(v) if additive else ScaledDot())
    return memory.read, torch.randn(_BATCH, 1, _DIM, device=device)


def _attend(device: torch.device, additive: bool) -> Check:
    tokens, v = torch.randn(_BATCH, _LENGTH, _DIM, device=device), torch.randn(_DIM, device=device)
    lengths = Lengths(torch.tensor([_LENGTH, _LENGTH // 2], device=device))
    options: dict[str, Any] = {"score": Additive(v), "mask": lengths} if additive else {"aux": AuxRequest(entropy=True)}
    return lambda query: attend(query, query, query, **options), tokens


CAPTURED: dict[str, Callable[[torch.device], Check]] = {
    "nn.MultiheadAttention": _multihead,
    "nn.MultiheadAttention with entropy": partial(_multihead, aux=AuxRequest(entropy=True)),
    "Memory.read": partial(_read, additive=False),
    "Memory.read, additive": partial(_read, additive=True),
}
"""Calls that a CUDA graph captures."""
COMPILED: dict[str, Callable[[torch.device], Check]] = {
    "nn.MultiheadAttention": _multihead,
    "attend with entropy": partial(_attend, additive=False),
    "attend, additive with lengths": partial(_attend, additive=True),
}
"""Calls that torch.compile takes whole."""


@torch.no_grad()
def captured(call: Callable[[Tensor], Any], tensor: Tensor) -> float:
    """Distance of a call from its replay by a CUDA graph on other numbers."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):  # a capture must not compile
            call(tensor)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        replayed = _tensor(call(tensor))
    tensor.normal_()
    graph.replay()
    return distances(replayed, _tensor(call(tensor)))[0]


@torch.no_grad()
def compiled(call: Callable[[Tensor], Any], tensor: Tensor) -> float:
    """Distance of a call compiled without a break from the plain call."""
    backend = "inductor" if tensor.is_cuda else "eager"  # a CPU may have no compiler of C++
    whole = torch.compile(call, fullgraph=True, backend=backend)
    return distances(_tensor(whole(tensor)), _tensor(call(tensor)))[0]


def _distance(way: Callable[..., float], make: Callable[[torch.device], Check], device: torch.device) -> float:
    return way(*make(device))


def _tensor(result: Any) -> Tensor:
    tensor: Tensor = result[0] if isinstance(result, tuple) else result
    return tensor


def graphs(device: torch.device) -> Iterator[bool]:
    """Check captured and compiled calls, and print a line for each."""
    for name, make in CAPTURED.items():
        if device.type == "cuda":
            yield _passed(f"{name} in a CUDA graph", partial(_distance, captured, make, device))
        else:
            output(f"not checked: {name} in a CUDA graph, which needs a GPU", flush=True)
    for name, make in COMPILED.items():
        yield _passed(f"{name}, compiled without a break", partial(_distance, compiled, make, device))


def random(device: torch.device, first: int, step: int, calls: int = CALLS) -> Iterator[bool]:
    """Compare every step-th random call with the definition, up to ten failures."""
    right = wrong = 0
    try:
        for number in range(first, calls, step):
            yield (passed := _passed(f"random call {number}", partial(distance, number, device), silent=True))
            right, wrong = right + passed, wrong + (not passed)
            if (right + wrong) % _EVERY == 0:
                output(f"random calls {first}, {first + step}, ... {number}: {right} agree", flush=True)
            if wrong == _MOST_WRONG:  # a fault of the device fails all that follow
                return
    finally:
        output(f"random calls {first}, {first + step}, ...: {right} agree, {wrong} do not", flush=True)


def distance(number: int, device: torch.device) -> float:
    """Distance of the output and gradients of a random call from the definition's."""
    call = drawn(number, device)
    return distances(vector(call, "auto", True), vector(call, "reference", True, double=True))[0]


def _passed(name: str, measured: Callable[[], float], *, silent: bool = False) -> bool:
    try:
        far = measured()
    except Exception as error:  # noqa: BLE001 a compiler's own errors too; the line names it and the check fails
        reason = next(filter(None, str(error).splitlines()), "")
        output(f"failed: {name}: {type(error).__name__}: {reason}", flush=True)
        return False
    if passed := far <= _FAR:  # not NaN
        if not silent:
            output(f"passed: {name}", flush=True)
    else:
        output(f"failed: {name}: its numbers differ by {far:.1e}", flush=True)
    return passed


def main(kind: str, device: str, *numbers: str) -> int:
    """Return 1 if a check fails, and 130 if Ctrl-C ends checks that pass."""
    torch.manual_seed(0)
    checks = graphs if kind == "graphs" else random
    code, failed = INTERRUPTED, False
    with suppress(KeyboardInterrupt):
        for passed in checks(torch.device(device), *map(int, numbers)):
            failed |= not passed
        code = 0
    return 1 if failed else code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
