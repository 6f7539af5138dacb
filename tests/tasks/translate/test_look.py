import pytest

from saccade.cli import main
from tiny import train


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("look") / "run"
    assert train(folder, "--max-steps", 3) == 0
    return folder


@pytest.mark.parametrize("text", ["mercredi 18 juin 2025", "/../2019年2月15日", "बुधवार, 18 जून 2025", "...", "a/b" * 50])
def test_a_picture_of_any_text_lands_in_its_folder(run, tmp_path, text, capsys):
    assert main(["look", str(run), text, "--output", str(tmp_path / "pictures")]) == 0
    paths = capsys.readouterr().out.splitlines()
    assert sorted(str(path) for path in (tmp_path / "pictures").iterdir()) == sorted(paths)
    assert [path.rpartition(".")[2] for path in paths] == ["png", "svg"]


def test_the_same_text_twice_is_the_same_files(run, tmp_path, capsys):
    for _ in range(2):
        assert main(["look", str(run), "18 juin 2025", "--output", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == lines[2:] and len(list(tmp_path.iterdir())) == 2


def test_marks_stay_on_their_letters_in_a_file_name(run, tmp_path, capsys):
    assert main(["look", str(run), "बुधवार, 18 जून", "--output", str(tmp_path)]) == 0
    assert {path.stem for path in tmp_path.iterdir()} == {"बुधवार-18-जून"}
    capsys.readouterr()


def test_without_a_folder_pictures_go_into_the_run(run, capsys):
    assert main(["look", str(run), "18 juin 2025"]) == 0
    assert (run / "pictures/18-juin-2025.png").read_bytes()[:4] == b"\x89PNG"
    assert main(["look", str(run), "   "]) == 0
    capsys.readouterr()
