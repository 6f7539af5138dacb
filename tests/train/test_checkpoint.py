import hashlib
import json
import shutil
from unittest.mock import Mock

import pytest
import torch

from saccade.train.checkpoint import (
    Checkpoint,
    CorruptCheckpoint,
    clear,
    holding,
    list_checkpoints,
    load,
    newest,
    prune,
    repaired,
    save,
    set_aside,
)

FILES = ["model.safetensors", "optimizer.safetensors", "state.json", "checksums.json"]


def checkpoint(step):
    model = {"weight": torch.full((3, 2), float(step)), "scalar": torch.tensor(2.5)}
    return Checkpoint(step, model, {"0.step": torch.tensor(float(step))}, {"seconds": 1.25, "tokens": 7})


def test_what_is_saved_is_what_is_loaded(tmp_path):
    place = save(tmp_path / "checkpoints", checkpoint(12))
    again = load(place)
    assert place.name == "step-00000012"
    assert sorted(path.name for path in place.iterdir()) == sorted(FILES)
    assert again.step == 12 and again.scalars == {"seconds": 1.25, "tokens": 7}
    assert torch.equal(again.model["weight"], checkpoint(12).model["weight"])
    assert torch.equal(again.optimizer["0.step"], torch.tensor(12.0))


def test_a_step_whose_weights_were_kept_can_be_saved_again(tmp_path):
    for step in (10, 20, 30, 40):
        save(tmp_path, checkpoint(step))
    prune(tmp_path, lambda steps: {10})
    assert not (tmp_path / "step-00000010/optimizer.safetensors").exists()
    assert torch.equal(load(save(tmp_path, checkpoint(10))).optimizer["0.step"], torch.tensor(10.0))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["cut", "altered", "missing", "empty"])
def test_damage_is_noticed_and_the_checkpoint_before_used(tmp_path, name, damage):
    save(tmp_path, checkpoint(10))
    place = save(tmp_path, checkpoint(20))
    content = (place / name).read_bytes()
    if damage == "missing":
        (place / name).unlink()
    else:
        middle = len(content) // 2
        changed = bytes([content[middle] ^ 1])
        broken = {"cut": content[:middle], "altered": content[:middle] + changed + content[middle + 1 :], "empty": b""}
        (place / name).write_bytes(broken[damage])
    with pytest.raises(CorruptCheckpoint, match="step-00000020"):
        load(place)
    found, damaged = newest(tmp_path)
    assert found is not None and found.step == 10 and list(damaged) == [place]


def test_json_that_is_whole_but_no_checkpoint_is_corrupt(tmp_path):
    place = save(tmp_path, checkpoint(1))
    for content in ("[]", "{}", "null"):
        (place / "checksums.json").write_text(content)
        with pytest.raises(CorruptCheckpoint):
            load(place)


def test_there_may_be_none(tmp_path):
    assert newest(tmp_path / "nowhere") == (None, {})


def test_what_a_kill_leaves_is_no_checkpoint(tmp_path):
    save(tmp_path, checkpoint(10))
    partial = tmp_path / ".step-00000020.partial"
    partial.mkdir()
    (partial / "model.safetensors").write_bytes(b"half")
    assert [path.name for path in list_checkpoints(tmp_path)] == ["step-00000010"]
    assert load(save(tmp_path, checkpoint(20))).step == 20
    assert not partial.exists()


def test_a_disk_that_is_full_is_left_as_it_was(tmp_path, monkeypatch):
    save(tmp_path, checkpoint(10))
    full = OSError(28, "No space left on device")
    monkeypatch.setattr("os.fsync", Mock(side_effect=[None, full]))
    with pytest.raises(OSError, match=r"No space left on device: .*optimizer.safetensors"):
        save(tmp_path, checkpoint(20))
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000010"]


def test_the_last_two_are_kept_and_a_users_files_too(tmp_path):
    places = [save(tmp_path, checkpoint(step)) for step in (10, 20, 30, 40)]
    (places[0] / "notes.txt").write_text("mine")
    shutil.copytree(places[1], tmp_path / "best")
    prune(tmp_path)
    assert [path.name for path in places[0].iterdir()] == ["notes.txt"]
    assert not places[1].exists()
    assert load(places[2]).step == 30 and load(places[3]).step == 40 and load(tmp_path / "best").step == 20


def test_older_checkpoints_keep_weights_alone(tmp_path):
    for step in (10, 20, 30, 40):
        save(tmp_path, checkpoint(step))
    prune(tmp_path, lambda steps: {10, 30})
    found = [load(place) for place in list_checkpoints(tmp_path)]
    assert [one.step for one in found] == [10, 30, 40]
    assert [len(one.optimizer) for one in found] == [0, 1, 1]
    assert torch.equal(found[0].model["weight"], checkpoint(10).model["weight"])
    prune(tmp_path, lambda steps: {10, 30}, keep=1)
    (tmp_path / "step-00000040/state.json").write_text("{")
    assert newest(tmp_path)[0] is None and list(newest(tmp_path)[1]) == [tmp_path / "step-00000040"]


def test_a_kill_while_the_optimizer_goes_leaves_a_checkpoint_of_weights(tmp_path, monkeypatch):
    for step in (10, 20):
        place = save(tmp_path, checkpoint(step)).parent / "step-00000010"
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("pathlib.Path.unlink", Mock(side_effect=KeyboardInterrupt))
        prune(tmp_path, lambda steps: {10}, keep=1)
    assert (place / "optimizer.safetensors").exists()
    (place / ".checksums.json.12ab.partial").write_text("half")
    assert newest(tmp_path)[0].step == 20 and load(place).optimizer == {}
    clear(tmp_path)
    prune(tmp_path, lambda steps: {10}, keep=1)
    assert sorted(path.name for path in place.iterdir()) == ["checksums.json", "model.safetensors", "state.json"]


def test_half_a_checkpoint_is_cleared_and_own_files_kept(tmp_path):
    for step, extra in ((20, None), (30, "thesis.txt")):
        partial = tmp_path / f".step-{step:08d}.partial"
        partial.mkdir()
        (partial / "model.safetensors").write_bytes(b"half")
        if extra:
            (partial / extra).write_text("mine")
    clear(tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*") if path.is_file()] == [
        ".step-00000030.partial/thesis.txt"
    ]
    clear(tmp_path / "nowhere")


def test_a_checkpoint_without_checksums_is_left_alone(tmp_path):
    places = [save(tmp_path, checkpoint(step)) for step in (10, 20, 30)]
    damaged = places[0] / "checksums.json"
    damaged.write_bytes(damaged.read_bytes()[:-9])
    prune(tmp_path, lambda steps: {10, 20}, keep=1)
    assert [(place / "optimizer.safetensors").exists() for place in places] == [True, False, True]


def test_the_checkpoint_that_holds_some_bytes_is_found(tmp_path):
    content = (save(tmp_path, checkpoint(10)) / "model.safetensors").read_bytes()
    save(tmp_path, checkpoint(20))
    assert holding(tmp_path, content) == tmp_path / "step-00000010/model.safetensors"
    assert holding(tmp_path, b"other") is None
    (tmp_path / "step-00000010/model.safetensors").write_bytes(b"damaged")
    assert holding(tmp_path, content) is None


@pytest.mark.parametrize("step", ['"x"', "null", "-1", "1.5", "NaN"])
def test_a_step_that_is_no_number_is_a_damaged_checkpoint(tmp_path, step):
    place = save(tmp_path, checkpoint(10))
    content = f'{{"step": {step}}}'.encode()
    (place / "state.json").write_bytes(content)
    checksums = json.loads((place / "checksums.json").read_text())
    checksums["state.json"] = hashlib.sha256(content).hexdigest()
    (place / "checksums.json").write_text(json.dumps(checksums))
    with pytest.raises(CorruptCheckpoint, match=r"state.json: step: expected a whole number, got"):
        load(place)


def test_a_missing_file_is_said_in_words(tmp_path):
    place = save(tmp_path, checkpoint(10))
    (place / "state.json").unlink()
    with pytest.raises(CorruptCheckpoint, match=r"state.json: No such file or directory\)$"):
        load(place)


def test_a_damaged_one_is_set_aside_not_deleted(tmp_path):
    for count in (1, 2):
        place = save(tmp_path, checkpoint(10))
        (place / "state.json").write_text("{")
        aside = set_aside(place)
        assert aside.name == f"step-00000010.damaged-{count}" and (aside / "state.json").read_text() == "{"
    assert list_checkpoints(tmp_path) == []


def test_checksums_are_of_the_files(tmp_path):
    place = save(tmp_path, checkpoint(10))
    assert sorted(json.loads((place / "checksums.json").read_text())) == sorted([*FILES[:3], "copy"])


@pytest.mark.parametrize("name", FILES)
def test_what_other_files_say_too_is_repaired(tmp_path, name):
    place = save(tmp_path / "checkpoints", checkpoint(10))
    spare = tmp_path / "model.safetensors"
    shutil.copy(place / "model.safetensors", spare)
    (place / name).write_bytes((place / name).read_bytes()[:-9])
    found = repaired(place, spare)
    assert (found is None) == (name == "optimizer.safetensors")
    if found is not None:
        assert found.step == 10 and found.scalars == checkpoint(10).scalars
        assert torch.equal(found.model["weight"], checkpoint(10).model["weight"])
        assert torch.equal(found.optimizer["0.step"], checkpoint(10).optimizer["0.step"])
    spare.unlink()
    assert (repaired(place, spare) is None) == (name.endswith(".safetensors"))


def test_nothing_is_repaired_from_what_says_nothing(tmp_path):
    place = save(tmp_path, checkpoint(10))
    (place / "checksums.json").write_text("[]")
    (place / "state.json").write_text('{"checksums.json": {"model.safetensors": 3}}')
    assert repaired(place, tmp_path / "nowhere") is None
