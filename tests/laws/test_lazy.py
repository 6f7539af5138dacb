"""A value that is a function of keys keeps every law that a tensor keeps, and gives what the tensor gives."""

from dataclasses import dataclass, replace

import pytest
import torch

from laws import checks
from laws.case import Case, differentiable, learning
from laws.combinations import each
from laws.table import BACKENDS, BIASES, GATES, MASKS, NORMALIZERS, READS, SCORES
from saccade import attend

READS_OF_FEW = ("sample", "argmax", "top_k")
COMBINATIONS = each(SCORES, NORMALIZERS, MASKS, BIASES, GATES, READS, BACKENDS)
LAWS = (
    *("values", "empty_rows", "no_keys", "hidden_keys", "batch"),
    *("padding", "repeats", "permuted_keys", "permuted_queries"),
)
FEW = [
    (law, READS_OF_FEW[(row + column) % 3], backend)
    for row, law in enumerate(LAWS)
    for column, backend in enumerate(BACKENDS)
]


@dataclass(frozen=True)
class LazyCase(Case):
    """The same call with a function for its value."""

    def run(self, inputs, aux=None, **more):
        query, key, value = (inputs[name] for name in ("query", "key", "value"))
        batch = torch.broadcast_shapes(key.shape[:-2], value.shape[:-2])
        key, value = (tensor.expand(*batch, *tensor.shape[-2:]) for tensor in (key, value))
        arguments = {**self.arguments(inputs), "backend": self.backend, **more}
        return attend(query, key, lambda index: value[index], aux=aux, **arguments)


@pytest.mark.parametrize("combination", COMBINATIONS, ids="-".join)
def test_values_and_gradients_are_those_of_the_tensor(combination):
    case = LazyCase(*combination, broadcast=True)
    inputs = differentiable(case.inputs())
    found, wanted = (one.run(inputs, case.everything()) for one in (case, Case(*combination, broadcast=True)))
    checks.same(found, wanted)
    grads = [checks.gradients(checks.pulled(*result), learning(inputs)) for result in (found, wanted)]
    checks.same(*grads)
    if case.read in ("sample", "argmax"):
        assert torch.equal(found[0], wanted[0])  # what is read is copied


@pytest.mark.parametrize(("law", "read", "backend"), FEW)
def test_laws(law, read, backend):
    case = LazyCase(mask="composed" if law == "values" else "none", read=read, backend=backend)
    if law == "permuted_keys" and read == "sample":
        case = replace(case, read="argmax")  # a draw goes along the keys in their order
    getattr(checks, f"law_{law}")(case)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("read", READS_OF_FEW)
def test_accuracy(read, dtype):
    checks.law_accuracy(LazyCase(read=read, backend="auto", dtype=dtype), 3.0)
