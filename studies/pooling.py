"""Ways to pool the words of a sentence, and a "not" in it (Yang et al. 2016)."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from saccade.data.splits import SplitNames, SplitOptions
from saccade.errors import ArgumentError
from saccade.models.fixed import Fixed
from saccade.tasks.classify_text import CLASSIFY_TEXT
from saccade.tasks.classify_text.data import BUILTIN, Corpus, open_corpus
from saccade.tasks.task import Job
from saccade.tasks.text.special import SPECIAL
from saccade.train.results import measure
from saccade.train.task import value
from studies.frame.claims import Claim, Estimate, Exact, bars, conclude, judged, nothing, rule
from studies.frame.options import Seeded
from studies.frame.page import costs, dots, paragraphs, picture, table
from studies.frame.scatter import Point, draw_words
from studies.frame.scores import SENTENCES, by_model
from studies.frame.seeds import Cell, contrast, pack, spread, unpack
from studies.frame.study import Study
from studies.frame.training import Part, Trainings, Variant

SUM, DOT, MLP = "sum", "fixed dot", "fixed MLP"
SHARED = f"{MLP}, 4 queries"
SEPARATE = f"{SHARED}, own"
VARIANTS = (
    Variant(SUM, "sum"),
    Variant(DOT, "fixed", {"score": "dot"}),
    Variant(MLP, "fixed", {"score": "additive"}),
    Variant(SHARED, "fixed", {"score": "additive", "queries": 4}),
    Variant(SEPARATE, "fixed", {"score": "additive", "queries": 4, "own_projections": True}),
    Variant("self-attention", "self-attention"),
    Variant("rnn-attention", "rnn-attention"),
)
VECTORS = ", vectors"  # ends the names of models whose words begin with vectors from a file
CONTEXT = ("self-attention", "rnn-attention")  # models in which a word's weight depends on its neighbours
PRAISE = ("good", "funny", "great", "moving", "clever", "wonderful")
BLAME = ("bad", "boring", "silly", "dull", "weak", "awful")
_FORMS = ["the movie was {}", "the film is {}", "it is a {} story", "the plot was so {}", "it was a {} script"]
_FORMS += ["the acting is {}"]
PAIRS: Sequence[dict[str, Any]] = [
    {"plain": plain, "denied": re.sub(" (was|is) ", r" \1 not ", plain), "positive": words is PRAISE, "word": word}
    for words in (PRAISE, BLAME)
    for word, form in zip(words, _FORMS, strict=True)
    for plain in [form.format("very funny" if word == "funny" else word)]
]
"""Sentences of praise and of blame, their denials, and the denied words."""
_CHANCE, _LEARNED = 0.5, 0.55  # shares of right answers
_ALIKE = 0.1  # mean difference of the probabilities of two sentences that score alike
_EQUAL = 1e-3  # difference of two changes of a logit by rounding
_LEAST = 1e-12  # smallest weight in a logarithm
_FREQUENT = 500  # words that are projected: rare ones have hardly moved from their first vectors
_ENDS = 8  # of them in the picture, at either end of either direction


@dataclass(frozen=True, kw_only=True)
class Options(Seeded):
    """Options of the study."""

    builtin: ClassVar[Mapping[str, str]] = BUILTIN

    data: str = ""
    """Texts with two labels, the last by the alphabet positive, as classify-text's."""

    train_split: str | None = None
    """Name of the training split, such as phrases.train for stsa.binary.phrases.train."""

    vectors: str | None = None
    """File of word vectors: every model is trained once more with them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.vectors == "":
            raise ArgumentError("--vectors: expected a file, got an empty name")
        SplitOptions(train_split=self.train_split)


def _variants(options: Options) -> list[Variant]:
    """Every model, and with word vectors each once more."""
    split = {} if options.train_split is None else {"train_split": options.train_split}
    models = [replace(variant, values={**variant.values, **split}) for variant in VARIANTS]
    if options.vectors is None:
        return models
    more = {"vectors": options.vectors}
    return [*models, *(replace(v, name=v.name + VECTORS, values={**v.values, **more}) for v in models)]


def _opened(options: Options) -> Corpus:
    names = SplitNames({} if options.train_split is None else {"train": options.train_split})
    corpus = open_corpus(options.data, names=names)
    if len(corpus.labels) != 2:
        labels = ", ".join(corpus.labels)
        raise ArgumentError(f"--data: expected two labels, the positive one last by the alphabet, got {labels:.80}")
    return corpus


def _measured(task: Job, model: nn.Module, seed: int) -> dict[str, Any]:
    """Accuracies, and whether each text of the test split was right."""
    test, validation = (measure(task, model, split, seed) for split in ("test", "validation"))
    examples = [task.data.example("test", number) for number in range(task.data.size("test") or 0)]
    with torch.inference_mode():
        texts = [task.read(example.text, number) for number, example in enumerate(examples, 1)]
        answers: Any = task.answer(model, texts, None)
    rankings = [answer.ranking for answer in answers]
    labels = [None if ranking is None else ranking.labels[ranking.best] for ranking in rankings]
    return {
        "texts": test.examples,
        "accuracy": value(test.metrics["accuracy"]),
        "validation": value(validation.metrics["accuracy"]),
        "right": pack([label == example.label for label, example in zip(labels, examples, strict=True)], "bits"),
    }


def denials(task: Job, model: Any, seed: int) -> dict[str, Any]:
    """Return numbers of both sentences of `PAIRS`, and words along two directions.

    "scores" are logits of the positive label less the negative one, "probabilities" those of the positive label. If the
    model attends, "weights" are those of the denied word, means over queries, and "relative" beside the other words.
    "negation" is the weight of the not, and "found" the number of words with the largest weight of a query.
    """
    with torch.inference_mode():
        texts = [task.read(text, 1) for pair in PAIRS for text in (pair["plain"], pair["denied"])]
        answers: Any = task.answer(model, texts, None, "json")
    pairs = []
    for pair, *both in zip(PAIRS, answers[::2], answers[1::2], strict=True):
        numbers: dict[str, list[float]] = {}
        for answer in both:
            share = answer.ranking.probabilities[-1] if answer.ranking else torch.tensor(_CHANCE)
            columns = {"scores": float(share.logit()), "probabilities": float(share)}
            if answer.weights is not None:
                kept = [index for index, token in enumerate(answer.text.tokens) if token != "not"]
                weights = answer.weights[:, kept]
                word = [answer.text.tokens[index] for index in kept].index(pair["word"])
                columns |= {"weights": float(weights[:, word].mean()), "relative": relative(weights, word)}
                columns["negation"] = float((answer.weights.sum(1) - weights.sum(1)).mean())
                columns["found"] = len({*answer.weights.argmax(1).tolist()})
            for name, column in columns.items():
                numbers.setdefault(name, []).append(round(column, 6))
        pairs.append({**pair, **numbers})
    return {"pairs": pairs, "labels": task.codec.labels, "directions": directions(task, model)}


def relative(weights: Tensor, word: int) -> float:
    r"""Return the weight of a word beside the others, in nats.

    .. math:: \log a_k - \frac{1}{n - 1} \sum_{j \ne k} \log a_j

    It is a mean over queries. A further word takes weight from every other by the softmax, which cancels here.
    """
    logs = weights.double().clamp(min=_LEAST).log()
    others = torch.cat([logs[:, :word], logs[:, word + 1 :]], 1)
    return float((logs[:, word] - others.mean(1)).mean())


def directions(task: Job, model: Any) -> list[tuple[str, float, float]]:
    r"""Return words with their projections on two directions.

    .. math:: \frac{q^\top E w}{\|q\|} \qquad \frac{(u_1 - u_0)^\top E w}{\|u_1 - u_0\|}

    with the learned query q, and the output's weights \(u_1\) of the positive and \(u_0\) of the negative label. A
    query that is not compared by a product has none.
    """
    settings = task.settings
    if not isinstance(model, Fixed) or (settings.score, settings.queries, settings.hidden_dim) != ("dot", 1, None):
        return []
    words = task.codec.words.words[:_FREQUENT]
    query, weight = model.pool.queries[0], model.output.weight
    with torch.inference_mode():
        vectors = model.words.embedding.weight[SPECIAL : SPECIAL + len(words)]
        along = [(vectors @ (axis / axis.norm())).cpu() for axis in (query, weight[-1] - weight[0])]
    ends = {int(index) for axis in along for index in (*axis.argsort()[:_ENDS], *axis.argsort()[-_ENDS:])}
    indices = sorted(ends | {index for index, word in enumerate(words) if word in {"not", *PRAISE, *BLAME}})
    return [(words[index], round(float(along[0][index]), 4), round(float(along[1][index]), 4)) for index in indices]


class Findings:
    """Accuracies, the effects of "not", and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.rows = by_model(row for row in content["rows"] if row["measured"] == "accuracy")
        self.probes = by_model(row for row in content["rows"] if row["measured"] == "not")
        self.pairs = {name: [pair for row in rows for pair in row["pairs"]] for name, rows in self.probes.items()}
        self.models = list(self.rows)
        ladders = ([name for name in self.models if name.endswith(VECTORS) is ends] for ends in (False, True))
        self.ladders = [models for models in ladders if models]
        self.gains, self.falls = dict[tuple[str, str], Estimate](), dict[str, Estimate]()
        self.claims = dict[Any, Claim]()  # about two models by both, about the weights of one by its name
        right = {name: [unpack(row["right"], "bits", row["texts"]) for row in rows] for name, rows in self.rows.items()}
        for models in self.ladders:
            end = VECTORS if models[0].endswith(VECTORS) else ""
            leaps = [(models[0], models[-1]), *([(MLP + end, SEPARATE + end)] if SEPARATE + end in models else [])]
            for above, name in [*pairwise(models), *leaps]:
                gain = contrast([Cell(name, right[name]), Cell(above, right[above], -1.0)], SENTENCES)
                self.gains[name, above] = gain
                self.claims[name, above] = Claim(f"{name} is better than {above}", gain, gain.long())
        for name in self.probes:
            if fall := self._probed(name, "relative", lambda without, denied: without - denied):
                self.falls[name] = fall
            self.claims |= self._claims(name)
        results = judged([claim.number for claim in self.claims.values()])
        self.results: dict[Any, str] = dict(zip(self.claims, results, strict=True))
        self.verdict = conclude([*self.claims.values()])
        if all(fmean(self.accuracies(model)) <= _LEARNED for model in self.models):
            self.verdict = nothing("no model got clearly more than half right; train them longer")

    def _probed(self, name: str, key: str, change: Callable[[float, float], float]) -> Estimate | None:
        """Mean of a change over seeds and pairs, None if the model lacks the number."""
        if not all(key in pair for pair in self.pairs[name]):
            return None
        return contrast([Cell(name, [[change(*p[key]) for p in row["pairs"]] for row in self.probes[name]])], "pairs")

    def _claims(self, name: str) -> dict[Any, Claim]:
        """The claims about the effect of a not on a model's scores and weights."""
        end = VECTORS if name.endswith(VECTORS) else ""
        kind, claims = name.removesuffix(VECTORS), dict[Any, Claim]()
        if kind == SUM:
            moved = self._probed(name, "probabilities", lambda without, denied: abs(denied - without))
            moves = [[p["scores"][1] - p["scores"][0] for p in row["pairs"]] for row in self.probes[name]]
            assert moved is not None
            alike = f"with and without a not a sentence scores alike in {name}"
            text = f"the probability moves by {moved.text()}"
            claims[name, "alike"] = Claim(alike, moved.less(_ALIKE).times(-1), text)
            apart = max(max(of) - min(of) for of in moves)
            text = f"to within {apart:.1g}, and both sentences are right in {self._turned(name):.0%} of the pairs"
            equal = f"a not adds the same to the score of every sentence of {name}, so it cannot turn praise and blame"
            claims[name, "turned"] = Claim(equal, Exact(apart <= _EQUAL), text)
        if kind in CONTEXT:
            text = f"by {self.falls[name].text(signed=True)} nats"
            lowers = f"a not lowers what the word that it denies weighs in {name}"
            claims[name] = Claim(lowers, self.falls[name], text)
        share = self._probed(name, "negation", lambda _, denied: denied)
        if kind == DOT and share is not None:
            text = f"a not weighs more than all other words together in {name}"
            claims[name] = Claim(text, share.less(0.5), f"{share.times(100).text(1)}%")
        if kind == SEPARATE and share is not None:
            ours, theirs = (
                [[sum(p["found"]) / 2 for p in row["pairs"]] for row in self.probes[of]] for of in (name, SHARED + end)
            )
            more = contrast([Cell(name, ours), Cell(SHARED, theirs, -1.0)], "pairs")
            text = f"{name} looks at more words of a sentence than {SHARED + end}"
            claims[name] = Claim(text, more, f"by {more.text(signed=True)}")
        return claims

    def _turned(self, name: str) -> float:
        """The share of pairs with both sentences on their right sides."""
        return fmean(
            [s > _CHANCE for s in p["probabilities"]] == [p["positive"], not p["positive"]] for p in self.pairs[name]
        )

    def accuracies(self, model: str, key: str = "accuracy") -> list[float]:
        return [row[key] for row in self.rows[model]]

    def table(self, ladder: int = 0) -> list[list[str]]:
        """Return accuracies in percent, gains in points, and costs."""
        header = ["model", "test accuracy", "beside the one above", "it is better", "validation", "steps", "seconds"]
        models, rows = self.ladders[ladder], [[*header, "parameters"]]
        for above, (name, _, *cost) in zip([None, *models], costs(self.content, models)[1:], strict=False):
            gain = [self.gains[name, above].short(), self.results[name, above]] if above is not None else ["", ""]
            scores = [spread(self.accuracies(name)), *gain, spread(self.accuracies(name, "validation"))]
            rows.append([name, *scores, *cost])
        return rows

    def _negation(self) -> list[list[str]]:
        table = [["model", "praise moves by", "blame moves by", "moves the right way", "both sentences right"]]
        for name in self.models:
            pairs = self.pairs[name]
            down, up = ([p["scores"][1] - p["scores"][0] for p in pairs if p["positive"] is of] for of in (True, False))
            hears = (sum(shift < 0 for shift in down) + sum(shift > 0 for shift in up)) / len(pairs)
            means = [f"{fmean(shifts):+.2f}" for shifts in (down, up)]
            table.append([name, *means, f"{hears:.0%}", f"{self._turned(name):.0%}"])
        return table

    def fields(self) -> dict[str, Any]:
        first, arguments = self.models[0], self.content["arguments"]
        seeds = len(self.rows[first])
        headings = ("## Accuracy", "## Accuracy, with vectors from elsewhere")
        ladders = [f"{headings[number]}\n\n{table(self.table(number))}" for number in range(len(self.ladders))]
        weighed = [["model", "weight without a not", "with it", "lowered beside the others, nats", "it is lowered"]]
        looked = [["model", "weight of the not", "words with the largest weight of a query"]]
        for name, fall in self.falls.items():
            means = (f"{fmean(x):.3f}" for x in zip(*(pair["weights"] for pair in self.pairs[name]), strict=True))
            result = self.results[name] if name.removesuffix(VECTORS) in CONTEXT else "its own alone"
            weighed.append([name, *means, fall.text(signed=True), result])
            share = self._probed(name, "negation", lambda _, denied: denied)
            count = self._probed(name, "found", lambda without, denied: (without + denied) / 2)
            if share is not None and count is not None:
                looked.append([name, share.text(3), count.text()])
        pairs = [["sentence", *self.models]]
        for number, pair in enumerate(self.probes[first][0]["pairs"]):
            several = ([row["pairs"][number]["probabilities"] for row in self.probes[name]] for name in self.models)
            means = (" → ".join(f"{fmean(shares):.2f}" for shares in zip(*x, strict=True)) for x in several)
            pairs.append([pair["denied"], *means])
        negative, positive = self.probes[first][0]["labels"]
        split, vectors = arguments.get("train_split"), arguments.get("vectors")
        data = f"Data: `{self.content['data']}`{f', trained on `{split}`' if split else ''}, test split, "
        data += f"{self.rows[first][0]['texts']} texts; `{positive}` is positive, `{negative}` negative. "
        return {
            "accuracies": paragraphs(*ladders),
            "bars": f"{bars(SENTENCES, seeds)} {rule(len(self.claims))}",
            "negation": self._negation(),
            "weighed": weighed,
            "looked": table(looked) if len(looked) > 1 else "",
            "pair_bars": bars("pairs", seeds),
            "pairs": pairs,
            "data": data + (f"Word vectors of `{vectors}`." if vectors else "No word vectors from elsewhere."),
        }


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    rates = {name: result.accuracies(name) for name in result.models}
    accuracies = dots(rates, folder / "pooling", "accuracy", "Accuracy by what is made of the words")
    name, words = next((name, rows[0]["directions"]) for name, rows in result.probes.items() if rows[0]["directions"])
    title = f"Words along the learned query and along sentiment: {name}, seed 1"
    labels = ("along the learned query", "along the output's weights: positive less negative")
    points = [Point(*word) for word in words]
    drawn = draw_words(points, folder / "directions", labels=labels, title=title, marked={"not", *PRAISE, *BLAME})
    return {"picture": accuracies, "directions": picture(drawn, title)}


STUDY = Study(
    sentence="pooling of words improves from a sum to attention over a GRU (after Yang et al. 2016, section 3.4)",
    title="Attention as pooling",
    claim="Each of these ways to pool the words of a sentence classifies it better than the one before: their sum, "
    "fixed attention (a learned query compared with words by a product; by an MLP; four queries; four with MLPs of "
    "their own), self-attention, attention over a GRU. A not cannot turn a sum. A fixed query can give most weight to "
    "it. In the last two a word knows its neighbours, and a not lowers the weight of the word that it denies.",
    source="after Yang et al. 2016, section 3.4, https://aclanthology.org/N16-1174, who have attention over a GRU "
    "above its mean and its maximum, for documents; the other steps and the not are ours",
    options=Options,
    measure=Trainings(
        _variants,
        lambda corpus, options: [Part({"measured": "accuracy"}, _measured), Part({"measured": "not"}, denials)],
        quick="reviews",
        task=CLASSIFY_TEXT,
        open_data=_opened,
    ),
    compare=Findings,
    plot=_plot,
    body="""
{picture}

{accuracies}

± of an accuracy, in percent, is its standard deviation over seeds; beside the one above, in points: {bars}

Others report on the test split of SST-2: SWEM, pooled words (Shen et al. 2018) 84.3, which begins with word vectors
learned on far more text.

## What a not does

{negation}

The score is the logit of the positive label minus that of the negative one. In praise (the movie was good) a not has to
move it down, in blame (the movie was bad) up. A sum adds the same for not to every sentence, so at most half of its
pairs can move the right way. Two sentences score alike if the probability moves by less than 0.1 on average, a margin
of ours.

## What a not does to weights

{weighed}

The weight is that of the denied word, the mean over queries, pairs and seeds. By the softmax alone a not takes weight
from every other word. So the number that counts is the word's score less the mean score of the other words that both
sentences have, in nats. Under fixed attention a not does not change it. {pair_bars}

{looked}

Probability of the positive label without the not, and with it; means over seeds:

{pairs}

## Two directions

{directions}

To the right are words that the learned query looks for, which take the sentence's weight. Above are those that speak
for the positive label, below those that speak for the negative one. Red: not, and the words that it denies above.

## How it was measured

All models are trained by one recipe: data, words, batches, dropout, budget, patience and seeds. Learning rates and
sizes are each model's own, chosen by the validation split. The weights are those of the best validation. {data}

{runs}
""",
)
