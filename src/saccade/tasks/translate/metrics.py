"""Metrics of translations: BLEU and chrF with their signatures, or exact match."""

from collections.abc import Sequence
from typing import Any

from saccade.data.cleaning import LONGEST
from saccade.tasks.groups import by_group
from saccade.tasks.translate.data import BUILTIN
from saccade.train.task import Metric, value

__all__ = [
    "bleu",
    "chrf",
    "exact_match",
    "headline",
    "length",
    "length_groups",
    "length_unit",
    "measured",
    "score",
]

#: Languages without spaces between words, with tokenizers of sacreBLEU that need no other package.
_UNSPACED = {"zh": "zh", "ja": "char", "km": "char", "lo": "char", "my": "char", "th": "char"}
#: Their codes of three letters (ISO 639-3), which corpora of many languages use.
_THREE = {"cmn": "zh", "zho": "zh", "yue": "zh", "jpn": "ja", "khm": "km", "lao": "lo", "mya": "my", "tha": "th"}


def headline(data: str) -> str:
    """Return the headline metric of a data set.

    >>> headline("dates"), headline("folder/of/files")
    ('exact_match', 'bleu')
    """
    return "exact_match" if data in BUILTIN else "bleu"


def score(outputs: Sequence[str], references: Sequence[str], data: str, language: str | None) -> Metric:
    """Return the headline metric of outputs, in the language of the targets."""
    if headline(data) == "exact_match":
        return exact_match(outputs, references)
    return bleu(outputs, references, language)


def measured(
    outputs: Sequence[str], references: Sequence[str], groups: Sequence[str], data: str, language: str | None
) -> tuple[dict[str, Metric], dict[str, dict[str, float]]]:
    """Return all metrics of translations, and the headline metric by group.

    Args:
        outputs: of the model.
        references: one for each output.
        groups: one for each output.
        data: name of the data set.
        language: code of the targets' language.
    """
    name = headline(data)
    metrics = {name: score(outputs, references, data, language)}
    if name == "bleu":
        lower = bleu(outputs, references, language, lowercase=True)
        metrics |= {"bleu_lowercase": lower, "chrf": chrf(outputs, references)}
    parts = by_group(lambda texts, targets: value(score(texts, targets, data, language)), outputs, references, groups)
    return metrics, {name: parts}


def exact_match(outputs: Sequence[str], references: Sequence[str]) -> float:
    """Return the fraction of outputs that equal their references.

    >>> exact_match(["a", "b", "c", "d"], ["a", "b", "c", "x"])
    0.75
    """
    right = [output == reference for output, reference in zip(outputs, references, strict=True)]
    return sum(right) / max(1, len(right))


def bleu(
    outputs: Sequence[str], references: Sequence[str], language: str | None = None, *, lowercase: bool = False
) -> dict[str, Any]:
    """Return the BLEU of a corpus, 0 to 100, with its signature.

    Args:
        outputs: of the model, as plain text.
        references: one for each output.
        language: code of the targets' language. Texts of languages without spaces are tokenized by characters ("zh"
            by the rules of sacreBLEU for Chinese), all others by the rules "13a".
        lowercase: ignore case.

    Returns:
        {"score": ..., "signature": ...}.

    Source:
        Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation", by sacreBLEU: Post 2018,
        "A Call for Clarity in Reporting BLEU Scores".

    Example:
        >>> bleu(["the cat sat on the mat"], ["the cat sat on the mat"])["signature"]
        'nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:...'
    """
    from sacrebleu.metrics.bleu import BLEU

    cut = _UNSPACED.get(_code(language), "13a")
    # Outputs are not tokenized. Without `force` sacreBLEU would warn at each call if they end in a spaced period.
    return _scored(BLEU(tokenize=cut, lowercase=lowercase, force=True), outputs, references)


def chrf(outputs: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
    """Return the chrF of a corpus, 0 to 100.

    It is the F-score of sequences of up to six characters.

    Args:
        outputs: of the model, as plain text.
        references: one for each output.

    Returns:
        {"score": ..., "signature": ...}.

    Source:
        Popović 2015, "chrF: character n-gram F-score for automatic MT evaluation", by sacreBLEU.

    Example:
        >>> chrf(["the cat"], ["the cat"])["score"]
        100.0
    """
    from sacrebleu.metrics.chrf import CHRF

    return _scored(CHRF(), outputs, references)


def length_groups(sources: Sequence[str], unit: str = "words", width: int = 10) -> list[str]:
    """Return the group of each source by its length.

    Args:
        sources: the texts.
        unit: "words" (between spaces) or "characters".
        width: lengths of a group. An empty text is in the first group.

    Example:
        >>> length_groups(["ein Wort", "w " * 10, "w " * 11])
        ['1-10', '1-10', '11-20']
    """
    lengths = (length(text, unit) for text in sources)
    first = (max(0, length - 1) // width * width for length in lengths)
    return [f"{number + 1}-{number + width}" for number in first]


def length(text: str, unit: str) -> int:
    """Return the number of words or characters of a text.

    Only its first 65,536 characters count.

    >>> length(" ein Wort ", "words"), length(" ein Wort ", "characters")
    (2, 8)
    """
    text = text.strip()[:LONGEST]
    return len(text.split()) if unit == "words" else len(text)


def length_unit(language: str | None) -> str:
    """Return the unit of lengths of texts.

    It is "characters" for languages without spaces between words.

    >>> length_unit("de"), length_unit("zh_CN"), length_unit("tok.jpn_Jpan"), length_unit(None)
    ('words', 'characters', 'characters', 'words')
    """
    return "characters" if _code(language) in _UNSPACED else "words"


def _scored(metric: Any, outputs: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
    outputs, references = ([text[:LONGEST] for text in texts] for texts in (outputs, references))
    score = metric.corpus_score(outputs, [references]).score
    return {"score": score, "signature": str(metric.get_signature())}


def _code(language: str | None) -> str:
    """Return the language of a code such as "tok.zh_CN"."""
    code = (language or "").lower().rpartition(".")[2].replace("_", "-").partition("-")[0]
    return _THREE.get(code, code)
