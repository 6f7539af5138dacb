"""Train and decode a translator beside JoeyNMT: same data, tokens, sizes, batches and threads, in turns.

    python benchmarks/translate.py --joeynmt PYTHON [--model MODEL] [--data FOLDER] [--json FILE] [--page FILE]

PYTHON is an interpreter that has JoeyNMT 2.3.0, in an environment of its own (pip install torch joeynmt==2.3.0
importlib_metadata); it runs as a child process that waits while ours is measured. Ours is what `saccade train translate
--model MODEL` and `saccade predict` run; what books and saves a run is left out on both sides. Tokens are ours:
JoeyNMT is given the numbers of our byte pairs as words, so that the same sentence is as many tokens, and it is spared
its own segmentation. Of the `transformer` all sizes are the same. Of the recurrent `rnnsearch` the hidden sizes are;
ours has the larger embeddings, because its output layer is of their size, so that both multiply by as many numbers a
token.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode
from translate_configuration import SIZES, our_sizes
from translate_table import machine_rate, summary, table, write_into

from saccade.models.padded import Padded
from saccade.tasks.generate.generate import Output
from saccade.tasks.translate import Translate
from saccade.tasks.translate.source import encode_sources
from saccade.train.environment import keep_freed_memory
from saccade.train.optimization import make_optimizer
from saccade.train.task import options_class
from saccade.train.weights import by_columns

_HERE = Path(__file__).parent
_AHEAD = 512  # lines that our `predict --input` reads ahead, to have those of like length in one batch


class Side(Protocol):
    """One of the two that are measured."""

    def parameters(self) -> dict[str, Any]:
        """{"parameters"}: how many numbers are learned."""

    def count(self, source: int, target: int) -> dict[str, Any]:
        """{"flops"}: of all matrix products of one sentence, forward, as torch counts them."""

    def train(self, steps: int) -> dict[str, Any]:
        """{"seconds", "loss", "batches"}: of each batch its source lengths, target lengths and padded targets."""

    def decode(self, beam_size: int, sentences: int) -> dict[str, Any]:
        """{"seconds", "texts", "lengths"}: of each sentence, ends included."""


class Ours:
    """Saccade's task and model, a command at a time."""

    def __init__(self, task: Translate, sentences: int) -> None:
        self.task, self.sentences = task, sentences
        self.model = task.build()
        self.optimizer = make_optimizer(self.model, task.settings)
        self.step = 0

    def parameters(self) -> dict[str, Any]:
        """How many numbers are learned."""
        return {"parameters": sum(p.numel() for p in self.model.parameters())}

    def count(self, source: int, target: int) -> dict[str, Any]:
        """Floating-point operations of all matrix products for one sentence, as torch counts them."""
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            self.model(Padded(torch.full((1, source), 9), torch.tensor([source])), torch.full((1, target), 9))
        return {"flops": counter.get_total_flops()}

    def train(self, steps: int) -> dict[str, Any]:
        """Take so many steps; the making of the batches counts."""
        sizes: list[tuple[list[int], list[int], int]] = []
        self.model.train()
        began = time.perf_counter()
        for _ in range(steps):
            batch = self.task.batch(self.step)
            loss = self.task.loss(self.model, batch)
            loss.total.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.task.settings.clip)
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.step += 1
            wanted: Tensor = batch.target[:, 1:]
            sizes.append((batch.source.lengths.tolist(), (wanted != 0).sum(1).tolist(), wanted.numel()))
        return {"seconds": time.perf_counter() - began, "loss": loss.total.item(), "batches": sizes}

    def decode(self, beam_size: int, sentences: int) -> dict[str, Any]:
        """Translate the first sentences of the test split, so many at a time, as `saccade predict --input` does."""
        self.model.eval()
        by_columns(self.model)  # as every command does that loads a model to read with
        sources = [self.task.data.example("test", index).source for index in range(sentences)]
        task = replace(self.task, settings=replace(self.task.settings, beam_size=beam_size))
        found: dict[int, Output] = {}
        began = time.perf_counter()
        with torch.inference_mode():
            for first in range(0, len(sources), _AHEAD):
                part = encode_sources(sources[first : first + _AHEAD], task.vocabulary.source, task.most, first + 1)
                places = sorted(range(len(part)), key=lambda place: len(part[place].ids))
                for at in range(0, len(places), self.sentences):
                    chosen = places[at : at + self.sentences]
                    answers = task.answer(self.model, [part[place] for place in chosen], None)
                    found |= {first + place: own.outputs[0] for place, own in zip(chosen, answers, strict=True)}
        seconds = time.perf_counter() - began
        best = [found[place] for place in range(len(sources))]
        texts, lengths = [output.text for output in best], [1 + len(output.ids) for output in best]
        return {"seconds": seconds, "texts": texts, "lengths": lengths}


class JoeyNMT:
    """The child process."""

    def __init__(self, python: str, folder: Path, threads: int) -> None:
        command = [python, str(_HERE / "translate_joeynmt.py"), str(folder / "settings.json")]
        self.log = folder / "joeynmt.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(  # noqa: S603 (the interpreter that the user named)
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": ""},
            )

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        assert self.process.stdin
        assert self.process.stdout
        try:
            print(json.dumps({"command": command, **arguments}), file=self.process.stdin, flush=True)
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise SystemExit(f"JoeyNMT ended:\n{self.log.read_text()[-2000:]}")
        found: dict[str, Any] = json.loads(answer)
        return found

    def parameters(self) -> dict[str, Any]:
        """As `Side`."""
        return self.ask("parameters")

    def count(self, source: int, target: int) -> dict[str, Any]:
        """As `Side`."""
        return self.ask("count", source=source, target=target)

    def train(self, steps: int) -> dict[str, Any]:
        """As `Side`."""
        return self.ask("train", steps=steps)

    def decode(self, beam_size: int, sentences: int) -> dict[str, Any]:
        """As `Side`."""
        return self.ask("decode", beam_size=beam_size, sentences=sentences)

    def versions(self) -> dict[str, str]:
        """Of JoeyNMT and its torch; another JoeyNMT than 2.3.0 is not what the page speaks of."""
        found: dict[str, str] = self.ask("versions")
        if found["joeynmt"] != "2.3.0":
            raise SystemExit(f"--joeynmt: expected an interpreter that has JoeyNMT 2.3.0, got {found['joeynmt']}")
        return found

    def close(self) -> None:
        """End the child."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def write_data(task: Translate, folder: Path, arguments: argparse.Namespace) -> None:
    """Write what JoeyNMT reads: the splits as numbers of tokens, the vocabularies, the settings."""
    for split, name in (("train", "train"), ("validation", "dev"), ("test", "test")):
        size = task.data.size(split) or 0
        pairs = [task.data.example(split, index) for index in range(size)]
        for side, tokenizer in (("source", task.vocabulary.source), ("target", task.vocabulary.target)):
            lines = tokenizer.encode_batch([getattr(pair, side) for pair in pairs])
            content = "".join(" ".join(map(str, ids)) + "\n" for ids in lines)
            (folder / f"{name}.{side}").write_text(content, encoding="utf-8")
    for side, tokenizer in (("source", task.vocabulary.source), ("target", task.vocabulary.target)):
        words = "".join(f"{number}\n" for number in range(4, len(tokenizer)))  # below are the special ones
        (folder / f"vocabulary.{side}").write_text(words, encoding="utf-8")
    shared = ("model", "seed", "threads", "sentences", "batch_tokens", "learning_rate", "clip")
    names = (*shared, *SIZES[arguments.model], "label_smoothing", "length_penalty")
    settings = {name: getattr(arguments, name) for name in names}
    (folder / "settings.json").write_text(json.dumps({**settings, "folder": str(folder)}), encoding="utf-8")


def open_task(arguments: argparse.Namespace) -> Translate:
    """Our task with the same settings."""
    kind: Any = options_class(Translate, arguments.model)  # made of what the task, the model and every run can be told
    options = kind(
        model=arguments.model,
        data=str(arguments.data),
        source=arguments.source,
        target=arguments.target,
        vocabulary_size=arguments.vocabulary_size,
        seed=arguments.seed,
        batch_tokens=arguments.batch_tokens,
        learning_rate=arguments.learning_rate,
        clip=arguments.clip,
        label_smoothing=arguments.label_smoothing,
        length_penalty=arguments.length_penalty,
        **our_sizes(arguments.model, vars(arguments)),
    )
    return Translate.prepare(options)


def in_turns(sides: dict[str, Side], rounds: int) -> Iterator[tuple[str, Side, float]]:
    """Each side once a round, the first of a round the last of the one before; with the machine's rate of that time."""
    for number in range(rounds):
        names = list(sides) if number % 2 == 0 else list(sides)[::-1]
        for name in names:
            yield name, sides[name], machine_rate()


def measure(sides: dict[str, Side], arguments: argparse.Namespace) -> dict[str, Any]:
    """Everything that is measured, round by round."""
    found: dict[str, Any] = {"train": {}, "greedy": {}, "beam": {}, "gflops": []}

    def note(kind: str, name: str, rate: float, result: dict[str, Any]) -> None:
        found[kind].setdefault(name, []).append({**result, "rate": rate})
        found["gflops"].append(rate)
        print(
            f"{kind:7}{name:9}{result['seconds']:8.2f} s, the machine {rate:6.1f} GFLOP/s", file=sys.stderr, flush=True
        )

    for side in sides.values():
        side.train(1)  # memory and threads come with the first step
    for name, side, rate in in_turns(sides, arguments.rounds):
        note("train", name, rate, side.train(arguments.steps))
    for kind, beam_size in (("greedy", 1), ("beam", arguments.beam_size)):
        for name, side, rate in in_turns(sides, arguments.decode_rounds):
            note(kind, name, rate, side.decode(beam_size, arguments.test_sentences))
    return found


def parser_of(
    description: str, model: str = "rnnsearch", parents: Sequence[argparse.ArgumentParser] = ()
) -> argparse.ArgumentParser:
    """The options of every measurement of this model."""
    parser = argparse.ArgumentParser(description=description, parents=parents)
    parser.set_defaults(model=model)
    parser.add_argument("--data", type=Path, default=_HERE / "../../shared/data/multi30k/raw", help="aligned files")
    parser.add_argument("--json", type=Path, help="write all that was measured there")
    parser.add_argument("--page", type=Path, help="put the table into this page")
    defaults: dict[str, Any] = {
        "source": "de",
        "target": "en",
        "vocabulary_size": 8000,
        "batch_tokens": 2048,
        "learning_rate": 1e-3,
        "clip": 1.0,
        "label_smoothing": 0.1,
        "length_penalty": 0.6,
        "seed": 1,
        "threads": 2,
        "steps": 30,
        "rounds": 10,
        "decode_rounds": 3,
        "beam_size": 5,
        "sentences": 64,
        **SIZES[model],
    }
    for name, value in defaults.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    return parser


def parse() -> argparse.Namespace:
    """The command line."""
    choice = argparse.ArgumentParser(add_help=False)
    choice.add_argument("--model", choices=tuple(SIZES), default="rnnsearch", help="which translator (rnnsearch)")
    model = choice.parse_known_args()[0].model  # whose sizes are options
    parser = parser_of(__doc__.splitlines()[0], model, [choice])
    parser.add_argument("--joeynmt", required=True, help="an interpreter that has JoeyNMT 2.3.0")
    return parser.parse_args()


def main() -> int:
    """Measures, prints and writes."""
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    keep_freed_memory()  # as every command of ours does
    task = open_task(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(task, folder, arguments)
        peer = JoeyNMT(arguments.joeynmt, folder, arguments.threads)
        versions = peer.versions()
        sides: dict[str, Side] = {"Saccade": Ours(task, arguments.sentences), "JoeyNMT": peer}
        found = measure(sides, arguments)
        facts = {name: {**side.parameters(), "counts": counts(side)} for name, side in sides.items()}
        peer.close()
    private = ("joeynmt", "data", "json", "page")
    settings = {name: value for name, value in vars(arguments).items() if name not in private}
    examples = [task.data.example("test", index) for index in range(arguments.test_sentences)]
    sources = [1 + len(task.vocabulary.source.encode(example.source)) for example in examples]
    scores = bleu(found, [example.target for example in examples], task)
    results = summary(found, facts, settings, sources, scores, versions)
    print(table(results))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if arguments.page:
        write_into(arguments.page, table(results))
    return 0


def bleu(found: dict[str, Any], references: list[str], task: Translate) -> dict[str, dict[str, float]]:
    """BLEU of each side's last outputs: that both have learned as much says that both decode as much."""
    from sacrebleu import corpus_bleu

    scores: dict[str, dict[str, float]] = {}
    for kind in ("greedy", "beam"):
        texts = {name: rounds[-1]["texts"] for name, rounds in found[kind].items()}
        numbers = [[int(word) for word in text.split() if word.isdigit()] for text in texts["JoeyNMT"]]
        texts["JoeyNMT"] = [task.vocabulary.target.decode(ids) for ids in numbers]
        scores[kind] = {name: corpus_bleu(lines, [references]).score for name, lines in texts.items()}
    return scores


def counts(side: Side) -> dict[str, float]:
    """Operations of one sentence of S source and T target tokens: fixed + source S + target T + pair S T."""
    at = {(s, t): side.count(s, t)["flops"] for s in (8, 9) for t in (8, 9)}
    pair = at[9, 9] - at[9, 8] - at[8, 9] + at[8, 8]
    source, target = at[9, 8] - at[8, 8] - 8 * pair, at[8, 9] - at[8, 8] - 8 * pair
    fixed = at[8, 8] - 8 * source - 8 * target - 64 * pair
    return {"fixed": fixed, "source": source, "target": target, "pair": pair}


if __name__ == "__main__":
    sys.exit(main())
