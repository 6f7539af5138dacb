from saccade.reports.scaling.answering import GLIMPSES, HARD, MODELS, PATCH, SOFT, operations, prepared
from tiers import every


@every("name", MODELS)
def test_every_model_answers_images_of_any_size(name):
    assert [prepared(name, side)().shape for side in (28, 61)] == [(1, 10)] * 2


def test_operations_of_eye_follow_from_its_glimpses_alone():
    what, where = 3 * PATCH**2 * 128 + 128 * 256, 2 * 128 + 128 * 256
    core, chosen = 2 * 256 * 256, (GLIMPSES - 1) * 2 * 256
    assert operations("RAM", 28) == operations("RAM", 200) == 2 * (GLIMPSES * (what + where + core + 2560) + chosen)


def test_soft_reads_encode_every_tile_and_hard_ones_few():
    hard, soft = ([operations(name, side) for side in (60, 120)] for name in (HARD, SOFT))
    tiles = (120 // PATCH) ** 2 - (60 // PATCH) ** 2
    encoded = 2 * (PATCH**2 * 128 + 128 * 256 + 2 * 128 + 128 * 256)
    assert (soft[1] - soft[0]) - (hard[1] - hard[0]) >= tiles * encoded and hard[1] < soft[1] / 3
