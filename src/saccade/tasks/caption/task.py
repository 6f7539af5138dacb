"""The task that writes about images: what `saccade.train` and whoever asks a run want of it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from torch import Tensor, nn

from saccade.data.dataset import Lazy, take
from saccade.errors import ArgumentError
from saccade.tasks.caption.answer import ImageCaption, answers, attends, grid, pointing, write
from saccade.tasks.caption.batches import Batch, Encoded, pad
from saccade.tasks.caption.data import BUILTIN, Captioned, Corpus, open_corpus
from saccade.tasks.caption.metrics import baseline, headline, measured
from saccade.tasks.caption.options import RECIPES, REQUESTS, Options
from saccade.tasks.caption.vocabulary import Vocabulary, learn
from saccade.tasks.ensembles import check_alike
from saccade.tasks.generate import Ensemble
from saccade.tasks.generate.coverage import Request, check_coverage
from saccade.tasks.generate.generate import Search, best_texts
from saccade.tasks.generate.request import check_prefix, search_of
from saccade.tasks.image.images import SUFFIXES, encode_png, image_of
from saccade.tasks.image.options import LookRequest
from saccade.tasks.image.shown import Shown, featured
from saccade.tasks.image.task import VisualTask
from saccade.tasks.image.texts import training_texts
from saccade.tasks.request import completed
from saccade.tasks.text.special import PADDING
from saccade.train import options as shared
from saccade.train.task import Baseline, Evaluation, Example, Form, Loss, Suited, Unreadable, find

if TYPE_CHECKING:
    from saccade.train.trained import Trained

__all__ = ["Caption"]

_AT_ONCE = 256  # images that are measured together
_ENDLESS, _LEARNED = 1_000, 100_000  # that are counted: images without end, captions of others


@dataclass(frozen=True)
class Caption(VisualTask):
    """Learn to write sentences about images, from images with captions.

    Args:
        settings: all options of the run.
        vocabulary: the words, and what is known of the images.
        corpus: the images with captions.
        store: of features, where they are given in the place of images.
    """

    vocabulary: Vocabulary
    corpus: Lazy[Corpus]

    name: ClassVar[str] = "caption"
    Options: ClassVar[type] = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES
    requests: ClassVar[Mapping[str, type]] = REQUESTS
    inputs: ClassVar[Literal["lines", "files"]] = "files"
    suffixes: ClassVar[tuple[str, ...]] = SUFFIXES
    unit: ClassVar[str] = "words"
    models: ClassVar[dict[str, str]] = {
        "show-attend-and-tell": "saccade.models.show_attend_and_tell:ShowAttendAndTell",
        "adaptive-attention": "saccade.models.adaptive_attention:AdaptiveAttention",
        "show-and-tell": "saccade.models.show_and_tell:ShowAndTell",
        "m-rnn": "saccade.models.m_rnn:MRNN",
        "transformer": "saccade.models.caption_transformer:CaptionTransformer",
    }
    builtin: ClassVar[dict[str, str]] = BUILTIN
    open_corpus = staticmethod(open_corpus)
    learn = staticmethod(learn)
    restored_vocabulary = staticmethod(Vocabulary.restore)

    @classmethod
    def suited(cls, model: str, given: Mapping[str, Any], objects: Any = None) -> Suited:
        """Return the recipe of all images that are one's own, whose penalty is of soft attention alone."""
        found = super().suited(model, given, objects)
        if given.get("read", "soft") == "soft":
            return found
        return replace(found, options={k: v for k, v in found.options.items() if k != "doubly_stochastic"})

    @property
    def headline(self) -> str:
        """The metric that counts: of scenes whether all is said and true, of all others BLEU of four words."""
        return headline(self.settings.data)

    def build(self) -> nn.Module:
        """Make the model."""
        kind, known = find(self.models[self.settings.model]), self.vocabulary
        options = shared.select(self.settings, kind.Options)
        model: nn.Module = kind(known.sight.encoder(options), len(known.target), options)
        return model

    def batch(self, step: int) -> Batch:
        """Return the batch of a training step, each image mirrored and shifted at random."""
        settings = self.settings
        given = self.sampler.batch(step), self.store, settings.seed, step
        return pad(*given, mirrored=settings.flip, shifted=settings.shift)

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Return the cross-entropy of the true next words, the end among them."""
        before, wanted = batch.target[:, :-1], batch.target[:, 1:]
        total = model(batch.source, before, wanted, self.settings.label_smoothing)
        return Loss(total, int((wanted != PADDING).sum()))

    def example(self, split: str, index: int) -> Example:
        """Return an image and its caption."""
        found, name = self.data.example(split, index), f"{split}-{index}"
        shown = self._shown(found)
        if not isinstance(shown.seen, Tensor):
            return Example(shown, found.name, found.caption)
        return Example(shown._replace(name=f"{name}.png"), name, found.caption, (".png", encode_png(shown.seen)))

    def evaluate(self, model: nn.Module, split: str, limit: int | None = None, request: Any = None) -> Evaluation:
        """Write about a split, or `limit` images spread over it, from the first word to the end, and measure that."""
        asked, chosen = completed(Request, request), take(self.data, split, limit)
        how = self._search(asked)
        texts, references, groups, seconds, words = list[str](), list[Sequence[str]](), list[str](), 0.0, 0
        known = list[tuple[Captioned, Any]]()
        for first in range(0, len(chosen), _AT_ONCE):  # no more of a large split is in memory
            found = [self.data.example(split, index) for index in chosen[first : first + _AT_ONCE]]
            images = [self._shown(one, first + place) for place, one in enumerate(found, 1)]
            began = time.perf_counter()
            outputs = write(model, images, self.vocabulary.target, how, self.limit, asked.coverage_penalty)
            seconds += time.perf_counter() - began
            texts += best_texts(outputs)
            references += [one.references for one in found]
            groups += [one.group for one in found]
            words += sum(1 + len(own[0].ids) if own else 1 for own in outputs)
            known += [(one, own) for one, own in zip(found, outputs, strict=True) if one.scene is not None]
        scenes = [one.scene for one, _ in known]
        metrics, parts = measured(texts, references, groups, scenes or None)
        if scenes:
            images, each = [self._shown(one) for one, _ in known], [own for _, own in known]
            seen = pointing(model, images, each, scenes, self.vocabulary.target)
            metrics |= seen.metrics()
            parts |= {"pointing": seen.groups} if seen.groups else {}
        return Evaluation(metrics, parts, len(texts), words, seconds, _ratio(texts, references))

    def baselines(self, split: str) -> dict[str, Baseline]:
        """Measure the most frequent caption of the training split."""
        data, learned = self.data, training_texts(self.data, _LEARNED, _ENDLESS)
        references, scenes = [], []
        for index in range(data.size(split) or 0):
            references.append(data.references(split, index))
            if self.settings.data in BUILTIN:  # the scene that was just made for its sentences
                scenes.append(data.example(split, index).scene)
        return {"majority": baseline([data.text("train", index) for index in learned], references, scenes or None)}

    def read(self, line: str, number: int) -> Shown:
        """Read a file, "-" being standard input, as an image of the run's size, or find its features."""
        sight = self.vocabulary.sight
        if sight.shape is not None:
            return Shown(line, image_of(line, sight.shape[0], sight.size).image, number=number)
        assert self.store is not None
        return featured(self.store, line, number)

    def check(self, model: nn.Module, request: Any) -> None:
        """Refuse what means nothing for these words, the model and so many answers."""
        known = self.vocabulary
        looks = attends(model, Shown("", known.sight.blank()), known.target)
        if isinstance(request, LookRequest):
            request.check(attends=looks)
            return
        asked = completed(Request, request)
        if asked.coverage_penalty and not looks:
            got = f"got {self.settings.model}"
            raise ArgumentError(f"--coverage-penalty: expected a model that attends to the image, {got}")
        check_coverage(asked.coverage_penalty, self._search(asked).width)
        check_prefix(asked, known.target, self.limit, "words")

    def answer(
        self, model: nn.Module, inputs: Sequence[Shown | Unreadable], request: Any, form: Form = "lines"
    ) -> list[ImageCaption]:
        """Write about images; one that could not be read has no sentence."""
        look = request if isinstance(request, LookRequest) else None
        asked = completed(Request, None if look else request)
        how, penalty = self._search(asked), asked.coverage_penalty
        return answers(model, inputs, self.vocabulary.target, how, self.limit, form, penalty, look or LookRequest())

    def join(self, model: nn.Module, others: Sequence["Trained"]) -> tuple[Self, nn.Module]:
        """Return the task and the model of an ensemble, which sees the cells that each of its members sees."""
        check_alike(self, others, _shared_parts)
        blank = Shown("", self.vocabulary.sight.blank())
        for other in others:
            if (found := grid(other.model, blank)) != (own := grid(model, blank)):
                cells = " and ".join(f"{rows} × {columns}" for rows, columns in filter(None, (own, found)))
                wanted = "expected --widths and --stem-stride that make as many cells as those of RUN"
                raise ArgumentError(f"--ensemble {other.run.folder}: {wanted}, got {cells}")
        longest = min(self.vocabulary.longest, *(other.task.vocabulary.longest for other in others))  # type: ignore[attr-defined]
        joined = replace(self, vocabulary=replace(self.vocabulary, longest=longest))
        return joined, Ensemble([model, *(each.model for each in others)])

    @property
    def limit(self) -> int:
        """How many words a sentence may have: a model that never ends stops at twice what it was taught."""
        return 2 * self.vocabulary.longest

    def _search(self, asked: Request) -> Search:
        rank_all = bool(asked.coverage_penalty)  # what has read more may come to be the best
        return search_of(self.settings, asked, self.vocabulary.target, rank_all=rank_all)

    def fits(self, index: int) -> bool:
        """Return whether a training caption is not too long."""
        words, longest = self.vocabulary.target.encode(self.data.text("train", index)), int(self.settings.max_length)
        return len(words) <= longest

    def learned(self, indices: Sequence[int]) -> list[Encoded]:
        """Return training captions of one image, which is made or decoded once for all of them."""
        first = self.data.example("train", indices[0])
        texts = [self.data.text("train", index) for index in indices]
        return [Encoded(first.image, ids, first.name) for ids in self.vocabulary.target.encode_batch(texts)]

    def _shown(self, example: Captioned, number: int = 1) -> Shown:
        return Shown(example.name, self.seen(example), number=number)


def _ratio(texts: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """How long outputs are, in words, beside the references."""
    each = [sum(len(one.split()) for one in own) / max(1, len(own)) for own in references]
    return sum(len(text.split()) for text in texts) / max(1.0, sum(each))


def _shared_parts(task: Caption) -> dict[str, tuple[object, str]]:
    known = task.vocabulary
    return {
        "the words": (known.target.to_json(), f"others, {len(known.target)} of them"),
        "what is seen": (known.sight, f"{known.sight.shape or known.sight.dim}"),
    }
