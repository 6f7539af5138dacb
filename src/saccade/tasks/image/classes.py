"""What is learned of labelled images beside weights: their labels, their size, and what their channels are."""

from dataclasses import dataclass
from pathlib import Path

from saccade.tasks.image.dataset import Dataset, statistics
from saccade.tasks.saved import labels_from, reading, whole_number
from saccade.train.files import write_json

__all__ = ["Classes"]

_FILE, _SIZES = "labels.json", ("channels", "height", "width")


@dataclass(frozen=True)
class Classes:
    """What a run knows of its images.

    Args:
        labels: all labels, sorted; a label's number is its place.
        shape: channels, height and width of the images.
        mean, std: of each channel, over training images in [0, 1]; none where nothing is scaled by them.
        longest: symbols of the longest label where labels are strings of those above; 1 where they are those.
    """

    labels: tuple[str, ...]
    shape: tuple[int, int, int]
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    longest: int = 1

    @classmethod
    def learn(cls, data: Dataset) -> "Classes":
        """Look at the training images."""
        mean, std = statistics(data)
        return cls(tuple(data.labels), data.shape, tuple(mean), tuple(std))

    def save(self, folder: Path) -> None:
        """Write labels.json."""
        numbers = {"mean": list(self.mean), "std": list(self.std)}
        sizes = dict(zip(_SIZES, self.shape, strict=True))
        strings = {"longest": self.longest} if self.longest > 1 else {}
        write_json(folder / _FILE, {"labels": list(self.labels), **sizes, **numbers, **strings})

    @classmethod
    def restore(cls, folder: Path) -> "Classes":
        """Read labels.json.

        Raises:
            ArgumentError: if it is not there or not whole.
        """
        with reading(folder / _FILE, "the labels") as content:
            channels, height, width = (whole_number(content, name) for name in _SIZES)
            mean, std = (tuple(map(float, content[name])) for name in ("mean", "std"))
            longest = whole_number(content, "longest") if "longest" in content else 1
            return cls(labels_from(content), (channels, height, width), mean, std, longest)
