import os
import subprocess
import sys

import pytest
import torch

import tiny
from saccade._system import environment
from saccade._system.environment import (
    bound_shape_caches,
    check_precision,
    check_processes,
    choose_device,
    free_bytes,
    hardware,
    versions,
)
from saccade.errors import ArgumentError
from saccade.train.fit import train
from saccade.train.run import Run
from saccade.train.trained import load_trained
from tiers import every

CACHES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
CPU = torch.device("cpu")


@every("name", ["gpu", "cuda:99", "cpu:1", "cuda:x", "cpu:", ""])
def test_a_device_that_is_not_there_is_named_with_those_that_are(name):
    with pytest.raises(ArgumentError, match="--device: expected one of auto, cpu"):
        choose_device(name)


def test_auto_is_a_device_that_is_there():
    assert choose_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")


def test_results_say_where_and_with_what():
    found = hardware(torch.device("cpu"))
    assert found["cores"] >= 1 and found["threads"] == torch.get_num_threads() and found["processor"]
    assert versions()["torch"] == torch.__version__


def test_free_memory_obeys_the_limit_of_a_container(monkeypatch, tmp_path):
    told, limit = tmp_path / "meminfo", tmp_path / "memory.max"
    monkeypatch.setattr(environment, "_MEMORY", told)
    monkeypatch.setattr(environment, "_LIMIT", limit)
    assert free_bytes(CPU) is None
    told.write_text("MemTotal: 9 kB\nMemAvailable:  3 kB\n", encoding="ascii")
    assert free_bytes(CPU) == 3072
    for content, free in (("max\n", 3072), ("2048\n", 2048), ("9999\n", 3072)):
        limit.write_text(content)
        assert free_bytes(CPU) == free


def test_more_processes_than_the_memory_takes_are_refused(monkeypatch):
    monkeypatch.setattr(environment, "free_bytes", lambda device: 4 << 30)
    check_processes(11)
    with pytest.raises(ArgumentError, match=r"--processes: expected at most 11, got 1000: each takes 350 MiB and more"):
        check_processes(1000)
    monkeypatch.setattr(environment, "free_bytes", lambda device: None)
    check_processes(1000)


def test_speeds_of_products_and_the_age_of_the_process_are_measured(monkeypatch):
    for dtype, precision in ((torch.float32, "highest"), (torch.float32, "medium")):
        assert 0 < environment._product_seconds(dtype, precision) < 10
    assert torch.get_float32_matmul_precision() == "highest"
    first = environment.process_seconds()
    assert environment.process_seconds() >= first >= 0
    monkeypatch.setattr(environment, "_STARTED", 10**6)
    assert environment.process_seconds() == 0.0  # a system without it


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")  # so that it is afterwards as it was before
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")


def test_each_of_several_processes_has_a_gpu_of_its_own(two_gpus):
    assert [choose_device("auto", local, 2) for local in (0, 1)] == [torch.device("cuda:0"), torch.device("cuda:1")]
    assert choose_device("cuda:1") == torch.device("cuda:1") and choose_device("cpu", 2, 3) == torch.device("cpu")
    with pytest.raises(ArgumentError, match="--processes: expected, with --device cuda, a GPU for each, got 3 for 2"):
        choose_device("cuda", 0, 3)
    with pytest.raises(ArgumentError, match="a GPU for each, got cuda:1"):
        choose_device("cuda:1", 0, 2)


def test_choosing_a_gpu_makes_products_deterministic(two_gpus, monkeypatch):
    choose_device("cpu")
    assert "CUBLAS_WORKSPACE_CONFIG" not in os.environ
    choose_device("cuda:1")
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    choose_device("auto")
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":16:8"


def test_a_precision_that_a_device_has_not_is_refused(monkeypatch):
    gpu, cpu = torch.device("cuda"), torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: False)
    with pytest.raises(ArgumentError, match="--precision: expected 32 or 16, got bf16"):
        check_precision("bf16", gpu)
    with pytest.raises(ArgumentError, match="--precision: expected 32 or bf16 on a CPU, got 16"):
        check_precision("16", cpu)
    check_precision("16", gpu)
    check_precision("bf16", cpu)


#: Products as training with --matmul-precision medium makes them; prints the memory after 70 shapes and after 270.
SHAPES = """
import torch
from saccade._system.environment import bound_shape_caches, matmul_precision
torch.set_num_threads(1)
bound_shape_caches()
weight = torch.zeros(64, 64)
with matmul_precision("medium"):
    for rows in range(1, 271):
        torch.zeros(rows, 64) @ weight
        if rows in (70, 270):
            print(open("/proc/self/statm").read().split()[1])
"""


@pytest.mark.slow  # a process of its own
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the memory")
def test_memory_does_not_grow_with_the_shapes_that_were_multiplied():
    settings = {name: value for name, value in tiny.environment().items() if name not in CACHES}
    done = subprocess.run(tiny.python("-c", SHAPES), capture_output=True, text=True, check=True, env=settings)
    early, late = map(int, done.stdout.split())
    assert late <= 1.2 * early


def test_training_and_loading_bound_shape_caches(tmp_path, monkeypatch):
    for name in CACHES:
        monkeypatch.setenv(name, "")  # so that it is afterwards as it was before
        monkeypatch.delenv(name)
    train(tiny.Line, tiny.line_options(tmp_path / "a", max_steps=1))
    assert [os.environ[name] for name in CACHES] == ["16", "16"]
    monkeypatch.delenv(CACHES[0])
    monkeypatch.setenv(CACHES[1], "7")
    load_trained(tiny.Line, Run.open(tmp_path / "a"), torch.device("cpu"))
    assert [os.environ[name] for name in CACHES] == ["16", "7"]
    bound_shape_caches()
    assert os.environ[CACHES[1]] == "7"
