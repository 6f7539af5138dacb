"""Measure how a large recording opens in the explorer.

    python tools/measure_explorer.py results/benchmarks/explorer.json

Recordings of 32 layers of 32 heads over 1,024 tokens are written to a temporary folder and opened in Chromium. One has
weights alone, the other the 8 largest weights, entropy and received attention. The file gets medians of five rounds,
each with a new server and a new page: seconds until the recording has a manifest, until the page has drawn a matrix, and
until it has drawn another head after a click. The bytes are those of all answers before the click.
"""

import argparse
import json
import shutil
import socket
import statistics
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import uvicorn
from playwright.sync_api import Browser, sync_playwright

from saccade import AuxOutput
from saccade._system.environment import busy_cores, hardware, versions
from saccade.look import Record, Recording
from saccade.look._explorer.answers import Answers
from saccade.look._explorer.recordings import sheets_of
from saccade.look._explorer.server import application
from saccade.look._explorer.sheets import Book
from saccade.look._records import mapped

LAYERS, HEADS, TOKENS, TOP, ROUNDS = 32, 32, 1024, 8, 5


def head(generator: torch.Generator) -> torch.Tensor:
    """Return weights of a causal head."""
    scores = 4 * torch.randn(TOKENS, TOKENS, generator=generator)
    return scores.masked_fill(torch.ones(TOKENS, TOKENS).triu(1).bool(), -torch.inf).softmax(-1)


def write_weights(path: Path) -> None:
    """Write a recording of weights head by head, as all of them do not fit into the memory of many machines."""
    generator, size = torch.Generator().manual_seed(0), 4 * HEADS * TOKENS * TOKENS
    about = {
        f"{layer}.weights.0": {
            "dtype": "F32",
            "shape": [1, HEADS, TOKENS, TOKENS],
            "data_offsets": [layer * size, (layer + 1) * size],
        }
        for layer in range(LAYERS)
    }
    content = json.dumps(about).encode()
    content += b" " * (-len(content) % 8)
    Recording([Record(f"layers.{layer}", AuxOutput(), layer, "self") for layer in range(LAYERS)]).save(path)
    with path.with_suffix(".safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(content)) + content)
        for _ in range(LAYERS * HEADS):
            file.write(head(generator).numpy().tobytes())


def write_statistics(path: Path) -> None:
    """Write a recording of the largest weights, entropy and received attention."""
    generator, records = torch.Generator().manual_seed(0), list[Record]()
    for layer in range(LAYERS):
        weights = torch.stack([head(generator) for _ in range(HEADS)])[None]
        largest = weights.topk(TOP)
        aux = AuxOutput(
            top=(largest.values, largest.indices),
            entropy=torch.special.entr(weights).sum(-1),
            received=weights.sum(-2),
        )
        records.append(Record(f"layers.{layer}", aux, layer, "self"))
    Recording(records).save(path)


@contextmanager
def served(book: Book) -> Iterator[str]:
    """Serve a book while the block runs, and give its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    config = uvicorn.Config(application(Answers(book), book.title, "token", port), log_config=None, ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}/?token=token"
    finally:
        server.should_exit = True
        thread.join()


def measure(browser: Browser, path: Path) -> dict[str, float]:
    """Open a recording once."""
    began = time.perf_counter()
    book = Book("Large", sheets_of(mapped(path), None, None))
    book.manifest()
    opened = time.perf_counter() - began
    with served(book) as address:
        page, sent = browser.new_page(viewport={"width": 1400, "height": 1000}), list[int]()
        page.on("response", lambda response: sent.append(int(response.headers["content-length"])))
        began = time.perf_counter()
        page.goto(address)
        page.locator(".matrix canvas[data-missing='0']").wait_for(timeout=600_000)
        drawn, before = time.perf_counter() - began, sum(sent)
        began = time.perf_counter()
        page.locator("select[name=head]").select_option("7")
        page.locator("h2", has_text="head 7").wait_for()
        page.locator(".matrix canvas[data-missing='0']").wait_for(timeout=600_000)
        clicked = time.perf_counter() - began
        page.close()
    return {"manifest s": opened, "first matrix s": drawn, "another head s": clicked, "bytes before a click": before}


def rows(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the medians of each recording."""
    program = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))))
    for name, write in (("weights", write_weights), (f"top={TOP}, entropy, received", write_statistics)):
        path = folder / name.partition("=")[0]
        write(path)
        size = path.with_suffix(".safetensors").stat().st_size
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program)
            rounds = [measure(browser, path) for _ in range(ROUNDS)]
            browser.close()
        medians = {key: round(statistics.median(each[key] for each in rounds), 3) for key in rounds[0]}
        yield {"recording": name, "bytes of the file": size, **medians}
        path.with_suffix(".safetensors").unlink()


def main() -> None:
    """Write the rows, with the machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    file = parser.parse_args().file
    machine = {
        **hardware(torch.device("cpu")),
        "cores in use by others": round(busy_cores(), 1),
        "versions": versions(),
    }
    shape = {"layers": LAYERS, "heads": HEADS, "tokens": TOKENS, "rounds": ROUNDS}
    with TemporaryDirectory() as folder:
        content = {"machine": machine, **shape, "rows": list(rows(Path(folder)))}
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
