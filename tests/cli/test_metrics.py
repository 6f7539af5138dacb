from saccade.cli.metrics import print_metrics


def test_groups_come_worst_first(capsys):
    print_metrics("test", {"exact_match": 0.5, "loss": 1.25}, {"exact_match": {"b": 1.0, "a": 1.0, "c": 0.0}})
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["exact match on test: 0.5000", "  0.0000  c", "  1.0000  a", "  1.0000  b", "loss on test: 1.2500"]
