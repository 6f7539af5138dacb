import pytest

from saccade import runs
from tiny import cut, train


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """A translator of a few steps, not to be changed."""
    folder = tmp_path_factory.mktemp("serve") / "run"
    with pytest.MonkeyPatch.context() as patch:
        cut(patch)
        assert train(folder, "--max-steps", 20) == 0
    return runs.load(folder, device="cpu")
