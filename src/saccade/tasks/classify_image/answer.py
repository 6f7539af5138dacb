"""What a model makes of an image, and what of the image decided it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade.tasks.image.dataset import pixels
from saccade.tasks.image.images import Pixels
from saccade.tasks.image.maps import LookRequest, Maps, draw_maps, maps_of
from saccade.tasks.labels.ranked import Ranked
from saccade.tasks.labels.ranking import Ranking, probabilities
from saccade.train.task import Form, Unreadable

__all__ = ["ImageAnswer", "answers"]


@dataclass(frozen=True, repr=False)
class ImageAnswer(Ranked):
    """What a model makes of one image.

    Args:
        image: the image.
        ranking: its classes; None if it could not be read.
        count: how many classes were asked for.
        maps: what is drawn over it; None where no picture is wanted.
    """

    image: Pixels | Unreadable
    ranking: Ranking | None
    count: int
    maps: Maps | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the image's name, its most probable classes and the probabilities of all."""
        name = self.image.line if isinstance(self.image, Unreadable) else self.image.name
        return {"file": name, **self.ranked}

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw the maps over the image."""
        if self.maps is None or self.ranking is None or isinstance(self.image, Unreadable):
            return
        yield from draw_maps(self.image, self.ranking.title, self.maps, folder, json=json)


def answers(
    model: Any,
    images: Sequence[Pixels | Unreadable],
    labels: tuple[str, ...],
    count: int,
    form: Form,
    look: LookRequest,
) -> list[ImageAnswer]:
    """Return what a model makes of each image: its `count` most probable classes, and what a picture shows."""
    device, found = next(model.parameters()).device, []
    for image in images:
        if isinstance(image, Unreadable):
            found.append(ImageAnswer(image, None, count))
            continue
        batch = pixels(image.image)[None].to(device)
        ranking = Ranking(labels, probabilities(model(batch)[0]))
        maps = maps_of(model, batch, ranking, look) if form == "pictures" else None
        found.append(ImageAnswer(image, ranking, count, maps))
    return found
