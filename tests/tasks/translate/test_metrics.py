import pytest

from saccade.tasks.translate.metrics import (
    bleu,
    chrf,
    exact_match,
    length,
    length_groups,
    length_unit,
    measured,
)
from tiers import every

OUTPUTS = ["The cat sat on the mat today.", "A dog runs over the green grass."]
REFERENCES = ["the cat sat on the mat today.", "A dog runs across the green grass."]


def test_exact_match_is_a_fraction():
    assert exact_match(["a", "b", "c", "d"], ["a", "B", "c", "d"]) == 0.75
    assert exact_match([], []) == 0.0
    with pytest.raises(ValueError, match="argument"):
        exact_match(["a"], [])


def test_bleu_is_sacrebleus_own_with_its_signature():
    sacrebleu = pytest.importorskip("sacrebleu")
    mixed, lower = bleu(OUTPUTS, REFERENCES, "en"), bleu(OUTPUTS, REFERENCES, "en", lowercase=True)
    assert mixed["score"] == sacrebleu.corpus_bleu(OUTPUTS, [REFERENCES]).score
    assert lower["score"] == sacrebleu.corpus_bleu(OUTPUTS, [REFERENCES], lowercase=True).score > mixed["score"]
    assert "case:mixed|eff:no|tok:13a|smooth:exp" in mixed["signature"] and "case:lc" in lower["signature"]


def test_chrf_is_sacrebleus_own_with_its_signature():
    sacrebleu = pytest.importorskip("sacrebleu")
    found = chrf(OUTPUTS, REFERENCES)
    assert found["score"] == sacrebleu.corpus_chrf(OUTPUTS, [REFERENCES]).score
    assert "nc:6|nw:0" in found["signature"]


@every(
    ("language", "cut"),
    [
        *((code, "zh") for code in ("zh", "zh-TW", "zh_CN", "zho", "cmn_Hans", "lc.tok.zh")),
        *(("ja", "char"), ("th", "char"), ("de", "13a"), (None, "13a")),
    ],
)
def test_languages_without_spaces_are_cut_otherwise(language, cut):
    metric = bleu(["猫がマットに座った"], ["猫はマットに座った"], language)
    assert f"|tok:{cut}|" in metric["signature"] and (metric["score"] > 30) == (cut != "13a")
    assert length_unit(language) == ("words" if cut == "13a" else "characters")


def test_length_groups():
    assert length_groups(["", "a", "a " * 10, "a " * 11, "a " * 95]) == ["1-10", "1-10", "1-10", "11-20", "91-100"]
    assert length_groups(["日" * 6, "日" * 5], "characters", 5) == ["6-10", "1-5"]


def test_all_that_is_measured_of_files_and_of_dates():
    groups = length_groups(OUTPUTS)
    metrics, parts = measured(OUTPUTS, REFERENCES, groups, "folder", "en")
    assert list(metrics) == ["bleu", "bleu_lowercase", "chrf"]
    assert parts == {"bleu": {"1-10": pytest.approx(metrics["bleu"]["score"])}}
    metrics, parts = measured(["a", "b"], ["a", "c"], ["French", "German"], "dates", None)
    assert metrics == {"exact_match": 0.5} and parts == {"exact_match": {"French": 1.0, "German": 0.0}}


def test_texts_that_are_tokenized_are_measured_without_word(caplog):
    texts = [f"a sentence number {number} ." for number in range(200)]
    assert bleu(texts, texts)["score"] == pytest.approx(100)
    assert not caplog.records


def test_texts_are_compared_up_to_65536_characters():
    text = "the cat sat on the mat " * 2850
    assert len(text) > 65536 and bleu([text], [text + "a dog " * 1000])["score"] == pytest.approx(100)
    assert length("w " * 40000, "words") == 32768 and length("w" * 70000, "characters") == 65536
