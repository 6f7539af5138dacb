import pytest
import torch

from saccade import AuxRequest, attend, biases, errors, explain, masks, normalizers, reads, scores
from saccade._dispatch import choose
from saccade.backends import reference, sdpa
from saccade.kernels import threads
from tiers import every

X = torch.randn(2, 3, 5, 8)
LONG = torch.empty(1, 8, 4096, 64)


def plan(x=X, **options):
    return explain(x, x, x, **options)


@every(
    ("options", "backend"),
    [
        ({}, "sdpa"),
        ({"score": scores.Cosine(torch.ones(5, 1))}, "sdpa"),
        ({"score": scores.General(torch.ones(8, 8))}, "sdpa"),
        ({"mask": masks.Causal(), "bias": torch.ones(5, 5)}, "sdpa"),
        ({"normalizer": normalizers.Softmax(0.5)}, "sdpa"),
        ({"score": scores.ScaledDot(softcap=2.0)}, "reference"),
        ({"normalizer": normalizers.Sparsemax()}, "cpu"),
        ({"normalizer": normalizers.Entmax()}, "cpu"),
        ({"score": scores.Additive(torch.ones(8)), "normalizer": normalizers.Entmax()}, "cpu"),
        ({"score": scores.Additive(torch.ones(8)), "normalizer": normalizers.Sparsemax()}, "reference"),
        ({"read": reads.Argmax()}, "reference"),
        ({"aux": AuxRequest(entropy=True)}, "reference"),
        ({"score": scores.Additive(torch.ones(8))}, "reference"),
    ],
)
def test_auto_for_a_small_call(options, backend):
    assert plan(**options).backend == backend


@pytest.mark.parametrize(
    "options",
    [
        {"normalizer": normalizers.Sparsemax()},
        {"aux": AuxRequest(lse=True)},
        {"score": scores.Additive(torch.ones(64))},
        {"dropout_p": 0.1},
        {"bias": biases.Alibi(torch.rand(8))},
        {"mask": masks.Lengths(torch.tensor([[5]]))},
    ],
)
@pytest.mark.parametrize("compiled", [True, False])
def test_auto_for_a_long_call_lays_nothing_out(compiled, options, monkeypatch):
    if not compiled:
        monkeypatch.setitem(threads._state, "numba", "there is none here")
    found = plan(LONG, **options)
    known = "mask" in options and not compiled  # by torch's kernel, to which a mask of lengths is small
    assert found.backend == ("sdpa" if known else "cpu" if compiled else "chunked")
    assert found.peak_bytes < 600 << 20


def test_a_bias_and_a_sink_stay_on_torchs_kernel():
    sink = {"normalizer": normalizers.Softmax(sink=torch.zeros(8, 1, 1))}
    found = plan(LONG, bias=torch.empty(8, 4096, 4096))
    assert (found.backend, found.peak_bytes) == ("sdpa", 0)
    assert plan(LONG, **sink).backend == plan(LONG, mask=masks.Causal(), **sink).backend == "sdpa"
    windowed = plan(LONG, mask=masks.Window(128, 0), **sink)
    assert windowed.backend == "chunked" and "look at every pair" in windowed.why["sdpa"]
    for few in (LONG[..., :100, :], LONG[..., :64, :]):
        found = explain(few, LONG, LONG, **sink)
        assert found.backend != "sdpa" and "so few queries" in found.why["sdpa"]
    away = torch.empty(1, 8, 512, 64, device="meta", dtype=torch.bfloat16)
    with pytest.raises(errors.UnsupportedBackend, match="round a sink to torch.bfloat16"):
        explain(away, away, away, normalizer=normalizers.Softmax(sink=0.0), backend="sdpa")


def test_a_mask_that_leaves_blocks_empty_goes_by_the_others():
    found = plan(LONG, mask=masks.Window(128, 0))
    assert found.backend == "cpu" and "look at every pair" in found.why["sdpa"]
    assert found.pairs.allowed == 8 * (129 * 4096 - 128 * 129 // 2) and found.pairs.computed < 1.6 * found.pairs.allowed
    assert "times as many" in str(found)
    assert plan(LONG, mask=masks.Causal()).backend == "sdpa"  # which torch's kernel knows
    most = masks.Window(3000, None)
    assert plan(LONG, mask=most & masks.Lengths(torch.tensor([[4000]]))).backend == "sdpa"
    short = torch.empty(1, 8, 256, 64)
    assert plan(short, mask=masks.Window(8, 0)).backend == "sdpa"
    assert plan(torch.empty(2, 16, 256, 64), mask=masks.Window(8, 0)).backend == "cpu"


def test_auto_for_a_long_call_of_which_nothing_is_compiled():
    assert plan(LONG, normalizer=normalizers.Sigmoid()).backend == "chunked"


def test_a_bias_that_learns_is_not_laid_out_by_torchs_math_path():
    slopes = torch.rand(8, requires_grad=True)
    found = plan(LONG, bias=biases.Alibi(slopes))
    assert found.backend == "cpu" and "gradients" in found.why["sdpa"]
    with torch.no_grad():
        assert "laid out" in plan(LONG, bias=biases.Alibi(slopes)).why["sdpa"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"score": scores.Additive(torch.ones(8))}, "Additive"),
        ({"score": lambda q, k: q @ k.mT}, "score"),
        ({"normalizer": normalizers.Entmax()}, "Entmax"),
        ({"normalizer": normalizers.Softmax(torch.ones(1))}, "temperature"),
        ({"gate": torch.ones(5, 5)}, "gate"),
        ({"read": reads.TopK(2)}, "TopK"),
        ({"aux": AuxRequest(lse=True, top=2)}, "lse, top"),
    ],
)
def test_the_reason_is_the_same_in_the_plan_and_in_the_error(options, reason):
    told = plan(**options).why["sdpa"]
    assert reason in told
    with pytest.raises(errors.UnsupportedBackend) as caught:
        attend(X, X, X, backend="sdpa", **options)
    assert told in str(caught.value) and "auto" in str(caught.value)


@pytest.mark.parametrize("backend", ["reference", "chunked", "cpu", "sdpa"])
def test_a_named_backend_is_the_one_that_runs(backend, monkeypatch):
    ran = []
    real = choose.BACKENDS[backend].run
    monkeypatch.setattr(choose.BACKENDS[backend], "run", lambda call: ran.append(backend) or real(call))
    attend(X, X, X, backend=backend)
    assert ran == [backend] and plan(backend=backend).backend == backend


def test_a_named_backend_is_taken_where_auto_would_not():
    for backend, others in (("reference", ("sdpa", "cpu", "chunked")), ("cpu", ("sdpa", "chunked"))):
        why = plan(LONG, backend=backend).why
        assert {why[other] for other in others} == {f"the call names {backend}"}
        assert "on CUDA" in why["flex"]
    assert plan(LONG, backend="sdpa") == plan(LONG)


def test_explain_runs_nothing(monkeypatch):
    for module in choose.BACKENDS.values():
        monkeypatch.setattr(module, "run", None)
    assert (
        plan().backend == "sdpa" and plan(LONG, score=scores.Cosine(), normalizer=normalizers.Entmax()).backend == "cpu"
    )


def test_explain_draws_nothing():
    state = torch.get_rng_state()
    plan(read=reads.Sample(), dropout_p=0.3)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_plan_prints_readably():
    lines = str(plan(score=scores.Dot(), normalizer=normalizers.Sigmoid())).splitlines()
    assert lines[0].split() == ["backend", "reference"] and lines[1].split() == ["terms", f"{2 * 3 * 5 * 5 * 8:,}"]
    assert {line.split(":")[0] for line in lines[3:]} == {
        "not sdpa",
        "not chunked",
        "not cpu",
        "not flex",
        "not triton",
    }


def test_peak_bytes_tell_the_plain_formula_from_blocks():
    long = torch.empty(1, 16384, 32)
    whole, *parts = (
        plan(long, score=scores.Cosine(), aux=AuxRequest(lse=True), backend=name).peak_bytes
        for name in ("reference", "chunked", "cpu")
    )
    assert whole >= 16384**2 * 4 and max(parts) < whole / 10


def test_groups_become_rows_and_keys_are_not_copied(monkeypatch):
    seen = []
    real = sdpa.scaled_dot_product_attention
    monkeypatch.setattr(
        sdpa,
        "scaled_dot_product_attention",
        lambda q, k, v, *args, **more: seen.append((q.shape, k.shape)) or real(q, k, v, *args, **more),
    )
    query, key = torch.randn(2, 3, 4, 5, 8), torch.randn(2, 3, 1, 7, 8)
    output = attend(query, key, key, backend="sdpa")
    assert seen == [((2, 3, 20, 8), (2, 3, 7, 8))]
    torch.testing.assert_close(output, attend(query, key, key, backend="reference"))


@pytest.mark.parametrize(
    ("limit", "recorded"), [(reference.SMALL_ADDITIVE, False), (reference.SMALL_ADDITIVE_RECORDED, True)]
)
def test_a_backward_raises_the_limit_of_additive_calls(limit, recorded, monkeypatch):
    monkeypatch.setitem(threads._state, "numba", "there is none here")
    keys = limit // (4 * 256)  # of one query, 256 features each
    query, key = torch.empty(1, 256), torch.empty(keys + 1, 256)
    score = scores.Additive(torch.ones(256, requires_grad=recorded))
    assert explain(query, key[:keys], key[:keys], score=score).backend == "reference"
    assert explain(query, key, key, score=score).backend == "chunked"
    with torch.no_grad():  # nothing is kept for a backward that cannot come
        backend = "chunked" if recorded else "reference"
        assert explain(query, key[:keys], key[:keys], score=score).backend == backend
