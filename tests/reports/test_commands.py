import shlex

from saccade.cli.train import options, wanted
from saccade.reports.commands import train_command
from saccade.tasks import load_task


def test_a_command_means_the_options_that_it_was_made_from():
    kind = load_task("translate")
    for words in (
        ["--data", "dates", "--seed", "3", "--run", "my runs/a"],
        ["--data", "a folder", "--source", "de", "--target", "en", "--max-minutes", "7", "--device", "cpu"],
        ["--data", "dates", "--model", "encoder-decoder", "--max-steps", "5", "--dropout", "0.5"],
        ["--data", "dates", "--max-steps", "600", "--max-minutes", "2"],
        ["--data", "dates", "--max-minutes", "1"],
    ):
        meant = options(kind, wanted(kind, words))
        command = shlex.split(train_command(kind, meant))
        assert command[:3] == ["saccade", "train", "translate"]
        assert options(kind, wanted(kind, command[3:])) == meant
