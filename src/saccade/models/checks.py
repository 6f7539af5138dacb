"""Checks that the options of several models share; what is wrong is named as it is typed."""

from saccade.errors import ArgumentError

__all__ = ["below_one"]


def below_one(options: object, *names: str) -> None:
    r"""Check probabilities and shares: \(0 \le p < 1\).

    Args:
        options: what has them.
        names: of those to check.

    Raises:
        ArgumentError: the first that is outside.

    Example:
        >>> from types import SimpleNamespace
        >>> below_one(SimpleNamespace(word_dropout=1.0), "word_dropout")
        Traceback (most recent call last):
        ...
        saccade.errors.ArgumentError: --word-dropout: expected 0 <= word dropout < 1, got 1.0
    """
    for name in names:
        if not 0 <= (value := getattr(options, name)) < 1:
            option = f"--{name.replace('_', '-')}"
            raise ArgumentError(f"{option}: expected 0 <= {name.replace('_', ' ')} < 1, got {value}")
