import pytest

from saccade.cli.metrics import meaning, print_metrics


def test_groups_come_worst_first(capsys):
    print_metrics("test", {"exact_match": 0.5, "loss": 1.25}, {"exact_match": {"b": 1.0, "a": 1.0, "c": 0.0}})
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "exact match on test: 0.5000  (share of answers that equal the target, 0 to 1; by group:)",
        *("  0.0000  c", "  1.0000  a", "  1.0000  b", "loss on test: 1.2500"),
    ]


def test_scores_have_their_signature_and_lengths_their_order(capsys):
    scored = {"score": 38.519, "signature": "nrefs:1|tok:13a"}
    print_metrics("test", {"bleu": scored, "chrf": scored}, {"bleu": {"11-20": 1.0, "1-10": 2.0, "101-110": 0.5}})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        "bleu on test: 38.52  (BLEU: overlap with the references, 0 to 100; nrefs:1|tok:13a; by group:)"
    )
    assert lines[1:4] == ["  2.00  1-10", "  1.00  11-20", "  0.50  101-110"]
    assert lines[4].startswith("chrf on test: 38.52")


def test_an_explanation_is_left_out_where_it_was_given(capsys):
    print_metrics("validation", {"wer": 0.5, "bleu": {"score": 1.0, "signature": "nrefs:1"}}, {}, explain=False)
    assert capsys.readouterr().out == "wer on validation: 0.5000\nbleu on validation: 1.00  (nrefs:1)\n"


@pytest.mark.parametrize(
    ("name", "words"), [("error_of_10", "10 sampled paths"), ("r2", "R²"), ("bleu1", "up to 1 words"), ("other", "")]
)
def test_numbers_of_a_name_are_those_of_its_explanation(name, words):
    assert words in meaning(name) and bool(meaning(name)) == bool(words)
