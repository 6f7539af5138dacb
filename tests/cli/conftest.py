import pytest

from tiny import cut, train
from tiny import few as few


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """A translator of a few steps, not to be changed."""
    folder = tmp_path_factory.mktemp("cli") / "run"
    with pytest.MonkeyPatch.context() as patch:
        cut(patch)
        assert train(folder, "--max-steps", 20) == 0
    return folder
