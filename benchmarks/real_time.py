"""How much faster than it is said a speech run writes down what is said: its real-time factor.

    python benchmarks/real_time.py RUN [--utterances N]

On the run's own test split, with one thread: utterance by utterance, as who speaks would wait for it, and in batches.
The factor is the time that decoding takes, features included, over the length of the audio; below 1 is faster than
real time.
"""

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import torch

from saccade.tasks.transcribe import Transcribe
from saccade.tasks.transcribe.transcription import transcribe
from saccade.train.environment import keep_freed_memory
from saccade.train.run import Run
from saccade.train.trained import load_trained


def seconds_for(task: Any, model: Any, utterances: list[Any]) -> float:
    """How long some utterances take, from their signals to their texts."""
    began = time.perf_counter()
    with torch.inference_mode():
        transcribe(task, model, [task.heard(utterance) for utterance in utterances])
    return time.perf_counter() - began


def main() -> None:
    """Print both factors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", help="folder of the run")
    parser.add_argument("--utterances", type=int, default=100, help="of the test split, from the first on")
    given = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    trained = load_trained(Transcribe, Run.open(Path(given.run)), torch.device("cpu"))
    task: Any = trained.task
    count = min(given.utterances, task.corpus.size("test"))
    utterances = [task.corpus.example("test", index) for index in range(count)]
    audio = [task.heard(utterance).size * task.signals.frame_seconds for utterance in utterances]
    seconds_for(task, trained.model, utterances[:5])  # compiles kernels
    alone = [seconds_for(task, trained.model, [utterance]) for utterance in utterances]
    together = seconds_for(task, trained.model, utterances)
    print(f"{count} utterances, {sum(audio):.0f} s of audio, beam {task.settings.beam_size}")
    print(f"one by one: real-time factor {sum(alone) / sum(audio):.4f}, median wait {statistics.median(alone):.3f} s")
    print(f"in batches: real-time factor {together / sum(audio):.4f}")


if __name__ == "__main__":
    main()
