"""What is the same to hold of every model, whatever it is made of."""

import torch

from launches import launched, own_nodes
from near import assert_near, with_parameters
from saccade import plainly


def parameters_that_learn(model, loss):
    """Assert that the gradient of a loss reaches every parameter."""
    loss.backward()
    missed = [name for name, p in model.named_parameters() if p.grad is None or not bool(p.grad.abs().sum() > 0)]
    assert not missed


def the_same_state(model, other):
    """Assert that another model answers as this one once it has its state."""
    state = {name: held.clone() for name, held in model.state_dict().items()}
    assert other.load_state_dict(state).missing_keys == []
    found = other.state_dict()
    assert list(found) == list(state) and all(torch.equal(found[name], held) for name, held in state.items())


def the_same_plainly(model, call, exactly):
    """Assert that float32 computes the same with kernels, by plain operations, and as float64 does.

    Args:
        model: in float32.
        call: from a model to its output and loss.
        exactly: `call` for float64.
    """

    def found(*parameters):
        made = with_parameters(model, parameters)
        output, loss = (exactly if parameters[0].dtype is torch.float64 else call)(made)
        assert not plain or not own_nodes(output, loss)
        return [output, loss, *torch.autograd.grad(loss, list(made.parameters()))]

    parameters, plain = list(model.parameters()), False
    ours = found(*parameters)
    plain = True
    with launched() as names, plainly():
        assert_near(ours, found, *parameters)
    assert not names
