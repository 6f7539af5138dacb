"""Scores and normalizers of user subclasses of ours, to be computed by their call."""

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from saccade._definitions.structure import Definition, Extent
from saccade.normalizers import Normalizer
from saccade.scores import Score


@dataclass(frozen=True)
class Derived(Definition):
    """A definition computed by its call alone, since kernels miss its changes."""

    definition: Any

    @property
    def __name__(self) -> str:
        return type(self.definition).__name__

    def check(self, extent: Extent) -> None:
        self.definition.check(extent)

    def __call__(self, *arguments: Tensor | None) -> Tensor:
        return self.definition(*arguments)  # type: ignore[no-any-return]


class _DerivedScore(Derived, Score):
    mixes_keys: ClassVar[bool] = True  # for safety

    def query_dim(self, k_dim: int) -> int:
        return self.definition.query_dim(k_dim)  # type: ignore[no-any-return]


class _DerivedNormalizer(Derived, Normalizer):
    @property
    def sums_to_one(self) -> bool:
        return self.definition.sums_to_one  # type: ignore[no-any-return]


def by_definition(thing: Any) -> Any:
    """Return a score or normalizer for backends, wrapped if of a subclass of ours."""
    if not isinstance(thing, Definition) or thing.is_registered:
        return thing
    if not any(getattr(kind, "is_registered", False) is True for kind in type(thing).__mro__):
        return thing
    if isinstance(thing, Score):
        return _DerivedScore(thing)
    return _DerivedNormalizer(thing) if isinstance(thing, Normalizer) else thing
