"""A few draws at a time from a memory, by the weights of a step (`steps`)."""

import torch
from torch import Tensor

from saccade._call.call import Call
from saccade.auxiliary import AuxOutput
from saccade.backends.cpu.step_kernels import Draw, Read
from saccade.backends.cpu.steps import Steps, fits, folded_step
from saccade.reads import Sample


def serves_draws(call: Call) -> bool:
    """Whether a call draws from a memory by the weights of a step."""
    if not isinstance(call.read, Sample) or call.state is None or not call.key.shape[-2]:
        return False
    if call.query.dtype != torch.float32:
        return False
    request = call.aux
    return not (request.weights or request.lse or request.top or request.received) and fits(call)


def run(call: Call) -> tuple[Tensor, AuxOutput]:
    read, request = call.read, call.aux
    assert isinstance(read, Sample)
    assert read.uniform is not None  # drawn before a backend is chosen
    assert call.state is not None
    shape = (*call.batch, call.query.shape[-2])
    inputs, temperature, unfolded = folded_step(call)
    uniform = read.uniform.expand(shape).reshape(inputs.query.shape[:2])
    shares = unfolded and torch.is_grad_enabled()  # a gate made without gradients would never have any
    gate, sums = call.state.of(Steps).of(inputs.key, inputs.value) if shares else (None, None)
    draw = Draw(uniform, read.estimator == "straight_through", request.entropy)
    output, index, log_prob, entropies = Read.apply(*inputs[:4], gate, sums, *inputs[4:], temperature, draw)
    return output.reshape(*shape, output.shape[-1]), AuxOutput(
        index=index.reshape(shape) if request.index else None,
        log_prob=log_prob.reshape(shape) if request.log_prob else None,
        entropy=entropies.reshape(shape) if request.entropy else None,
    )
