"""`saccade report NAME`: try a claim from the literature, and write a page about it."""

from typing import Any

from saccade.cli.arguments import choose, parse
from saccade.cli.threads import advise_threads
from saccade.reports import REPORTS, load_report
from saccade.train.notes import output, say

__all__ = ["run"]

_INTERRUPTED = 130


def run(arguments: list[str]) -> int:
    """Make the report that the arguments name, or list them all, and print what it found."""
    if not arguments or arguments[0] in ("-h", "--help"):
        output("usage: saccade report NAME [OPTIONS]\n\nsaccade report NAME --help says which options there are.\n")
        output("NAME:\n" + "\n".join(f"  {name:10} {load_report(name).sentence}" for name in REPORTS))
        return 0
    name = choose("NAME", arguments[0], REPORTS)
    report = load_report(name)
    options: Any = parse(report.Options, arguments[1:], f"saccade report {name}", report.sentence)
    advise_threads(options.threads)
    made = report.make(options)
    if made.text is None:
        say("interrupted; what is done is kept, and the same command goes on from there")
        return _INTERRUPTED
    if not made.fresh:
        say(f"{made.folder} is complete already")
    output(made.text)
    output(f"report: {made.folder}")
    return 0
