"""The tree of errors: everything Saccade raises on purpose is a `SaccadeError`.

    SaccadeError
    ├── ArgumentError (ValueError)          an argument's value or kind is wrong
    │   └── ArgumentTypeError (TypeError)   it is of the wrong type altogether
    ├── ShapeError (ValueError)             shapes do not fit together
    └── UnsupportedBackend                  the backend named cannot serve this call

Every message says what was expected, what was got, the argument's name, and the way out.
"""

__all__ = ["ArgumentError", "ArgumentTypeError", "SaccadeError", "ShapeError", "UnsupportedBackend"]


class SaccadeError(Exception):
    """Base of every error that Saccade raises on purpose.

    >>> from saccade import errors
    >>> issubclass(errors.ShapeError, errors.SaccadeError)
    True
    """


class ArgumentError(SaccadeError, ValueError):
    """An argument has a value that means nothing here (an alpha below 1, an unknown name, a statistic that is
    undefined).

    Args:
        complaint: what was expected and what was got; the whole message, if there is no argument.
        argument: its name, where whoever catches the error may know it by another.

    Example:
        >>> str(ArgumentError("expected 1 or more, got 0", "mels"))
        'mels: expected 1 or more, got 0'
    """

    def __init__(self, complaint: str, argument: str | None = None) -> None:
        super().__init__(complaint if argument is None else f"{argument}: {complaint}")
        self.complaint, self.argument = complaint, argument


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument has the wrong type (a float tensor where a boolean mask belongs); also a `TypeError`."""


class ShapeError(SaccadeError, ValueError):
    """The shapes of two arguments do not fit together."""


class UnsupportedBackend(SaccadeError):
    """The named backend cannot serve this call; the message says why. No other one is taken in silence."""


DISTRIBUTION = "saccade-attention"
"""The name that pip knows this library by: `saccade` is another project on PyPI, whose import has this name, too."""


def pip_install(extra: str) -> str:
    """The command that installs an extra of this library.

    >>> pip_install("train")
    "pip install 'saccade-attention[train]'"
    """
    return f"pip install '{DISTRIBUTION}[{extra}]'"
