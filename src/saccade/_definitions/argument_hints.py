"""Errors for unknown names, with a similar name or its name here."""

import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar

from saccade.errors import ArgumentError, ArgumentTypeError

F = TypeVar("F", bound=Callable[..., Any])

OURS = {
    "attn_mask": "mask= is boolean, True may attend (torch.nn.MultiheadAttention's True forbids: mask=~attn_mask); a "
    "float one is bias=",
    "key_padding_mask": "mask=masks.Lengths(lengths), or mask=~key_padding_mask[:, None, :], in MultiheadAttention "
    "mask=~key_padding_mask[:, None, None, :]",
    "is_causal": "mask=masks.Causal()",
    "need_weights": "aux=AuxRequest(weights=True) returns them beside the output",
    "average_attn_weights": "aux=AuxRequest(weights=True) returns those of each head; take their mean",
    "batch_first": "batch is always first; leave it out, and transpose what has time first",
    "dropout": "dropout_p=",
    "scale": "score=scores.ScaledDot(scale=...)",
    "enable_gqa": "grouped queries are dimensions: query (B, Hkv, G, Lq, D), key (B, Hkv, 1, Lk, D); in "
    "MultiheadAttention num_kv_heads=",
    "top_k": "read=reads.TopK(k), in MixtureOfExperts k=",
}
"""Names here for the arguments of torch's attention."""


def reject_extra_kwargs(function: F) -> F:
    """Reject keywords without a parameter, with their names here or similar ones.

    >>> reject_extra_kwargs(lambda mask: mask)(is_causal=True)
    Traceback (most recent call last):
    ...
    saccade.errors.ArgumentTypeError: is_causal: expected an argument of <lambda>, got one of another library; here it \
is mask=masks.Causal()
    """
    signature = inspect.signature(function)
    parameters = tuple(signature.parameters)
    names = frozenset(parameters)

    @wraps(function)
    def strict(*args: Any, **kwargs: Any) -> Any:
        for name in kwargs:
            if name not in names:
                raise ArgumentTypeError(f"{name}: expected an argument of {owner}, got {_hint(name, parameters)}")
        return function(*args, **kwargs)

    owner = function.__qualname__.removesuffix(".__init__").removesuffix(".forward")
    strict.__signature__ = signature  # type: ignore[attr-defined]  # for `inspect.getfullargspec`, which does not unwrap
    return strict  # type: ignore[return-value]


def suggest(name: str, names: Iterable[str], otherwise: str | None = None) -> str:
    """A hint for a name that does not exist.

    If no name is near, the hint is `otherwise`, or a list of all names.

    >>> suggest("rnnserch", ["rnnsearch"]), suggest("x", ["rnnsearch"])
    ('did you mean rnnsearch?', 'there is: rnnsearch')
    """
    candidates = list(names)
    near = get_close_matches(name, candidates, 1)
    if near:
        return f"did you mean {near[0]}?"
    return f"there is: {', '.join(candidates)}" if otherwise is None else otherwise


def choose(argument: str, name: str, table: Iterable[str]) -> str:
    """Return a name of a table.

    Raises:
        ArgumentError: with a hint, if the table does not have it.

    >>> choose("model", "luong", {"luong": 1})
    'luong'
    """
    if name not in (names := list(table)):
        raise ArgumentError(f"{argument}: there is no {name}; {suggest(name, names)}")
    return name


def _hint(name: str, parameters: tuple[str, ...]) -> str:
    if name in OURS:
        return f"one of another library; here it is {OURS[name]}"
    names = [parameter for parameter in parameters if parameter != "self"]
    near = get_close_matches(name, names, 1)
    return "an unknown name; " + (f"did you mean {near[0]}=?" if near else f"it takes {', '.join(names)}")


def help_texts(kinds: Iterable[type]) -> dict[str, str]:
    """Help of each field of some dataclasses; the first has precedence."""
    import docstring_parser

    parsed = [docstring_parser.parse_from_object(kind).params for kind in reversed([*kinds]) if kind is not object]
    return {option.arg_name: " ".join((option.description or "").split()) for options in parsed for option in options}
