import pytest
import torch

from saccade.cli import main
from saccade.models import recurrent
from saccade.models.encoder_decoder import EncoderDecoder
from saccade.tasks.translate.look import influence
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


def test_a_text_that_is_too_long_is_said_to_be_cut(run, tmp_path, capsys):
    assert main(["look", str(run), "5" * 1000, "--output", str(tmp_path)]) == 0
    assert "line 1: longer than 800 tokens" in capsys.readouterr().err


def test_without_a_folder_pictures_go_into_the_run(run, capsys):
    assert main(["look", str(run), "18 juin 2025"]) == 0
    assert (run / "pictures/18-juin-2025.png").read_bytes()[:4] == b"\x89PNG"
    assert main(["look", str(run), "   "]) == 0
    capsys.readouterr()


@pytest.mark.parametrize("joint", [False, True])
def test_what_mattered_is_the_gradient_by_each_word(joint):
    torch.manual_seed(0)
    model = EncoderDecoder(13, 13, recurrent.Options(hidden_dim=10, embedding_dim=6), joint=joint).double().eval()
    source, target = [4, 7, 12], [5, 6]
    found = influence(model, source, target)
    words = model.source_embedding.weight[torch.tensor([[*source, 2]])].detach()
    written = torch.tensor([[1, *target]])

    def gains(words):
        """With the words of the source as given, and those of the target as they are."""
        original, calls = model.source_embedding.forward, []
        with pytest.MonkeyPatch.context() as patch:

            def forward(tokens):
                calls.append(tokens)
                return words if len(calls) == 1 else original(tokens)

            patch.setattr(model.source_embedding, "forward", forward)
            logits = model(torch.tensor([[*source, 2]]), torch.tensor([4]), written)
        return logits[0].log_softmax(-1)[torch.arange(3), torch.tensor([*target, 2])]

    norms = torch.autograd.functional.jacobian(gains, words)[:, 0].norm(dim=-1)
    torch.testing.assert_close(found, norms / norms.sum(-1, keepdim=True))
    assert not model.source_embedding._forward_hooks
