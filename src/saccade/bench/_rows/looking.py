"""Cost of looking: a recorded GPT-2, and a training step under a monitor."""

from functools import partial
from itertools import count
from typing import Any

import torch
from torch import Tensor, nn

from saccade import AuxRequest, look
from saccade.bench.row import Prepare, Row, Run, Setup, Target, at_most, package, times
from saccade.look._recording import Mode

_CONFIG: dict[str, Any] = {"n_positions": 2048, "n_layer": 12, "n_head": 12, "n_embd": 768}  # GPT-2 small
_LENGTHS = (512, 1024, 2048)
_STATISTICS, _WEIGHTS = AuxRequest(entropy=True, received=True, top=8), AuxRequest(weights=True)
_HF = "pip install 'saccade-attention[hf]' brings it"
_ATTNREAD = "pip install --no-deps attnread nnsight, and the packages that nnsight needs"
_EVERY, _SHARE = 500, 0.02  # steps from one reading of `look.Monitor` to the next, and its share of a training
_BATCH, _TOKENS, _DIM, _HEADS, _LAYERS = 16, 64, 256, 4, 2


def rows(setup: Setup) -> list[Row]:
    """Return the rows of recordings and of monitors, on a CPU."""
    if setup.device.type != "cpu":
        return []
    kinds: tuple[tuple[str, Prepare, float, tuple[int, ...]], ...] = (
        ("by saccade.hf", partial(_forward, "saccade"), 1.05, _LENGTHS),
        ("observed", partial(_recorded, "observe", _STATISTICS), 1.3, _LENGTHS),
        ("served", partial(_recorded, "serve", _STATISTICS), 1.2, _LENGTHS[-1:]),
    )
    return [
        *_monitored(),
        *(
            _gpt2(f"GPT-2 {name}", length, ours, targets=(at_most(factor),) if length in lengths else ())
            for length in _LENGTHS
            for name, ours, factor, lengths in kinds
        ),
        *(row for length in _LENGTHS for row in _memory(length)),
        *(_all_weights(length) for length in _LENGTHS[:2]),
    ]


def _gpt2(family: str, length: int, ours: Prepare, **more: Any) -> Row:
    fields: dict[str, Any] = {"peer": "sdpa", "theirs": partial(_forward, "sdpa")}
    return Row(
        family=family,
        shape=f"{length} tokens",
        size=length,
        inputs=lambda setup: (_ids(length),),
        ours=ours,
        **(fields | more),
    )


def _ids(length: int) -> Tensor:
    return torch.randint(50257, (1, length))


def _memory(length: int) -> list[Row]:
    """Rows of the peak memory, parameters included."""
    observed, eager = partial(_recorded, "observe", _STATISTICS), partial(_forward, "eager", output_attentions=True)
    peers: tuple[tuple[str, Prepare, tuple[Target, ...], int], ...] = (
        ("sdpa", partial(_forward, "sdpa"), (at_most(1.1, "memory"),), 0),
        ("eager, output_attentions", eager, (), 4 * _CONFIG["n_layer"] * _CONFIG["n_head"] * length**2),
    )
    return [
        _gpt2(
            *("GPT-2 observed, memory with the model", length, _with_model(observed)),
            peer=peer,
            theirs=_with_model(theirs),
            peer_bytes=size,
            targets=targets,
            memory=True,
            warm=lambda setup: (_ids(_LENGTHS[0]),),  # compiles the kernels
        )
        for peer, theirs, targets, size in peers
    ]


def _with_model(prepare: Prepare) -> Prepare:
    """Make the model in the call, so that its parameters count."""
    return lambda ids: lambda: prepare(ids)()


def _all_weights(length: int) -> Row:
    return _gpt2(
        *("GPT-2 weights", length, partial(_recorded, "observe", _WEIGHTS, weights=True)),
        peer="attnread",
        theirs=_attnread,
        targets=(times(20),),
        far=1e-5,
    )


def _model(attention: str) -> nn.Module:
    """GPT-2 with random weights."""
    transformers = package("transformers", _HF)
    package("saccade.hf", _HF)
    torch.manual_seed(0)
    config = transformers.GPT2Config(**_CONFIG)
    model: nn.Module = transformers.AutoModel.from_config(config, attn_implementation=attention)
    return model.eval()


def _forward(attention: str, ids: Tensor, **options: Any) -> Run:
    model = _model(attention)

    @torch.no_grad()
    def run() -> Tensor:
        states: Tensor = model(ids, use_cache=False, **options).last_hidden_state
        return states

    return run


def _recorded(mode: Mode, request: AuxRequest, ids: Tensor, weights: bool = False) -> Run:
    """GPT-2 under `look.record`: its states, or the weights of all layers."""
    model = _model("sdpa")

    @torch.no_grad()
    def run() -> Any:
        with look.record(model, request, mode=mode) as recording:
            states = model(ids, use_cache=False).last_hidden_state
        return tuple(record.weights for record in recording) if weights else states

    return run


def _attnread(ids: Tensor) -> Run:
    """Weights of all layers, by a forward for each 64 keys of each layer."""
    extract, model = package("attnread", _ATTNREAD).extract_attention, _model("sdpa")
    layers, heads = range(_CONFIG["n_layer"]), range(_CONFIG["n_head"])

    def run() -> tuple[Tensor, ...]:
        weights = extract(model, {"input_ids": ids})
        return tuple(torch.stack([weights["text", layer, head] for head in heads], 1) for layer in layers)

    return run


def _monitored() -> list[Row]:
    """A training step with a reading, and one of the 499 without."""
    reading = Target(
        f"≤ {_SHARE:.0%} of {_EVERY} steps",
        lambda result: (result.ratio or 0.0) * (1 + _SHARE * _EVERY) >= 1,
        1 / (1 + _SHARE * _EVERY),
    )
    return [
        Row(
            family=f"training step, monitor {name}",
            shape=f"{_BATCH}x{_TOKENS}x{_DIM}",
            peer="without a monitor",
            inputs=lambda setup: (setup.normal(_BATCH, _TOKENS, _DIM),),
            ours=partial(_training, every),
            theirs=partial(_training, None),
            targets=(target,),
            far=0.0,
            quick=every == 1,
        )
        for name, every, target in (
            ("with a reading", 1, reading),
            ("without a reading", _EVERY, at_most(1 + _SHARE)),
        )
    ]


def _training(every: int | None, tokens: Tensor) -> Run:
    """Train torch's encoder, with dropout, by AdamW."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(_DIM, _HEADS, 4 * _DIM, batch_first=True)
    model = nn.TransformerEncoder(layer, _LAYERS, enable_nested_tensor=False)
    optimizer, steps = torch.optim.AdamW(model.parameters(), lr=1e-4), count()

    def run() -> Tensor:
        loss: Tensor = (model(tokens) - tokens).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    if every is None:
        return run
    monitor = look.Monitor(every=every)
    with torch.random.fork_rng([]), monitor.step(model, next(steps)):
        model(tokens)

    def monitored() -> Tensor:
        with monitor.step(model, next(steps) if every == 1 else 1):
            return run()

    return monitored
