"""The rows: those that the targets name are there, and both sides of each compute the same."""

import gc
import importlib.util
import os
import re
import sys
from types import SimpleNamespace

import pytest
import torch

from bench.fake import SETUP
from saccade import attend
from saccade._definitions.structure import Grid
from saccade.bench import Result, Setup, rows, select
from saccade.bench._rows import commands, host, looking, masks, networks, random_calls, weights
from saccade.bench.measure import measure_row
from saccade.bench.peak import growth
from saccade.bench.row import Absent, run_python
from saccade.errors import ArgumentError, UnsupportedBackend
from saccade.masks import Causal, Window
from saccade.normalizers import Entmax, Sparsemax
from tiers import every

ROWS = rows(SETUP)
TARGETS = {
    "dot, 16 ragged sequences forward 4352x8x64 a padded batch and its lengths": ["≥ 1.5x"],
    "dot, 16 ragged sequences forward+backward 4352x8x64 a padded batch and its lengths": ["≥ 1.5x"],
    "dot, 16 ragged sequences forward 4352x8x64 torch, nested tensors": ["≥ 2x"],
    "additive forward 8x256x256 eager": ["≥ 30x", "≥ 5 G terms/s a thread"],
    "additive forward 8x256x256 torch.compile": ["≥ 10x", "≥ 5 G terms/s a thread"],
    "additive forward+backward 8x256x256 eager": ["≥ 25x"],
    "additive decoder step 64x32x512 eager": ["≥ 25x"],
    **{
        f"additive decoder step {batch}x{length}x512 a plain sum of the same bytes": ["≥ 60% of its speed"]
        for batch in (8, 16, 32, 64)
        for length in (32, 128, 512)
    },
    "additive memory of training 16384x16384x32 eager": ["< 400 MiB"],
    "bandwidth by leave-one-out 1000 statsmodels cv_ls": ["≥ 10x"],
    **{
        f"{name} {step} {shape} entmax.{peer}": [target]
        for name, peer in (("sparsemax", "sparsemax"), ("entmax 1.5", "entmax15"), ("entmax 1.5", "entmax_bisect"))
        for step in ("forward", "forward+backward")
        for shape, target in (("64x1024", "≥ 10x"), ("32x1x30", "≤ 1.2x the time"))
    },
    **{
        f"{name}, {score} without": ["≤ 1.5x the time"]
        for name in ("lse", "entropy", "top 4", "received")
        for score in ("additive 8x256x256", "cosine 1x4x1024x64", "dot 1x4x1024x64")
    },
    **{
        f"top 4, dot {shape} without": ["≤ 1.5x the time"]
        for shape in ("8x8x512x64", "32x8x128x64", "1x8x2048x64", "4x8x64x64")
    },
    **{
        f"sample, {score} soft": ["≤ 1.3x the time"]
        for score in ("additive 8x256x256", "cosine 1x4x1024x64", "dot 1x4x1024x64")
    },
    **{
        f"{name}, 10 steps forward+backward {shape} {peer}": [target]
        for name, shape, peer, target in (
            ("NTM", "16x128x20", "pytorch-ntm's formulas", "≥ 3x"),
            ("NTM", "16x128x20", "plain formulas", "≥ 3x"),
            ("DNC", "32x64x32", "plain formulas", "≥ 2x"),
        )
    },
    **{
        f"{name} {step} 1x8x8192x64 {peer}": [target]
        for name, peer, targets in (
            ("dot, window 128", "torch, the mask laid out", ("≥ 15x", "≥ 10x")),
            ("dot, window 512 + 512", "torch, the mask laid out", ("≥ 4x", "≥ 3x")),
            ("dot, 16 documents", "torch, a batch of 16", ("≤ 1.2x the time",) * 2),
            ("additive, window 128", "without a mask", ("≥ 25x", "≥ 20x")),
            ("additive, causal", "without a mask", ("≥ 1.7x", "≥ 1.7x")),
        )
        for step, target in zip(("forward", "forward+backward"), targets, strict=True)
    },
    "dot, window 256, memory of training 1x1x1048576x64 torch, the mask laid out": ["< 3072 MiB"],
    **{
        f"dot, window 128, growth {step} 1x8x131072x64 8 calls of 16384": ["≤ 1.1x the time"]
        for step in ("forward", "forward+backward")
    },
    **{
        f"{score}, {kind} 1x100000x256 of 1000 keys": ["≤ 1.5x the time"]
        for score in ("dot", "additive")
        for kind in ("decoder step, 129 keys around", "streamed step, 256 keys kept")
    },
    **{f"mixture, no noise forward+backward {n} experts 4 experts": ["≤ 1.3x the time"] for n in (16, 64, 256)},
    "mixture, noise and losses forward+backward 256 experts 4 experts": ["≤ 1.3x the time"],
    **{
        f"host time, {name} {step} 2x4x16x32 torch, its whole call": [target]
        for name in ("dot with entropy, lse, top 4", "additive with lengths", "sparsemax")
        for step, target in (("forward", "≤ 120 µs"), ("backward", "≤ 200 µs"))
    },
    **{
        f"GPT-2 {name} {length} tokens {peer}": [target]
        for name, peer, target, lengths in (
            ("by saccade.hf", "sdpa", "≤ 1.05x the time", (512, 1024, 2048)),
            ("observed", "sdpa", "≤ 1.3x the time", (512, 1024, 2048)),
            ("served", "sdpa", "≤ 1.2x the time", (2048,)),
            ("observed, memory with the model", "sdpa", "≤ 1.1x the memory", (512, 1024, 2048)),
            ("weights", "attnread", "≥ 20x", (512, 1024)),
        )
        for length in lengths
    },
    "training step, monitor with a reading 16x64x256 without a monitor": ["≤ 2% of 500 steps"],
    "training step, monitor without a reading 16x64x256 without a monitor": ["≤ 1.02x the time"],
    "start of predict translate import torch": ["≤ 1.2 s more"],
    "start of a training of 4 steps translate import lightning": ["≤ 4 s more"],
}


GPU_ROWS = rows(Setup(torch.device("cuda"), "auto", 2))
_TYPED = {
    "dot, window 128 forward 1x8x8192x64 torch, the mask laid out": ["≥ 15x"],
    "dot, window 128 forward+backward 1x8x8192x64 torch, the mask laid out": ["≥ 10x"],
    "dot, window 128 forward 1x8x8192x64 flex_attention": ["≥ 0.9x"],
    "dot, window 128 forward+backward 1x8x8192x64 flex_attention": ["≥ 0.9x"],
    "dot, 16 documents forward 1x8x8192x64 torch, a batch of 16": ["≤ 1.3x the time"],
    "additive, window 128 forward 1x8x8192x64 without a mask": ["≥ 15x"],
    "additive, window 128 forward+backward 1x8x8192x64 without a mask": ["≥ 10x"],
    **{f"{name}, dot 1x8x8192x64 torch": ["≤ 1.3x the time"] for name in ("lse", "entropy", "top 4", "sample")},
    "received, dot 1x8x8192x64 torch": ["≤ 2x the time"],
    "received, dot 1x8x8192x64 flash-colreduce": ["≥ 0.9x"],
    "entmax 1.5 attention, causal forward 1x8x8192x64 adasplash": ["≥ 0.8x"],
    "entmax 1.5 attention, causal forward+backward 1x8x8192x64 eager": ["≥ 10x"],
    "nn.MultiheadAttention forward+backward 8x512x512 torch's module": ["≥ 1x"],
}
GPU_TARGETS = {
    **_TYPED,
    **{re.sub(r"( \d+x\S+ )", r", bfloat16\1", name, count=1): texts for name, texts in _TYPED.items()},
    "additive forward 8x32x256 eager": ["≥ 1x"],
    "additive forward 8x256x256 eager": ["≥ 5x"],
    "additive forward+backward 8x256x256 eager": ["≥ 5x"],
    "additive forward 1x4096x256 eager": ["≥ 25x", "≥ 0.6x the limit"],
    "sparsemax forward 64x4096 entmax.sparsemax": ["≥ 5x"],
    "entmax 1.5 forward+backward 64x4096 entmax.entmax15": ["≥ 5x"],
    "dot, window 128, growth forward 1x8x131072x64 8 calls of 16384": ["≤ 1.1x the time"],
    "additive memory of training 16384x16384x32 eager": ["≤ 1.2x of inputs, outputs, gradients"],
    "entmax 1.5 memory of training 16384x16384x32 eager": ["≤ 1.2x of inputs, outputs, gradients"],
}


def needing(package, way_out="pip install -e '.[bench]'"):
    absent = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(absent, reason=f"{package} is not installed: {way_out}")


def test_names_are_unique():
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_every_target_has_its_row():
    found = {row.name: [target.text for target in row.targets] for row in ROWS if row.targets}
    assert TARGETS.items() <= found.items()
    others = {name: texts for name, texts in found.items() if name not in TARGETS}
    half = {name: texts for name, texts in others.items() if "float16" in name}
    assert len(half) == 26 and all(texts == ["≤ 1.3x the time"] for texts in half.values())
    ideal = {name: texts for name, texts in others.items() if ", ideal " in name}
    assert len(ideal) == 42
    for name, texts in ideal.items():  # twice what 129 keys a query, half of all, 512 of them cost of 4,096
        of_mask = {"window": "≥ 15.9x", "causal": "≥ 1x", "8 docum": "≥ 4x"}
        assert texts == [next(text for mask, text in of_mask.items() if f", {mask}" in name)]
    small = {name: texts for name, texts in others.items() if name.startswith("additive small ")}
    assert len(small) == 10 and all(texts == ["≥ 60% of its speed"] for texts in small.values())
    dots = {name: texts for name, texts in others.items() if name not in half | ideal | small}
    assert all(name.startswith(("dot ", "dot, causal ")) for name in dots)
    assert all(texts == ["≤ 5% or 25 µs behind"] for texts in dots.values())


def test_on_a_gpu_the_targets_are_a_gpus():
    targets = {row.name: [target.text for target in row.targets] for row in GPU_ROWS}
    assert GPU_TARGETS.items() <= targets.items()
    assert targets["lse, dot 1x4x1024x64 without"] == ["≤ 1.3x the time"]
    assert targets["received, dot 1x4x1024x64 without"] == ["≤ 2.2x the time"]


def test_names_on_a_gpu_are_unique():
    assert len({row.name for row in GPU_ROWS}) == len(GPU_ROWS)


def test_small_additive_calls_stand_beside_a_large_one():
    found = [row for row in ROWS if row.name.startswith("additive small ")]
    assert {row.peer for row in found} == {"ours at 8x256x256x256"} and min(row.size for row in found) > 1e6


def test_a_step_stands_beside_a_sum_of_as_many_numbers():
    [row] = select(ROWS, "decoder step 8x32x512 a plain sum")
    inputs = row.inputs(SETUP)
    assert row.ours(*inputs)().shape == (8, 1, 512)
    assert row.theirs(*inputs)().shape == () and row.work.amount == 4 * 2 * inputs[1].numel()


def test_additive_sizes_go_from_32_to_4096():
    for family in ("additive forward", "additive forward+backward", "additive decoder step"):
        sizes = [row.size for row in ROWS if row.family == family and row.size > 1]
        assert (min(sizes), max(sizes)) == (32, 4096)


def test_short_list_is_part_of_whole_and_has_every_subject():
    quick = select(ROWS, quick=True)
    assert len(quick) < len(ROWS) / 3
    assert {row.subject for row in quick} == {row.subject for row in ROWS}
    assert max(row.size for row in quick if row.subject == "additive" and not row.memory) == 256


def test_a_pattern_is_a_part_of_a_name_in_any_case():
    assert {row.family for row in select(ROWS, "DOT CAUSAL")} == {"dot causal"}
    assert {row.peer for row in select(ROWS, "additive forward*eager")} == {"eager"}
    families = "additive forward, .*, sample, dot, lazy .*, NTM, .*, mixture, .*"
    with pytest.raises(ArgumentError, match=f"got nothing; rows: {families}"):
        select(ROWS, "nothing")
    with pytest.raises(ArgumentError, match="got cosine; rows of the short list: "):
        select(ROWS, "cosine", quick=True)


SMALL = [
    row
    for row in ROWS
    if (row.subject == "dot" and row.size == 4)
    or (row.family.startswith("additive") and row.size == 32 and row.same and row.peer != "torch.compile")
]


@every("row", SMALL)
def test_both_sides_compute_the_same(row):
    found = measure_row(row, SETUP, seconds=0.0, least=1)
    assert found.absent is None
    assert found.difference < 1e-4
    assert found.ratio > 0


@pytest.mark.parametrize("pattern", ["bfloat16 forward, additive", "*float16 forward+backward, dot, window"])
def test_half_types_stand_beside_float32(pattern):
    row, *_ = select(ROWS, pattern)
    found = measure_row(row, SETUP, seconds=0.0, least=1)
    assert (found.absent, found.difference, row.peer) == (None, None, "float32")
    query, *_ = row.inputs(SETUP)
    assert row.ours(*row.inputs(SETUP))() is not None and query.dtype == torch.float32


@pytest.mark.parametrize("pattern", ["lse, dot", "sample, dot"])
def test_statistics_and_draws_stand_beside_the_plain_call(pattern):
    (row,) = select(ROWS, pattern)
    found = measure_row(row, SETUP, seconds=0.0, least=1)
    assert found.absent is None
    assert (found.difference is None) is (row.peer == "soft")


@pytest.mark.parametrize("pattern", ["lazy values forward 1 of", "lazy values forward+backward 8 of"])
def test_lazy_values_give_the_output_of_all_values(pattern):
    (row,) = select(ROWS, pattern)
    found = measure_row(row, SETUP, seconds=0.0, least=1)
    assert found.absent is None
    assert found.difference < 1e-4


@pytest.mark.parametrize("row", select(ROWS, "*10 steps*"), ids=lambda row: row.name)
def test_memories_are_the_same_by_all_formulas(row):
    found = measure_row(row, SETUP, seconds=0.0, least=1)
    assert found.absent is None
    assert found.difference < 1e-3
    assert not [target for row in select(rows(Setup(torch.device("cuda"))), "*10 steps*") for target in row.targets]


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed: pip install triton")
@pytest.mark.parametrize("row", host.rows(SETUP), ids=lambda row: row.name)
def test_host_rows_launch_nothing_on_a_cpu(row, monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "0")  # a launch would need a GPU
    result = measure_row(row, SETUP, seconds=0.0, least=1)
    assert result.absent is None and result.ours > 0
    query, key, value, _ = row.inputs(SETUP)
    with pytest.raises(UnsupportedBackend, match="the tensors are on cpu"):
        attend(query, key, value, backend="triton")


@pytest.fixture
def tiny_gpt2(monkeypatch):
    pytest.importorskip("transformers", reason="transformers is not installed: pip install -e '.[hf]'")
    sizes = {"n_positions": 32, "n_layer": 2, "n_head": 2, "n_embd": 16, "vocab_size": 50257}
    monkeypatch.setattr(looking, "_CONFIG", sizes)
    monkeypatch.setattr(looking, "_LENGTHS", (8, 16, 32))


@pytest.mark.slow  # imports transformers, and runs two processes
def test_a_recorded_gpt2_computes_the_same_and_its_memory_is_measured(tiny_gpt2):
    listed = [row for row in looking.rows(SETUP) if row.peer == "sdpa"]
    timed = [row for row in listed if not row.memory]
    assert len(timed) == 9 and len(listed) == 12
    for row in timed:
        result = measure_row(row, SETUP, seconds=0.0, least=1)
        assert result.absent is None and result.difference < 1e-5
    row = next(row for row in listed if row.memory)
    assert growth(row.ours(*row.inputs(SETUP)), SETUP.device) >= 0  # a row of a process of its own has the real sizes


@pytest.mark.slow
@needing("attnread", "pip install --no-deps attnread nnsight")
def test_attnread_finds_the_same_weights(tiny_gpt2):
    for row in select(looking.rows(SETUP), "attnread"):
        result = measure_row(row, SETUP, seconds=0.0, least=1)
        assert result.absent is None and result.difference < 1e-5


def test_rows_of_gpt2_without_transformers_name_it_as_absent(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    (row,) = select(ROWS, "GPT-2 observed 512 tokens sdpa")
    reason = "ours: import of transformers halted; None in sys.modules; pip install 'saccade-attention[hf]' brings it"
    assert measure_row(row, SETUP, seconds=0.0, least=1).absent == reason


def test_a_monitored_step_is_the_step_without_one(monkeypatch):
    for name, value in (("_BATCH", 2), ("_TOKENS", 5), ("_DIM", 8)):
        monkeypatch.setattr(looking, name, value)
    for row in select(looking.rows(SETUP), "training step"):
        result = measure_row(row, SETUP, seconds=0.0, least=1)
        assert result.absent is None and result.difference == 0.0
    reading, other = select(ROWS, "training step, monitor")
    assert [Result(reading, 1.0, ratio=ratio).met for ratio in (1 / 10.9, 1 / 11.1)] == [True, False]
    assert [Result(other, 1.0, ratio=ratio).met for ratio in (1 / 1.019, 1 / 1.021)] == [True, False]


def test_lazy_rows_go_by_the_number_of_values_read():
    family = [row for row in ROWS if row.family == "lazy values forward"]
    assert [row.size for row in family] == [1, 8, 32, 1024]
    assert [row.work.amount / family[0].work.amount for row in family] == [1, 8, 32, 1024]


def test_more_experts_do_the_same_work(monkeypatch):
    """Both sides make as many products of pairs, and what is given back is the gradient of all that learns."""
    monkeypatch.setattr(networks, "_TOKENS", 24)
    monkeypatch.setattr(networks, "_HIDDEN", 8)
    family = [row for row in networks.experts(SETUP) if row.family == "mixture, no noise forward+backward"]
    assert [row.size for row in family] == [16, 64, 256] and len({row.work.amount for row in family}) == 1
    assert measure_row(family[0], SETUP, seconds=0.0, least=1).absent is None
    noisy = networks.experts(SETUP)[-1]
    grads = noisy.ours(*noisy.inputs(SETUP))()
    assert [tuple(one.shape) for one in grads] == [(24, 128), (256, 128), (256, 128), (256, 128, 8), (256, 8, 128)]


@needing("x_transformers")
@every("row", select(ROWS, "dot * 2x4x128x32 x-transformers"))
def test_x_transformers_computes_the_same(row):
    found = measure_row(row, SETUP, seconds=0.0, least=1)
    assert found.absent is None


@pytest.mark.parametrize("row", select(ROWS, " 32x1x30 entmax."), ids=lambda row: row.name)
def test_a_normalizer_of_scores_is_used_beside_peers(row, monkeypatch):
    own, called = {kind: kind.__call__ for kind in (Sparsemax, Entmax)}, []

    def seen(normalizer, scores, mask):
        called.append(type(normalizer))
        return own[type(normalizer)](normalizer, scores, mask)

    theirs = SimpleNamespace(
        sparsemax=lambda scores: Sparsemax().formula(scores, None),
        entmax15=lambda scores: Entmax(1.5).formula(scores, None),
        entmax_bisect=lambda scores, alpha: Entmax(alpha).formula(scores, None),
    )
    for kind in own:
        monkeypatch.setattr(kind, "__call__", seen)
    monkeypatch.setitem(sys.modules, "entmax", theirs)
    found = measure_row(row, SETUP, seconds=0.0, least=1)
    assert set(called) == {Sparsemax if row.name.startswith("sparsemax") else Entmax}
    assert found.absent is None
    assert found.difference < 1e-5


@needing("entmax")
@every("row", select(ROWS, "attention*entmax."))
def test_the_entmax_package_computes_the_same(row):
    found = measure_row(row, SETUP, seconds=0.0, least=1)
    assert found.absent is None


@pytest.mark.parametrize("row", select(ROWS, "attention forward*entmax."), ids=lambda row: row.name)
def test_without_the_entmax_package_it_is_named_as_absent(row, monkeypatch):
    monkeypatch.setitem(sys.modules, "entmax", None)
    found = measure_row(row, SETUP, seconds=0.0, least=1)
    assert found.absent.startswith(f"{row.peer}: import of entmax halted")
    assert found.ours > 0


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["additive forward 8x32x256 torch.compile", "dot causal 2x4x128x32 flex"])
def test_compiled_peers_compute_the_same_or_say_why_not(pattern):
    (row,) = select(ROWS, pattern)
    found = measure_row(row, SETUP, seconds=0.0, least=1)
    assert found.absent is None or found.absent.startswith(f"{row.peer}: ")


@needing("statsmodels")
def test_statsmodels_finds_the_same_bandwidth():
    (row,) = select(ROWS, "bandwidth by leave-one-out 100 ")
    found = measure_row(row, SETUP, seconds=0.0, least=1)
    assert found.absent is None
    assert found.difference < 0.01


def test_without_statsmodels_it_is_named_as_absent(monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels.nonparametric.kernel_regression", None)
    (row,) = select(ROWS, "bandwidth by leave-one-out 100 ")
    found = measure_row(row, SETUP, seconds=0.0, least=1)
    assert found.absent.startswith("statsmodels cv_ls: ")
    assert found.ours > 0


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_both_sides_of_a_mask_agree(monkeypatch):
    for name, value in (("_DOCUMENT", 16), ("_SHORT", 128), ("_LENGTH", 256), ("_LONG", 512)):
        monkeypatch.setattr(masks, name, value)
    found = [row for row in masks.rows(SETUP) if row.same]
    others = ["torch, the mask laid out"] * 2 + ["torch", "torch, a batch of 16"] + ["backend chunked"] * 7
    ragged = ["a padded batch and its lengths"] * 2 + ["torch, nested tensors"]
    assert [row.peer for row in found] == others * 2 + ragged
    for row in found:
        measured = measure_row(row, SETUP, seconds=0.0, least=1)
        assert measured.absent is None and measured.difference < 1e-4
    assert {row.shape for row in masks.rows(SETUP) if "ideal" in row.family} == {"1x8x128x64"}


def test_rows_of_a_gpu_agree_where_a_cpu_can_tell():
    rows = [row for row in masks._gpu(SETUP) if row.size == 512 and "chunked" in row.family]
    assert len(rows) == 6
    for row in rows:
        assert measure_row(row, SETUP, seconds=0.0, least=1).difference < 1e-4


def test_long_rows_of_a_gpu_agree_where_a_cpu_can_tell(monkeypatch):
    for module, name, value in (
        *((masks, name, 64) for name in ("_DOCUMENT", "_SHORT", "_LENGTH", "_LONG")),
        (weights, "_LENGTH", 64),
        *((networks, name, 16) for name in ("_TOKENS_EACH", "_EMBEDDING")),
    ):
        monkeypatch.setattr(module, name, value)
    short = [row for row in rows(Setup(torch.device("cuda"))) if row.half or "bfloat16" in row.family]
    for row in short:
        result = measure_row(row, SETUP, seconds=0.0, least=1) if row.peer != "flex_attention" else Result(row, 1.0)
        assert result.ours > 0, result.absent
        peers = ("adasplash", "flash-colreduce", "flex_attention")
        assert result.absent is None or (row.peer in peers and result.absent.startswith(f"{row.peer}: "))
    assert len(short) == 38
    dtypes = {tensor.dtype for row in short if "bfloat16" in row.family for tensor in row.inputs(SETUP)}
    assert dtypes == {torch.bfloat16}


def test_flex_attention_has_the_window_of_128():
    index, grid = torch.arange(300), Grid(300, 300, 0, 300, torch.device("cpu"))
    assert masks._near(None, None, index[:, None], index).equal(Window(128, 0).dense(grid))


def test_a_mask_allows_the_pairs_that_its_work_counts():
    for name, mask in (("window 128", Window(128, 0)), ("causal", Causal())):
        [row] = select(ROWS, f"additive, {name} forward 1x8x8192x")
        grids = (Grid(8192, 8192, start, 64, torch.device("cpu")) for start in range(0, 8192, 64))
        allowed = sum(int(mask.dense(grid).sum()) for grid in grids)
        assert 0.98 < 8 * 64 * allowed / row.work.amount <= 1  # a window ends at the first key


def test_kernels_and_plain_formulas_train_the_same(monkeypatch):
    for name, value in (("_SENTENCES", 3), ("_WORDS", 4), ("_VOCABULARY", 20)):
        monkeypatch.setattr(networks, name, value)
    for row in select(networks.trainings(SETUP), "rnnsearch step"):
        found = measure_row(row, SETUP, seconds=0.0, least=1)
        assert found.absent is None and found.ratio > 0
        assert found.difference is None if row.peer == "soft attention" else found.difference < 1e-4


def test_a_number_is_one_random_call():
    first, second = (random_calls.drawn(5, torch.device("cpu")) for _ in range(2))
    assert all(map(torch.equal, first[0], second[0])) and first[1].keys() == second[1].keys()


def test_random_calls_agree_and_a_mismatch_names_its_number(monkeypatch):
    monkeypatch.setattr(random_calls, "_CALLS", 20)
    for row in select(random_calls.rows(SETUP), "random calls * 0 to 19"):
        assert measure_row(row, SETUP, seconds=0.0, least=1).difference < 1e-4
    vector, third = random_calls.vector, random_calls.drawn(3, SETUP.device)[0][0]

    def wrong(call, backend, *options, **more):
        off = backend == "auto" and torch.equal(call[0][0], third)
        return vector(call, backend, *options, **more) + off

    monkeypatch.setattr(random_calls, "vector", wrong)
    found = measure_row(random_calls.rows(SETUP)[0], SETUP, seconds=0.0, least=1)
    assert found.absent.endswith("in part 3 of 20") and found.ours is None


def test_a_backend_is_given_random_calls_that_it_serves(monkeypatch):
    monkeypatch.setattr(random_calls, "_CALLS", 20)
    setup = Setup(torch.device("cpu"), "sdpa")
    [row, *_] = random_calls.rows(setup)
    assert 0 < len(row.ours()()) < 20 and measure_row(row, setup, seconds=0.0, least=1).absent is None


@pytest.mark.slow  # two processes
@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="the system does not reset its mark")
def test_fewer_kept_shapes_take_no_more_memory():
    found = measure_row(select(ROWS, "products of 1000 shapes")[0], SETUP, seconds=0.0)
    assert found.absent is None and found.ours <= 1.1 * found.peer


@pytest.mark.slow  # five processes
def test_a_command_starts_beside_an_import(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (row,) = select(ROWS, "start of predict")
    found = measure_row(row, SETUP, seconds=0.0, least=1)
    assert found.absent is None and found.behind == found.ours - found.peer
    assert not list(tmp_path.iterdir())  # the model that it asks is gone with it


def test_a_training_that_fails_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(commands, "run_python", lambda words: run_python(["-S", "-c", "raise SystemExit('no way')"]))
    (row,) = select(ROWS, "start of predict")
    assert measure_row(row, SETUP, seconds=0.0, least=1).absent == "ours: no way"
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_a_command_that_fails_is_absent_with_its_last_line():
    with pytest.raises(Absent, match="^no way$"):
        run_python(["-S", "-c", "raise SystemExit('on the\\nno way')"])
