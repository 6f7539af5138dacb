"""How much faster than it is said a speech run writes down what is said: its real-time factor.

    python benchmarks/real_time.py RUN [--utterances N]

On the run's own test split, with one thread: utterance by utterance, as who speaks would wait for it, and in batches.
The factor is the time that decoding takes, features included, over the length of the audio; below 1 is faster than
real time.
"""

import argparse
import statistics
import time
from typing import Any, cast

import torch

from saccade.runs import load


def seconds_for(task: Any, model: Any, recordings: list[Any]) -> float:
    """How long some recordings take, from their signals to their texts."""
    began = time.perf_counter()
    with torch.inference_mode():
        task.answer(model, [task.utterance(recording) for recording in recordings], None)
    return time.perf_counter() - began


def main() -> None:
    """Print both factors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", help="folder of the run")
    parser.add_argument("--utterances", type=int, default=100, help="of the test split, from the first on")
    given = parser.parse_args()
    torch.set_num_threads(1)
    run = load(given.run, device="cpu")
    task, model = cast("Any", run.task), run.model
    count = min(given.utterances, task.data.size("test"))
    recordings = [task.data.example("test", index) for index in range(count)]
    audio = [task.utterance(recording).size * task.signals.frame_seconds for recording in recordings]
    seconds_for(task, model, recordings[:5])  # compiles kernels
    alone = [seconds_for(task, model, [recording]) for recording in recordings]
    together = seconds_for(task, model, recordings)
    print(f"{count} utterances, {sum(audio):.0f} s of audio, beam {task.settings.beam_size}")
    print(f"one by one: real-time factor {sum(alone) / sum(audio):.4f}, median wait {statistics.median(alone):.3f} s")
    print(f"in batches: real-time factor {together / sum(audio):.4f}")


if __name__ == "__main__":
    main()
