"""`saccade eval RUN`: measure a trained model on a split of its data."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from saccade.cli.arguments import choose, parse
from saccade.cli.inputs import decoding_of, open_asked
from saccade.cli.metrics import print_metrics
from saccade.train.files import write_json
from saccade.train.notes import say
from saccade.train.results import measure, split_results

__all__ = ["run"]

_LONGEST = 180  # bytes of a file's name that say what was asked: systems take 255 in all
_SAID = (
    "beam_size",
    "length_penalty",
    "ctc_rescoring",
    "coverage_penalty",
    "min_length",
    "replace_unknown",
    "ensemble",
)


@dataclass(frozen=True)
class Arguments:
    """Measure a trained model on a split of its data, and write results-SPLIT.json into the run.

    Where answers are found in another way than the run's, the file's name says so.
    """

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder of the run."""

    split: str = "test"
    """The split: test or validation."""

    beam_size: int | None = None
    """Outputs pursued at once in beam search; as the run has it if not given."""

    length_penalty: float | None = None
    """How much beam search favours long outputs; as the run has it if not given."""

    ctc_rescoring: float | None = None
    """Share of CTC in the ranking of what was heard; as the run has it if not given."""

    coverage_penalty: float | None = None
    """How much it counts against an output of beam search that it leaves parts of the input unread; 0 if not given."""

    min_length: int | None = None
    """The tokens that an answer has at the least, where its limit allows so many."""

    replace_unknown: bool = False
    """Write what an unknown token looked at in the input in its place."""

    ensemble: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="RUN")] = ()
    """Folder of a further run, whose probabilities are averaged with those of RUN; may be given several times."""

    device: str = "auto"
    """Where to compute: cpu, cuda, cuda:1, or auto (a GPU if there is one)."""


def run(arguments: list[str]) -> int:
    """Print every metric, overall and by group."""
    given = parse(Arguments, arguments, "saccade eval", Arguments.__doc__ or "")
    choose("--split", given.split, ("test", "validation"))
    search = {name: getattr(given, name) for name in ("beam_size", "length_penalty", "ctc_rescoring")}
    trained = open_asked(given.run, given.device, decoding_of(given), given.ensemble, 1, **search)
    known, found = trained.run.config["data"], trained.task.fingerprint
    if found != known:
        say(f"the data are not those that {trained.run.folder} was trained on: {found}, where those were {known}")
    result = measure(trained.task, trained.model, given.split, trained.options.seed)
    asked = {name: value for name in _SAID if (value := getattr(given, name)) not in (None, ()) and value is not False}
    results = {**split_results(trained.run, trained.options, trained.model, given.split, result), "asked": asked}
    print_metrics(given.split, result.metrics, result.groups)  # first: the folder may be one that cannot be written
    name = _name(given.split, "-".join(_words(asked, trained.run.folder)))
    write_json(trained.run.folder / f"{name}.json", results)
    return 0


def _name(split: str, words: str) -> str:
    """What the file is called; words that no file system would take are a number, and stand in the file itself."""
    if len(words.encode()) > _LONGEST:
        words = f"asked-{hashlib.blake2b(words.encode(), digest_size=8).hexdigest()}"
    return "-".join(filter(None, [f"results-{split}", words]))


def _words(asked: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """What the file's name says of what was asked; of another run where it lies, seen from beside this one."""
    for name, value in asked.items():
        for each in value if name == "ensemble" else [value]:
            yield name.replace("_", "-")
            if name == "ensemble":
                path = os.path.relpath(Path(each).resolve(), folder.resolve().parent)
                yield path.replace("%", "%25").replace(os.sep, "%2F")
            elif name != "replace_unknown":
                yield str(each)
