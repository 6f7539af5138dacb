import pytest

from saccade.tasks.translate.metrics import bleu, by_group, chrf, exact_match, length_groups, length_unit

OUTPUTS = ["The cat sat on the mat today.", "A dog runs over the green grass."]
REFERENCES = ["the cat sat on the mat today.", "A dog runs across the green grass."]


def test_exact_match_is_a_fraction():
    assert exact_match(["a", "b", "c", "d"], ["a", "B", "c", "d"]) == 0.75
    assert exact_match([], []) == 0.0
    with pytest.raises(ValueError, match="argument"):
        exact_match(["a"], [])


def test_groups_are_scored_alone_and_numbers_come_in_their_order():
    outputs, references = ["a", "b", "c", "d"], ["a", "B", "c", "d"]
    assert by_group(exact_match, outputs, references, ["y", "x", "y", "x"]) == {"x": 0.5, "y": 1.0}
    found = by_group(exact_match, outputs, references, ["101-110", "11-20", "1-10", "1-10"])
    assert list(found.items()) == [("1-10", 1.0), ("11-20", 0.0), ("101-110", 1.0)]


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


@pytest.mark.parametrize(
    ("language", "cut"), [("zh", "zh"), ("zh-TW", "zh"), ("ja", "char"), ("th", "char"), ("de", "13a"), (None, "13a")]
)
def test_languages_without_spaces_are_cut_otherwise(language, cut):
    assert f"|tok:{cut}|" in bleu(["猫がマットに座った"], ["猫はマットに座った"], language)["signature"]
    if cut != "13a":
        assert bleu(["猫がマットに座った"], ["猫はマットに座った"], language)["score"] > 30


def test_length_groups():
    assert length_groups(["", "a", "a " * 10, "a " * 11, "a " * 95]) == ["1-10", "1-10", "1-10", "11-20", "91-100"]
    assert length_groups(["日" * 6, "日" * 5], "characters", 5) == ["6-10", "1-5"]
    assert [length_unit(code) for code in ("ja", "ZH_cn", "de", None)] == ["characters"] * 2 + ["words"] * 2


@pytest.mark.parametrize("language", ["zh", "zh_CN", "zho", "cmn_Hans", "lc.tok.zh"])
def test_a_language_is_known_by_any_of_its_codes(language):
    assert length_unit(language) == "characters"
    assert "tok:zh" in bleu(["我 爱 你们"], ["我 爱 你们"], language)["signature"]
