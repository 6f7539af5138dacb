from saccade.cli import main
from saccade.tasks import TASKS, load_task


def test_every_task_model_and_data_set_has_a_sentence(capsys):
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    for name in TASKS:
        task = load_task(name)
        for part in (f"{name}:", *task.models, *task.builtin):
            line = next(line for line in out.splitlines() if line.strip().startswith(part))
            assert len(line.split()) > 4
