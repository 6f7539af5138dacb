"""What `translate.py` compares, in numbers: the sizes of each model, and what JoeyNMT reads of them from its YAML file.

Both sides import it: it needs neither Saccade nor JoeyNMT.
"""

from pathlib import Path
from typing import Any

#: Options of the command line that are a model's own, with their defaults.
SIZES: dict[str, dict[str, int]] = {
    "rnnsearch": {"embedding_dim": 384, "peer_embedding_dim": 256, "hidden_dim": 512, "test_sentences": 1000},
    # JoeyNMT's Transformer computes everything anew at each position: fewer sentences, or it takes hours.
    "transformer": {"hidden_dim": 256, "heads": 4, "layers": 3, "feedforward_dim": 1024, "test_sentences": 128},
}


def our_sizes(model: str, settings: dict[str, Any]) -> dict[str, Any]:
    """What our model's options are set to; nothing is dropped in training on either side."""
    sizes = {name: settings[name] for name in SIZES[model] if name not in ("peer_embedding_dim", "test_sentences")}
    return {**sizes, "dropout": 0.0}


def configuration(settings: dict[str, Any]) -> dict[str, Any]:
    """What JoeyNMT reads from its YAML file: the data, Adam at one rate, the model.

    Args:
        settings: the options of the command line and "folder", where the data are.
    """
    folder = Path(settings["folder"])
    sides = {
        side: {"lang": language, "level": "word", "voc_file": str(folder / f"vocabulary.{language}")}
        for side, language in (("src", "source"), ("trg", "target"))
    }
    paths = {name: str(folder / name) for name in ("train", "dev", "test")}
    return {
        "name": "beside",
        "joeynmt_version": "2.3.0",
        "model_dir": str(folder / "model"),
        "use_cuda": False,
        "random_seed": settings["seed"],
        "data": {"dataset_type": "plain", **paths, **sides},
        "testing": {
            "batch_size": settings["sentences"],
            "batch_type": "sentence",
            "beam_alpha": settings["length_penalty"],
        },
        "training": {
            "optimizer": "adam",
            "learning_rate": settings["learning_rate"],
            "clip_grad_norm": settings["clip"],
            "label_smoothing": settings["label_smoothing"],
            "normalization": "tokens",
            "scheduling": "decaying",  # by the epoch, so that the rate is one and the same here
            "batch_size": settings["batch_tokens"],
            "batch_type": "token",
        },
        "model": {"rnnsearch": _recurrent, "transformer": _transformer}[settings["model"]](settings),
    }


def _recurrent(settings: dict[str, Any]) -> dict[str, Any]:
    """A bidirectional GRU, a GRU, Bahdanau's attention."""
    embedding, hidden = settings["peer_embedding_dim"], settings["hidden_dim"]
    shared = {"type": "recurrent", "rnn_type": "gru", "embeddings": {"embedding_dim": embedding, "scale": False}}
    return {
        "encoder": {**shared, "hidden_size": hidden // 2, "bidirectional": True},
        "decoder": {**shared, "hidden_size": hidden, "attention": "bahdanau", "init_hidden": "bridge"},
    }


def _transformer(settings: dict[str, Any]) -> dict[str, Any]:
    """The Transformer with layer normalization before each part and one embedding for source, target and output."""
    hidden = settings["hidden_dim"]
    side = {
        "type": "transformer",
        "num_layers": settings["layers"],
        "num_heads": settings["heads"],
        "hidden_size": hidden,
        "ff_size": settings["feedforward_dim"],
        "embeddings": {"embedding_dim": hidden, "scale": True, "dropout": 0.0},
        "layer_norm": "pre",
        "activation": "relu",
        "dropout": 0.0,
    }
    return {"encoder": side, "decoder": side, "tied_embeddings": True, "tied_softmax": True}
