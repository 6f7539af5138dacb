"""JoeyNMT's half of `translate.py`: a child process that trains and decodes with JoeyNMT 2.3.0 when it is told to.

It runs under the interpreter that has JoeyNMT and imports nothing of Saccade. Its argument is a JSON file with the
folder of the data and the sizes; then each line of standard input is a command in JSON and each line of standard output
its answer. JoeyNMT is used through its own functions and changed nowhere: no learning-rate scheduler and no
sentencepiece, both of which its version 2.3.0 calls in ways that today's releases refuse, are needed here.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from joeynmt.batch import Batch
from joeynmt.config import parse_global_args
from joeynmt.prediction import predict, prepare
from joeynmt.training import TrainManager
from torch.utils.flop_counter import FlopCounterMode
from translate_configuration import configuration


class Peer:
    """A JoeyNMT model with its data, its optimizer and its loop, one command at a time."""

    def __init__(self, settings: dict[str, Any]) -> None:
        torch.set_num_threads(settings["threads"])
        config = configuration(settings)
        Path(config["model_dir"]).mkdir()
        self.args = parse_global_args(config, mode="train")
        self.model, self.data, _, self.test = prepare(self.args, rank=0, mode="train")
        self.manager = TrainManager(
            rank=0,
            model=self.model,
            model_dir=self.args.model_dir,
            device=self.args.device,
            autocast=self.args.autocast,
            seed=self.args.seed,
            train_args=self.args.train,
            dev_args=self.args.test,
        )
        self.batches = self._batches()

    def parameters(self) -> dict[str, Any]:
        """How many numbers are learned."""
        return {"parameters": sum(p.numel() for p in self.model.parameters())}

    def count(self, source: int, target: int) -> dict[str, Any]:
        """Floating-point operations of all matrix products for one sentence, as torch counts them."""
        pad, end = self.model.pad_index, self.model.eos_index
        batch = Batch(
            src=torch.full((1, source), 9),
            src_length=torch.tensor([source]),
            src_prompt_mask=None,
            trg=torch.tensor([[self.model.bos_index, *[9] * (target - 1), end]]),
            trg_prompt_mask=None,
            indices=torch.tensor([0]),
            device=torch.device("cpu"),
            pad_index=pad,
            eos_index=end,
        )
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            self.model(return_type="loss", **vars(batch))
        return {"flops": counter.get_total_flops()}

    def train(self, steps: int) -> dict[str, Any]:
        """Take so many steps, as JoeyNMT's own loop does; the making of the batches counts."""
        sizes: list[tuple[list[int], list[int], int]] = []
        began = time.perf_counter()
        for _ in range(steps):
            batch = next(self.batches)
            loss, _ = self.manager._train_step(batch)  # the loop around it validates and saves: neither is measured
            self.manager.clip_grad_fun(parameters=self.model.parameters())
            self.manager.optimizer.step()
            self.model.zero_grad()
            sizes.append((batch.src_length.tolist(), batch.trg_mask.sum(2)[:, 0].tolist(), batch.trg.numel()))
        return {"seconds": time.perf_counter() - began, "loss": loss, "batches": sizes}

    def decode(self, beam_size: int, sentences: int) -> dict[str, Any]:
        """Translate the first sentences of the test split."""
        options = self.args.test._replace(beam_size=beam_size)
        self.test.indices = list(range(sentences))
        began = time.perf_counter()
        _, _, texts, pieces, _, _ = predict(
            self.model, self.test, torch.device("cpu"), 0, args=options, autocast=self.args.autocast
        )
        return {"seconds": time.perf_counter() - began, "texts": texts, "lengths": [len(line) for line in pieces]}

    def versions(self) -> dict[str, Any]:
        """Of JoeyNMT and torch."""
        return {name: metadata.version(name) for name in ("joeynmt", "torch")}

    def _batches(self) -> Iterator[Batch]:
        """Its own iterator, one epoch after another."""
        train, model = self.args.train, self.model
        batches = self.data.make_iter(
            batch_size=train.batch_size,
            batch_type=train.batch_type,
            seed=self.args.seed,
            shuffle=True,
            eos_index=model.eos_index,
            pad_index=model.pad_index,
            device=self.args.device,
        )
        epoch = 0
        while True:
            epoch += 1
            batches.batch_sampler.set_seed(self.args.seed + epoch)
            yield from batches


def main() -> None:
    """Answers until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else prints shall not be taken for an answer
    peer = Peer(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    commands: dict[str, Callable[..., dict[str, Any]]] = {
        name: getattr(peer, name) for name in ("parameters", "count", "train", "decode", "versions")
    }
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(commands[request.pop("command")](**request)), file=answers, flush=True)


if __name__ == "__main__":
    main()
