"""What tasks share whose runs are one of several models: which options a run has, and what they default to."""

from typing import Any, ClassVar, Literal

from saccade.tasks import find
from saccade.train import options as shared

__all__ = ["Modelled"]


class Modelled:
    """A task that has models by name: each with `Options` of its own and `recipes` for data sets.

    A recipe is of a built-in data set, by its name, or of "files", for whatever data are one's own.
    """

    models: ClassVar[dict[str, str]]
    """Name of each model, and where it is: "module:Class"."""
    Settings: ClassVar[type]
    """The dataclass of what every run of the task has, whatever its model."""
    recipes: ClassVar[dict[str, dict[str, Any]]]
    """What suits each data set, for all models."""
    inputs: ClassVar[Literal["lines", "files"]] = "lines"
    """What it answers."""
    suffixes: ClassVar[tuple[str, ...]] = ()
    """What the names of files end in that it takes from a folder."""

    @classmethod
    def options(cls, model: str) -> type[shared.Options]:
        """Return the dataclass of all options of a run with this model."""
        return shared.flat(find(cls.models[model]).Options, cls.Settings, shared.Options)

    @classmethod
    def recipe(cls, model: str, data: str) -> dict[str, Any]:
        """Return the defaults that suit these data."""
        name = data if data in cls.recipes else "files"
        own: dict[str, Any] = find(cls.models[model]).recipes[name]
        return {**cls.recipes[name], **own}
