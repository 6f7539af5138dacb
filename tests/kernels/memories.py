"""Steps of external memories, by kernels and by their formulas, of inputs that are drawn."""

import torch

from saccade import nn
from saccade.kernels.heads import Heads, step

KINDS = "shift", "links"


def memory_of(kind, cell_dim, reads, writes=1, furthest=1):
    if kind == "links":
        return nn.ExternalMemory(2, cell_dim, num_reads=reads, addressing="links")
    return nn.ExternalMemory(2, cell_dim, num_reads=reads, num_writes=writes, max_shift=furthest)


def steps_of(module):
    """The step by kernels, and by its formula."""
    if module.addressing == "links":
        heads = Heads(module._by_links, module.num_reads)
    else:
        heads = Heads(module._by_shift, module.num_reads, module.num_writes, module.max_shift)
    return lambda *tensors: step(heads, *tensors), heads.formula


def drawn(module, batch, cells, seed, scale=1.0, dtype=torch.float32):
    """What heads ask for, and a state before: with links such that no two cells are equally in use."""
    numbers = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(batch, *shape, generator=numbers, dtype=torch.float64)

    made = [normal(module.heads.out_features) * scale, normal(cells, module.cell_dim) * scale]
    made += [normal(count, cells).softmax(-1) for count in (module.num_reads, module.num_writes)]
    if module.addressing == "links":
        links = normal(cells, cells).softmax(-1) * (1 - torch.eye(cells, dtype=torch.float64))
        made += [normal(cells).sigmoid(), normal(cells).softmax(-1), links]
    return [tensor.to(dtype).requires_grad_() for tensor in made]


def with_gradients(function, inputs):
    outputs = function(*inputs)
    ramps = (torch.linspace(-1, 2, part.numel(), dtype=part.dtype).reshape(part.shape) for part in outputs)
    total = sum((part * ramp).sum() for part, ramp in zip(outputs, ramps, strict=True))
    return [*outputs, *torch.autograd.grad(total, inputs)]


def largest(tensors):
    return max(1.0, *(part.abs().max().item() for part in tensors))


def shortest(module, asked, memory):
    """The length of the shortest key or cell: derivatives of a direction are as large as one over it."""
    counts = (module.num_reads, module._reader), (module.num_writes, module._writer)
    parts = asked.detach().split([count * width for count, width in counts], -1)
    heads = (part.unflatten(-1, (count, -1)) for part, (count, _) in zip(parts, counts, strict=True))
    return min(part[..., : module.cell_dim].norm(dim=-1).min().item() for part in (*heads, memory.detach()))
