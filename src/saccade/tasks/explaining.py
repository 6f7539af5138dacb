"""Explanations of answers by their inputs: one protocol, and its methods.

A predictor makes a `Subject` of an input and its answer. The methods of `--by` need nothing else of a task.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade._system.notes import say
from saccade._threads import hooked
from saccade.errors import ArgumentError
from saccade.look import Faithfulness, Recording, attribute, faithful, record, saliency, sequential_jacobian
from saccade.look._gradients import activation_map
from saccade.look._jacobian import differentiable, returning
from saccade.models.padded import Padded
from saccade.models.words import OutputLayer
from saccade.tasks.attention_graph import Edge, edges_of, reads_hard, size_of, stacked
from saccade.tasks.looking import NEEDS, By, signed_jacobian

__all__ = ["Scores", "Subject", "embedded", "input_gradients", "text_methods"]

TITLES = {
    "attention": "attention",
    "rollout": "attention rollout",
    "flow": "attention flow",
    "gradient": "gradient-weighted attention",
    "grad-cam": "Grad-CAM",
    "jacobian": "sequential Jacobian",
    "signed": "sequential Jacobian with signs, of each output's logit",
    "integrated-gradients": "integrated gradients of each output's logit",
}
"""Methods in words."""

_STEPS = (50, 100, 200, 400)  # of integrated gradients: layer normalization is steep near a baseline of zeros
_INCOMPLETE = 0.01  # largest gap of their sum, as a share of the sum of their sizes
_RESIDUAL = 0.5  # share of the residual connection of a layer of self-attention


class Scores(NamedTuple):
    """Scores of the parts of an input, for each part of the answer.

    Args:
        by: name of the method.
        tokens: the inputs as texts, () for pixels.
        outputs: the predicted class, or the written tokens with a mark for the end.
        values: `(outputs, tokens)`, or `(outputs, height, width)` of an image. Integrated gradients and signed
            derivatives may be below 0, all others are not.
        faithfulness: of the first row, if it was requested.
        method: the method in words, for a title.

    >>> Scores("attention", ("a", "dog"), ("animal",), torch.tensor([[0.1, 0.9]])).values.shape
    torch.Size([1, 2])
    """

    by: str
    tokens: tuple[str, ...]
    outputs: tuple[str, ...]
    values: Tensor
    faithfulness: Faithfulness | None = None
    method: str = ""

    @property
    def remark(self) -> str:
        """Comprehensiveness and sufficiency in words, "" without them."""
        if self.faithfulness is None:
            return ""
        (high, random_high), (low, random_low) = (
            (measure["scores"].mean, measure["random"].mean) for measure in self.faithfulness[:2]
        )
        return (
            f"comprehensiveness {high:.3f} (random {random_high:.3f}), sufficiency {low:.3f} (random {random_low:.3f})"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the measures of faithfulness as JSON, {} without them."""
        if self.faithfulness is None:
            return {}
        measures = self.faithfulness._asdict().items()
        return {"faithfulness": {name: {of: round(m.mean, 6) for of, m in rows.items()} for name, rows in measures}}


def embedded(
    embedding: nn.Module, source: Padded, run: Callable[[Padded], Tensor]
) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Return the vectors of a source, and `run` as a function of copies of them.

    Args:
        embedding: module that `run` calls on the source before any other input.
        source: of one row.
        run: from copies of the source to a tensor. It may not keep tensors of inference mode.

    Example:
        >>> embedding = nn.Embedding.from_pretrained(torch.eye(3))
        >>> source = Padded(torch.tensor([[0, 2]]), torch.tensor([2]))
        >>> vectors, run = embedded(embedding, source, lambda copies: embedding(copies.values))
        >>> run(5 * vectors[None])
        tensor([[[5., 0., 0.],
                 [0., 0., 5.]]])
    """
    with differentiable():  # answers are computed in inference mode
        source = Padded(*(part.clone() for part in source))
        vectors = embedding(source.values)[0].detach()

    def of_copies(copies: Tensor) -> Tensor:
        with returning(embedding, copies):
            return run(Padded(*(part.expand(len(copies), *part.shape[1:]) for part in source)))

    return vectors, of_copies


def text_methods(model: nn.Module, layer: nn.Module | None, *, attends: bool) -> list[str]:
    """Return the names of the methods of a model that reads tokens.

    Args:
        model: one model, or an ensemble, which has attention alone.
        layer: that of `Subject`.
        attends: whether the model attends to its tokens.

    Example:
        >>> from saccade.models.bag import Bag
        >>> text_methods(Bag(7, 2), None, attends=False)
        ['gradient', 'jacobian', 'integrated-gradients']
    """
    names = ["attention"] * attends
    if hasattr(model, "members"):
        return names
    choosing = attends and reads_hard(model)  # one value, whose choice has no gradient
    names += ["rollout", "flow"] * stacked(model) + ["gradient"] * (not choosing) + ["grad-cam"] * (layer is not None)
    return [*names, "jacobian", "integrated-gradients"]


@dataclass(frozen=True, kw_only=True)
class Subject:
    """An input of a model with its answer, for all methods.

    Args:
        model: in evaluation mode.
        inputs: vectors of tokens `(L, ...)`, features of parts of an image `(L, dim)`, or pixels `(channels, height,
            width)`.
        features: from copies of the inputs to `(copies, outputs, dim)`. One model, whose copies are independent.
        output: from features to logits: W and b, a module, or None for the identity.
        targets: number of the logit of each output, `(outputs,)`.
        tokens: texts of the inputs, () for images.
        outputs: texts of the outputs.
        cells: rows and columns of the cells of an image that its model attends to, or None.
        score: number of each output whose gradient by the inputs is taken.
        attended: attention weights of the answer, `(outputs, L)` or `(outputs, cells)`, or None without attention.
        readers: positions in the graph of attention that each output reads, `(outputs, readers)`, or None if the
            attention is not to the inputs themselves.
        layer: for Grad-CAM: module with one vector for each token, or a map of features, or None.
        before: whether it is the input of this module instead of its output.
        baseline: inputs that integrated gradients begin at, or a number.
        missing: replacement of a removed unit, the id of the unknown word or a colour.
        units: ids `(1, L)`, or pixels `(1, height * width, channels)`, whose removal measures faithfulness.
        probability: from units `(B, ...)` to the probability of the class, `(B,)`, without gradients, or None.
        block: rows of the Jacobian at a time.
    """

    model: nn.Module
    inputs: Tensor
    features: Callable[[Tensor], Tensor]
    output: OutputLayer | None
    targets: Tensor
    tokens: tuple[str, ...]
    outputs: tuple[str, ...]
    cells: tuple[int, int] | None = None
    score: Literal["logit", "log-probability"] = "log-probability"
    attended: Tensor | None = None
    readers: Tensor | None = None
    layer: nn.Module | None = None
    before: bool = False
    baseline: Tensor | float = 0.0
    missing: Any = None
    units: Tensor | None = None
    probability: Callable[[Tensor], Tensor] | None = None
    block: int = 64

    @property
    def pixels(self) -> bool:
        """Whether the inputs are pixels."""
        return self.inputs.ndim == 3 and not self.tokens

    @property
    def size(self) -> int:
        """Number of inputs in the graph of attention."""
        return len(self.inputs) if self.cells is None else self.cells[0] * self.cells[1]

    @property
    def weighted(self) -> bool:
        """Whether the method "gradient" weighs attention to tokens."""
        return self.readers is not None and bool(self.tokens)

    def logits(self, copies: Tensor) -> Tensor:
        """Return the logit of each output for copies of the inputs, `(copies, outputs)`."""
        return self._every(copies).gather(2, self._targets.expand(len(copies), -1)[..., None])[..., 0]

    def log_probs(self, copies: Tensor) -> Tensor:
        """Return the log-probability of each output, `(copies, outputs)`, in float64."""
        every = self._every(copies).double().log_softmax(-1)
        return every.gather(2, self._targets.expand(len(copies), -1)[..., None])[..., 0]

    def _every(self, copies: Tensor) -> Tensor:
        features = self.features(copies)
        if self.output is None:
            return features
        if isinstance(self.output, tuple):
            return F.linear(features, *(part.detach() for part in self.output))
        logits: Tensor = self.output(features)
        return logits

    @property
    def _targets(self) -> Tensor:
        return self.targets.to(self.inputs.device)

    def scores(self, by: By, *, signed: bool = False, faithfulness: bool = False) -> Scores:
        """Return the scores of a method.

        Args:
            by: name of the method.
            signed: whether a Jacobian has derivatives of each output's logit with their signs.
            faithfulness: whether faithfulness is measured too.

        Raises:
            ArgumentError: if the method means nothing for the model, or nothing moves an output.
        """
        values = METHODS[by](self, signed) if by == "jacobian" else METHODS[by](self)
        if self.cells is not None and values.shape[1:] == (self.size,):
            values = values.unflatten(1, self.cells)
        by_inputs = by == "gradient" and not self.weighted
        method = f"gradients of the {self.score}" if by_inputs else TITLES["signed" if signed else by]
        scores = Scores(by, self.tokens, self.outputs, values.detach().cpu(), method=method)
        return scores._replace(faithfulness=self.faithfulness(scores)) if faithfulness else scores

    def faithfulness(self, scores: Scores, seed: int = 0) -> Faithfulness:
        """Return how far the probability of the first output follows its scores.

        Raises:
            ArgumentError: if the answer is no class.
        """
        if self.units is None or self.probability is None:
            raise ArgumentError("--faithful: expected a run that chooses a class, got another. Leave it out.")
        values = scores.values[:1]
        if values.ndim == 3:
            size = self.inputs.shape[-2:]
            values = F.interpolate(values[None].float(), tuple(size), mode="bilinear")[0].flatten(1)
        return faithful(self.probability, self.units, values, baseline=self.missing, seed=seed)


def _attention(subject: Subject) -> Tensor:
    if subject.attended is None:
        raise ArgumentError("--by: expected attention to inputs for scores, got that to a memory. Draw it instead.")
    return subject.attended


def _mixed(subject: Subject) -> list[Tensor]:
    """Attention of each layer with its residual connection, `(1, 1, size, size)`."""
    with torch.no_grad(), record(subject.model, detach=True) as records:
        subject.features(subject.inputs[None])
    edges = _edges(subject, records)
    size, layers = size_of(edges, subject.size), list[Tensor]()
    for edge in edges:
        mean, share = edge.placed(edge.weights, size).mean(0), _RESIDUAL if edge.residual else 0.0
        identity = torch.eye(size, dtype=mean.dtype, device=mean.device)
        queries = torch.arange(size, device=mean.device)[:, None] - edge.query
        within = (queries >= 0) & (queries < edge.queries)
        layers.append(torch.where(within, (1 - share) * mean + share * identity, identity)[None, None])
    return layers


def _edges(subject: Subject, records: Recording) -> list[Edge]:
    return edges_of(subject.model, records, subject.size)


def _read(subject: Subject, graph: Tensor) -> Tensor:
    """Mean of the rows that outputs read, at the inputs."""
    assert subject.readers is not None  # of models with such a graph
    return graph[subject.readers.to(graph.device)].mean(1)[:, : subject.size]


def _rollout(subject: Subject) -> Tensor:
    return _read(subject, attribute.rollout(_mixed(subject), residual=0.0)[0])


def _flow(subject: Subject) -> Tensor:
    assert subject.readers is not None  # of models with such a graph
    flows = attribute.flow(_mixed(subject), residual=0.0, rows=subject.readers.flatten().tolist())[0]
    return flows.view(*subject.readers.shape, -1).mean(1)[:, : subject.size]


def _gradient(subject: Subject) -> Tensor:
    """Gradient-weighted attention of tokens, or gradients of the inputs."""
    if subject.pixels and subject.score == "logit":
        return saliency(lambda images: subject.features(images)[:, 0], subject.inputs[None], subject.targets)
    if not subject.weighted:
        return input_gradients(subject)
    if reads_hard(subject.model):
        raise ArgumentError(f"--by: expected a model that reads softly, got gradient. {NEEDS['gradient']}")
    with differentiable(), record(subject.model) as records:
        logits = subject.logits(subject.inputs[None].clone())[0]
        edges = _edges(subject, records)
        size, rows = size_of(edges, subject.size), list[Tensor]()
        raw = [part for edge in edges for part in edge.weights]
        for number, logit in enumerate(logits):
            gradients = iter(torch.autograd.grad(logit, raw, retain_graph=True, materialize_grads=True))
            pairs = [(edge.placed(edge.weights, size), edge.placed([next(gradients) for _ in edge.weights], size))
                     for edge in edges]  # fmt: skip
            weights, grads = zip(*((a[None].detach(), b[None]) for a, b in pairs), strict=True)
            rows.append(_read(subject, _relevance(weights, grads))[number])
    return torch.stack(rows)


def _relevance(weights: Sequence[Tensor], gradients: Sequence[Tensor]) -> Tensor:
    """Gradient-weighted attention of layers that may differ in their heads.

    These are Eq. 5 and 6 of Chefer, Gur and Wolf 2021 on the graph of encoder and decoder. The paper's rule for two
    inputs (Eq. 8 to 11) differs: it normalizes the relevance of each stack before attention to the source.
    """
    means = [
        (gradient * weight).relu().mean(1, keepdim=True) for weight, gradient in zip(weights, gradients, strict=True)
    ]
    return attribute.gradient_weighted(means, [torch.ones_like(mean) for mean in means])[0]


def input_gradients(subject: Subject) -> Tensor:
    r"""Return the norm of the gradient of each output's score by each input.

    .. math:: S_{ts} = \lVert \partial f_t / \partial x_s \rVert
    """
    with differentiable():
        leaf = subject.inputs.detach().clone().requires_grad_()
        numbers = (subject.logits if subject.score == "logit" else subject.log_probs)(leaf[None])[0]
        rows = [torch.autograd.grad(number, leaf, retain_graph=True, materialize_grads=True)[0] for number in numbers]
    grads = torch.stack(rows)
    norms: Tensor = grads.norm(dim=1) if subject.pixels else grads.flatten(2).norm(dim=-1)
    return norms


def _grad_cam(subject: Subject) -> Tensor:
    captured = list[Tensor]()

    def capture(module: nn.Module, args: Any, output: Any) -> None:
        captured.append(args[0] if subject.before else output)

    if subject.layer is None:
        raise ArgumentError(f"--by: expected a model with features of its inputs, got grad-cam. {NEEDS['grad-cam']}")
    with differentiable(), hooked([subject.layer], capture):
        logits = subject.logits(subject.inputs[None].clone().requires_grad_())[0]
        features = captured[0]
        grads = [torch.autograd.grad(logit, features, retain_graph=True, materialize_grads=True)[0] for logit in logits]
    maps = attribute.token_grad_cam if features.ndim == 3 else activation_map
    return torch.cat([maps(features.detach(), grad) for grad in grads])


def _jacobian(subject: Subject, signed: bool = False) -> Tensor:
    weight = subject.output[0] if isinstance(subject.output, tuple) else None
    features = subject.features if isinstance(subject.output, tuple) else subject._every
    if signed:
        return signed_jacobian(features, subject.inputs, weight, subject.targets, block=subject.block)
    return sequential_jacobian(features, subject.inputs, weight, block=subject.block)


def _integrated(subject: Subject) -> Tensor:
    """Integrated gradients, with more steps until rows are complete (section 5).

    A note names an output whose row never is.
    """
    start = torch.as_tensor(subject.baseline).to(subject.inputs).expand_as(subject.inputs)
    with torch.no_grad():
        differences = (subject.logits(subject.inputs[None]) - subject.logits(start[None]))[0]
    rows = list[Tensor]()
    for number, difference in enumerate(differences):
        for steps in _STEPS[:2] if subject.pixels else _STEPS:
            values = attribute.integrated_gradients(
                subject.logits, subject.inputs[None], target=number, baseline=start, steps=steps
            )[0]
            row = values.sum(0) if subject.pixels else values.flatten(1).sum(1)
            gap = float((row.sum() - difference).abs() / row.abs().sum().clamp_min(torch.finfo(row.dtype).tiny))
            if gap <= _INCOMPLETE:
                break
        else:
            say(f"integrated gradients of {subject.outputs[number]}: their sum is off by {gap:.1%} after {steps} steps")
        rows.append(row)
    return torch.stack(rows)


METHODS: dict[str, Callable[..., Tensor]] = {
    "attention": _attention,
    "rollout": _rollout,
    "flow": _flow,
    "gradient": _gradient,
    "grad-cam": _grad_cam,
    "jacobian": _jacobian,
    "integrated-gradients": _integrated,
}
"""From a subject to its scores."""
