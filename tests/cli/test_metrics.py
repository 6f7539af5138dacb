from saccade.cli.metrics import print_metrics


def test_groups_come_worst_first(capsys):
    print_metrics("test", {"exact_match": 0.5, "loss": 1.25}, {"exact_match": {"b": 1.0, "a": 1.0, "c": 0.0}})
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["exact match on test: 0.5000", "  0.0000  c", "  1.0000  a", "  1.0000  b", "loss on test: 1.2500"]


def test_scores_have_their_signature_and_lengths_their_order(capsys):
    scored = {"score": 38.519, "signature": "nrefs:1|tok:13a"}
    print_metrics("test", {"bleu": scored, "chrf": scored}, {"bleu": {"11-20": 1.0, "1-10": 2.0, "101-110": 0.5}})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "bleu on test: 38.52  (nrefs:1|tok:13a)"
    assert lines[1:4] == ["  2.00  1-10", "  1.00  11-20", "  0.50  101-110"]
    assert lines[4].startswith("chrf on test: 38.52")
