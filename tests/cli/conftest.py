import pytest

from tiny import train


@pytest.fixture(scope="package")
def run(tmp_path_factory):
    """A translator of a few steps, not to be changed."""
    folder = tmp_path_factory.mktemp("cli") / "run"
    assert train(folder, "--max-steps", 20) == 0
    return folder
