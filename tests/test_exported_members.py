"""The public surface is what the design lists, documented, and light to import."""

import importlib.util
import inspect
import pkgutil
import random
import subprocess
import sys

import pytest

import saccade
from tiny import python

MEMBERS = {
    "saccade": {
        "attend",
        "explain",
        "remember",
        "merge",
        "replace_sdpa",
        "plainly",
        "AuxRequest",
        "AuxOutput",
        "scores",
        "normalizers",
        "masks",
        "biases",
        "reads",
        "nn",
        "errors",
    },
    "scores": {"Dot", "ScaledDot", "Cosine", "General", "Additive", "Location", "Gaussian", "Kernel"},
    "normalizers": {"Softmax", "Sparsemax", "Entmax", "Sigmoid", "Sum", "Identity"},
    "masks": {"Causal", "Window", "Around", "Intervals", "Lengths", "Documents", "Packed", "Prefix", "Where"},
    "biases": {"Alibi", "RelativePosition", "GaussianWindow", "Position", "rotate"},
    "reads": {"Soft", "Sample", "Argmax", "TopK"},
    "nn": {
        "Attention",
        "AttentionPool",
        "ExternalMemory",
        "GatedLSTM",
        "Glimpse",
        "KernelRegression",
        "MixtureOfExperts",
        "MultiheadAttention",
        "PastAttention",
        "Replaced",
        "Retina",
        "SetAttention",
        "SetPool",
        "replace",
    },
    "errors": {"SaccadeError", "ShapeError", "ArgumentError", "ArgumentTypeError", "UnsupportedBackend"},
}
AUX = ["weights", "lse", "index", "log_prob", "entropy", "top", "received"]


PUBLIC = {
    "attention", "auxiliary", "bench", "biases", "cli", "data", "errors", "export", "hf", "look", "masks", "memory",
    "models", "nn", "normalizers", "reads", "runs", "scores", "serve", "tasks", "train",
}  # fmt: skip
INTERNAL = {"backends", "kernels"}  # how a call is computed: no underscore, and no promise


def test_whatever_has_no_underscore_is_public():
    names = {module.name for module in pkgutil.iter_modules(saccade.__path__) if not module.name.startswith("_")}
    assert names == PUBLIC | INTERNAL


@pytest.mark.parametrize("name", sorted(PUBLIC - {"models", "train"}))  # their files are public
def test_a_public_module_lists_documented_members(name):
    module = importlib.import_module(f"saccade.{name}")
    members = [getattr(module, member) for member in module.__all__]
    assert members and all(inspect.getdoc(member) for member in members if inspect.isroutine(member))


def test_the_package_exports_what_the_design_lists():
    assert set(saccade.__all__) == MEMBERS["saccade"]


@pytest.mark.parametrize("module", [name for name in MEMBERS if name != "saccade"])
def test_every_member_exists_and_is_documented(module):
    found = {name: getattr(getattr(saccade, module), name) for name in MEMBERS[module]}
    assert all(len(inspect.getdoc(member)) > 40 for member in found.values())


def test_the_signature_of_attend():
    parameters = inspect.signature(saccade.attend).parameters
    options = ["score", "mask", "bias", "gate", "normalizer", "read", "dropout_p", "aux", "backend"]
    assert list(parameters) == ["query", "key", "value", *options]
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in options)
    assert inspect.signature(saccade.explain).parameters.keys() == parameters.keys()


@pytest.mark.parametrize("cls", [saccade.AuxRequest, saccade.AuxOutput])
def test_the_statistics(cls):
    assert list(inspect.signature(cls).parameters) == AUX


def test_the_import_is_light():
    slow = {
        "lightning",
        "numba",
        "triton",
        "transformers",
        "matplotlib",
        "babel",
        "tokenizers",
        "tyro",
        "rich",
        "torchmetrics",
        "safetensors",
        "sacrebleu",
    }
    code = (
        "import sys, saccade; assert 'torch' not in sys.modules\n"
        "import saccade.look; members = [getattr(saccade, name) for name in dir(saccade)]\n"
        f"loaded = {slow} & set(sys.modules); assert not loaded, loaded"
    )
    subprocess.run(python("-W", "ignore", "-c", code), check=True)


def test_public_names_are_listed_before_their_import():
    assert {*saccade.__all__, "attention", "auxiliary", "memory"} <= set(dir(saccade))
    with pytest.raises(AttributeError, match="module 'saccade' has no attribute 'atend'"):
        saccade.atend


def test_the_bar_of_progress_imports_without_a_draw(monkeypatch):
    spec = importlib.import_module("saccade.train.progress").__spec__
    for module in [module for module in sys.modules if module.partition(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, module)
    before = random.getstate()
    spec.loader.exec_module(importlib.util.module_from_spec(spec))  # once more, and what it imports
    assert random.getstate() == before


@pytest.mark.slow
def test_every_import_leaves_all_generators_as_they_were():
    code = (
        "import importlib, pkgutil, random, numpy.random, torch, saccade\n"
        "def state(): return random.getstate(), str(numpy.random.get_state()), torch.get_rng_state().tolist()\n"
        "before = state()\n"
        "for module in pkgutil.walk_packages(saccade.__path__, 'saccade.'):\n"
        "    if not module.name.endswith(('__main__', '_lightning')):  # Lightning draws a number\n"
        "        importlib.import_module(module.name)\n"
        "        assert state() == before, module.name\n"
    )
    subprocess.run(python("-W", "ignore", "-c", code), check=True)


@pytest.mark.slow
def test_without_scikit_learn_all_else_is_there():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"  # as if it were not installed
        "from saccade.nn import *\n"
        "from saccade import nn\n"
        "assert Attention is nn.Attention and 'KernelRegression' not in globals() and not hasattr(nn, 'Other')\n"
        "print('so far', flush=True)\n"
        "from saccade.nn import KernelRegression\n"
    )
    ended = subprocess.run(python("-W", "ignore", "-c", code), capture_output=True, text=True)
    assert ended.stdout == "so far\n"
    said = "KernelRegression needs scikit-learn, which is not installed: pip install 'saccade-attention[train]'"
    assert ended.stderr.splitlines()[-1] == f"ModuleNotFoundError: {said}"
