import torch

from kernels.memories import drawn, memory_of, steps_of


def test_of_cells_equally_in_use_the_first_is_written():
    module = memory_of("links", 2, 1)
    asked, memory, reading, writing, used, last, links = (part.detach() for part in drawn(module, 1, 6, 0))
    writer = asked[:, module._reader :]
    writer[0, 3:5] = 100.0  # where it is free, and altogether
    asked[0, 3] = -100.0  # nothing is freed
    used = torch.tensor([[1.0, 0.0, 1.0, 0.0, 0.0, 1.0]])
    state = memory, reading, torch.zeros_like(writing), used, last, links
    for step in steps_of(module):
        _, _, _, written, usage, following, new = step(asked, *state)
        assert written[0, 0].tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
        assert usage.tolist() == used.tolist() and following.tolist() == written[0].tolist()
        torch.testing.assert_close(new[0, 1], last[0] * torch.tensor([1.0, 0.0, 1.0, 1.0, 1.0, 1.0]))


def test_gradients_pass_cells_that_are_quite_free():
    """The products of usages have a factor 0: what divides by it has no gradient."""
    module = memory_of("links", 3, 2)
    inputs = drawn(module, 2, 5, 1, dtype=torch.float64)
    with torch.no_grad():
        inputs[3].zero_()
        inputs[4][:, 1:3] = torch.tensor([0.0, 1.0])
    found, expected = (torch.autograd.grad(step(*inputs)[3].sin().sum(), inputs[4])[0] for step in steps_of(module))
    assert found.isfinite().all()
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)
