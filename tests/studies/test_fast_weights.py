import pytest
import torch

from saccade.cli import main
from studies import fast_weights as study
from studies.fast_weights import (
    ATTENTION,
    DENSE,
    EXACT,
    FIXED,
    KEYS,
    LAYERS,
    LOCATION,
    SEPARABLE,
    STUDY,
    VALUES,
    Findings,
    Recaller,
    drawn,
    matrix,
    recalled,
)
from studies.fast_weights import PAIRS as ALL_PAIRS
from studies.frame.direct import Budget, size
from study_rows import complete, described, published, stored
from tiers import every

SPENT = {"steps": 9, "seconds": 1.5, "parameters": 1000}
PAIRS = (2, 8, 32)
RIGHT = {"attention": (1.0, 1.0, 0.99), DENSE: (0.6, 0.3, 0.1), SEPARABLE: (0.5, 0.2, 0.1)}


def made_up(right=RIGHT, varied=0.3, still=1e-31, distance=2e-15, seeds=3, layers=tuple(LAYERS)):
    """report.json of layers that answer shares of the questions; seeds differ by half a point."""
    rows = []
    for seed in range(1, seeds + 1):
        for name in layers:
            shares = zip(PAIRS, right.get(name, (0.9, 0.8, 0.7)), strict=True)
            pairs = {str(count): share - 0.005 * seed for count, share in shares}
            variation = still if name in (DENSE, SEPARABLE) else varied + 0.01 * seed
            row = {"model": name, "seed": seed, "pairs": pairs, "variation": variation, "distance": distance}
            rows.append({**row, **({"shown": 3 * [torch.eye(4).tolist()]} if seed == 1 else {}), **SPENT})
    runs = {
        str(place): {
            **{key: row[key] for key in ("model", "seed", *SPENT)},
            "budget": {"max_steps": 9, "max_minutes": 1},
        }
        for place, row in enumerate(rows)
    }
    where = {"hardware": {"device": "cpu"}, "versions": {"torch": "2"}}
    return {"report": "fast-weights", "command": "c", "arguments": {}, "runs": runs, "rows": rows, **where}


@pytest.fixture
def content():
    """A report whose claim holds."""
    return made_up()


@every(
    ("changed", "result"),
    [
        ({}, "reproduced"),
        ({"seeds": 1}, "not decided"),
        ({"distance": 2 * EXACT}, "contradicted"),
        ({"still": 2 * EXACT}, "contradicted"),
        ({"right": {**RIGHT, ATTENTION: (0.9, 0.7, 0.6)}}, "contradicted"),
        ({"right": {**RIGHT, SEPARABLE: (0.9, 0.8, 0.7)}}, "contradicted"),
        ({"right": {**RIGHT, DENSE: (0.9, 0.6, 0.505)}}, "not decided"),
        ({"layers": (ATTENTION, DENSE)}, "reproduced"),
    ],
)
def test_the_numbers_decide(changed, result):
    assert Findings(made_up(**changed)).verdict.result == result


def test_tables_have_a_row_a_layer(content):
    found = Findings(content)
    header, first, *_, guess = found.table()
    assert guess == ["a guess of the pairs' values", "53.1", "18.0", "9.2"]
    assert header == ["layer", "2 pairs", "8 pairs", "32 pairs"] and first[1] == "99.0 ± 1.2"
    matrices = {row[0]: row[2:] for row in found.matrices()}
    assert matrices[DENSE] == ["0, to 1e-31", "2e-15"] and matrices[ATTENTION] == ["0.320 ± 0.025", "2e-15"]
    assert found.layers == list(LAYERS)
    assert "attention answers more than 90% of 32 pairs: reproduced, 98.0" in found.verdict.reason
    assert "convolution, separable answers less than 50%: reproduced, 9.0 ± 1.2%" in found.verdict.reason


LENGTH, WIDTH, LONGEST = 5, 6, 7


def _places(mixing):
    """How strongly each position reads each other."""
    return mixing.square().sum((1, 3)).sqrt()


def made(name):
    torch.manual_seed(1)
    return LAYERS[name].make(WIDTH, LONGEST).double()


def input_of(seed):
    return torch.randn(LENGTH, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@every("name", LAYERS)
def test_a_layer_is_its_matrix_times_its_input(name):
    layer, features = made(name), input_of(2)
    found = torch.einsum("tdse,se->td", matrix(layer, features), features)
    assert float((found - layer(features[None])[0]).detach().abs().max()) < 1e-14


@every("name", LAYERS)
def test_a_convolution_has_one_matrix_for_all_inputs(name):
    layer = made(name)
    one, other = (matrix(layer, input_of(seed)) for seed in (2, 3))
    apart = float((one - other).abs().max())
    assert apart < 1e-14 if name in FIXED else apart > 1e-3


@pytest.mark.parametrize("name", FIXED)
def test_convolution_matrices_depend_on_distance_alone(name):
    layer = made(name)
    found = matrix(layer, input_of(2)).detach()
    jacobian = torch.autograd.functional.jacobian(lambda x: layer(x[None])[0], input_of(2))
    assert float((found - jacobian).abs().max()) < 1e-14
    for place in range(1, LENGTH):
        assert torch.allclose(found[place, :, place], found[0, :, 0], atol=1e-14)
    assert float(_places(found).triu(1).max()) < 1e-14


def test_by_location_weights_are_those_of_the_query_alone():
    layer, one, other = made(LOCATION), input_of(2), input_of(3)
    other[-1] = one[-1]
    weights = [_places(matrix(layer, features))[-1] for features in (one, other)]
    assert torch.allclose(*weights)


def test_separable_convolution_mixes_each_channel_by_itself():
    assert made(SEPARABLE).kernel.weight.shape == (WIDTH, 1, LONGEST)
    assert made(DENSE).kernel.weight.shape == (20, 20, LONGEST)


CPU = torch.device("cpu")


def test_all_networks_have_same_parameters_within_a_tenth():
    sizes = {name: size(Recaller(name, max(ALL_PAIRS))) for name in LAYERS}
    assert max(sizes.values()) <= 1.1 * min(sizes.values())


def test_the_query_is_a_key_and_its_target_the_value():
    keys, values, target = drawn(5, 50, 1, "test")
    for row in range(50):
        pairs = dict(zip(keys[row, :-1].tolist(), values[row, :-1].tolist(), strict=True))
        assert len(pairs) == 5 and pairs[int(keys[row, -1])] == target[row] and values[row, -1] == VALUES
    assert int(keys.min()) >= 0 and int(keys.max()) < KEYS and int(values[:, :-1].max()) < VALUES
    assert torch.equal(keys, drawn(5, 50, 1, "test")[0]) and not torch.equal(keys, drawn(5, 50, 2, "test")[0])


@every("name", LAYERS)
def test_every_layer_is_trained_and_measured(name):
    found = recalled(name, (2, 3), 1, Budget(2, 5.0), CPU)
    assert list(found["pairs"]) == ["2", "3"] and found["distance"] < 1e-12 and found["steps"] == 2
    assert (found["variation"] < 1e-12) is name.startswith("convolution") and found["variation"] <= 1
    assert torch.tensor(found["shown"]).shape == (3, 4, 4) and found["parameters"] > 10_000


def test_pictures_are_of_the_first_seed_alone():
    assert "shown" not in recalled(DENSE, (2,), 2, Budget(1, 5.0), CPU)


@pytest.mark.slow
def test_attention_recalls_what_a_convolution_does_not():
    attending, convolving = (
        recalled(name, (8,), 1, Budget(300, 5.0), CPU)["pairs"]["8"] for name in (ATTENTION, DENSE)
    )
    assert attending > 0.9 > 0.5 > convolving


def test_the_page_is_complete(content, tmp_path):
    words = ["1610.06258", "**reproduced**", "| convolution | learned, of each distance | 0, to 1e-31 | 2e-15 |"]
    words += ["| attention's varies | by 0.320 ± 0.025 | reproduced |", "| a guess of the pairs' values | 53.1 |"]
    complete(STUDY, content, tmp_path, words, "fast-weights", "fast-weights-matrices")
    assert "attention: 99 at 2, 99 at 8" in described(tmp_path / "fast-weights.svg")["desc"]
    matrices = described(tmp_path / "fast-weights-matrices.svg")["desc"]
    assert matrices.startswith("5 rows of 3: attention, fast weights") and matrices.endswith(
        "input 1, input 2, input 3"
    )


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Two steps of every training, with few pairs."""
    monkeypatch.setattr(study, "BUDGET", Budget(2, 1.0))
    monkeypatch.setattr(study, "QUICK", Budget(2, 1.0))
    monkeypatch.setattr(study, "PAIRS", (2, 3))
    monkeypatch.chdir(tmp_path)


def test_quick_makes_every_row_once_and_the_page(small, tmp_path, capsys):
    words = ["report", "fast-weights", "--quick", "--seeds", "2", "--threads", "1"]
    assert main(words) == 0
    folder = tmp_path / "reports/fast-weights-quick"
    assert [(row["model"], row["seed"]) for row in stored(folder)["rows"]] == [
        (name, seed) for seed in (1, 2) for name in (ATTENTION, DENSE)
    ]
    assert "every layer is a matrix, of its input, times it: reproduced" in capsys.readouterr().out
    for name in ("index.md", "index.html", "fast-weights.png", "fast-weights-matrices.svg"):
        assert (folder / name).stat().st_size > 500
    before = (folder / "report.json").read_bytes()
    assert main(words) == 0 and (folder / "report.json").read_bytes() == before
    assert "complete already" in capsys.readouterr().err


@pytest.mark.slow
def test_its_published_command_runs(small, tmp_path):
    assert main([*published("fast-weights"), "--seeds", "1", "--threads", "1"]) == 0
    assert [row["model"] for row in stored(tmp_path / "reports/fast-weights")["rows"]] == list(LAYERS)


def test_killed_between_rows_it_goes_on_where_it_was(small, tmp_path, monkeypatch):
    whole, made = study.recalled, []

    def killing(name, *others):
        if name == DENSE and not made.count(DENSE):
            made.append(DENSE)
            raise KeyboardInterrupt
        made.append(name)
        return whole(name, *others)

    monkeypatch.setattr(study, "recalled", killing)
    words = ["report", "fast-weights", "--quick", "--seeds", "1", "--threads", "1"]
    assert main(words) == 130 and len(stored(tmp_path / "reports/fast-weights-quick")["rows"]) == 1
    assert main(words) == 0 and made == [ATTENTION, DENSE, DENSE]


def test_quick_takes_no_budget(rejects):
    rejects("fast-weights --quick --max-steps 3", "--quick: expected no budget beside it")
