"""Every translator learns to reverse words: from whatever seed, most words that it has never seen."""

import random

import pytest
import torch

from saccade.models import bytenet, luong, recurrent, rnnsearch, transformer
from saccade.models.bytenet import ByteNet
from saccade.models.encoder_decoder import EncoderDecoder
from saccade.models.luong import Luong
from saccade.models.padded import Padded
from saccade.models.rnnsearch import RNNSearch
from saccade.models.transformer import Transformer
from saccade.tasks.generate import search

LETTERS, LONGEST = 8, 4  # ids 4 to 11; 4,672 words
SIZES = {"hidden_dim": 64, "embedding_dim": 32}
LUONG = {**SIZES, "layers": 1}
SMALL = {"hidden_dim": 32, "heads": 2, "layers": 2, "feedforward_dim": 64, "dropout": 0.0}
LEAVE_ONE_OUT = {"read": "reinforce", "baseline": "leave-one-out", "samples": 2}
# The model, its learning rate, its steps, and the share of unseen words that it then has to reverse: nearly none are
# reversed by chance. Of three seeds the worst was 0.61 after two thirds of the steps, and 0.28 for bytenet, through
# whose stack what is first has to come all the way to be written last. A seed of reinforce was at 0.04 after 90 steps.
MODELS = {
    "rnnsearch": (RNNSearch, rnnsearch.Options(**SIZES), 0.01, 110, 0.5),
    "rnnsearch, reinforce": (RNNSearch, rnnsearch.Options(**SIZES, **LEAVE_ONE_OUT), 0.01, 150, 0.5),
    "encoder-decoder": (EncoderDecoder, recurrent.Options(**SIZES), 0.01, 220, 0.5),
    "luong": (Luong, luong.Options(**LUONG), 0.01, 140, 0.5),
    "transformer": (Transformer, transformer.Options(**SMALL), 0.003, 200, 0.4),
    "bytenet": (ByteNet, bytenet.Options(hidden_dim=32, sets=1, max_dilation=4), 0.01, 230, 0.1),
}


def words(count, numbers):
    """Words, their lengths with the end, and what is to be written: begin, the word reversed, end."""
    lengths = torch.randint(2, LONGEST + 1, (count, 1), generator=numbers)
    letters = torch.randint(4, 4 + LETTERS, (count, LONGEST + 1), generator=numbers)
    place = torch.arange(LONGEST + 1)
    turned = letters.gather(1, (lengths - 1 - place).clamp(min=0))
    source, turned = (torch.where(place < lengths, row, 2 * (place == lengths)) for row in (letters, turned))
    target = torch.cat([torch.ones(count, 1, dtype=torch.int64), turned], 1)
    return source, lengths[:, 0] + 1, target


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_it_learns_to_reverse_words(name):
    kind, options, rate, steps, least = MODELS[name]
    seed = random.SystemRandom().randrange(2**31)
    torch.manual_seed(seed)
    model, numbers = kind(4 + LETTERS, 4 + LETTERS, options, joint=True), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), rate, betas=(0.9, 0.98))
    seen = set()
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = rate * min(1, (step + 1) / 30) * (1 - 0.9 * step / steps)
        source, lengths, target = words(64, numbers)
        seen.update(map(tuple, source.tolist()))
        optimizer.zero_grad()
        model(Padded(source, lengths), target[:, :-1], target[:, 1:]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.eval()
    source, lengths, target = words(400, torch.Generator().manual_seed(seed + 1))
    unseen = torch.tensor([tuple(word) not in seen for word in source.tolist()])
    source, lengths, target = source[unseen], lengths[unseen], target[unseen]
    limits = torch.full((len(source),), 2 * LONGEST)
    with torch.inference_mode():
        outputs = search(model, model.encode(Padded(source, lengths)), limits, begin=1, end=2).lists()
    expected = [[token for token in row if token > 2] for row in target.tolist()]
    right = sum(best == word for (best, *_), word in zip(outputs, expected, strict=True)) / len(expected)
    assert right > least, f"{name}, seed {seed}: {right} of {len(expected)}"
