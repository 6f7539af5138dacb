"""Imports go one way: definitions, kernels ← backends ← attention ← nn ← models ← tasks ← reports ← cli.

Train knows no task.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "src" / "saccade"
FILES = sorted(ROOT.rglob("*.py"))

DEFINITIONS = {
    "errors",
    "structure",
    "numerics",
    "checks",
    "scores",
    "normalizers",
    "masks",
    "biases",
    "reads",
    "auxiliary",
    "call",
    "dots",
}
ATTENTION = {"attention", "memory", "shortcuts", "validate"}
MAY_IMPORT = {
    **dict.fromkeys(DEFINITIONS, DEFINITIONS),
    "kernels": DEFINITIONS | {"kernels"},
    "backends": DEFINITIONS | {"kernels", "backends"},
    **dict.fromkeys(ATTENTION, DEFINITIONS | {"backends"} | ATTENTION),
    "nn": DEFINITIONS | ATTENTION | {"nn"},
    "train": DEFINITIONS | ATTENTION | {"nn", "train"},
    "models": DEFINITIONS | ATTENTION | {"kernels", "nn", "models"},
    "look": DEFINITIONS | ATTENTION | {"nn", "look"},
    "tasks": DEFINITIONS | ATTENTION | {"kernels", "nn", "models", "train", "look", "tasks"},
    "bench": DEFINITIONS | ATTENTION | {"backends", "kernels", "train", "look", "bench"},
    "reports": DEFINITIONS | ATTENTION | {"nn", "models", "train", "tasks", "look", "bench", "reports"},
    "cli": {"errors", "train", "tasks", "look", "reports", "bench", "cli"},
    "__main__": {"cli"},
    "__init__": DEFINITIONS | ATTENTION | {"nn"},
}


def layer(path):
    """The first name below the package: a folder or a file."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path):
    """The modules of the package that a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found |= (
                {f"{node.module}.{alias.name}" for alias in node.names} if node.module == "saccade" else {node.module}
            )
    return {name for name in found if name.split(".")[0] == "saccade"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path):
    for name in imported(path):
        target = ([*name.split("."), "__init__"])[1]
        allowed = MAY_IMPORT[layer(path)]
        public = name.removeprefix("saccade.") in {
            "attend",
            "explain",
            "remember",
            "merge",
            "AuxRequest",
            "AuxOutput",
            "__version__",
            "saccade",
        }
        users = {"models", "tasks", "look", "bench", "cli", "train"}
        assert target in allowed or (public and layer(path) in users), name


@pytest.mark.parametrize(
    "path", sorted((ROOT / "backends").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_no_backend_imports_another_but_the_reference_and_the_blocks_they_share(path):
    own = path.relative_to(ROOT / "backends").parts[0].removesuffix(".py")
    others = {name.split(".")[2] for name in imported(path) if name.startswith("saccade.backends.")}
    assert own == "choose" or others <= {own, "reference", "blockwise"}


def test_models_attend_through_modules_alone():
    names = {name for path in (ROOT / "models").rglob("*.py") for name in imported(path)}
    assert not names & {"saccade.attention", "saccade.attend"}


def test_no_pickle():
    """Nothing is unpickled from a path: torch.load only with weights_only=True, no pickle module."""
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            assert not (
                isinstance(node, ast.Import) and any(alias.name in ("pickle", "dill", "joblib") for alias in node.names)
            ), path
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.load":
                assert any(key.arg == "weights_only" and ast.unparse(key.value) == "True" for key in node.keywords), (
                    path
                )
