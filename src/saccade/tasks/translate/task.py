"""The translation task: what `saccade.train` and the command line ask of it."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from saccade.errors import ArgumentError
from saccade.tasks import find
from saccade.tasks.decoding import search
from saccade.tasks.translate.batches import Batch, Encoded, Sampler, by_length, pad
from saccade.tasks.translate.corpora import BUILTIN, group_names, open_corpus
from saccade.tasks.translate.corpus import Corpus
from saccade.tasks.translate.metrics import exact_match
from saccade.tasks.translate.options import RECIPES, Options
from saccade.tasks.translate.tokenizer import BEGIN, END, PADDING, Characters, from_json
from saccade.train import options as shared
from saccade.train.files import read_json, write_json
from saccade.train.task import Evaluation, Loss

__all__ = ["Translate"]

_LEARN_FROM = 20_000  # pairs of the training split whose characters are learned
_CHUNK = 64  # lines that are read before the first is answered
_DECODE_TOKENS = 20_000  # source tokens, padding included, decoded at once


@dataclass(frozen=True)
class Translate:
    """Learn to write a target text for a source text, from pairs.

    Args:
        settings: all options of the run.
        source: tokenizer of the sources.
        target: tokenizer of the targets.
        longest: tokens of the longest target seen when the tokenizers were learned.
    """

    settings: Any
    source: Characters
    target: Characters
    longest: int

    name: ClassVar[str] = "translate"
    models: ClassVar[dict[str, str]] = {"rnnsearch": "saccade.models.rnnsearch:RNNSearch"}
    builtin: ClassVar[dict[str, str]] = BUILTIN
    headline: ClassVar[str] = "exact_match"

    @classmethod
    def options(cls, model: str) -> type[shared.Options]:
        """Return the dataclass of all options of a run with this model."""
        return shared.flat(find(cls.models[model]).Options, Options, shared.Options)

    @classmethod
    def recipe(cls, model: str, data: str) -> dict[str, Any]:
        """Return the defaults that suit these data."""
        return RECIPES.get(data, {})

    @classmethod
    def prepare(cls, options: Any) -> Self:
        """Open the corpus and learn the characters of both sides."""
        corpus = open_corpus(options.data)
        count = min(_LEARN_FROM, corpus.size("train") or _LEARN_FROM)
        pairs = [corpus.example("train", index) for index in range(count)]
        source, target = (Characters.learn(texts) for texts in ((p.source for p in pairs), (p.target for p in pairs)))
        return cls(options, source, target, max(len(target.encode(pair.target)) for pair in pairs))

    @classmethod
    def restore(cls, options: Any, folder: Path) -> Self:
        """Read the tokenizers back."""
        try:
            content = read_json(folder / "tokenizer.json")
            longest = content["longest_target"]
            if not isinstance(longest, int) or not 0 < longest < 2**31:
                raise ValueError(f"longest_target {longest!r}")
            return cls(options, from_json(content["source"]), from_json(content["target"]), longest)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            path = folder / "tokenizer.json"
            raise ArgumentError(f"{path}: expected the tokenizers of this run, got {error}") from error

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        sides = {"source": self.source.to_json(), "target": self.target.to_json()}
        write_json(folder / "tokenizer.json", {**sides, "longest_target": self.longest})

    @property
    def fingerprint(self) -> str:
        """What the corpus is, in one string."""
        return self.corpus.fingerprint

    @cached_property
    def corpus(self) -> Corpus:
        """The corpus, opened when it is first asked for: answering needs none."""
        return open_corpus(self.settings.data)

    @cached_property
    def sampler(self) -> Sampler:
        """What maps steps to batches."""
        return Sampler(self._encoded, self.corpus.size("train"), self.settings.batch_tokens, self.settings.seed)

    def build(self) -> nn.Module:
        """Make the model."""
        kind = find(self.models[self.settings.model])
        model: nn.Module = kind(len(self.source), len(self.target), shared.select(self.settings, kind.Options))
        return model

    def batch(self, step: int) -> Batch:
        """Return the batch of a training step."""
        return pad(self.sampler.batch(step))

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Return the cross-entropy of the true next tokens, the end among them."""
        logits = model(batch.source, batch.lengths, batch.target[:, :-1])
        wanted = batch.target[:, 1:]
        smoothing = self.settings.label_smoothing
        total = cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=PADDING, label_smoothing=smoothing)
        return Loss(total, int((wanted != PADDING).sum()))

    def evaluate(self, model: nn.Module, split: str, limit: int | None = None) -> Evaluation:
        """Translate a split and count what is right to the letter, by group."""
        size = self.corpus.size(split)
        pairs = [self.corpus.example(split, index) for index in range(min(n for n in (size, limit) if n is not None))]
        began = time.perf_counter()
        outputs = [best[0] for best in self._translate(model, [pair.source for pair in pairs], self.settings.beam_size)]
        seconds = time.perf_counter() - began
        names = group_names(self.settings.data)
        groups = [names.get(pair.group, pair.group) for pair in pairs]
        total, by_group = exact_match(outputs, [pair.target for pair in pairs], groups)
        tokens = sum(1 + len(self.target.encode(output)) for output in outputs)
        return Evaluation({"exact_match": total}, {"exact_match": by_group}, len(pairs), tokens, seconds)

    def predict(
        self, model: nn.Module, inputs: Iterable[str], count: int, beam_size: int | None
    ) -> Iterator[list[str]]:
        """Translate texts, so many at a time that memory does not grow; a blank one has a blank answer."""
        size = max(count, beam_size or self.settings.beam_size)
        remaining = iter(inputs)
        while chunk := list(islice(remaining, _CHUNK)):
            texts = [text for text in chunk if text.strip()]
            best = iter(self._translate(model, texts, size))
            for text in chunk:
                outputs = next(best) if text.strip() else []
                yield [*outputs[:count], *[""] * (count - len(outputs))]

    def look(self, model: nn.Module, inputs: Iterable[str], folder: Path) -> Iterator[Path]:
        """Draw the alignment of each text that is not blank with its greedy translation."""
        from saccade.tasks.translate.look import draw

        for text in inputs:
            if text.strip():
                yield from draw(self, model, text, folder)

    def encode_source(self, text: str) -> list[int]:
        """Return the token ids of a source, space around it taken off as in every corpus."""
        return self.source.encode(text.strip())

    def limits(self, lengths: torch.Tensor) -> torch.Tensor:
        """Return how many tokens an output may have, `(batch,)`: a model that never ends stops here.

        In proportion to the source (lengths, ends included), but never beyond twice the longest target known.
        """
        return (3 * lengths + 10).clamp(max=2 * self.longest)

    def _translate(self, model: nn.Module, texts: Sequence[str], beam_size: int) -> list[list[str]]:
        """The `beam_size` best translations of each text, decoded in batches of like length."""
        pairs = [Encoded(self.encode_source(text), []) for text in texts]
        results: list[list[str]] = [[] for _ in texts]
        device = next(model.parameters()).device
        for group in by_length([pair.size for pair in pairs], _DECODE_TOKENS // beam_size):
            batch = pad([pairs[index] for index in group]).to(device)
            for index, outputs in zip(group, self._decode(model, batch, beam_size), strict=True):
                results[index] = [self.target.decode(ids) for ids in outputs]
        return results

    def _decode(self, model: Any, batch: Batch, beam_size: int) -> list[list[list[int]]]:
        state = model.encode(batch.source, batch.lengths)
        limits, penalty = self.limits(batch.lengths), self.settings.length_penalty
        found = search(model, state, limits, begin=BEGIN, end=END, beam_size=beam_size, length_penalty=penalty)
        return found.lists()

    def _encoded(self, index: int) -> Encoded:
        pair = self.corpus.example("train", index)
        return Encoded(self.source.encode(pair.source), self.target.encode(pair.target))
