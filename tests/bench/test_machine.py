import torch

from saccade.bench import machine

CPU = torch.device("cpu")


def test_a_rate_is_an_amount_over_the_shortest_time(monkeypatch):
    monkeypatch.setattr(machine, "_fastest", lambda run, device, seconds: run() or 0.5)
    found = machine.look_at(CPU, {"multiply": machine.Probe(lambda: None, 4.0)})
    assert found.rates == {"multiply": 8.0}
    assert found.versions["torch"] == torch.__version__
    assert found.hardware["threads"] == torch.get_num_threads()


def test_the_probes_do_what_they_say():
    known = machine.probes(CPU)
    assert known["multiply"].amount == 2 * 1024**3
    assert known["multiply"].run().shape == (1024, 1024)
    assert known["copy"].amount == 2 * known["copy"].run().nbytes


def test_the_fastest_of_many_tries_counts():
    assert 0 < machine._fastest(lambda: None, CPU, 0.0) < 1
