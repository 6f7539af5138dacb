import numpy as np
import pytest

from saccade.errors import ArgumentError
from saccade.tasks.regress.data import objects


def test_arrays_of_different_lengths_are_told_as_such():
    with pytest.raises(ArgumentError, match="data: expected as many rows in X and y, got 5 and 3"):
        objects._rows((np.zeros((5, 2)), np.zeros(3)))
