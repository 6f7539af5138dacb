import pytest
import torch

from saccade.errors import ArgumentError
from saccade.train.environment import choose_device, hardware, versions


@pytest.mark.parametrize("name", ["gpu", "cuda:99", "cpu:1", "cuda:x", "cpu:", ""])
def test_a_device_that_is_not_there_is_named_with_those_that_are(name):
    with pytest.raises(ArgumentError, match="--device: expected one of auto, cpu"):
        choose_device(name)


def test_auto_is_a_device_that_is_there():
    assert choose_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")


def test_results_say_where_and_with_what():
    found = hardware(torch.device("cpu"))
    assert found["cores"] >= 1 and found["threads"] == torch.get_num_threads() and found["processor"]
    assert versions()["torch"] == torch.__version__
