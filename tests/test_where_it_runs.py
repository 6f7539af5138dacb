"""docs/where-it-runs.md quotes errors that are raised, and names the hardware and versions of the files of results."""

import json
import re

import pytest
import torch

from commands import PAGES, ROOT
from saccade import attend
from saccade._system.environment import check_precision, choose_device
from saccade.errors import SaccadeError

PAGE = PAGES["docs/where-it-runs.md"]
QUOTED = [row.split("|")[3].strip() for row in PAGE.splitlines() if row.startswith("|") and "| refused |" in row]
FOLDER = ROOT / "results/benchmarks"
BACKENDS = ("triton", "flex")


def raised(function, *arguments):
    with pytest.raises(SaccadeError) as caught:
        function(*arguments)
    return str(caught.value)


def test_quoted_errors_are_raised(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: False)
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    x = torch.zeros(1, 2, 4)
    errors = [
        raised(check_precision, "bf16", torch.device("cuda")),
        raised(choose_device, "mps"),
        *(raised(lambda name=name: attend(x, x, x, backend=name)).replace("on cpu", "on mps") for name in BACKENDS),
        (ROOT / "Makefile").read_text(encoding="utf-8"),
    ]
    quotes = [quote for cell in QUOTED for quote in re.findall("`(.+?)`", cell)]
    assert len(quotes) == 5 and all(any(quote in error for error in errors) for quote in quotes)


def test_versions_and_processors_are_those_of_the_files():
    contents = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))]
    versions = [content["versions"] for content in contents if isinstance(content, dict) and "versions" in content]
    pythons, torches = ({entry.get(name, "") for entry in versions} - {""} for name in ("python", "torch"))
    numbers = {version.partition("+")[0] for version in torches}
    assert pythons == {"3.11.7", "3.12.3"} and numbers == {"2.11.0", "2.13.0"}
    assert all(f"{version}" in PAGE for version in pythons | numbers)
    for name in re.findall(r"`([\w-]+\.(?:json|md))`", PAGE):
        assert (FOLDER / name).exists(), name
    for name, hardware in {
        "attention-cpu": "Intel",
        "attention-gpu": "H100",
        "attention-h200": "H200",
        "memory-cpu": "EPYC",
    }.items():
        assert hardware in str(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["machine"])
    assert "AVX-512" in (FOLDER / "translate.md").read_text(encoding="utf-8")
    capabilities = {row["capability"] for row in json.loads((FOLDER / "triton-registers.json").read_text())["rows"]}
    assert capabilities == {80, 90}
