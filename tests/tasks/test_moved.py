"""A moved run answers, draws, is measured and goes on with its data in another place."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from saccade import runs
from saccade._system.files import read_json
from saccade.cli import main
from saccade.errors import ArgumentError
from speech import record
from tasks.laws.checks import is_near

STEPS = {"warmup": 1, "checkpoint": 2, "validation": 2}
TINY = ["--threads", "1", "--device", "cpu", *(f"--{name}-steps={count}" for name, count in STEPS.items())]


def texts(folder):
    rows = [f"the film number {n} is {'good,positive' if n % 3 else 'bad,negative'}" for n in range(40)]
    (folder / "data.csv").write_text("\n".join(["text,label", *rows]))
    return folder / "data.csv", "the film number 3 is bad"


def numbers(folder):
    (folder / "data.csv").write_text("\n".join(["x,z,y", *(f"{n},{n * n % 7},{n + n * n % 7}" for n in range(40))]))
    return folder / "data.csv", "3,2"


def images(folder):
    for label, level in (("dark", 50), ("light", 200)):
        (folder / "data" / label).mkdir(parents=True)
        for n in range(12):
            pixels = np.full((8, 8, 3), level + n, np.uint8)
            Image.fromarray(pixels).save(folder / "data" / label / f"{n}.png")
    return folder / "data", folder / "data" / "dark" / "0.png"


def recordings(folder):
    (folder / "data").mkdir()
    rows = [f"{record(folder / 'data' / f'{n}.wav', n).name}\t{'one' if n % 2 else 'two'}" for n in range(10)]
    (folder / "data" / "train.tsv").write_text("\n".join(["path\ttext", *rows]))
    return folder / "data", folder / "data" / "0.wav"


JOBS = {
    "regress": (numbers, ["--model", "mlp", "--hidden-dim", "4"]),
    "classify-text": (texts, ["--model", "fixed", "--embedding-dim", "4"]),
    "classify-image": (images, ["--model", "cnn", "--widths", "4", "--batch-size", "4"]),
    "transcribe": (recordings, ["--hidden-dim", "4", "--embedding-dim", "4", "--layers", "2", "--mels", "8"]),
}
CASES = [pytest.param(task, marks=[] if task == "regress" else pytest.mark.slow) for task in JOBS]


@pytest.mark.parametrize("task", CASES)
def test_a_moved_run_works_with_its_data_elsewhere(task, tmp_path, capsys):
    make, options = JOBS[task]
    (tmp_path / "old").mkdir()
    data, asked = make(tmp_path / "old")
    train = ["train", task, "--run", *options, *TINY]
    train[3:3] = [str(tmp_path / "old" / "run")]
    assert main([*train, "--data", str(data), "--max-steps", "2"]) == 0
    (tmp_path / "new").mkdir()
    run, place = (Path(shutil.move(part, tmp_path / "new")) for part in (tmp_path / "old" / "run", data))
    asked = str(place / asked.relative_to(data)) if isinstance(asked, Path) else asked
    shutil.rmtree(tmp_path / "old")
    before = read_json(run / "results.json")["metrics"]
    for command in (["predict", asked], ["look", asked], ["eval", "--data", str(place)]):
        assert main([command[0], str(run), *command[1:]]) == 0
    assert is_near(read_json(run / "results-test.json")["metrics"], before)
    assert main(["eval", str(run)]) == 2
    gone = f"error: --data: expected the data of this run at {data}, got nothing there; give --data NEWPATH if"
    assert capsys.readouterr().err.splitlines()[-1].startswith(gone)
    train[3] = str(run)
    assert main([*train, "--data", str(place), "--max-steps", "4"]) == 0
    assert read_json(run / "results.json")["steps"] == 4


def test_results_of_other_data_have_a_name_of_their_own(tmp_path):
    data, _ = numbers(tmp_path)
    options = {"model": "mlp", "hidden_dim": 4, "max_steps": 1, "warmup_steps": 1, "threads": 1, "device": "cpu"}
    runs.train("regress", data=data, run=tmp_path / "run", **options)
    other = tmp_path / "other.csv"
    other.write_text("\n".join([*data.read_text().splitlines()[:-20], "99,1,0"]))
    assert main(["eval", str(tmp_path / "run"), "--data", str(other)]) == 0
    assert not (tmp_path / "run" / "results-test.json").exists()
    assert read_json(tmp_path / "run" / "results-all-data-other.csv.json")["asked"] == {"data": str(other)}
    with pytest.raises(ArgumentError, match="no data set no/such.csv"):
        runs.load(tmp_path / "run", data="no/such.csv").evaluate()
