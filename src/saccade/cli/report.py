"""`saccade report NAME`: test a claim of the literature, and write its page."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from saccade._definitions.argument_hints import choose
from saccade._system.notes import output, say
from saccade.cli.arguments import INTERRUPTED, parse
from saccade.cli.help import show_choices
from saccade.cli.threads import set_threads
from saccade.errors import SaccadeError

_CHECKOUT = Path(__file__).resolve().parents[3]


def run(arguments: list[str]) -> int:
    """Run the study that the arguments name, or list all studies."""
    frame = _frame()
    names = frame.names()
    if not arguments or arguments[0] in ("-h", "--help"):
        show_choices("saccade report", "NAME", {name: frame.load(name).sentence for name in names})
        return 0
    name = choose("NAME", arguments[0], names)
    study = frame.load(name)
    options: Any = parse(study.options, arguments[1:], f"saccade report {name}", study.sentence)
    set_threads(options.threads, advise=True)
    try:
        made = frame.make(study, options)
    except KeyboardInterrupt:
        say("interrupted; what is done is kept, and the same command goes on from there")
        return INTERRUPTED
    if not made.fresh:
        say(f"{made.folder} is complete already")
    output(made.text)
    output(f"report: {made.folder}")
    return 0


def _frame() -> Any:
    """The module of studies in this checkout. An installed package has none."""
    if not (_CHECKOUT / "studies" / "frame").is_dir():
        raise SaccadeError(
            "saccade report: the studies are in the folder studies/ of Saccade's repository, not in the "
            "package. Run it from a checkout: pip install -e '.[train,studies]'"
        )
    if str(_CHECKOUT) not in sys.path:
        sys.path.insert(0, str(_CHECKOUT))
    try:
        return import_module("studies.frame.study")
    except ModuleNotFoundError as error:
        if error.name not in ("statsmodels", "markdown", "scipy"):
            raise
        raise SaccadeError(
            f"saccade report: expected the package {error.name}, got none. Run pip install -e '.[train,studies]'"
        ) from error
