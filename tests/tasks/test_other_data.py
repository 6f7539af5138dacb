"""Runs are measured on all of other data, and on the splits of their own."""

import shutil
from datetime import date

import numpy as np
import pytest
from PIL import Image

from saccade import runs
from saccade._system.files import read_json
from saccade.cli import main
from saccade.data.splits import SplitOptions
from saccade.errors import ArgumentError
from saccade.tasks.other_data import reading_options

SMALL = {"max_steps": 2, "warmup_steps": 1, "threads": 1, "device": "cpu"}


def write(path, *rows):
    path.write_text("\n".join(rows) + "\n")
    return path


def texts(count):
    return [f"the film number {n} is {'good,positive' if n % 3 else 'bad,negative'}" for n in range(count)]


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """A classifier of texts, beside the file that it learned from."""
    folder = tmp_path_factory.mktemp("texts")
    data = write(folder / "texts.csv", "text,label", *texts(40))
    runs.train("classify-text", data=data, run=folder / "run", model="fixed", embedding_dim=4, **SMALL)
    return folder / "run"


@pytest.fixture
def run(classifier, tmp_path):
    """A copy of the run."""
    return shutil.copytree(classifier, tmp_path / "run")


def test_other_data_are_measured_as_a_whole(run, tmp_path, capsys):
    fresh = write(tmp_path / "fresh.csv", "text,label", *texts(7))
    assert main(["eval", str(run), "--data", str(fresh)]) == 0
    out = capsys.readouterr().out.splitlines()
    found = read_json(run / "results-all-data-fresh.csv.json")
    assert out[0].startswith(f"accuracy on 7 examples of fresh.csv: {found['metrics']['accuracy']:.4f}")
    assert found["examples"] == 7 and found["asked"] == {"data": str(fresh)}
    right = [answer.ranking.best for answer in runs.load(run).predict([row.split(",")[0] for row in texts(7)])]
    assert found["metrics"]["accuracy"] == pytest.approx(np.mean(np.array(right) == [0, 1, 1, 0, 1, 1, 0]))
    [majority] = [line for line in out if "majority" in line]  # of training, where most are positive
    assert majority.startswith("baseline on 7 examples of fresh.csv: accuracy 0.5714, majority (always positive;")


def test_one_example_is_enough(run, tmp_path):
    one = write(tmp_path / "one.csv", "text,label", "a fine film,positive")
    loaded = runs.load(run, data=one)
    assert [loaded.evaluate(split).examples for split in ("test", "validation")] == [1, 1]
    strange = write(tmp_path / "strange.csv", "text,label", "a fine film,neutral")
    with pytest.raises(ArgumentError, match=r"expected labels of the run \(negative, positive\), got 'neutral'"):
        runs.load(run, data=strange).evaluate()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("text,label\n", "header.csv: expected rows, got none"),
        ("", "header.csv: expected a table with text and label, got an empty file"),
        ("text\na film\n", "row 1 of .*header.csv: expected a header that names text and label, got 'text'"),
    ],
)
def test_data_without_examples_are_refused(run, tmp_path, content, words):
    (tmp_path / "header.csv").write_text(content)
    with pytest.raises(ArgumentError, match=words):
        runs.load(run, data=tmp_path / "header.csv").evaluate()


def test_data_with_splits_keep_them(run, tmp_path, capsys):
    rows = ["text,label,split", "good film,positive,train", *(f"{row},test" for row in texts(3))]
    data = write(tmp_path / "split.csv", *rows, "bad film,negative,validation")
    for split, count in (("test", 3), ("validation", 1)):
        assert main(["eval", str(run), "--data", str(data), "--split", split]) == 0
        assert read_json(run / f"results-{split}-data-split.csv.json")["examples"] == count
    assert "accuracy on 3 examples of split.csv (test): " in capsys.readouterr().out
    alone = write(tmp_path / "alone.csv", "text,label,split", *(f"{row},test" for row in texts(4)))
    assert runs.load(run, data=alone).evaluate().examples == 4


def test_moved_data_keep_the_split_that_was_held_out(run, tmp_path, classifier, capsys):
    moved = shutil.copy(classifier.parent / "texts.csv", tmp_path / "moved.csv")
    before = read_json(run / "results.json")
    assert main(["eval", str(run), "--data", str(moved)]) == 0
    found = read_json(run / "results-test.json")
    assert found["metrics"] == before["metrics"] and found["examples"] == 6
    assert capsys.readouterr().out.startswith("accuracy on test: ")


def test_results_of_other_content_are_not_overwritten(run, tmp_path):
    for count in (3, 3, 5):
        write(tmp_path / "fresh.csv", "text,label", *texts(count))
        assert main(["eval", str(run), "--data", str(tmp_path / "fresh.csv")]) == 0
    counts = {path.name: read_json(path)["examples"] for path in run.glob("results-all*.json")}
    assert counts == {"results-all-data-fresh.csv.json": 3, "results-all-data-fresh.csv-2.json": 5}


def test_options_say_how_other_data_are_read(run, tmp_path, capsys):
    data = tmp_path / "windows.csv"
    data.write_bytes("review,stars\nun café,positive\n".encode("cp1252"))
    words = ["eval", str(run), "--data", str(data)]
    assert main(words) == 2
    assert capsys.readouterr().err.endswith("got byte 0xe9; --encoding cp1252 reads text of Windows\n")
    columns = ["--encoding", "cp1252", "--text-column", "review", "--label-column", "stars"]
    assert main([*words, *columns]) == 0
    [path] = run.glob("results-all*.json")
    assert read_json(path)["asked"] == {
        "data": str(data),
        "encoding": "cp1252",
        "text_column": "review",
        "label_column": "stars",
    }
    capsys.readouterr()
    assert main(["eval", str(run), "--encoding", "cp1252"]) == 2
    assert capsys.readouterr().err == "error: --encoding: expected with --data, got no data; leave it out\n"
    assert main(["eval", "--encoding", "cp1252", str(run), "--data", ""]) == 2
    assert capsys.readouterr().err == "error: --data: expected a file or a folder, got an empty name\n"
    with pytest.raises(ArgumentError, match="dialect: reading data of classify-text has no such option"):
        runs.load(run, data=data, dialect="excel")


def test_reading_options_hold_nothing_out():
    assert [*vars(reading_options(SplitOptions)())] == ["train_split", "validation_split", "test_split"]


def test_python_objects_are_other_data_of_a_file(run):
    rows = [tuple(row.split(",")) for row in texts(8)]
    loaded = runs.load(run, data=rows)
    assert loaded.evaluate().examples == 8
    assert loaded.save_results("test", loaded.evaluate()).name == "results-all-data-objects.json"


def test_baselines_learn_from_the_data_of_training_alone(run, tmp_path, classifier, capsys):
    fresh = write(tmp_path / "fresh.csv", "text,label", *texts(7))
    config = read_json(run / "config.json")
    text = (run / "config.json").read_text().replace(config["options"]["data"], str(tmp_path / "gone.csv"))
    (run / "config.json").write_text(text)
    assert runs.load(run, data=fresh).evaluate().baselines == {}
    gone = f"no baselines: they learn from the data of training, which are not at {tmp_path / 'gone.csv'}\n"
    assert capsys.readouterr().err == gone
    write(tmp_path / "gone.csv", "text,label", *texts(30))
    assert runs.load(run, data=fresh).evaluate().baselines == {}
    assert capsys.readouterr().err.endswith(f"and others are at {tmp_path / 'gone.csv'}\n")


def test_numbers_are_read_by_the_columns_and_codes_of_the_run(tmp_path):
    cities = ("Bonn", "Paris", "Rome")
    rows = [f"{n},{n % 13},{cities[n % 3]},{n % 13 + 5 * (n % 3)}" for n in range(60)]
    data = write(tmp_path / "data.csv", "id,x,city,y", *rows)
    settings = {**SMALL, "model": "mlp", "hidden_dim": 4}
    run = runs.train("regress", data=data, features="-id", run=tmp_path / "run", **settings)
    other = write(tmp_path / "other.csv", "city,y,x,more", "Bonn,3,3,a", "Rome,14,4,b", "Oslo,1,1,c")
    found = runs.load(tmp_path / "run", data=other)
    predicted = [float(answer.lines()[0].split("\t")[0]) for answer in run.predict(["3,Bonn", "4,Rome", "1,Oslo"])]
    errors = np.array(predicted) - [3, 14, 1]
    assert found.evaluate().examples == 3
    assert found.evaluate().metrics["mae"] == pytest.approx(np.abs(errors).mean(), rel=1e-3)
    assert found.hardest("test", 1)[0].example.text == found.task.example("test", int(np.abs(errors).argmax())).text
    missing = write(tmp_path / "missing.csv", "x,y", "1,2")
    with pytest.raises(ArgumentError, match="--data: expected the columns x, city and the target y of the run, got x"):
        runs.load(tmp_path / "run", data=missing).evaluate()
    cell = write(tmp_path / "cell.csv", "x,city,y", "old,Bonn,2")
    with pytest.raises(ArgumentError, match='row 2 of .*cell.csv, column "x": expected a number'):
        runs.load(tmp_path / "run", data=cell).evaluate()


def test_numbers_and_dates_are_read_as_those_of_the_run(tmp_path, capsys):
    rows = [f"{n},5;{n % 28 + 1:02d}.01.2021;{2 * n},25" for n in range(40)]
    data = write(tmp_path / "data.csv", "x;day;y", *rows)
    runs.train("regress", data=data, run=tmp_path / "run", **{**SMALL, "model": "mlp", "hidden_dim": 4})
    other = write(tmp_path / "other.csv", "x;day;y", "1,5;05.01.2021;2,25", "1.200;06.01.2021;9,5")
    found = runs.load(tmp_path / "run", data=other)
    rows = [found.task.data.example("test", index) for index in range(2)]
    assert [row.answers for row in rows] == [(2.25,), (9.5,)]
    days = (date(2021, 1, 5) - date(1970, 1, 1)).days
    assert [row.numbers for row in rows] == [(1.5, days), (1200.0, days + 1)]
    lacking = write(tmp_path / "lacking.csv", "x;z", "1,5;2", "2,5;3")
    assert main(["predict", str(tmp_path / "run"), "--input", str(lacking)]) == 2
    assert "lacking.csv: expected the column day, got x, z; add it" in capsys.readouterr().err


def test_images_have_the_size_of_the_run(tmp_path):
    for folder, size, count in (("data", 8, 8), ("other", 24, 2)):
        for label, level in (("dark", 50), ("light", 200)):
            (tmp_path / folder / label).mkdir(parents=True)
            for n in range(count):
                pixels = np.full((size, size), level + n, np.uint8)
                image = Image.fromarray(pixels)
                (image if folder == "other" else image.convert("RGB")).save(tmp_path / folder / label / f"{n}.png")
    options = {**SMALL, "model": "cnn", "widths": "4", "batch_size": 4}
    run = runs.train("classify-image", data=tmp_path / "data", run=tmp_path / "run", **options)
    other = runs.load(tmp_path / "run", data=tmp_path / "other")
    assert other.evaluate().examples == 4 and other.task.data.example("test", 0).image.shape == (3, 8, 8)
    files = sorted((tmp_path / "other").glob("*/*.png"))
    answers = [answer.lines()[0].split("\t")[0] for answer in run.predict(files)]
    right = np.array(answers) == [file.parent.name for file in files]
    assert other.evaluate().metrics["accuracy"] == pytest.approx(np.mean(right))


def test_pairs_are_measured_as_a_whole(tmp_path):
    pairs = [f"the house {n} is red\tdas haus {n} ist rot" for n in range(30)]
    data = write(tmp_path / "pairs.tsv", "source\ttarget", *pairs)
    runs.train("translate", data=data, run=tmp_path / "run", hidden_dim=8, embedding_dim=8, **SMALL)
    other = write(tmp_path / "other.tsv", "source\ttarget", "the house is red\tdas haus ist rot")
    evaluation = runs.load(tmp_path / "run", data=other).evaluate()
    assert evaluation.examples == 1
    assert evaluation.baselines["length"].about == "the target of a source as long, of 22 training pairs"
