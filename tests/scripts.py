"""Programs of `tools` as modules."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def script(path):
    """The program at a path within the project, imported."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
