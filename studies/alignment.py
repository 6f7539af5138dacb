"""The alignment of one sentence (Bahdanau, Cho, Bengio 2015, figure 3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade import look, runs
from saccade.errors import ArgumentError
from saccade.tasks.looking import MOVED, LookRequest, check_by
from saccade.tasks.translate import TRANSLATE
from saccade.train.fit import train
from studies.frame.claims import Verdict
from studies.frame.folder import Folder
from studies.frame.options import Shared, Trained
from studies.frame.page import picture
from studies.frame.study import Step, Study, Work
from studies.frame.training import QUICK_MINUTES, Variant, settings

MARGIN = 1.0  # source words from the diagonal that count as on it
SURE = 0.5  # of a word's weight that is on one source word if it is read there, or moved by it
By: TypeAlias = Literal["attention", "jacobian"]
_TEXT = "This agreement on the European Economic Area was signed in August 1992."
_DATE = "mercredi 18 juin 2025"
_ATTENTION = {
    "picture": "What was attended to",
    "verb": "attends to",
    "source": "Bahdanau, Cho, Bengio 2015, section 5.2.1 and figure 3, https://arxiv.org/abs/1409.0473",
    "most": "most weight on",
    "weight": "weight, %",
    "place": "where it is read, in the source's order",
    "ordered": "no neighbours are read in another order than they are written",
    "read": "is read at",
    "share": "weight",
    "amount": "weight",
    "away": "of the weight is away",
    "method": "",
}
_JACOBIAN = {
    "picture": "What moves each word",
    "verb": MOVED,
    "source": "Kalchbrenner et al. 2016, abstract and figure 6, https://arxiv.org/abs/1610.10099, of ByteNet; groups "
    "of reordered words are those of Bahdanau, Cho, Bengio 2015, figure 3, https://arxiv.org/abs/1409.0473",
    "most": "moved most by",
    "weight": "share of the row, %",
    "place": "what moves it most, in the source's order",
    "ordered": "no neighbours are moved most by words in another order than they are written",
    "read": MOVED,
    "share": "share",
    "amount": "row",
    "away": "of a row is away in the mean",
    "method": "A row has the norms of the blocks ∂y_t/∂x_s of all logits of a token y_t by the embedding of each token "
    "x_s, over their sum, given the tokens before y_t (the sequential Jacobian of Graves 2012, Supervised Sequence "
    "Labelling with Recurrent Neural Networks, chapter 3). Its rows are more spread than weights as a rule. It is the "
    "effect of a small change, and no explanation.",
}
_WORDS: Mapping[By, Mapping[str, str]] = {"attention": _ATTENTION, "jacobian": _JACOBIAN}


@dataclass(frozen=True, kw_only=True)
class Options(Shared):
    """Options of the study."""

    run: str = ""
    """Folder of a translation run; --quick trains one on dates."""

    text: str = ""
    """The sentence. Default: that of Bahdanau et al.'s figure, a date with --quick."""

    by: By | None = None
    """Weights: attention or jacobian. Default: attention if the model attends."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.text and not self.text.strip():
            raise ArgumentError("--text: expected a sentence, got spaces")
        if self.by not in (None, *get_args(By)):
            raise ArgumentError(f"--by: expected attention or jacobian, got {self.by}")


def _measure(options: Options) -> Work:
    if options.quick == bool(options.run):
        got = "both" if options.quick else "neither"
        raise ArgumentError(f"--run: expected the folder of a translation run, or --quick, got {got}")
    run = None if options.quick else runs.load(options.run, device=options.device)
    if run is not None and run.task.name != TRANSLATE.name:
        raise ArgumentError(f"--run: expected a run of {TRANSLATE.name}, got one of {run.task.name}")
    task: Any = None if run is None else run.task
    has_attention = run is None or task.predictor.attends(run.model)
    check_by(options.by, [*["attention"] * has_attention, "jacobian"])
    by = options.by or ("attention" if has_attention else "jacobian")
    text = options.text or (_DATE if options.quick else _TEXT)
    steps = run.results["steps"] if run is not None and run.results else None  # more steps make another report
    step = Step("the sentence", [{"text": text}], partial(_translate, options, text, by, run))
    names = [] if run is None else [run.folder.name]
    data = "-".join(names if by == "attention" else [*names, by])
    return Work([step], {"text": text, "by": by, "steps": steps}, data)


def _translate(options: Options, text: str, by: By, run: runs.Run | None, folder: Folder) -> list[dict[str, Any]]:
    """Translate, after the training of --quick."""
    if run is None:
        quick = Trained(quick=True, data="dates", device=options.device, threads=options.threads)
        chosen = settings(quick, Variant("rnnsearch", "rnnsearch"), 1, folder.path / "runs/rnnsearch-1", QUICK_MINUTES)
        if (outcome := train(TRANSLATE, chosen)).results is None:
            raise KeyboardInterrupt
        run = runs.load(outcome.run.folder, device=options.device)
    translation: Any = next(run.answers([text], LookRequest(by=by), "pictures"))
    if not translation.outputs or not translation.outputs[0].ids:
        raise ArgumentError(f"--text: expected a sentence with a translation, got {text!r}")
    best, about = translation.outputs[0], run.task.settings
    weights = best.weights if translation.moved is None else translation.moved.values
    row = {"text": text, "by": by, "model": about.model, "data": about.data, "pieces": about.tokenizer == "bpe"}
    row |= {"translation": best.text, "score": round(best.score, 5)}
    row |= {"source": list(translation.source_tokens[:-1]), "target": list(best.tokens[:-1])}  # without the ends
    row["weights"] = [[round(weight, 5) for weight in line[:-1]] for line in weights.tolist()[:-1]]
    return [{**row, "steps": run.results["steps"] if run.results else None}]


def off_diagonal(weights: Tensor, margin: float = MARGIN) -> Tensor:
    """Return the share of each row off the diagonal, `(target,)`.

    The diagonal is the source position of each target word if both ran at an even pace. The margin is a number of
    source words that still count as on it.

    >>> off_diagonal(torch.eye(4)).tolist(), off_diagonal(torch.eye(4).flip(0)).tolist()
    ([0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1.0])
    """
    target, source = (torch.arange(count, dtype=torch.float64) for count in weights.shape)
    diagonal = (target + 0.5) * (len(source) / len(target)) - 0.5
    distances = (source - diagonal[:, None]).abs()
    far, total = torch.where(distances > margin, weights.double(), 0.0).sum(-1), weights.double().sum(-1)
    return torch.where(total > 0, far / total, 0.0)


def crossed(peaks: Sequence[int]) -> int:
    """Return the number of pairs of target words read in reverse.

    >>> crossed([0, 3, 2, 1, 4])
    3
    """
    return sum(first > second for first, second in combinations(peaks, 2))


def blocks(peaks: Sequence[int]) -> list[range]:
    """Return the runs of target words in reverse order.

    >>> blocks([0, 3, 2, 1, 4])
    [range(1, 4)]
    """
    starts = [0, *(index for index in range(1, len(peaks)) if peaks[index] >= peaks[index - 1]), len(peaks)]
    return [range(start, end) for start, end in pairwise(starts) if end - start > 1]


def by_words(weights: Tensor, source: Sequence[str], target: Sequence[str]) -> tuple[Tensor, list[str], list[str]]:
    """Return the weights of words from those of their pieces.

    They are sums over the pieces of a source word, and means over those of a target word. A word
    begins with each piece that begins with a space, as byte pairs have them.

    >>> weights, source, target = by_words(torch.eye(3), ["the", " c", "at"], ["le", " ch", "at"])
    >>> weights.tolist(), source, target
    ([[1.0, 0.0], [0.0, 1.0]], ['the', 'cat'], ['le', 'chat'])
    """
    (columns, read), (rows, written) = _joined(source), _joined(target)
    into, onto = columns.to(weights), rows.to(weights)
    return (onto / onto.sum(0)).T @ weights @ into, read, written


def _joined(pieces: Sequence[str]) -> tuple[Tensor, list[str]]:
    """The membership of pieces in words, `(pieces, words)`, and the words."""
    words, numbers = list[str](), list[int]()
    for piece in pieces:
        if not words or piece.startswith(" "):
            words.append("")
        words[-1] += piece
        numbers.append(len(words) - 1)
    return F.one_hot(torch.tensor(numbers)), [word.strip() for word in words]


class Findings:
    """Weight off the diagonal, words in another order, and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        [self.row] = content["rows"]
        self.words = _WORDS[self.row["by"]]
        self.source: list[str] = self.row["source"]
        self.target: list[str] = self.row["target"]
        self.weights = torch.tensor(self.row["weights"], dtype=torch.float64)
        if self.row["pieces"]:
            self.weights, self.source, self.target = by_words(self.weights, self.source, self.target)
        self.unit = "words" if self.row["pieces"] else "tokens"
        self.far = off_diagonal(self.weights)
        largest = self.weights.max(-1)
        self.peaks: list[int] = largest.indices.tolist()
        self.groups = []
        for run in blocks(self.peaks):
            written = " ".join(self.target[index] for index in run)
            read = " ".join(self.source[index] for index in sorted({self.peaks[index] for index in run}))
            self.groups.append((written, read, float(largest.values[list(run)].min())))
        self.verdict = self._decide()

    def _decide(self) -> Verdict:
        words, far = self.words, _percent(self.far.mean())
        count, pairs = crossed(self.peaks), len(self.target) * (len(self.target) - 1) // 2
        crossings = f"{count} of {pairs} pairs of {self.unit} are crossed, {far}% {words['away']}"
        if not self.groups:
            return Verdict("contradicted", f"{words['ordered']}; {crossings}")
        if 2 * count > pairs:
            return Verdict("contradicted", f"most pairs are crossed, so that this is no diagonal; {crossings}")
        sure = [group for group in self.groups if group[2] > SURE]
        named = ", ".join(f"“{written}” {words['read']} “{read}”" for written, read, _ in sure or self.groups)
        if sure:
            return Verdict("reproduced", f"{named}; {crossings}")
        less = f"with {_percent(SURE)}% of the {words['amount']} or less on some of it"
        return Verdict("not decided", f"{named}, {less}; {crossings}")

    def fields(self) -> dict[str, Any]:
        row, words = self.row, self.words
        by_word = [["written", words["most"], words["weight"], f"beyond {MARGIN:g} of the diagonal, %"]]
        for word, peak, weights, far in zip(self.target, self.peaks, self.weights, self.far, strict=True):
            by_word.append([word, self.source[peak], _percent(weights[peak]), _percent(far)])
        groups = [[written, read, _percent(sure)] for written, read, sure in self.groups]
        header = ["written", words["place"], f"least {words['share']}, %"]
        joined = f" Pieces of words are put together: {words['share']}s of the pieces of a source word are summed, a "
        joined += "target word has the mean of its pieces' rows."
        return {
            **{key: words[key] for key in ("source", "share", "amount", "method")},
            "text": row["text"],
            "translation": row["translation"],
            "reordered": [header, *groups] if groups else "Nothing is.",
            "by_word": by_word,
            "run": f"A run of `{row['model']}` on `{row['data']}`"
            + ("" if row["steps"] is None else f", trained for {row['steps']:,} steps"),
            "joined": joined * row["pieces"],
        }


def _percent(share: float | Tensor) -> str:
    return f"{100 * float(share):.1f}"


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    words, sides, path = result.words, (result.source, result.target), folder / "alignment"
    title, verb, scale = f"{words['picture']}: {result.row['text']}", words["verb"], words["share"]
    drawn = look.alignment(result.weights, *sides, path, title=title, verb=verb, scale=scale)
    caption = f"A row for each of the {result.unit} that were written, a column for each of the source's"
    return {"picture": picture(drawn, caption)}


STUDY = Study(
    sentence="in one sentence, attention follows word order and its changes (Bahdanau et al. 2015, figure 3)",
    title="The alignment of one sentence",
    claim="In this sentence, as this one training translates it, the words of the translation read the source along "
    "the diagonal, and jump where the languages order words otherwise, as adjectives and nouns of French and English.",
    source=_ATTENTION["source"],
    options=Options,
    measure=_measure,
    compare=Findings,
    plot=_plot,
    body="""
“{text}” is translated as “{translation}”.

{picture}

## What is reordered

{reordered}

A pair is crossed if the first of two has its largest {share} behind that of the second. Groups are neighbours, each
crossed with the next. The diagonal is the position in the source if both ran at an even pace. More than 1 from it is
away. The {share} of the source's end is left out.

The claim is reproduced if a group is reordered, each of it with more than 50% of its {amount} in one place, and at most
half of all pairs are crossed. It is not decided if no group's {share}s are as sure, and contradicted if no neighbours
are reordered, or most pairs are crossed. It is one sentence of one run: these rules have no errors.

## Word by word

{by_word}

## How it was made

{run}.{joined}

{method}

{where}
""",
)
