from importlib.util import find_spec

import pytest

from saccade.train.tensorboard import TensorBoard

pytestmark = pytest.mark.skipif(find_spec("tensorboard") is None, reason="TensorBoard is not installed")


def scalars(folder, name):
    from tensorboard.backend.event_processing import event_accumulator

    log = event_accumulator.EventAccumulator(str(folder)).Reload()
    return {event.step: round(event.value, 4) for event in log.Scalars(name)}


def test_a_resumed_run_takes_back_later_scalars(tmp_path):
    with TensorBoard(tmp_path, 0) as board:
        for step in (10, 20, 30):
            board.write(step, {"loss": 1.0})
    with TensorBoard(tmp_path, 20) as board:
        board.write(30, {"loss": 0.5})
    assert scalars(tmp_path, "loss") == {10: 1.0, 20: 1.0, 30: 0.5}


def test_no_folder_no_log(tmp_path):
    with TensorBoard(None, 0) as board:
        board.write(1, {"loss": 1.0})
    assert list(tmp_path.iterdir()) == []
