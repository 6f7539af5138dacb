"""Measure the explorer in a browser: bytes, seconds and memory.

    python tools/measure_explorer.py FILE [--rounds 5]

Recordings are made of random numbers: statistics of 32 x 32 heads and 1,024 tokens, the weights of one head of
4,096 tokens, and the weights of 16 x 32 heads and 1,024 tokens, 2 GB. Medians are written to FILE as JSON.
Chromium has to be installed.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from playwright.sync_api import Browser, Page, Response, sync_playwright

from saccade import AuxOutput
from saccade._system.environment import hardware, versions
from saccade.look import Record, Recording

HOVERS = 20
MOVE = """async ([x, y]) => {
  const [canvas, readout] = [document.querySelector(".matrix canvas"), document.querySelector(".readout")];
  const text = () => readout.querySelector("output")?.textContent ?? "";
  const [before, began] = [text(), performance.now()];
  const arrived = new Promise((resolve) => {
    const observer = new MutationObserver(() => text() && text() !== before && (observer.disconnect(), resolve()));
    observer.observe(readout, { subtree: true, childList: true, characterData: true });
  });
  canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
  await arrived;
  return performance.now() - began;
}"""
LIMITS = {"seconds to open": 1.0, "MB before a click": 5.0, "ms to hover": 50.0, "MB of the tab": 500.0}


def statistics_of(layers: int, heads: int, length: int) -> Recording:
    """Return entropy, received weights and the eight largest weights of random rows."""
    records = []
    for layer in range(layers):
        index = torch.randint(length, (1, heads, length, 8))
        top = torch.rand(1, heads, length, 8).softmax(-1), index
        entropy, received = torch.rand(1, heads, length), torch.rand(1, heads, length)
        aux = AuxOutput(entropy=entropy, received=received, top=top)
        records.append(Record(f"layers.{layer}.attention", aux, layer, "self"))
    return Recording(records)


def weights_of(layers: int, heads: int, length: int) -> Recording:
    """Return the weights of random rows."""
    weights = (torch.randn(1, heads, length, length).softmax(-1) for _ in range(layers))
    return Recording(
        [
            Record(f"layers.{layer}.attention", AuxOutput(weights=part), layer, "self")
            for layer, part in enumerate(weights)
        ]
    )


CASES = {
    "statistics of 32 × 32 heads, 1,024 tokens": lambda: statistics_of(32, 32, 1024),
    "weights of one head, 4,096 tokens": lambda: weights_of(1, 1, 4096),
    "weights of 16 × 32 heads, 1,024 tokens, 2 GB": lambda: weights_of(16, 32, 1024),
}


@contextmanager
def served(path: Path) -> Iterator[str]:
    """Yield the address of a server."""
    command = [sys.executable, "-m", "saccade", "explore", str(path), "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().split()[-1]
    finally:
        server.terminate()
        server.wait()


def hover(page: Page) -> float:
    """Return the milliseconds from a move of the mouse to the number of the cell, the median of several."""
    box, taken = page.locator(".matrix canvas").bounding_box(), []
    assert box is not None
    for number in range(HOVERS):
        place = [box["x"] + box["width"] / 2 + 7 * number, box["y"] + box["height"] / 2 + 11 * number]
        taken.append(page.evaluate(MOVE, place))
    return statistics.median(taken)


def resident(browser: Browser) -> float:
    """Return the megabytes of the largest renderer of the browser."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    sizes = [
        Path(f"/proc/{each['id']}/status").read_text(encoding="utf-8")
        for each in processes
        if each["type"] == "renderer"
    ]
    return max(int(text.partition("VmRSS:")[2].split()[0]) for text in sizes) / 1024


def measure(browser: Browser, address: str) -> dict[str, float]:
    """Return the numbers of one visit."""
    page, responses = browser.new_page(viewport={"width": 1400, "height": 1000}), list[Response]()

    def arrived(response: Response) -> None:  # playwright marks its handlers, and a built-in function has no room
        responses.append(response)

    page.on("response", arrived)
    began = time.perf_counter()
    page.goto(address)
    page.wait_for_selector(".matrix canvas[data-missing='0']")
    opened = time.perf_counter() - began
    page.wait_for_load_state("networkidle")
    sizes = [len(response.body()) for response in list(responses)]
    numbers = {"seconds to open": opened, "MB before a click": sum(sizes) / 1e6, "requests": len(sizes)}
    numbers |= {"ms to hover": hover(page), "MB of the tab": resident(browser)}
    page.close()
    return numbers


def main() -> None:
    """Measure every case in turns and write the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.manual_seed(0)
    rows = list[dict[str, Any]]()
    binary = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))))
    with sync_playwright() as playwright, TemporaryDirectory() as folder:
        for number, (name, make) in enumerate(CASES.items()):
            path = Path(folder) / str(number)
            make().save(path)
            visits = list[dict[str, float]]()
            for _ in range(options.rounds):
                browser = playwright.chromium.launch(executable_path=binary)
                with served(path) as address:
                    visits.append(measure(browser, address))
                browser.close()
            medians = {key: round(statistics.median(visit[key] for visit in visits), 3) for key in visits[0]}
            rows.append({"recording": name, **medians})
            path.with_suffix(".safetensors").unlink()
    machine = {**hardware(torch.device("cpu")), "versions": versions(), "browser": "Chromium"}
    content = {"machine": machine, "rounds": options.rounds, "limits": LIMITS, "rows": rows}
    options.file.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
