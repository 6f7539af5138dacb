"""The mutants of tools/mutants.py still fit the source."""

from scripts import script

mutants = script("tools/mutants.py")


def test_every_mutant_breaks_one_place():
    for mutant in mutants.MUTANTS:
        text = mutants.source(mutants.ROOT, mutant).read_text(encoding="utf-8")
        assert text.count(mutant.old) == 1 and mutant.old != mutant.new, mutant


def test_every_mutant_has_tests_that_mirror_its_file():
    assert len(mutants.MUTANTS) == 33
    assert all(mutants.mirrored_tests(mutants.ROOT, mutant.file) for mutant in mutants.MUTANTS)


def test_kernels_of_a_gpu_have_the_tests_of_their_backend():
    assert "tests/backends/triton" in mutants.mirrored_tests(mutants.ROOT, "kernels/triton/tiles.py")
