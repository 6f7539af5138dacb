"""Image captioning, as a task."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from saccade.data.dataset import spread
from saccade.errors import ArgumentError
from saccade.tasks.attention_graph import stacked
from saccade.tasks.batches import in_batches
from saccade.tasks.caption.answer import ImageCaption, grid, pointing, scored
from saccade.tasks.caption.codec import Captions
from saccade.tasks.caption.data import BUILTIN, COLUMNS, Corpus, open_corpus
from saccade.tasks.caption.metrics import baseline, headline, measured
from saccade.tasks.caption.options import RECIPES, REQUESTS, Options
from saccade.tasks.ensembles import check_drawn
from saccade.tasks.explaining import Subject
from saccade.tasks.generate.batch import target_ids
from saccade.tasks.generate.coverage import Request
from saccade.tasks.generate.generate import Output, best_texts
from saccade.tasks.generate.predictor import Block, Generates, evaluate, shortest
from saccade.tasks.image.images import SUFFIXES
from saccade.tasks.image.influence import convolutions_of, subject
from saccade.tasks.image.linear import colours
from saccade.tasks.image.options import LookRequest
from saccade.tasks.image.shown import Shown, maps_of
from saccade.tasks.image.sight import suited
from saccade.tasks.image.texts import by_image, open_texts, training_texts
from saccade.tasks.looking import check_by
from saccade.tasks.task import Job, Task
from saccade.train.task import Baseline, Evaluation, Form, Suited, Unreadable

__all__ = ["CAPTION", "Describes"]

_ENDLESS, _LEARNED = 1_000, 100_000  # of a baseline: images of an endless split, and captions of others
_ADVICE = (
    "features of a pretrained network say more of few photographs: python -m saccade.tasks.image.features IMAGES "
    "--encoder torchvision:resnet50 --weights FILE --output features, then train with --features features"
)
_AT_ONCE = 200  # images that are reconstructed together
_NEAREST = 2_000  # training images of another baseline, since each is decoded


@dataclass(frozen=True)
class Describes(Generates):
    """Predictor of captions."""

    codec: Captions

    decoded, read, attended = 1024, 1000, "the image"
    request, look = Request, LookRequest

    def measure(self, model: nn.Module, blocks: Iterable[Block], size: int) -> Evaluation:
        """Return overlaps with the references, or exact matches of scenes.

        For scenes, the accuracy of attention is measured too. Of a model that reconstructs the image from words, the
        error is measured after each word of the true captions.
        """
        texts, references, groups, words, seconds = list[str](), list[Sequence[str]](), list[str](), 0, 0.0
        scenes, images, drawn, errors = list[Any](), list[Shown](), list[Sequence[Output]](), list[Tensor]()
        for block in blocks:
            texts += best_texts(block.outputs)
            references += [example.references for example in block.examples]
            groups += [example.group for example in block.examples]
            words += sum(1 + len(outputs[0].ids) if outputs else 1 for outputs in block.outputs)
            seconds += block.seconds
            errors += self._reconstruction(model, block)
            if block.examples and block.examples[0].scene is not None:
                scenes += [example.scene for example in block.examples]
                images += self.codec.encode(block.examples, "")
                drawn += block.outputs
        metrics, parts = measured(texts, references, groups, scenes or None, complete=self._complete)
        if scenes:
            points = pointing(self, model, images, drawn, scenes)
            metrics |= points.metrics()
            parts |= {"pointing": points.groups} if points.groups else {}
        if errors:
            metrics["reconstruction"] = torch.cat(errors).mean().item()
        return Evaluation(metrics, parts, len(texts), words, seconds, _ratio(texts, references))

    def _reconstruction(self, model: Any, block: Block) -> list[Tensor]:
        """Errors along each true caption, of models that reconstruct the image."""
        members = list(getattr(model, "members", [model]))
        if not all(hasattr(member, "reconstruction") for member in members):
            return []
        device = next(model.parameters()).device
        ids = self.codec.target.encode_batch([example.caption for example in block.examples])

        def errors(indices: Sequence[int]) -> Sequence[Tensor]:
            inputs = target_ids([ids[index] for index in indices])[:, :-1].to(device)
            source = self.codec.inputs([block.samples[index] for index in indices]).to(device)
            rows = torch.stack([member.reconstruction(source, inputs) for member in members]).mean(0)
            return [row[: 1 + len(ids[index])] for row, index in zip(rows, indices, strict=True)]

        return in_batches([1] * len(ids), _AT_ONCE, errors)

    def baselines(self, data: Corpus, split: str) -> dict[str, Baseline]:
        """Measure the most frequent caption and, for images of the user, a near one.

        That is the first caption of the training image with the nearest colours.
        """
        learned, references, scenes = training_texts(data, _LEARNED, _ENDLESS), [], []
        for index in range(data.size(split) or 0):
            references.append(data.references(split, index))
            if self.codec.options.data == "scenes":  # the scene that was just made for its sentences
                scenes.append(data.example(split, index).scene)
        texts = [data.text("train", index) for index in learned]
        measures = {"majority": baseline(texts, references, scenes or None, complete=self._complete)}
        if self.codec.store is not None or self.codec.options.data in BUILTIN:
            return measures
        measures["nearest"] = self._nearest(data, split, references)
        return {name: replace(plain, advice=_ADVICE) for name, plain in measures.items()}

    @property
    def _complete(self) -> bool:
        """Whether the references of an image are all valid outputs."""
        return headline(self.codec.options.data) == "valid"

    def _nearest(self, data: Corpus, split: str, references: Sequence[Sequence[str]]) -> Baseline:
        began = time.perf_counter()
        learned = [data.about("train", image)[0] for image in spread(data.images("train") or 0, _NEAREST)]
        inputs, others = (
            torch.cat([colours(data.example(part, index).image[None]) for index in indices])  # type: ignore[index]
            for part, indices in ((split, range(len(references))), ("train", learned))
        )
        texts = [data.text("train", learned[number]) for number in torch.cdist(inputs, others).argmin(1).tolist()]
        metrics, _ = measured(texts, references, [""] * len(texts))
        about = f"the caption of the nearest of {len(learned):,} images by shares of colours"
        return Baseline(metrics, about, round(time.perf_counter() - began, 3))

    def check_look(self, model: nn.Module, look: LookRequest) -> None:
        """Reject methods that the model does not have."""
        methods = ["attention"] * self.attends(model) + ["gradient"]
        if not hasattr(model, "members"):
            methods += ["rollout", "flow"] * stacked(model) + ["integrated-gradients"]
            methods += ["grad-cam"] * (convolutions_of(model) is not None)
        check_drawn(model, look.by, methods)
        check_by(look.by, methods)

    def explained(self, model: Any, sample: Shown, output: Output) -> Subject:
        """Return an image and its caption."""
        return subject(model, sample, output.ids, grid(model, sample), output.tokens, output.weights)

    def describe(
        self,
        model: Any,
        sample: Shown | Unreadable,
        outputs: Sequence[Output],
        count: int,
        form: Form,
        look: LookRequest,
    ) -> ImageCaption:
        """Return the captions of an image."""
        if isinstance(sample, Unreadable) or form == "lines":
            return ImageCaption(sample, outputs, count)
        answer = ImageCaption(sample, outputs, count, grid(model, sample))
        by = look.by or ("attention" if outputs and outputs[0].weights is not None else "gradient")
        if form == "pictures" and outputs and by != "attention":
            shares, meaning = scored(model, sample, outputs[0], answer.shape, by)
            answer = replace(answer, influence=maps_of(sample, shares, answer.shape), meaning=meaning)
        return answer


def _ratio(texts: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Length of outputs in words, over the mean length of the references."""
    lengths = [sum(len(text.split()) for text in captions) / max(1, len(captions)) for captions in references]
    return sum(len(text.split()) for text in texts) / max(1.0, sum(lengths))


def _suited(task: Task, model: str, explicit: Mapping[str, Any], objects: Any) -> Suited:
    """Recipe for images of the user.

    The penalty is for soft attention only.
    """
    usual = suited(task, model, explicit, objects)
    if explicit.get("read", "soft") == "soft":
        return usual
    return replace(usual, options={k: v for k, v in usual.options.items() if k != "doubly_stochastic"})


def _joined(job: Job, model: nn.Module, others: Sequence[Any]) -> Captions:
    """Codec of an ensemble. All its members have the same cells."""
    for other in others:
        cells = [grid(member, job.codec.blank) for member in (model, other.model)]
        if cells[0] != cells[1]:
            got = " and ".join(f"{rows} × {columns}" for rows, columns in filter(None, cells))
            expected = "expected --widths and --stem-stride that make as many cells as those of RUN"
            raise ArgumentError(f"--ensemble {other.run.folder}: {expected}, got {got}")
    codec: Captions = shortest(job, model, others)
    return codec


CAPTION = Task(
    name="caption",
    summary="Image captioning: an image in, a sentence out; learned from captioned images.",
    unit="words",
    headline=lambda options: headline(options.data),
    models={
        "show-attend-and-tell": "saccade.models.show_attend_and_tell:ShowAttendAndTell",
        "adaptive-attention": "saccade.models.adaptive_attention:AdaptiveAttention",
        "show-and-tell": "saccade.models.show_and_tell:ShowAndTell",
        "m-rnn": "saccade.models.m_rnn:MRNN",
        "first-step-rnn": "saccade.models.first_step_rnn:FirstStepRNN",
        "lrcn": "saccade.models.lrcn:LRCN",
        "visual-memory": "saccade.models.visual_memory:VisualMemory",
        "transformer": "saccade.models.caption_transformer:CaptionTransformer",
    },
    builtin=BUILTIN,
    open=partial(open_texts, open_corpus, BUILTIN),
    codec=Captions,
    predictor=Describes,
    Options=Options,
    recipes=RECIPES,
    requests=REQUESTS,
    inputs="files",
    suffixes=SUFFIXES,
    columns=COLUMNS,
    suit=_suited,
    sampler=by_image,
    evaluate=evaluate,
    joined=_joined,
)
"""The task, see docs/caption.md."""
