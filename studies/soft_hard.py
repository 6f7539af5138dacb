"""Soft beside hard attention, and the noise of hard attention's gradients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from saccade.errors import ArgumentError
from saccade.models.hard import OF_REINFORCE, TextOptions
from saccade.models.padded import Padded
from saccade.models.reinforce import gradient_noise
from saccade.tasks.task import Job
from saccade.tasks.translate.data.corpus import Corpus
from saccade.train.randomness import seeded
from studies.frame.claims import NOTHING, Claim, Verdict, bars, conclude, rule, worded
from studies.frame.noise import ratio_sentences, variance_table
from studies.frame.options import Trained, check_positive
from studies.frame.page import about_data, paragraphs, signatures
from studies.frame.scores import ERRORS, SENTENCES, Score, Trial, dotted
from studies.frame.study import Study
from studies.frame.training import Part, Trainings, Variant, whole_test

MODELS = ("rnnsearch", "luong")
SOFT = "soft"
LEARNED, PAPER = "learned baseline", "as in the paper"
XU = f"reinforce, {PAPER}"
MARGIN = 0.02  # of soft attention's score: a smaller loss counts as none
BATCHES, EXAMPLES, DRAWS = 6, 8, 6  # of the noise: batches, sentences of each, draws of each
_PLAIN: dict[str, Any] = {name: TextOptions.__dataclass_fields__[name].default for name in OF_REINFORCE}
_BESIDE = {LEARNED: "the learned baseline", PAPER: "training as in the paper"}
_WHOLE = {
    "reproduced": "every translator does as well",
    "contradicted": "every translator is behind",
    "not decided": "that every translator does as well is not shown",
}


@dataclass(frozen=True, kw_only=True)
class Options(Trained):
    """Options of the study."""

    samples: int = 2
    """Samples of a sentence for one gradient of REINFORCE, at least 2."""

    entropy_bonus: float = 0.02
    """Weight of a nat of the weights' entropy beside one of likelihood, in some rows."""

    reward_weight: float = 1.0
    """Weight of the gradient by rewards, relative to the reads.
    It acts in the rows trained as in the paper, with a λ_r chosen by validation."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= self.samples <= 1000:
            raise ArgumentError(f"--samples: expected a number from 2 to 1000, got {self.samples}")
        check_positive(self, "entropy_bonus", "reward_weight")


def estimators(samples: int, entropy_bonus: float, reward_weight: float = 1.0) -> dict[str, dict[str, Any]]:
    """Return the options of estimators by name, with equal numbers of samples.

    The weights of the entropy and of the reward are those of the paper's estimator. The gradient of the others is that
    of the expected cost.
    """
    drawn = {"read": "reinforce", "samples": samples}
    paper = {"baseline": "moving-average", "charge": "whole", "soft_share": 0.5}
    return {
        LEARNED: drawn,
        "leave-one-out": {**drawn, "baseline": "leave-one-out"},
        "entropy bonus": {**drawn, "entropy_bonus": entropy_bonus},
        PAPER: {**drawn, **paper, "entropy_bonus": entropy_bonus, "reward_weight": reward_weight},
        "straight-through": {"read": "straight-through"},
    }


def noise(
    options: Mapping[str, Mapping[str, Any]], task: Job, model: nn.Module, seed: int
) -> dict[str, dict[str, Any]]:
    """Return the noise of each estimator's gradient by the weights of a trained model.

    "variance" is the sum over weights of the variance over draws, "signal" the squared length of the mean gradient,
    both means over batches of the training split. "batches" are the variances. An estimator with a trained baseline is
    left out if the model has none.
    """
    weights, device = model.state_dict(), next(model.parameters()).device
    batches = [task.batch(step).to(device) for step in range(BATCHES)]
    results: dict[str, dict[str, Any]] = {}
    for name, values in options.items():
        other = task.changed(**{**_PLAIN, **values}).build().to(device)
        needed = other.state_dict().keys()
        if not needed <= weights.keys():
            continue
        other.load_state_dict({key: weights[key] for key in needed})
        noises = []
        with seeded(seed, "noise", name):
            for batch in batches:
                source = Padded(batch.source.values[:EXAMPLES], batch.source.lengths[:EXAMPLES])
                target = batch.target[:EXAMPLES]
                noises.append(gradient_noise(other, source, target[:, :-1], target[:, 1:], DRAWS))
        variances = [measured.variance for measured in noises]
        signal = sum(measured.signal for measured in noises) / BATCHES
        results[name] = {"variance": sum(variances) / BATCHES, "signal": signal, "batches": variances}
    return results


def _variants(options: Options) -> list[Variant]:
    every = estimators(options.samples, options.entropy_bonus, options.reward_weight)
    short = {LEARNED: "reinforce", "straight-through": "straight-through"}
    ways = {SOFT: {}, **{short.get(name, f"reinforce, {name}"): values for name, values in every.items()}}
    models = MODELS[:1] if options.quick else MODELS  # --quick has time for one translator
    return [Variant(f"{model} {way}", model, values) for model in models for way, values in ways.items()]


def _parts(corpus: Corpus, options: Options) -> Sequence[Part]:
    every = estimators(options.samples, options.entropy_bonus)

    def noisy(task: Job, model: Any, seed: int) -> dict[str, Any]:
        sizes = {"batches": BATCHES, "sentences": EXAMPLES, "draws": DRAWS}
        return {**sizes, "estimators": noise(every, task, model, seed)}

    return [*whole_test(corpus, options), Part({"measured": "noise"}, noisy)]


class Findings(Trial):
    """Scores beside soft attention's, the noise of gradients, and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        super().__init__(content)
        self.noises: list[dict[str, Any]] = [row for row in content["rows"] if "estimators" in row]
        self.translators = list(dict.fromkeys(name.partition(" ")[0] for name in self.scores))
        self.claims = dict[str, Claim]()
        for name in (name for name in self.scores if not name.endswith(f" {SOFT}")):
            above = self.beside(name, 1 - MARGIN).number
            measured = self.beside(name).text(self.digits, signed=True)
            self.claims[name] = Claim(f"{name} does as well", above, measured)
        self.paper = {name: claim for name, claim in self.claims.items() if name.endswith(f" {XU}")}  # it decides
        self.verdict = self._decide()

    def beside(self, name: str, share: float = 1.0) -> Score:
        """Return a model's score minus a share of its translator's with soft attention."""
        return self.scores[name] - self.scores[f"{name.partition(' ')[0]} {SOFT}"].times(share)

    def _decide(self) -> Verdict:
        if not any(self.learned(f"{translator} {SOFT}") for translator in self.translators):
            return NOTHING
        others = worded([claim for name, claim in self.claims.items() if name not in self.paper])
        beside = f"beside soft attention, {MARGIN:.0%} of its score being the margin"
        if len(self.paper) < len(self.translators):
            return Verdict("not decided", f"not every translator is trained as the paper trains; {beside}, {others}")
        verdict = conclude(
            [*self.paper.values()], lambda results: results[0] if len({*results}) == 1 else "not decided"
        )
        reason = f"{_WHOLE[verdict.result]}, trained as the paper trains; {beside}, {verdict.reason}"
        decides_nothing = f"; trained otherwise, which decides nothing, {others}" if others else ""
        return Verdict(verdict.result, reason + decides_nothing)

    def fields(self) -> dict[str, Any]:
        return {
            "scores": self.tabled(
                ("model", "beside soft"), lambda name: None if name.endswith(SOFT) else self.beside(name)
            ),
            "bars": bars(SENTENCES, self.seeds),
            "noise": variance_table(self.noises, LEARNED),
            "ratios": paragraphs(*ratio_sentences(self.noises, _BESIDE)),
            "reward": self.content["arguments"].get("reward_weight", 1.0),
            "row": self.noises[0],
            "rule": rule(len(self.paper)),
            "data": paragraphs(about_data(self.content, self.sentences), ERRORS, signatures(self.rows)),
        }


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    note = "The claim: hard attention does as well as soft (after Xu et al. 2015, section 4)"
    return {"picture": dotted(result, folder / "soft-hard", "with soft attention and hard", note)}


STUDY = Study(
    sentence="hard attention does as well as soft attention (after Xu et al. 2015, section 4 and table 1)",
    title="Soft attention and hard",
    claim="Hard attention, which reads one position of the source at each step and learns where by what it is rewarded "
    "for, does as well as soft attention, which reads a mean of all.",
    source="after Xu et al. 2015, section 4 and table 1, there for captions of images, "
    "https://arxiv.org/abs/1502.03044",
    options=Options,
    measure=Trainings(_variants, _parts),
    compare=Findings,
    plot=_plot,
    body="""
{picture}

## Scores

{scores}

{bars}

## Noise of the gradient

{noise}

{ratios}

## How it was measured

Each translator is trained from one recipe: data, batches, sizes, budget and seeds. If the budget is minutes alone, each
row's warmup and schedule are scaled to the planned steps, as its command says, and further steps take the last rate.
Hard attention draws a position in training and takes the likeliest one in the test. `reinforce` compares a draw's
reward with the expectation of a linear map of the state, `reinforce, leave-one-out` with the other draws for the same
sentence. `straight-through` draws too, but learns by the gradient of the mean.

`reinforce, as in the paper` is the training of Xu et al. (section 4.1). A draw's reward is the log-probability of the
whole text (less the smoothed loss if labels are smoothed, as in the recipe for corpora), beside a moving average of it
over batches, b ← 0.9 b + 0.1 log p. The weights' entropy is added, and with probability ½ an example reads the mean
instead of its draws. Their texts are captions of images, so their figures are not tested here. In their table 1 the
BLEU of hard attention is at least that of soft attention on all three sets of images, and its METEOR is lower on two.

The paper does not give the weights of the reward and of the entropy. The authors' code
(https://github.com/kelvinxu/arctic-captions, capgen.py) draws once, and by default weighs the mean reward of a word by
1/10 and the entropy by 0.002; an earlier version has no entropy. Here the reward of the text has the weight
{reward:g} and the entropy {arguments[entropy_bonus]:g}, with {arguments[samples]} draws.

REINFORCE reads a sentence {arguments[samples]} times for one gradient in every row. The bonus of
`reinforce, entropy bonus` and of `reinforce, as in the paper` is {arguments[entropy_bonus]:g} of a nat. The noise is
that of {row[batches]} batches of {row[sentences]} sentences, each drawn {row[draws]} times.

A model does as well if a loss of 2% of soft attention's score or more is excluded, and is behind if such a loss is
seen. The claim of the study is about the rows `reinforce, as in the paper`: reproduced if all of them do as well, and
contradicted if all are behind. The other estimators are not the paper's and decide nothing.

{rule}

Noise is measured at the final weights of each model: the same translator gets them with each estimator, and draws the
gradient by the attention's weights several times, on the same sentences of the training split, without dropout. The
variance is summed over weights, ± half of a 95% interval of its mean over batches (Student's t). Ratios are geometric
means over batches, not ratios of the table's means, which one batch of a large variance can dominate. If their
interval holds 1, no difference in noise is seen. An estimator with a trained baseline, a linear map or a moving
average, is tested only on models trained with it, with its entropy bonus and its share of examples that read the mean.
The reward has the weight 1 in all of them. Straight-through is biased, so a lower variance does not make it better.

{data}

{runs}
""",
)
