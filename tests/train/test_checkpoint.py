from unittest.mock import Mock

import pytest
import torch

from saccade.train.checkpoint import (
    Checkpoint,
    CorruptCheckpoint,
    list_steps,
    load,
    load_best,
    load_weights,
    newest,
    prune,
    save,
    save_best,
    set_aside,
    state_file,
    weights_file,
)
from tiers import every

FILES = {"weights": weights_file, "state": state_file}


def checkpoint(step):
    model = {"weight": torch.full((3, 2), float(step)), "scalar": torch.tensor(2.5)}
    return Checkpoint(step, model, {"0.step": torch.tensor(float(step))}, {"seconds": 1.25, "tokens": 7})


def saved(folder, *steps):
    for step in steps:
        save(folder, checkpoint(step))
    return folder


def test_a_checkpoint_is_two_files_and_loads_as_saved(tmp_path):
    again = load(saved(tmp_path / "checkpoints", 12), 12)
    names = ["step-00000012.safetensors", "step-00000012.state.safetensors"]
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == names
    assert again.step == 12 and again.scalars == {"seconds": 1.25, "tokens": 7}
    assert torch.equal(again.model["weight"], checkpoint(12).model["weight"])
    assert torch.equal(again.optimizer["0.step"], torch.tensor(12.0))


@every("name", FILES)
@every("damage", ["cut", "altered", "missing", "empty"])
def test_damage_is_noticed_and_the_checkpoint_before_used(tmp_path, name, damage):
    path = FILES[name](saved(tmp_path, 10, 20), 20)
    content, middle = path.read_bytes(), path.stat().st_size // 2
    path.unlink()
    if damage != "missing":
        changed = content[:-1] + bytes([content[-1] ^ 1])
        path.write_bytes({"cut": content[:middle], "altered": changed, "empty": b""}[damage])
    with pytest.raises(CorruptCheckpoint, match="step-00000020"):
        load(tmp_path, 20)
    checkpoint, damaged = newest(tmp_path)
    assert checkpoint is not None and checkpoint.step == 10
    assert list(damaged) == ([] if (name, damage) == ("state", "missing") else [20])


def test_no_folder_has_no_checkpoint(tmp_path):
    assert newest(tmp_path / "nowhere") == (None, {}) and list_steps(tmp_path / "nowhere") == []


def test_weights_without_their_state_are_no_checkpoint(tmp_path, monkeypatch):
    saved(tmp_path, 10)
    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left .*step-00000020.state"):
        patch.setattr("os.fsync", Mock(side_effect=[None, OSError(28, "No space left on device")]))
        save(tmp_path, checkpoint(20))
    assert list_steps(tmp_path) == [10, 20] and list_steps(tmp_path, whole=True) == [10]
    assert newest(tmp_path)[0].step == 10 and not list(tmp_path.glob(".*"))
    assert load(saved(tmp_path, 20), 20).step == 20


def test_the_last_two_are_kept_and_a_users_files_too(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    prune(saved(tmp_path, 10, 20, 30, 40))
    assert list_steps(tmp_path) == list_steps(tmp_path, whole=True) == [30, 40]
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_older_checkpoints_keep_needed_weights_alone(tmp_path):
    prune(saved(tmp_path, 10, 20, 30, 40), {10, 30})
    assert list_steps(tmp_path) == [10, 30, 40] and list_steps(tmp_path, whole=True) == [30, 40]
    assert torch.equal(load_weights(tmp_path, 10)["weight"], checkpoint(10).model["weight"])
    assert torch.equal(load(saved(tmp_path, 10), 10).optimizer["0.step"], torch.tensor(10.0))


def test_best_weights_are_of_the_step_that_is_asked(tmp_path):
    save_best(tmp_path / "checkpoints", {"w": torch.ones(2)}, 12, "mine")
    assert load_best(tmp_path / "checkpoints", 12)["w"].tolist() == [1.0, 1.0]
    with pytest.raises(CorruptCheckpoint, match="best.safetensors is of step 12, not 8"):
        load_best(tmp_path / "checkpoints", 8)


def test_a_missing_file_is_said_in_words(tmp_path):
    weights_file(saved(tmp_path, 10), 10).unlink()
    with pytest.raises(CorruptCheckpoint, match=r"step-00000010.safetensors cannot be read \(No such file"):
        load(tmp_path, 10)


def test_a_damaged_one_is_set_aside_not_deleted(tmp_path):
    for count in (1, 2):
        state_file(saved(tmp_path, 10), 10).write_text("{")
        set_aside(tmp_path, 10)
        assert (tmp_path / f"step-00000010.state.safetensors.damaged-{count}").read_text() == "{"
    assert list_steps(tmp_path) == []
