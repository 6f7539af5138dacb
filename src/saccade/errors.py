"""The tree of errors, with `SaccadeError` at its root.

    SaccadeError
    ├── ArgumentError (ValueError)          an argument's value or kind is wrong
    │   └── ArgumentTypeError (TypeError)   it is of the wrong type altogether
    ├── ShapeError (ValueError)             shapes do not fit together
    └── UnsupportedBackend                  the backend named cannot serve this call

Messages have the form `argument: expected X, got Y`, and name a way out.
"""

__all__ = ["ArgumentError", "ArgumentTypeError", "SaccadeError", "ShapeError", "UnsupportedBackend"]


class SaccadeError(Exception):
    """Base of every error that Saccade raises on purpose.

    >>> from saccade import errors
    >>> issubclass(errors.ShapeError, errors.SaccadeError)
    True
    """


class ArgumentError(SaccadeError, ValueError):
    """An argument has a wrong value.

    For example, an alpha below 1, an unknown name, or an undefined statistic.

    Args:
        complaint: the expected and the actual value. Without `argument` it is the whole message.
        argument: its name, apart, so that a caller can replace it: the command line names its option.

    Example:
        >>> str(ArgumentError("expected 1 or more, got 0", "mels"))
        'mels: expected 1 or more, got 0'
    """

    def __init__(self, complaint: str, argument: str | None = None) -> None:
        super().__init__(complaint if argument is None else f"{argument}: {complaint}")
        self.complaint, self.argument = complaint, argument


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument has the wrong type; also a `TypeError`.

    For example, a float tensor as a mask.
    """


class ShapeError(SaccadeError, ValueError):
    """The shapes of two arguments do not fit together."""


class UnsupportedBackend(SaccadeError):
    """The named backend cannot serve this call, and the message says why.

    Saccade never falls back to another backend in silence.
    """


DISTRIBUTION = "saccade-attention"
"""Name of this library on PyPI.

`saccade` is another project there, with the import `saccade` as well.
"""


def pip_install(extra: str) -> str:
    """The command that installs an extra of this library.

    >>> pip_install("train")
    "pip install 'saccade-attention[train]'"
    """
    return f"pip install '{DISTRIBUTION}[{extra}]'"
