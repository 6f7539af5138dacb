"""Checks of options, shared by several models. Errors name the option as typed."""

from saccade.errors import ArgumentError

__all__ = ["below_one", "even"]


def below_one(options: object, *names: str) -> None:
    r"""Check probabilities and shares: \(0 \le p < 1\).

    Args:
        options: the dataclass of the options.
        names: names of the fields to check.

    Raises:
        ArgumentError: if a value is outside of the range.

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


def even(options: object, name: str, largest: int = 1_000_000) -> None:
    """Check the number of units of two directions together.

    Args:
        options: the dataclass of the options.
        name: name of the field.
        largest: largest number of units.

    Raises:
        ArgumentError: if the number is odd, below 2 or too large.

    Example:
        >>> from types import SimpleNamespace
        >>> even(SimpleNamespace(hidden_dim=7), "hidden_dim")
        Traceback (most recent call last):
        ...
        saccade.errors.ArgumentError: --hidden-dim: expected an even number from 2 to 1000000, got 7
    """
    if not 2 <= (value := getattr(options, name)) <= largest or value % 2:
        raise ArgumentError(f"--{name.replace('_', '-')}: expected an even number from 2 to {largest}, got {value}")
