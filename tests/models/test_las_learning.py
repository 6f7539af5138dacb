"""Listen, attend and spell learns what it is for: from whatever seed, strings of sounds that it has never heard."""

import random

import pytest
import torch

from saccade import look
from saccade.models.las import Las, Options
from saccade.models.padded import Padded
from saccade.tasks.generate import search
from saccade.tasks.transcribe.alignment_metrics import alignment_metrics, mean_metrics

SOUNDS, LONGEST, WIDTH = 4, 3, 8  # ids 4 to 7
SIZES = {"hidden_dim": 48, "embedding_dim": 16, "layers": 2, "pyramid": 2, "ctc_weight": 0.5}
UNHIDDEN = {"time_masks": 0, "frequency_masks": 0}  # a sound may be one band alone


def said(count, numbers):
    """Strings of sounds, 6 to 12 frames each with pauses between, in noise: frames, lengths and targets."""
    frames, lengths = torch.zeros(count, LONGEST * 16, WIDTH), []
    target = torch.zeros(count, LONGEST + 2, dtype=torch.int64)
    for row in range(count):
        size = int(torch.randint(1, LONGEST + 1, (), generator=numbers))
        sounds, place = torch.randint(0, SOUNDS, (size,), generator=numbers), 0
        for sound in sounds.tolist():
            pause, long = torch.randint(1, 5, (), generator=numbers), torch.randint(6, 12, (), generator=numbers)
            frames[row, place + pause : place + pause + long, sound] = 2.0
            place += int(pause + long)
        frames[row, :place] += 0.5 * torch.randn(place, WIDTH, generator=numbers)
        lengths.append(place)
        target[row, : size + 2] = torch.tensor([1, *(sounds + 4), 2])
    return frames, torch.tensor(lengths), target


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["location", "content"])
def test_it_learns_to_write_what_it_hears(attention):
    seed = random.SystemRandom().randrange(2**31)
    torch.manual_seed(seed)
    model = Las(WIDTH, 4 + SOUNDS, Options(attention=attention, **SIZES, **UNHIDDEN))
    numbers, steps, rate = torch.Generator().manual_seed(seed), 170, 0.01
    optimizer = torch.optim.Adam(model.parameters(), rate)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = rate * min(1, (step + 1) / 30) * (1 - 0.9 * step / steps)
        frames, lengths, target = said(32, numbers)
        optimizer.zero_grad()
        model(Padded(frames, lengths), target[:, :-1], target[:, 1:]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.eval()
    frames, lengths, target = said(200, numbers)
    with torch.inference_mode(), look.record(model) as records:
        found = search(model, model.encode(Padded(frames, lengths)), torch.full((200,), LONGEST + 2), begin=1, end=2)
        searched = len(records)
        model(Padded(frames, lengths), target[:, :-1])
    expected = [[number for number in row.tolist() if number > 3] for row in target]
    right = sum(ids == wanted for [ids], wanted in zip(found.lists(), expected, strict=True)) / 200
    assert right >= 0.8, f"{right} of unheard strings, seed {seed}"
    weights, steps = model.alignment(records[searched:]), -(-lengths // 4)
    rows = [row for row in range(200) if len(expected[row]) == LONGEST]
    runs = mean_metrics([alignment_metrics(weights[row, : LONGEST + 1, : steps[row]]) for row in rows])
    assert runs.monotonicity > 0.9 and runs.coverage > 0.5
