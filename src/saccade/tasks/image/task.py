"""What tasks that speak of images share: how a run's data are opened, what is learned of them, and what is kept."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Self, cast

from torch import Tensor

from saccade._system.notes import say
from saccade.data.dataset import Lazy, opened
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.batches import Sampler
from saccade.tasks.image.augment import check_shift
from saccade.tasks.image.features.store import Features, FeatureStore
from saccade.tasks.image.sight import Sight, suited_to_features
from saccade.tasks.image.texts import TextsByImage
from saccade.tasks.stream import texts
from saccade.train.task import Suited, recipe

__all__ = ["VisualTask", "open_texts", "restored_store", "suited_images"]


@dataclass(frozen=True)
class VisualTask(ABC):
    """A task whose examples are images, or features of them, with words.

    A task is a subclass that says how its data are opened and what is learned of them before training.

    Args:
        settings: all options of the run, `saccade.tasks.image.options.VisualOptions` among them.
        vocabulary: what was learned of the data: words, and the `sight` that says what is given of images.
        corpus: the data.
        store: of features, where they are given in the place of images.
    """

    settings: Any
    vocabulary: Any
    corpus: Lazy[Any]
    store: FeatureStore | None = None

    Options: ClassVar[Any]
    models: ClassVar[dict[str, str]]
    recipes: ClassVar[dict[str, dict[str, Any]]]
    builtin: ClassVar[dict[str, str]]
    lines = staticmethod(partial(texts, columns=(("image",), ("question",))))
    open_corpus: ClassVar[Callable[..., Any]]
    """From --data, --size, Python objects and the names of splits to the data."""
    learn: ClassVar[Callable[..., tuple[Any, str]]]
    """From data, options and a store to a vocabulary, and what a user should know of it, "" if nothing."""
    restored_vocabulary: ClassVar[Callable[..., Any]]
    """From a run's folder to the vocabulary that is saved there."""

    @classmethod
    def suited(cls, model: str, given: Mapping[str, Any], objects: Any = None) -> Suited:
        """Return the recipe of all images that are one's own; features are taken as they are."""
        return suited_images(cast("Any", cls), model, given, objects)

    @classmethod
    def prepare(cls, options: Any, objects: Any = None) -> Self:
        """Open the data, and learn what is to be known of them before training."""
        store = options.open_features()
        corpus = cls._opened(options, objects).get()
        vocabulary, note = cls.learn(corpus, options, store)
        if vocabulary.sight.shape is not None:
            check_shift(options.shift, vocabulary.sight.shape)
        for line in filter(None, (corpus.note, note)):
            say(line)
        return cls(options, vocabulary, Lazy(lambda: corpus), store)

    @classmethod
    def restore(cls, options: Any, folder: Path, objects: Any = None) -> Self:
        """Read back what was learned.

        Raises:
            ArgumentError: naming the run, if it is not whole, or its features are not there any more or are others.
        """
        vocabulary = cls.restored_vocabulary(folder)
        store = restored_store(folder, options, vocabulary.sight)
        return cls(options, vocabulary, cls._opened(options, objects), store)

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        self.vocabulary.save(folder)

    @property
    def data(self) -> Any:
        """The data, opened when they are first asked for."""
        return self.corpus.get()

    @cached_property
    def sampler(self) -> Sampler[Any]:
        """What maps steps to batches: the texts about an image side by side."""
        settings = self.settings
        return TextsByImage(self.data, self.fits, self.learned, settings.batch_size).sampler(settings.seed)

    @abstractmethod
    def fits(self, index: int) -> bool:
        """Return whether a training text can be learned."""

    @abstractmethod
    def learned(self, indices: Sequence[int]) -> list[Any]:
        """Return training texts about one image as a batch takes them."""

    def seen(self, example: Any) -> Tensor | Features:
        """Return what the model is given of an example's image: its pixels, or features by its name."""
        if self.store is not None:
            return self.store.get(example.name)
        assert example.image is not None, "where there are no features there are images"
        found: Tensor = example.image
        return found

    @classmethod
    def _opened(cls, options: Any, objects: Any) -> Lazy[Any]:
        return opened(objects, partial(open_texts, cls.open_corpus, cls.builtin, options))


def open_texts(make: Callable[..., Any], builtin: Iterable[str], options: Any, objects: Any) -> Any:
    """Open texts about images, or about features of a store.

    Args:
        make: opens them, from --data, --size, Python objects and the names of splits.
        builtin: names of built-in data.
        options: of the run.
        objects: Python objects, if data are some.

    Raises:
        ArgumentError: if there are none, or options of built-in data have no effect.
    """
    if options.data not in builtin:
        options.refuse_given(("least", "most", "data_seed"), "only with --data scenes")
    store, names = options.open_features(), SplitNames.of_options(options)
    things, known = (options.least, options.most), None if store is None else store.has
    return make(options.data, options.size, objects, names, things=things, seed=options.data_seed, known=known)


def suited_images(task: Any, model: str, given: Mapping[str, Any], objects: Any) -> Suited:
    """Return the recipe of images that are not built in. Features are neither mirrored nor shifted."""
    usual = suited_to_features(recipe(task, model, given["data"]), given)
    still = {} if given.get("features") is None else {"flip": False, "shift": 0}
    names = {field.name for field in fields(task.Options)}
    return Suited({**usual, **{name: value for name, value in still.items() if name in names}}, data=objects)


def restored_store(folder: Path, options: Any, sight: Sight) -> FeatureStore | None:
    """Return the features of a run, or None if it reads images.

    Raises:
        ArgumentError: naming the run, if the features are missing or others.
    """
    store: FeatureStore | None = None
    try:
        if (store := options.open_features()) is not None:
            sight.check(store)
    except ArgumentError as error:
        raise ArgumentError(f"{folder}: {error}") from error
    return store
