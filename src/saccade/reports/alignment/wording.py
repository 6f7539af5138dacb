"""What the report `alignment` says of attention, and what of the sequential Jacobian."""

from dataclasses import dataclass

from saccade.tasks.looking import MOVED, By

__all__ = ["WORDINGS", "Wording"]


@dataclass(frozen=True, kw_only=True)
class Wording:
    """The words for one way to look.

    Args:
        heading: of the page.
        picture: stands before the sentence in the picture's title.
        verb: what a written word does to the source's word with its largest weight, in the picture's own words.
        claim: what is claimed of the sentence.
        source: who claims it.
        most: header of the source's words with the largest weights.
        weight: header of these weights.
        place: header of the source's words at which a group is read.
        least: header of the least of a group's weights.
        ordered: that no neighbours are reordered.
        read: between a group and the source's words at which it is read.
        share: a number of a row.
        amount: all of a row.
        away: follows the share of all weight that is away from the diagonal.
        end: what becomes of the weight of the source's end.
        pieces: how pieces of words are put together.
        method: what was computed, and with what care it is to be read, in paragraphs.
    """

    heading: str
    picture: str
    verb: str
    claim: str
    source: str
    most: str
    weight: str
    place: str
    least: str
    ordered: str
    read: str
    share: str
    amount: str
    away: str
    end: str
    pieces: str
    method: tuple[str, ...] = ()


_CLAIM = (
    "In this sentence, as this one training translates it, {} along the diagonal, and jumps where the languages order "
    "words otherwise, as adjectives and nouns of French and English."
)
_COMPUTED = (
    "For each token y_t of the translation and each token x_s of the source, by its embedding, the norm of the whole "
    "block ∂y_t/∂x_s is computed, given the tokens before y_t: all logits by all entries, exactly (the sequential "
    "Jacobian of Graves 2012, Supervised Sequence Labelling with Recurrent Neural Networks, chapter 3). A row's norms "
    "over their sum are its shares, the end of the source included. Figure 6 of Kalchbrenner et al. shows gradients of "
    "the predicted outputs alone, summed over the inputs of a word."
)
_CARE = (
    "Rows of a Jacobian are more spread than weights as a rule: whatever was read moves a word somewhat. A gradient is "
    "what a small change would do where the model is, and no explanation."
)

_ATTENTION = Wording(
    heading="What a sentence's translation attends to",
    picture="What was attended to",
    verb="attends to",
    claim=_CLAIM.format("attention runs"),
    source="Bahdanau, Cho, Bengio 2015, section 5.2.1 and figure 3, https://arxiv.org/abs/1409.0473",
    most="most weight on",
    weight="weight, %",
    place="where it is read, in the source's order",
    least="least weight, %",
    ordered="no neighbours are read in another order than they are written",
    read="is read at",
    share="weight",
    amount="weight",
    away="of the weight is away",
    end="The weight of the source's end is left out.",
    pieces="weights on a source word are summed, a target word has the mean",
)

_JACOBIAN = Wording(
    heading="What moves the words of a sentence's translation",
    picture="What moves each word",
    verb=MOVED,
    claim=_CLAIM.format("what moves the words of the translation runs"),
    source=(
        "Kalchbrenner et al. 2016, https://arxiv.org/abs/1610.10099, whose figure 6 draws gradients of a translation "
        "by ByteNet, and by whose abstract the latent alignment structure in its representations reflects the expected "
        "alignment; groups of reordered words are those of Bahdanau, Cho, Bengio 2015, figure 3, "
        "https://arxiv.org/abs/1409.0473"
    ),
    most="moved most by",
    weight="share of the row, %",
    place="what moves it most, in the source's order",
    least="least share, %",
    ordered="no neighbours are moved most by words in another order than they are written",
    read=MOVED,
    share="share",
    amount="row",
    away="of a row is away in the mean",
    end="The share of the source's end is left out.",
    pieces="shares of a source word are summed, so that more pieces have more; a target word has the mean of its rows",
    method=(_COMPUTED, _CARE),
)

WORDINGS: dict[By, Wording] = {"attention": _ATTENTION, "jacobian": _JACOBIAN}
"""By what was looked at."""
