"""Studies whose numbers are drawn, one part of whose claim is true by a stated effect, or by nothing at all.

Everything else that a study claims is true by far, so that this part decides. With an effect of 0 the part just fails
to hold: a verdict "reproduced" is chance then.
"""

import math

import numpy as np

from studies import bottleneck as copied
from studies import fast_weights as mixing
from studies import isolation as isolated
from studies import memory_or_attention as either
from studies.fast_weights import SOLVED
from studies.frame.attributions import ATTENTION as RAW
from studies.frame.layers import ATTENTION as ATTENTION_LAYER
from studies.frame.layers import CONVOLUTION, DILATED, GRU, LAYERS, TEXTBOOK
from studies.frame.seeds import pack
from studies.implicit import ATTENTION as ATTENDED
from studies.implicit import JACOBIAN
from studies.memory import NEAR as MORE
from studies.objects import ATTENTION
from studies.order import MARGIN as LOST
from studies.order import SET
from studies.pointing import ANY, WEIGHTS
from studies.regions import WAYS
from studies.regression import EXPECTED
from studies.regression import NEAR as OFF
from studies.scaling import GROWS, MODELS
from studies.scaling import NEAR as STAYS
from studies.soft_hard import MARGIN as BEHIND

SEEDS = range(1, 4)
GROUPS, EXAMPLES = 10, 60


def scored(rng, means, **about):
    """Rows of scores: of each model a mean, and what sentences, seeds, and sentences for a model make of it."""
    shared, rows = rng.normal(0, 1.0, GROUPS), []
    for model, mean in means.items():
        own = rng.normal(0, 0.5, GROUPS)
        for seed in SEEDS:
            values = mean + shared + own + rng.normal(0, 0.3) + rng.normal(0, 0.3, GROUPS)
            partial = ((values.sum() - values) / (GROUPS - 1)).tolist()
            score = {"metric": "bleu", "score": float(values.mean()), "replicates": partial, "sentences": 100}
            rows.append({"model": model, "seed": seed, **score, **about})
    return rows


def right(rng, share, hard):
    """Whether examples were right, with a probability that seeds and what is hard about an example change."""
    chance = share + rng.normal(0, 0.02) + hard
    return (rng.random(len(hard)) < chance).tolist()


def rated(rng, shares, **about):
    """Rows of examples that were right or not: of each model a share."""
    hard = rng.uniform(-0.15, 0.15, EXAMPLES)
    for model, share in shares.items():
        for seed in SEEDS:
            yield {"model": model, "seed": seed, **about}, right(rng, share, hard)


def scores(rng, effect):
    means = {"none": 20.0, "general": 40.0, "location": 40 + effect, "dot": 60.0, "local-m": 60.0, "local-p": 80.0}
    return {"rows": scored(rng, means)}


def length(rng, effect):
    """Falls of 8 and of 4 in a group: half as much with attention, less an effect."""
    rows = []
    for place in range(4):
        means = {"rnnsearch": 60 - (4 - effect) * place, "encoder-decoder": 60 - 8.0 * place}
        rows += scored(rng, means, lengths=str(place), length=5.0 * place, unit="words", few=False)
    return {"rows": rows, "runs": {model: {"model": model} for model in means}}


def order(rng, effect):
    """A set that loses two in 100 of what it had, less an effect, on the same sentences by the same models."""
    rows = scored(rng, {"rnnsearch": 50.0, SET: 50.0}, words="in order")
    shuffled = []
    for row in rows:
        loss = 25.0 if row["model"] != SET else (LOST - effect) * 50.0
        noise = rng.normal(0, 0.3, GROUPS)
        partial = [one - loss + float(noise.sum() - own) / 9 for one, own in zip(row["replicates"], noise, strict=True)]
        shuffled.append(
            {**row, "words": "shuffled", "score": row["score"] - loss + float(noise.mean()), "replicates": partial}
        )
    return {"rows": [*rows, *shuffled]}


def soft_hard(rng, effect):
    means = {"luong soft": 50.0, "luong reinforce, as in the paper": 50 * (1 - BEHIND) + effect}
    return {"rows": scored(rng, means)}


def pooling(rng, effect):
    shares = {"sum": 0.2, "fixed dot": 0.2 + effect, "fixed MLP": 0.85}
    rows = []
    for about, hits in rated(rng, shares, measured="accuracy", texts=EXAMPLES):
        rows.append({**about, "right": pack(hits, "bits"), "accuracy": float(np.mean(hits))})
        pair = {"scores": [1.0, 0.5], "probabilities": [0.7, 0.65], "positive": True}
        rows.append({**about, "measured": "not", "pairs": [pair, {**pair, "positive": False}]})
    return {"rows": rows}


def cnn_attention(rng, effect):
    shares = {"CNN": 0.6, "CNN with self-attention": 0.6 + effect}
    rows = rated(rng, shares, images=EXAMPLES, labels=10)
    return {"rows": [{**about, "right": pack(hits, "bits"), "accuracy": float(np.mean(hits))} for about, hits in rows]}


def glimpses(rng, effect):
    base = {"policy": "ram", "glimpses": 6, "scales": 3, "pieces": 0}
    kinds = {"ram": base, "random": {**base, "policy": "random"}, "ram, 1 scale": {**base, "scales": 1}}
    shares = {"ram": 0.2, "random": 0.2 + effect, "ram, 1 scale": 0.85}
    rows = []
    for about, wrong in rated(rng, shares, measured="paths", images=EXAMPLES, labels=10, paths=1):
        counts = pack(wrong, "counts")
        rows.append({**about, **kinds[about["model"]], "wrong": counts, "error": float(np.mean(wrong))})
    return {"rows": rows}


def pointing(rng, effect):
    """A heaviest cell that lies on what matters as often as any thing does, 0.3, and an effect more."""
    rows = []
    for about, hits in rated(rng, {"soft": 0.3 + effect}, questions=EXAMPLES, examples=EXAMPLES, blind=0.3, counts=[1]):
        changes = {by: rng.normal(-lost, 0.05, EXAMPLES).tolist() for by, lost in ((WEIGHTS, 0.7), (ANY, 0.1))}
        erased = {by: {"change": [pack(own, "shares")], "hits": pack(hits, "bits")} for by, own in changes.items()}
        known = pack((rng.random(EXAMPLES) < 0.9).tolist(), "bits")
        rows.append({**about, "right": known, "anything": pack([0.3] * EXAMPLES, "shares"), "erased": erased})
    return {"rows": rows}


def explanations(rng, effect):
    """Attention that finds what decides in 40 of 100 images, Grad-CAM in as many and an effect more."""
    rows, runs = [], {}
    for about, hits in rated(rng, {RAW: 0.4}, examples=EXAMPLES):
        others = {
            name: right(rng, share, np.zeros(EXAMPLES)) for name, share in (("grad-cam", 0.4 + effect), ("x", 0.9))
        }
        packed = {name: pack(shares, "shares") for name, shares in {RAW: hits, **others}.items()}
        rows.append({**about, "hits": packed, "any": pack([0.1] * EXAMPLES, "shares")})
        runs[f"captioner-{about['seed']}"] = {"metrics": {"exact_match": 0.9}}
    return {"rows": rows, "runs": runs, "data": "scenes"}


def objects(rng, effect):
    """Things named by 0.95 and 0.55, however many, less an effect with each more for one without attention."""
    things = np.arange(4 * EXAMPLES) % 4 + 1
    rows = []
    for model, share, less in ((ATTENTION, 0.95, 0.0), ("m-rnn", 0.55, effect)):
        for seed in SEEDS:
            named = rng.binomial(things, np.clip(share + rng.normal(0, 0.01) - less * (things - 1), 0, 1))
            counts = {"things": pack(things.tolist(), "counts"), "named": pack(named.tolist(), "counts")}
            rows.append(
                {"model": model, "seed": seed, "images": len(things), **counts, "right": pack(named == things, "bits")}
            )
    return {"rows": rows}


def regions(rng, effect):
    """Words that take their thing as often as any cell lies there, 0.35, and an effect more; of ranks half are 1."""
    rows = []
    for about, hits in rated(rng, {"region-words": 0.35 + effect}):
        ranks = {"rows": EXAMPLES, "hits": [pack((rng.random(EXAMPLES) < 0.5).tolist(), "bits")], "chance": [0.01]}
        pointing = {"hits": [pack(hits, "shares")], "cells": pack([0.35] * EXAMPLES, "shares")}
        rows.append({**about, "recall": dict.fromkeys(WAYS, ranks), "pointing": pointing})
    return {"rows": rows}


def memory(rng, effect):
    """A memory that has one bit in 100 more wrong on long sequences, less an effect."""
    bits, rows = 400, []
    for model, short, long in (("ntm", 0.01, 0.01 + MORE - effect), ("lstm", 0.02, 0.45)):
        for seed in SEEDS:
            own, lengths = rng.normal(0, 0.001), {}
            for group, share in (("20", short), ("120", long)):
                wrong = rng.binomial(bits, max(0.0, share + own), EXAMPLES)
                about = {"sequences": EXAMPLES, "asked": bits * EXAMPLES, "wrong": " ".join(map(str, wrong))}
                lengths[group] = about
            rows.append({"model": model, "seed": seed, "lengths": lengths})
    return {"rows": rows, "data": "copy"}


def bottleneck(rng, effect):
    """Shares that fall by 0.6 through one vector and by half of that with attention, less an effect."""
    falls, rows = {copied.ATTENTION: (0.95, 0.3 - effect), copied.VECTOR: (0.8, 0.6)}, []
    for seed in SEEDS:
        for model, (share, fall) in falls.items():
            rights = {"10": share, "1000": share - fall}
            lengths = {name: {"right": right + rng.normal(0, 0.005)} for name, right in rights.items()}
            rows.append({"model": model, "seed": seed, "lengths": lengths})
        for code, error, right in ((2, 0.05, 0.4), (64, 0.01, 0.9)):
            own = {"error": error + rng.normal(0, 1e-4), "right": right + rng.normal(0, 0.002)}
            rows.append({"model": copied.AUTOENCODER, "seed": seed, "code": code, **own})
    return {"rows": rows}


def isolation(rng, effect):
    """Soft weights that forget by SGD what sparse ones do, and an effect more; by Adam much."""
    rows = [{"part": "gradients", "model": way, "deviation": 0.0, "leak": 0.0} for way in isolated.WAYS]
    for optimizer, more in (("sgd", effect), ("adam", 0.9)):
        lost = {isolated.UNIFORM: 0.9, isolated.SOFT: more, isolated.SPARSE: 0.0}
        for gate, share in lost.items():
            for seed in SEEDS:
                about = {"part": "forgetting", "model": gate, "optimizer": optimizer, "seed": seed, "same": True}
                rows.append({**about, "before": 0.95, "after": 0.95 - share + rng.normal(0, 0.005)})
    return {"rows": rows}


def fast_weights(rng, effect):
    """Attention that answers as many questions as do not solve the task yet, and an effect more."""
    rows = []
    for name in mixing.LAYERS:
        share, varied = (0.1, 0.0) if name in mixing.FIXED else (SOLVED + effect, 0.3)
        for seed in SEEDS:
            own = {"pairs": {"32": share + rng.normal(0, 0.005)}, "variation": varied + rng.normal(0, 0.005)}
            own["variation"] *= bool(varied)
            rows.append({"model": name, "seed": seed, "distance": 0.0, **own})
    return {"rows": rows}


def experts(rng, effect):
    rows = []
    for model, perplexity, load in (("no loss", 40.0, 3.0), ("importance 0.1, load 0.1", 40 - effect, 0.1)):
        for seed in SEEDS:
            own = {"perplexity": perplexity + rng.normal(0, 0.5), "load": load + rng.normal(0, 0.01), "most": 1.0}
            score = {"score": 1.0, "metric": "bleu", "sentences": 9}
            rows.append({"model": model, "seed": seed, **own, **score})
    return {"rows": rows}


def regression(rng, effect):
    """An error that falls by as much less than is claimed as still counts, and an effect less than that."""
    powers = {"mean": 0.0, "best bandwidth": EXPECTED + OFF - effect, "leave-one-out": EXPECTED}
    rows = []
    for way, power in powers.items():
        for n in (64, 128, 256, 512, 1024):
            noise = np.exp(rng.normal(0, 0.01 if way == "mean" else 0.05, 8))
            rows += [{"way": way, "n": n, "seed": s, "mse": n**power * one} for s, one in enumerate(noise, 1)]
    return {"rows": rows}


def timed(rng, powers, lengths, error):
    """Seconds of each name at each length: a power of it, measured with that error."""
    for n in lengths:
        yield n, {name: float(factor(n) * math.exp(rng.normal(0, error))) for name, factor in powers.items()}


def scaling(rng, effect):
    """An answer whose time grows by the power of the pixels that still counts as none, less an effect."""
    powers = {name: STAYS - effect if GROWS.get(name) is False else 0.8 for name in MODELS}
    factors = {name: lambda side, power=power: 1e-3 * side ** (2 * power) for name, power in powers.items()}
    factors["tiles, hard"] = lambda side: 1e-6 * side
    rows = []
    for side, seconds in timed(rng, factors, (100, 200, 283, 400, 566, 800), 0.05):
        found = {
            name: {"seconds": one, "error": 0.05 * one, "flops": side if GROWS.get(name) else 1}
            for name, one in seconds.items()
        }
        rows.append({"measured": "time", "side": side, "rounds": 20, "models": found})
    right = {"measured": "size", "side": 200, "paths": 10, "wrong": pack([0] * 9, "counts")}
    rows += [{"model": "tiles", "seed": seed, **right} for seed in SEEDS]
    return {"rows": rows}


def complexity(rng, effect):
    """A layer of attention whose time grows by the same power as a convolution's, and an effect more."""
    width, lengths = 64, (32, 256, 362, 512, 724, 1024)
    factors = {GRU: lambda n: 1e-5 * n, CONVOLUTION: lambda n: 1e-7 * n**1.2}
    factors |= {TEXTBOOK: lambda n: 1e-8 * n**2.0, ATTENTION_LAYER: lambda n: 1e-8 * n ** (1.2 + effect)}
    counts = {
        name: {
            "multiplications": [layer.products(n, width) for n in lengths],
            "chain": [n if name == GRU else 5 for n in lengths],
        }
        for name, layer in LAYERS.items()
    }
    inputs = {GRU: [[9]], CONVOLUTION: [[3]], DILATED: [[3]], ATTENTION_LAYER: [[9]]}
    rows = [{"measured": "operations", "layers": counts}]
    rows.append({"measured": "reach", "layers": [1], "lengths": [9], "inputs": inputs})
    for way in ("forward", "forward+backward"):
        for n, seconds in timed(rng, factors, lengths, 0.05):
            found = {name: {"seconds": one, "error": 0.05 * one} for name, one in seconds.items()}
            rows.append({"measured": "time", "way": way, "length": n, "rounds": 20, "layers": found})
        rows.append({"measured": "memory", "way": way, "length": 1024, "layers": dict.fromkeys(LAYERS)})
    arguments = {"width": width, "lengths": lengths, "device": "cpu", "threads": 1}
    return {"rows": rows, "arguments": arguments}


def implicit(rng, effect):
    """Shares on the word that decides: as much of one with attention as of ByteNet, and an effect more."""
    hard, rows = rng.uniform(-0.05, 0.05, EXAMPLES), []
    ways = {"rnnsearch": {JACOBIAN: 0.5 + effect, ATTENDED: 0.9}, "encoder-decoder": {JACOBIAN: 0.2}}
    for model, shares in {**ways, "bytenet": {JACOBIAN: 0.5}}.items():
        for seed in SEEDS:
            noise = rng.normal(0, 0.02) + rng.normal(0, 0.05, EXAMPLES) + hard
            found = {
                way: {"share": pack((share + noise).clip(0, 1).tolist(), "shares")} for way, share in shares.items()
            }
            rows.append({"model": model, "seed": seed, "ways": found})
    runs = [{"model": row["model"], "metrics": {"exact_match": 0.9}} for row in rows]
    return {"rows": rows, "runs": {f"{run['model']}-{place}": run for place, run in enumerate(runs)}}


def alignment(rng, effect):
    """A sentence that is read in order, but for two neighbours with the same two words: evenly, or the farther one more
    by an effect. A tenth of each row is spread over the sentence.
    """
    words = 8
    weights = 0.1 / words + 0.9 * np.eye(words)
    for place, shift in ((3, effect), (4, -effect)):
        later = 0.45 + shift + rng.normal(0, 0.03)
        weights[place, 3:5] += (0.9 - later, later) - 0.9 * np.eye(words)[place, 3:5]
    tokens = [str(place) for place in range(words)]
    row = {"weights": weights.tolist(), "source": tokens, "target": tokens, "pieces": False, "by": "attention"}
    return {"rows": [row]}


def memory_or_attention(rng, effect):
    """A thumbnail that leaves as many digits right as a location alone, and an effect more."""
    rows = []
    for seed in SEEDS:

        def answers(share):
            right = rng.random(EXAMPLES) < share + rng.normal(0, 0.01)
            return {"right": pack(right.tolist(), "bits"), "examples": EXAMPLES}

        def shares(mean):
            return pack((mean + rng.normal(0, 0.01) + rng.normal(0, 0.02, EXAMPLES)).clip(0, 1).tolist(), "shares")

        def model(name, seed=seed, **columns):
            rows.append({"model": name, "seed": seed, "cells": 20, **columns})

        for name, sure, one, near, evenly, start in (
            (either.NTM, 1.0, 1.0, 0.0, 0.0, 0.4),
            (either.WIDE, 0.9, 1.0, 0.0, 0.0, 0.4),
            (either.TRANSLATOR, 1.0, 0.3, 0.7, 0.7, 0.9),
        ):
            reads = {way: answers(sure) for way in either.WAYS}
            reads |= {"1": answers(one), "next": answers(near), "even": answers(evenly)}
            sizes = {"1000": reads["all"]}
            both = {"before": shares(start), "after": shares(0.1)}
            written = {"up to the mark": reads["all"], "never": answers(0.0)}
            model(name, reads=reads, sizes=sizes, shares=both, written=written)
        gates = {"as it is": 0.1, "hide shut": 0.15, "hide open": 0.4, "show shut": 0.4}
        gates |= {"hide shut once": 0.12, "erase shut once": 0.4}
        model(either.LSTM, gates={way: shares(share) for way, share in gates.items()})
        for name, share in ((either.TILES, 0.55 + effect), (either.BLIND, 0.55)):
            looked = answers(share)
            model(name, moved={"0": looked, "1": looked})
    return {"rows": rows}
