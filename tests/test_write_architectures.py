"""The table of docs/architectures.md is the stored one, and its verdicts are those of the models."""

import json

import pytest
import torch

from scripts import script

tool = script("tools/write_architectures.py")
CONTENT = json.loads(tool.RESULTS.read_text(encoding="utf-8"))
ROWS = {row["name"]: row for row in CONTENT["rows"]}
NOISE = {"output": 1e-7, "weights": 1e-7}
RIGHT = {
    "implementation": "saccade",
    "equal": True,
    "output": 1e-7,
    "weights": 1e-7,
    "records": 2,
    "compared": 2,
    "recorded": 2,
    "partial": 0,
    "bypassing": 0,
}


def test_the_page_is_up_to_date():
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), "run python tools/write_architectures.py --page"


def test_each_architecture_has_one_row():
    names = [case.name for case in tool.cases()]
    assert list(ROWS) == names and len(set(names)) == len(names) > 150
    assert {row["kind"] for row in ROWS.values()} == {case.kind for case in tool.cases()}


@pytest.mark.parametrize("mode", tool.WAYS)
def test_stored_verdicts_follow_from_the_stored_errors(mode):
    for row in ROWS.values():
        assert tool.verdict(row[mode], row["rounding"]) == row[mode]["verdict"], row["name"]
        assert row[mode]["verdict"] == "works" or tool.reason(row[mode]), row["name"]


@pytest.mark.parametrize(
    ("verdict", "changed"),
    [
        ("works", {}),
        ("fails", {"error": "KeyError: 'x'"}),
        ("wrong", {"output": 1e-3}),
        ("wrong", {"output": float("nan")}),
        ("wrong", {"weights": 1e-3}),
        ("wrong", {"implementation": "sdpa", "equal": False}),
        ("differs", {"implementation": "sdpa", "output": 1e-3, "weights": 1e-3}),
        ("bypasses", {"records": 0, "recorded": 0, "bypassing": 2, "weights": None}),
        ("partial", {"bypassing": 1}),
        ("partial", {"partial": 1}),
        ("partial", {"weights": None}),
    ],
)
def test_verdicts(verdict, changed):
    assert tool.verdict({**RIGHT, **changed}, NOISE) == verdict


def test_an_error_counts_from_four_times_that_of_rounding():
    way = {**RIGHT, "output": 1e-4, "weights": 1e-4}
    assert [tool.verdict(way, {"output": noise, "weights": noise}) for noise in (2e-5, 3e-5)] == ["wrong", "works"]


@pytest.fixture
def hf():
    pytest.importorskip("transformers", reason="transformers is not installed")
    return pytest.importorskip("saccade.hf")


def attempted(name):
    return tool.attempt(next(case for case in tool.cases() if case.name == name))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("wrong", [{"scaling": 1.0}, {"attention_mask": None, "is_causal": True}])
def test_a_wrong_implementation_is_noticed(hf, monkeypatch, wrong):
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    def attention(module, query, key, value, attention_mask, **options):
        return hf.attention(module, query, key, value, **{"attention_mask": attention_mask, **options, **wrong})

    monkeypatch.setitem(ALL_ATTENTION_FUNCTIONS._global_mapping, "saccade", attention)
    row = attempted("bert")
    assert [row[mode]["verdict"] for mode in tool.WAYS] == ["works", "wrong"]


def test_weights_of_empty_rows_are_not_compared():
    weights, reference = torch.zeros(1, 2, 2, 2), torch.full((1, 2, 2, 2), 0.5)
    assert tool.error_of_weights(weights, reference) == 0
    weights[..., 1, 0] = 1.0
    assert tool.error_of_weights(weights, reference) == 0.5
    reference[..., 0, :] = torch.tensor([1.0, 0.0])  # this row is not empty
    assert tool.error_of_weights(torch.zeros(1, 2, 2, 2), reference) == 1.0


def test_nan_is_the_largest_error():
    assert torch.tensor(tool.largest([1.0, float("nan"), 2.0])).isnan() and tool.largest([]) is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["llama", "falcon", "deepseek_v32", "longt5", "gemma3", "whisper", "aimv2"])
def test_verdicts_are_those_of_the_models(hf, name):
    import transformers

    measured = CONTENT["versions"]["transformers"]
    if transformers.__version__ != measured:
        pytest.skip(f"the table is of transformers {measured}, installed is {transformers.__version__}")
    row = attempted(name)
    for mode in tool.WAYS:
        assert (row[mode]["verdict"], tool.reason(row[mode])) == (
            ROWS[name][mode]["verdict"],
            tool.reason(ROWS[name][mode]),
        )
