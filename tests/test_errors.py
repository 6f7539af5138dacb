"""The tree of errors: who catches a built-in class of Python catches ours."""

import inspect
import re
import tomllib
from pathlib import Path

import pytest

from saccade import errors

BUILT_IN = {
    errors.ArgumentError: ValueError,
    errors.ArgumentTypeError: TypeError,
    errors.ShapeError: ValueError,
}


def test_all_are_of_one_tree_and_say_what_they_are():
    classes = [thing for _, thing in inspect.getmembers(errors, inspect.isclass)]
    assert len(classes) == 5
    for thing in classes:
        assert issubclass(thing, errors.SaccadeError) and thing.__doc__


@pytest.mark.parametrize("error", BUILT_IN, ids=lambda error: error.__name__)
def test_they_are_built_in_errors_too(error):
    with pytest.raises(BUILT_IN[error], match="^expected this$"):
        raise error("expected this")


def test_a_wrong_type_is_a_wrong_argument_but_no_wrong_shape():
    assert issubclass(errors.ArgumentTypeError, errors.ArgumentError)
    assert not issubclass(errors.ShapeError, errors.ArgumentError)
    assert not issubclass(errors.UnsupportedBackend, ValueError)


def test_messages_name_the_distribution_of_this_library():
    root = Path(__file__).resolve().parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == errors.DISTRIBUTION
    assert project["optional-dependencies"]["all"] == [
        f"{errors.DISTRIBUTION}[train,export,serve,explore,studies,hf,explain,dev]"
    ]
    files = [*root.glob("src/**/*.py"), *root.glob("docs/**/*.md")]
    assert not [path for path in files if re.search(r"pip install '?saccade\b(?!-)", path.read_text(encoding="utf-8"))]
