"""Convolutional networks with and without self-attention (Bello et al. 2019)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

from torch import nn

from saccade.tasks.classify_image import BUILTIN, CLASSIFY_IMAGE, open_images
from saccade.tasks.task import Job
from saccade.train.results import measure, undisturbed
from saccade.train.task import value
from studies.frame.claims import Claim, Verdict, bars, conclude, nothing, rule
from studies.frame.options import Seeded
from studies.frame.page import COSTS, costs, dots
from studies.frame.scores import by_model
from studies.frame.seeds import between, pack, spread, unpack
from studies.frame.study import Study
from studies.frame.training import Part, Trainings, Variant

WITHOUT, WITH = MODELS = "CNN", "CNN with self-attention"
PAPER = 1.3  # points of top-1 accuracy on ImageNet above a ResNet-50: Bello et al. 2019, abstract
_AT_ONCE = 256  # images


@dataclass(frozen=True, kw_only=True)
class Options(Seeded):
    """Options of the study."""

    builtin: ClassVar[Mapping[str, str]] = BUILTIN

    data: str = ""
    """Images of `saccade train classify-image`: a folder, an archive, or shapes."""


def measured(task: Job, model: nn.Module, seed: int) -> dict[str, Any]:
    """Return accuracies, and whether each image of the test split was right."""
    size, device, right = task.data.size("test") or 0, next(model.parameters()).device, list[bool]()
    with undisturbed(model, seed, "test"):
        for first in range(0, size, _AT_ONCE):
            indices = range(first, min(first + _AT_ONCE, size))
            batch = task.codec.collate(task.samples("test", indices)).to(device)
            right += (model(batch.source).argmax(-1) == batch.labels).tolist()
    return {
        "images": size,
        "labels": len(task.codec.labels),
        "accuracy": sum(right) / size,
        "validation": value(measure(task, model, "validation", seed).metrics["accuracy"]),
        "right": pack(right, "bits"),
    }


class Findings:
    """Accuracies, their difference, and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content, self.rows = content, by_model(content["rows"])
        self.images: int = self.rows[WITHOUT][0]["images"]
        right = {name: [unpack(row["right"], "bits", self.images) for row in rows] for name, rows in self.rows.items()}
        gain = self.difference = between(right[WITH], right[WITHOUT])
        verdict = conclude([Claim("with self-attention it is more often right", gain, gain.long())])
        if 100 * (gain.value + gain.half()) < PAPER:
            beside = f"a gain as large as the paper's {PAPER} points there is excluded here"
            verdict = Verdict(verdict.result, f"{verdict.reason}; {beside}")
        if max(map(fmean, map(self.accuracies, MODELS))) < 1.5 / self.rows[WITHOUT][0]["labels"]:
            verdict = nothing("no network got clearly more right than by chance; train longer")
        self.verdict = verdict

    def accuracies(self, name: str, key: str = "accuracy") -> list[float]:
        return [row[key] for row in self.rows[name]]

    def table(self) -> list[list[str]]:
        rows = [["network", "test accuracy", "validation", *COSTS]]
        for name, *cost in costs(self.content, MODELS)[1:]:
            rows.append([name, *(spread(self.accuracies(name, key)) for key in ("accuracy", "validation")), *cost])
        return rows

    def by_seed(self) -> list[list[str]]:
        pairs = zip(*map(self.accuracies, MODELS), strict=True)
        rows = [[str(seed), *(f"{100 * score:.2f}" for score in pair)] for seed, pair in enumerate(pairs, 1)]
        return [["seed", *MODELS], *rows]

    def fields(self) -> dict[str, Any]:
        return {
            "table": self.table(),
            "seeds": self.by_seed(),
            "difference": self.difference.long(),
            "bars": f"{bars('images', len(self.rows[WITH]))} {rule(1)}",
            "images": self.images,
            "data": self.content["data"],
        }


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    rates = {name: result.accuracies(name) for name in MODELS}
    return {"picture": dots(rates, folder / "cnn-attention", "accuracy", "Accuracy with self-attention and without")}


STUDY = Study(
    sentence="self-attention improves a convolutional network of equal size (after Bello et al. 2019, abstract)",
    title="Self-attention in a convolutional network",
    claim="A convolution sees what is near. Self-attention over its features lets every position see all others, and a "
    "network with it classifies images better than one without, at as many parameters.",
    source="after Bello et al. 2019, https://arxiv.org/abs/1904.09925, who report 1.3 points of top-1 accuracy on "
    "ImageNet above a ResNet-50",
    options=Options,
    measure=Trainings(
        lambda options: [Variant(WITHOUT, "cnn"), Variant(WITH, "cnn-attention", recipe="cnn-attention")],
        lambda data, options: [Part({"measured": "accuracy"}, measured)],
        quick="shapes",
        task=CLASSIFY_IMAGE,
        open_data=lambda options: open_images(options.data),
    ),
    compare=Findings,
    plot=_plot,
    body="""
{picture}

## Accuracy

{table}

± is the standard deviation over seeds.

Difference: {difference}. {bars}

{seeds}

## How it was measured

Both networks are trained by one recipe: data, batches, augmentation, rates, steps and seeds. Parameters are equal
within 2%. The weights are those of the last step: nothing is chosen by the test split. The layer is not the paper's:
it follows a stage of convolutions and has fixed positions, where Bello et al. concatenate heads with the output of
convolutions and have relative positions. Data: `{data}`, test split, {images} images.

{runs}
""",
)
