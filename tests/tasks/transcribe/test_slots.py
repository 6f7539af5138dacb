import pytest
import torch

from saccade.tasks.transcribe.slots import SLOTS, learn, slots, suits


@pytest.mark.parametrize("length", [1, 7, 10, 23])
def test_a_slot_is_the_mean_of_its_part(length):
    frames = torch.randn(length, 3, generator=torch.Generator().manual_seed(length), dtype=torch.double)
    ends = [length * slot / SLOTS for slot in range(SLOTS + 1)]
    for slot, mean in enumerate(slots(frames).reshape(SLOTS, 3)):
        shares = torch.tensor(
            [max(0, min(frame + 1, ends[slot + 1]) - max(frame, ends[slot])) for frame in range(length)]
        )
        assert mean == pytest.approx(((shares.double() @ frames) / shares.sum()).numpy())


def test_texts_are_few_and_repeated():
    words = [f"word {number}" for number in range(100)]
    assert suits(2 * words) and not suits(words) and not suits(2 * [*words, "more"]) and not suits(["one", "one"])


def test_words_are_known_by_their_course():
    rising, noise = torch.linspace(-1, 1, 40)[:, None].repeat(1, 4), torch.Generator().manual_seed(1)
    recordings = [sign * rising + 0.3 * torch.randn(40, 4, generator=noise) for sign in (1, -1) * 10]
    model = learn(recordings[:10], ["up", "down"] * 5)
    assert model.predict([slots(frames) for frames in recordings[10:]]).tolist() == ["up", "down"] * 5
