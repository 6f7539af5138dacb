import json

from bench.fake import MACHINE, row
from saccade.bench.record import record
from saccade.bench.row import Result


def test_everything_is_in_the_json():
    results = [Result(row(), 1e-3, 3e-3, 3.0, -2e-3, 5, 1e11, 1e-7), Result(row(), absent="ours: no")]
    settings = {"command": "saccade bench", "seconds": 2.0, "interrupted": False}
    found = json.loads(json.dumps(record(results, MACHINE, settings), allow_nan=False))
    assert settings.items() <= found.items()
    assert (found["machine"], found["versions"]) == (MACHINE.hardware, MACHINE.versions)
    assert found["limits"] == {"multiply_flops": 1e11, "copy_bytes_per_second": 1e10}
    first, second = found["rows"]
    assert (first["ours"], first["theirs"], first["ratio"], first["rounds"]) == (1e-3, 3e-3, 3.0, 5)
    assert (first["speed"], first["speed_unit"], first["limit"]) == (6e9, "FLOP/s", 1e11)
    assert (first["behind"], first["difference"]) == (-2e-3, 1e-7)
    assert (first["targets"], first["met"], first["absent"]) == (["≥ 2x"], True, None)
    assert (second["ratio"], second["met"], second["absent"]) == (None, None, "ours: no")
