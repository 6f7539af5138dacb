import pytest
import torch

from near import assert_near


def draw(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def attended(scores, value):
    return scores.softmax(-1) @ value


def in_another_order(scores, value):
    """The same, rounded otherwise: keys turned round, and normalized at last."""
    powers = torch.exp(scores.flip(-1) - scores.amax(-1, keepdim=True))
    return (powers @ value.flip(-2)) / powers.sum(-1, keepdim=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_what_is_rounded_otherwise_is_near(scale, dtype):
    for seed in range(20):
        inputs = scale * draw(5, 67, seed=seed, dtype=dtype), draw(67, 3, seed=seed + 1, dtype=dtype)
        assert_near(in_another_order(*inputs), attended, *inputs)


MISTAKES = {
    "one key is left out": lambda scores, value: attended(scores[:, 1:], value[1:]),
    "a digit is lost": lambda scores, value: attended(scores, value) * (1 + 1e-4),
    "scores of half precision": lambda scores, value: attended(scores.half().float(), value),
    "a row is another's": lambda scores, value: attended(scores, value).roll(1, 0),
    "one number is none": lambda scores, value: attended(scores, value).index_fill(1, torch.tensor(0), torch.nan),
    "a shape": lambda scores, value: attended(scores, value)[None],
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_not(name):
    inputs = draw(5, 67), draw(67, 3, seed=1)
    with pytest.raises(AssertionError):
        assert_near(MISTAKES[name](*inputs), attended, *inputs)


def test_without_a_bound_the_formulas_error_is_allowed():
    """A root near 0: a last digit of what it is taken of is the third of the root, in the formula as in any other."""

    def root(x):
        return (x - 1).sqrt()

    x = 1 + draw(40).abs() * 1e-4
    assert_near((x * (1 - 1e-7) - 1).clamp(min=0).sqrt(), root, x)
    with pytest.raises(AssertionError):
        assert_near((x - 1.0001).clamp(min=0).sqrt(), root, x)


def test_choices_and_what_is_not_finite_are_the_same():
    def chosen(x):
        return x.argmax(-1), x.amax(-1).log()

    x = draw(4, 5).masked_fill(torch.eye(4, 5, dtype=torch.bool), 9.0)
    x[3] = 0.0
    index, value = chosen(x)
    assert value[3] == -torch.inf
    assert_near((index, value), chosen, x)
    for wrong in ((index + 1, value), (index, value.nan_to_num(neginf=-1e9)), (index, -value)):
        with pytest.raises(AssertionError):
            assert_near(wrong, chosen, x)
