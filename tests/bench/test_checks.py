import pytest
import torch

from saccade.bench import _checks
from saccade.bench._checks import CAPTURED, COMPILED, captured, compiled, main

CPU = torch.device("cpu")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA graphs need a GPU")
@pytest.mark.parametrize("name", CAPTURED)
def test_a_cuda_graph_replays_a_call_on_other_numbers(name):
    assert captured(*CAPTURED[name](torch.device("cuda"))) < 1e-5


@pytest.mark.parametrize("name", CAPTURED)
def test_a_call_to_capture_runs_without_a_graph(name):
    call, tensor = CAPTURED[name](CPU)
    assert _checks._tensor(call(tensor)).shape == tensor.shape


@pytest.mark.slow  # three compilations
@pytest.mark.parametrize("name", COMPILED)
def test_a_call_compiles_without_a_break(name):
    assert compiled(*COMPILED[name](CPU)) < 1e-5


def test_random_calls_are_counted_and_failures_named(monkeypatch, capsys):
    assert main("random", "cpu", "1", "2", "8") == 0
    assert capsys.readouterr().out == "random calls 1, 3, ...: 4 agree, 0 do not\n"
    monkeypatch.setattr(
        _checks, "distance", lambda number, device: 0.5 if number == 3 else torch.ones(3) @ torch.ones(2)
    )
    assert main("random", "cpu", "1", "2", "1000") == 1
    first, second, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith("failed: random call 1: RuntimeError: ")
    assert second == "failed: random call 3: its numbers differ by 5.0e-01"
    assert last == "random calls 1, 3, ...: 0 agree, 10 do not"


@pytest.mark.parametrize(("agree", "code"), [(True, 130), (False, 1)])
def test_ctrl_c_ends_checks_with_their_count(agree, code, monkeypatch, capsys):
    def distance(number, device):
        if number:
            raise KeyboardInterrupt
        return 0.0 if agree else 1.0

    monkeypatch.setattr(_checks, "distance", distance)
    assert main("random", "cpu", "0", "1") == code
    assert capsys.readouterr().out.splitlines()[-1] == f"random calls 0, 1, ...: {agree:d} agree, {not agree:d} do not"


def test_graphs_are_not_checked_on_a_cpu(monkeypatch, capsys):
    monkeypatch.setattr(_checks, "compiled", lambda call, tensor: float("nan"))
    assert main("graphs", "cpu") == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "not checked: nn.MultiheadAttention in a CUDA graph, which needs a GPU"
    assert lines[-1] == "failed: attend, additive with lengths, compiled without a break: its numbers differ by nan"
