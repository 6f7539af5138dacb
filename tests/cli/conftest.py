import pytest

from saccade.tasks.classify_text import vocabulary as words
from saccade.tasks.classify_text.data import reviews
from saccade.tasks.transcribe import vocabulary as spoken
from saccade.tasks.transcribe.data import tones
from saccade.tasks.translate import vocabulary as tokens
from saccade.tasks.translate.data import dates
from tiny import train


def cut(patch):
    """Cut built-in data down: making and measuring all examples would take most of the time of a tiny training."""
    for module, size in ((dates, 100), (reviews, 100), (tones, 20)):
        patch.setattr(module, "HELD_OUT", size)
    for module in (tokens, words, spoken):
        patch.setattr(module, "_ENDLESS", 1000)


@pytest.fixture(scope="module", autouse=True)
def few():
    """Few examples of built-in data in all tests of commands."""
    with pytest.MonkeyPatch.context() as patch:
        cut(patch)
        yield


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """A translator of a few steps, not to be changed."""
    folder = tmp_path_factory.mktemp("cli") / "run"
    with pytest.MonkeyPatch.context() as patch:
        cut(patch)
        assert train(folder, "--max-steps", 20) == 0
    return folder
