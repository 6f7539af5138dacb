"""Half types of few queries: keys and values become float32 some at a time.

Their memory stays in the cache. Float32 copies of all of them are fresh memory, and take three to eight times as long
as the whole call.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from saccade._call.call import Call
from saccade._call.dot_products import product
from saccade._definitions.numerics import tracing, wide
from saccade.kernels.scratch import scratch
from saccade.normalizers import Softmax
from saccade.scores import Score

# Output from query, key and value `(1, n, L, D)` and the scale.
Kernel = Callable[[Tensor, Tensor, Tensor, float], Tensor]
NUMBERS = 1 << 18  # numbers of keys, and of values, converted together by a thread: a megabyte each


def few_entries(call: Call) -> bool:
    """Whether a call of half types has tensors alone, and no gradients."""
    assert isinstance(call.score, Score)
    assert isinstance(call.normalizer, Softmax)
    if tracing() or call.state is not None or call.mask is not None or call.bias is not None or call.dropout_p > 0:
        return False
    if call.score.leaves() or call.normalizer.sink is not None or call.learns():
        return False
    tensors = call.query, call.key, call.value
    alike = call.query.shape[:-2] == call.key.shape[:-2] == call.value.shape[:-2]
    return alike and all(tensor.numel() for tensor in tensors) and call.key.numel() > NUMBERS


def by_entries(call: Call, kernel: Kernel) -> Tensor:
    assert isinstance(call.normalizer, Softmax)
    count, temperature = math.prod(call.batch), float(call.normalizer.temperature)
    query, key, value = (part.reshape(count, *part.shape[-2:]) for part in (call.query, call.key, call.value))
    output = value.new_empty(count, query.shape[-2], value.shape[-1])
    widest = key.shape[-2] * max(key.shape[-1], value.shape[-1])
    together = torch.get_num_threads() * max(1, NUMBERS // widest)
    for first in range(0, count, together):
        part = slice(first, first + together)
        keys = scratch("half keys", key[part].shape, torch.float32).copy_(key[part])
        values = scratch("half values", value[part].shape, torch.float32).copy_(value[part])
        queries, keys, scale, _ = product(call.score, wide(query[part]), keys)
        output[part] = kernel(queries[None], keys[None], values[None], scale / temperature)[0]
    return output.view(*call.batch, *output.shape[-2:])
