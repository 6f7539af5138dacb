"""Measure the requests a second of a server, for one client and for several.

    python tools/measure_serving.py RUN FILE [--threads 1]

Each client has one request of one input in flight. Rounds of one client and of eight take turns, and the medians are
written to FILE as JSON, with the inputs of a batch. The inputs are dates, so RUN is one of `translate --data dates`.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from itertools import cycle
from pathlib import Path

import torch

from saccade._system.environment import hardware, versions

CLIENTS, ROUNDS, SECONDS = (1, 8), 7, 6.0
LINES = [f"{day} juin {year}" for day in range(1, 29) for year in range(1990, 2030)]


def client(port: int, first: int, until: float) -> int:
    """Send requests one after another until a time, and return their number."""
    connection, sent = HTTPConnection("127.0.0.1", port), 0
    for line in cycle(LINES[first:] + LINES[:first]):
        if time.monotonic() >= until:
            break
        connection.request("POST", "/predict", json.dumps({"inputs": [line]}))
        response = connection.getresponse()
        assert response.status == 200
        json.load(response)
        sent += 1
    connection.close()
    return sent


def health(port: int) -> dict[str, int]:
    """Return the counts of the server."""
    connection = HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/health")
    counts: dict[str, int] = json.load(connection.getresponse())
    connection.close()
    return counts


def measure(port: int, clients: int) -> tuple[float, float]:
    """Return requests a second, and inputs of a batch."""
    before, began = health(port), time.monotonic()
    with ThreadPoolExecutor(clients) as pool:
        sent = sum(pool.map(lambda number: client(port, 97 * number, began + SECONDS), range(clients)))
    seconds, after = time.monotonic() - began, health(port)
    return sent / seconds, sent / (after["batches"] - before["batches"])


def main() -> None:
    """Start a server, measure it and stop it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("file", type=Path)
    parser.add_argument("--threads", default="1")
    options = parser.parse_args()
    command = ["saccade", "serve", options.run, "--port", "0", "--threads", options.threads]
    server = subprocess.Popen([sys.executable, "-m", *command], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline().rpartition(":")[2])
        measure(port, max(CLIENTS))  # warm up
        rounds = [[measure(port, clients) for clients in CLIENTS] for _ in range(ROUNDS)]
    finally:
        server.terminate()
    medians = [[statistics.median(numbers) for numbers in zip(*row, strict=True)] for row in zip(*rounds, strict=True)]
    rows = [
        {"clients": clients, "requests a second": round(speed, 2), "inputs of a batch": round(inputs, 2)}
        for clients, (speed, inputs) in zip(CLIENTS, medians, strict=True)
    ]
    machine = {**hardware(torch.device("cpu")), "threads": int(options.threads), "versions": versions()}
    ratio = round(medians[1][0] / medians[0][0], 2)
    content = {"machine": machine, "command": " ".join(command[:3]), "rows": rows, "ratio": ratio}
    options.file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
