"""Compare models of transformers with their eager functions, for docs/architectures.md.

    python tools/write_architectures.py             # all architectures, some two minutes on one core
    python tools/write_architectures.py llama bert  # print the rows of these alone
    python tools/write_architectures.py --page      # write the table again from results/architectures.json

Each model is small and random (tools/architectures.py). Its calls have a batch without padding, one with padding on
its left, and a step with a cache. Two ways lead to records: `look.record` of the model under "sdpa", and
`attn_implementation="saccade"`.
"""

import argparse
import copy
import json
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from architectures import Case, cases
from pages import filled, table
from torch import Tensor, nn

from saccade import AuxRequest, look
from saccade._system.environment import hardware, versions

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PAGE = ROOT / "results/architectures.json", ROOT / "docs/architectures.md"
SUMMARY = "<!-- tools/write_architectures.py writes this summary -->\n"
ROWS = "<!-- tools/write_architectures.py writes this table -->\n"
TOLERANCE, ROUNDINGS = 1e-5, 4
"""An error counts if it is larger, and larger than so many errors of "eager" against its run in float64."""
WAYS: Mapping[str, Any] = {"observe": "sdpa", "serve": "saccade"}
VERDICTS = ("works", "partial", "bypasses", "differs", "wrong", "fails")
CACHES = ("cache", "past_key_values")

Calls = list[tuple[Any, Tensor | None]]
"""Output of each call of a model, and the mask of a padded batch."""


def build(case: Case, implementation: str, eager: nn.Module | None = None) -> nn.Module:
    """A model of random weights, those of `eager` if it is given."""
    from transformers import AutoModel

    torch.manual_seed(0)
    model: nn.Module = AutoModel.from_config(case.config(), attn_implementation=implementation).eval()
    if eager is not None:
        model.load_state_dict(eager.state_dict())
        return model
    for name, part in model.named_parameters():
        part.data += torch.randn_like(part) * (0.15 if part.ndim > 1 else 0.1) * ("A_log" not in name)
    return model


@torch.no_grad()
def calls(model: Any, case: Case, **options: Any) -> Calls:
    """Call a model with both batches, and with a step after a cache if it has one."""
    whole, padded = (
        {
            name: part.to(model.dtype) if part.is_floating_point() else part
            for name, part in case.inputs(padded, model.config).items()
        }
        for padded in (False, True)
    )
    outputs: Calls = [(model(**whole, **options), None)]
    if "attention_mask" in padded:
        outputs.append((model(**padded, **options), padded["attention_mask"].bool()))
    if case.kind == "decoder":
        first = model(input_ids=whole["input_ids"][:, :-1], use_cache=True, **options)
        outputs.append((first, None))
        if cache := {name: first[name] for name in CACHES if first.get(name) is not None}:
            outputs.append((model(input_ids=whole["input_ids"][:, -1:], **cache, **options), None))
    return outputs


def tensors(output: Any, name: str = "") -> Iterator[tuple[str, Tensor]]:
    """Tensors of an output by name, without those of its cache."""
    if isinstance(output, Tensor):
        yield name, output
    parts: Any = output.items() if isinstance(output, Mapping) else ()
    if isinstance(output, tuple | list):
        parts = enumerate(output)
    for key, part in parts:
        if key not in CACHES:
            yield from tensors(part, f"{name}.{key}")


def attentions(output: Any) -> list[Tensor]:
    """Weights of an output of a model that collects them."""
    return [part for name, part in tensors(output) if "attentions" in name]


def states(output: Any, mask: Tensor | None) -> dict[str, Tensor]:
    """States of an output by name, in a padded batch those of tokens alone."""
    return {
        name: part[mask] if mask is not None and part.shape[:2] == mask.shape else part
        for name, part in tensors(output)
        if part.is_floating_point() and "attentions" not in name and (mask is None or "last_hidden_state" in name)
    }


def largest(errors: Sequence[float]) -> float | None:
    """The largest error, NaN if one is NaN, None without any."""
    return float(torch.tensor(errors).max()) if errors else None


def output_error(ours: Calls, eager: Calls) -> float:
    """Largest difference of states, relative to the largest state of its call."""
    errors = []
    for (output, mask), (reference, _) in zip(ours, eager, strict=True):
        pair = states(output, mask), states(reference, mask)
        assert pair[0].keys() == pair[1].keys(), pair
        errors += [(part - pair[1][name]).abs().max() / pair[1][name].abs().max() for name, part in pair[0].items()]
    return float(torch.stack(errors).max())


def error_of_weights(weights: Tensor, reference: Tensor) -> float:
    """Largest difference. A row with nothing allowed is 0 here, and may be uniform in transformers."""
    if reference.shape[1] > 1 and reference.stride(1) == 0:  # the mean over heads
        weights, reference = weights.mean(1), reference[:, 0]
    uniform = reference.amax(-1, keepdim=True) - reference.amin(-1, keepdim=True) < 1e-6
    empty = uniform & (weights == 0).all(-1, keepdim=True)
    return float(torch.where(empty, 0.0, weights - reference).abs().max())


def listed_errors(ours: Calls, eager: Calls) -> list[float]:
    """Errors of the weights of outputs, call by call, if both have as many."""
    pairs = [(attentions(output), attentions(expected)) for (output, _), (expected, _) in zip(ours, eager, strict=True)]
    return [
        error_of_weights(*weights)
        for listed, expected in pairs
        if len(listed) == len(expected)
        for weights in zip(listed, expected, strict=True)
    ]


def rounding(case: Case, eager: nn.Module) -> dict[str, float]:
    """Errors of "eager" against its run in float64 without padding, 0 if it has no such run."""
    try:
        exact = calls(copy.deepcopy(eager).double(), case, output_attentions=True)[:1]
    except (RuntimeError, TypeError):
        return {"output": 0.0, "weights": 0.0}
    ours = calls(eager, case, output_attentions=True)[:1]
    return {"output": output_error(ours, exact), "weights": largest(listed_errors(ours, exact)) or 0.0}


@contextmanager
def returned(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """Collect the tensors `(B, H, Lq, Lk)` that modules return in a block."""
    collected: dict[str, list[Tensor]] = {name: [] for name, _ in model.named_modules()}

    def keep(name: str) -> Any:
        return lambda module, args, output: collected[name].extend(
            part for part in (output if isinstance(output, tuple) else ()) if getattr(part, "ndim", 0) == 4
        )

    handles = [module.register_forward_hook(keep(name)) for name, module in model.named_modules()]
    try:
        yield collected
    finally:
        for handle in handles:
            handle.remove()


def record_errors(recording: look.Recording, collected: Mapping[str, list[Tensor]]) -> list[float]:
    """Errors of records whose module returns as many weights of their shape."""
    errors = list[float]()
    names = [record.name for record in recording]
    for name in dict.fromkeys(names):
        pairs = [(record.weights, part) for record, part in zip(recording[name], collected[name], strict=False)]
        if names.count(name) == len(collected[name]) and all(weights.shape == part.shape for weights, part in pairs):
            errors += [error_of_weights(*pair) for pair in pairs]
    return errors


def same_bits(ours: Calls, others: Calls) -> bool:
    """Whether all tensors of outputs are equal."""
    return all(
        torch.equal(part, reference)
        for (output, _), (expected, _) in zip(ours, others, strict=True)
        for (_, part), (_, reference) in zip(tensors(output), tensors(expected), strict=True)
    )


def observable(case: Case, mode: str, eager: nn.Module) -> tuple[nn.Module, str]:
    """The model of a way, with its implementation: "eager" if the class has no "sdpa"."""
    try:
        return build(case, WAYS[mode], eager), WAYS[mode]
    except ValueError as error:
        if mode != "observe" or "scaled_dot_product_attention" not in str(error):
            raise
        return build(case, "eager", eager), "eager"


def measure(case: Case, eager: nn.Module, mode: Any) -> dict[str, Any]:
    """Errors of one way, and the number of modules with and without records."""
    model, implementation = observable(case, mode, eager)
    plain = calls(model, case)
    with look.record(model, AuxRequest(weights=True), mode=mode, required=False) as recording:
        recorded = calls(model, case)
    with returned(eager) as collected:
        expected = calls(eager, case, output_attentions=True)
    listed = {id(part) for output, _ in expected for part in attentions(output)}
    collected = {name: [part for part in parts if id(part) in listed] for name, parts in collected.items()}
    errors = record_errors(recording, collected)
    compared = len(errors)
    if implementation == "saccade" and recording:
        errors += listed_errors(calls(model, case, output_attentions=True), expected)
    coverage = recording.coverage
    without = {type(model.get_submodule(name)).__name__ for name in (*coverage.partial, *coverage.bypassing)}
    return {
        "implementation": implementation,
        "equal": same_bits(recorded, plain),
        "output": largest([output_error(plain, expected), output_error(recorded, expected)]),
        "weights": largest(errors),
        "records": len(recording),
        "compared": compared,
        **{name: len(names) for name, names in coverage._asdict().items()},
        "without": sorted(without),
    }


def verdict(way: Mapping[str, Any], noise: Mapping[str, float]) -> str:
    """The verdict of a way, with the errors of rounding."""
    if "error" in way:
        return "fails"
    wrong = {
        name: way[name] is not None and not way[name] <= max(TOLERANCE, ROUNDINGS * noise[name])
        for name in ("output", "weights")
    }
    if way["implementation"] != "saccade":
        if way["equal"] and wrong["output"]:
            return "differs"
        wrong["output"] = not way["equal"]
    if any(wrong.values()):
        return "wrong"
    if not way["records"]:
        return "bypasses"
    return "partial" if way["partial"] or way["bypassing"] or way["weights"] is None else "works"


def reason(row: Mapping[str, Any]) -> str:
    """The parts of a way that do not work or were not compared, in words."""
    if "error" in row:
        return row["error"]
    parts = list[str]()
    if row["implementation"] == "eager":
        parts.append("no `sdpa`")
    if row["without"]:
        parts.append(f"no record of {', '.join(f'`{name}`' for name in row['without'])}")
    if row["compared"] < row["records"]:
        parts.append(f"`eager` returns no weights for {row['records'] - row['compared']} of {row['records']} records")
    if row["verdict"] == "differs":
        parts.append(f"`sdpa` of transformers differs from `eager` by {row['output']:.0e}")
    return "; ".join(parts)


def attempt(case: Case) -> dict[str, Any]:
    """The row of an architecture."""
    eager = build(case, "eager")
    noise = rounding(case, eager)
    row: dict[str, Any] = {
        "name": case.name,
        "kind": case.kind,
        "class": type(eager).__name__,
        "rounding": rounded(noise),
    }
    for mode in WAYS:
        try:
            way = measure(case, eager, mode)
        except Exception as error:  # noqa: BLE001  # a row of the table
            table = "transformers looks its class up in a table without this name"
            text = table if repr(error) == "KeyError('saccade')" else f"{type(error).__name__}: {error}".splitlines()[0]
            way = {"error": text}
        row[mode] = {"verdict": verdict(way, noise), **rounded(way)}
    return row


def rounded(way: Mapping[str, Any]) -> dict[str, Any]:
    """A way with two digits of each error."""
    return {name: float(f"{part:.1e}") if isinstance(part, float) else part for name, part in way.items()}


def rows(names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Measure architectures, all without names, and print each."""
    import transformers

    import saccade.hf  # noqa: F401  # which registers "saccade"

    transformers.logging.set_verbosity_error()
    for case in cases():
        if not names or case.name in names:
            began = time.monotonic()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                row = attempt(case)
            ways = [f"{mode} {row[mode]['verdict']} {reason(row[mode])}".rstrip() for mode in WAYS]
            print(f"{case.name} ({time.monotonic() - began:.1f} s): {', '.join(ways)}", flush=True)
            yield row


def cells(way: Mapping[str, Any]) -> list[str]:
    """Verdict and errors of a way."""
    errors = ["" if way.get(name) is None else f"{way[name]:.0e}" for name in ("weights", "output")]
    return [way["verdict"], *errors]


def reasons(row: Mapping[str, Any]) -> str:
    """The reasons of both ways."""
    texts = {mode: reason(row[mode]) for mode in WAYS}
    if texts["serve"] and texts["observe"].endswith(texts["serve"]):
        return texts["observe"]
    return "; ".join(f"{mode}: {text}" for mode, text in texts.items() if text)


def lines(content: Mapping[str, Any]) -> list[list[str]]:
    """The table of the page."""
    columns = ["verdict", "weights", "output"]
    header = ["architecture", "inputs", *(f"{mode}: {column}" for mode in WAYS for column in columns), "reason"]
    return [
        header,
        *(
            [f"`{row['name']}`", row["kind"], *(cell for mode in WAYS for cell in cells(row[mode])), reasons(row)]
            for row in content["rows"]
        ),
    ]


def summary(content: Mapping[str, Any]) -> str:
    """Numbers of architectures by verdict, and where they were measured."""
    counts = {mode: Counter(row[mode]["verdict"] for row in content["rows"]) for mode in WAYS}
    numbers = [[mode, *(str(counts[mode][name]) for name in VERDICTS)] for mode in WAYS]
    packages = ", ".join(f"{name} {content['versions'][name]}" for name in ("transformers", "torch", "saccade"))
    machine = content["hardware"]
    where = f"{machine['processor']}, {machine['threads']} of {machine['cores']} cores"
    count, seconds = len(content["rows"]), content["seconds"]
    return (
        f"{table([['way', *VERDICTS], *numbers])}\n\n"
        f"{count} architectures in {seconds:.0f} s on {content['date']}: {packages}, on {where}. "
        f"All numbers are in `{RESULTS.relative_to(ROOT)}`."
    )


def page() -> str:
    """docs/architectures.md with its tables written again."""
    content = json.loads(RESULTS.read_text(encoding="utf-8"))
    text = filled(PAGE.read_text(encoding="utf-8"), SUMMARY, summary(content))
    return filled(text, ROWS, table(lines(content), "lllrrlrrl"))


def main() -> None:
    """Measure all architectures and write their page, or print some."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="architectures to print; default: measure all and write the files")
    parser.add_argument("--page", action="store_true", help="write the page from the stored results")
    arguments = parser.parse_args()
    if not arguments.page:
        began = time.monotonic()
        content = {
            "command": "python tools/write_architectures.py",
            "date": datetime.now(UTC).date().isoformat(),
            "tolerance": TOLERANCE,
            "roundings": ROUNDINGS,
            "hardware": hardware(torch.device("cpu")),
            "versions": versions(("transformers",)),
            "rows": list(rows(arguments.names)),
        }
        content["seconds"] = round(time.monotonic() - began, 1)
        if arguments.names:
            print(json.dumps(content["rows"], indent=1))
            return
        RESULTS.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
