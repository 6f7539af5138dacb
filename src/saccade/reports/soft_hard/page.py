"""The page of the report `soft-hard` and its plot, all from report.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade.reports.document import Heading, Part, Text
from saccade.reports.pages import about_data, beginning, dotted, publish, runs, sentence, signatures, table
from saccade.reports.scoring import ERRORS, SENTENCES
from saccade.reports.soft_hard.findings import BONUS, MARGIN, XU, Findings
from saccade.reports.soft_hard.noise import UNSAID
from saccade.reports.verdict import bars, rule

__all__ = ["write_page"]

CLAIM = (
    "Hard attention, which reads one position of the source at each step and learns where by what it is rewarded for, "
    "does as well as soft attention, which reads a mean of all."
)
SOURCE = "after Xu et al. 2015, section 4 and table 1, there for captions of images, https://arxiv.org/abs/1502.03044"
_PAPER = (
    f"`{XU}` is the training of Xu et al. (section 4.1): a draw's reward is the log-probability of the whole text "
    "(where labels are smoothed, as by the recipe for corpora, less the smoothed loss), beside a moving average of it "
    "over batches, b ← 0.9 b + 0.1 log p; the weights' entropy is added; and with probability ½ an example reads the "
    "mean in the place of its draws. Their texts are captions of images: their figures are not tried here. In their "
    "table 1 hard attention has as high a BLEU as soft attention or a higher one on all three sets of images, and a "
    "METEOR that is lower on two of them."
)
_WEIGHTS = (
    "The paper does not give the weights of the reward and of the entropy. The authors' code "
    "(https://github.com/kelvinxu/arctic-captions, capgen.py) draws once, and weighs by default the mean reward of a "
    "word by 1/10 and the entropy by 0.002; an earlier version has no entropy. Here the reward of the text has the "
    "weight {reward:g} and the entropy {bonus:g}, with {samples} draws."
)
_DECIDED = (
    f"Of a row it is claimed that a loss of {MARGIN:.0%} of soft attention's score or more is excluded; it is behind "
    f"where such a loss is seen. The claim of the report is of the rows `{XU}`: reproduced where all of them do as "
    "well, and contradicted where all are behind. The other ways are not the paper's and decide nothing."
)
_WAYS = (
    "Each translator is trained from one recipe: data, batches, sizes, budget and seeds. Where the budget is "
    "minutes alone, each row's warmup and schedule are scaled to the steps that were planned to fit, as its command "
    "says, and steps beyond them are at the last rate. Hard attention draws a position in training and takes the "
    "likeliest one in the test. `reinforce` compares a draw's reward with what a linear map of the state expects, "
    "`reinforce, leave-one-out` with the other draws for the same sentence; `straight-through` draws too, but learns "
    "by the gradient of the mean."
)
_NOISE = (
    "Noise is looked at where a model ended: its weights are given to the same translator with each estimator, and "
    "the gradient by the attention's weights is drawn several times on the same sentences of the training split, "
    "without dropout. The variance is summed over weights, ± half of a 95% interval of its mean over batches "
    "(Student's t). Ratios are geometric means over batches of the ratio in each: they are not the ratio of the "
    "table's means, which one batch of a large variance can make, and where their interval holds 1, neither more nor "
    "less noise is seen. An estimator whose baseline is of training, a linear map or a moving average, is tried where "
    "that was trained, with its entropy bonus and its share of examples that read the mean; the reward has the weight "
    "1 in all of them. Straight-through is biased, so a lower variance does not make it the better one."
)
_NOTE = "The claim: hard attention does as well as soft (after Xu et al. 2015, section 4)"


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the plot that both show."""
    found = Findings(content)
    parts: list[Part] = [
        *beginning("Soft attention and hard", CLAIM, SOURCE, found.verdict, content),
        dotted(found, folder / "soft-hard", "with soft attention and hard", _NOTE),
        Heading("Scores"),
        table(found.table()),
        Text(bars(SENTENCES, found.seeds)),
        Heading("Noise of the gradient"),
        table(found.noise()),
        *(Text(f"{sentence(ratio)}.") for ratio in found.ratios()),
        Heading("How it was measured"),
        *map(Text, (_WAYS, _PAPER, _weights(found), _sizes(found), _DECIDED)),
        *map(Text, (rule(len(found.claims(paper=True))), _NOISE)),
        *map(Text, (*about_data(content, found.sentences), ERRORS, *signatures(found.rows))),
        *runs(content),
    ]
    publish(folder, parts)


def _weights(found: Findings) -> str:
    arguments = found.content["arguments"]
    reward = arguments.get("reward_weight", UNSAID)
    return _WEIGHTS.format(reward=reward, bonus=arguments["entropy_bonus"], samples=arguments["samples"])


def _sizes(found: Findings) -> str:
    arguments, row = found.content["arguments"], found.noises[0]
    samples = f"REINFORCE reads a sentence {arguments['samples']} times for one gradient in every row; the bonus"
    noise = f"Noise is of {row['batches']} batches of {row['sentences']} sentences, each drawn {row['draws']} times."
    return f"{samples} of `{BONUS}` and of `{XU}` is {arguments['entropy_bonus']:g} of a nat. {noise}"
