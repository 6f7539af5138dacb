import torch

from bench.fake import SETUP, row
from saccade import attend
from saccade.bench import formulas
from saccade.bench.measure import measure_row
from saccade.scores import Additive


def tensors(grad=False):
    shapes = ((2, 3, 5), (2, 7, 5), (2, 7, 11), (5,))
    return [torch.randn(*shape, requires_grad=grad) for shape in shapes]


def test_the_additive_formulas_are_one():
    query, key, value, v = tensors()
    expected = attend(query, key, value, score=Additive(v), backend="reference")
    for function in (formulas.textbook, formulas.keras):
        torch.testing.assert_close(function(query, key, value, v), expected)
    torch.testing.assert_close(formulas.remembered(query, key, value, v)(), expected)


def test_the_dot_formula_is_torchs():
    x = torch.randn(2, 3, 5)
    torch.testing.assert_close(formulas.dot(x, x, x), torch.nn.functional.scaled_dot_product_attention(x, x, x))


def test_training_gives_every_gradient_and_accumulates_none():
    inputs = tensors(grad=True)
    run = formulas.training(formulas.textbook)(*inputs)
    first, second = run(), run()
    assert [gradient.shape for gradient in first] == [tensor.shape for tensor in inputs]
    assert all(tensor.grad is None for tensor in inputs)
    torch.testing.assert_close(first, second)


def test_both_sides_get_the_same_gradient_of_their_output():
    inputs = tensors(grad=True)
    runs = [formulas.training(function)(*inputs) for function in (formulas.textbook, formulas.keras)]
    torch.testing.assert_close(runs[0](), runs[1]())


def test_a_failed_compilation_is_absent_with_a_reason(monkeypatch):
    def broken(*inputs):
        raise RuntimeError("\nNo working C++ compiler found\nand much more")

    monkeypatch.setattr(torch, "compile", lambda function, dynamic: broken)
    compiled = row(theirs=formulas.compiled(lambda x: x))
    assert measure_row(compiled, SETUP, seconds=0.0, least=1).absent == "other: No working C++ compiler found"


def test_what_compiles_is_run_once_before_it_is_measured(monkeypatch):
    calls = []
    monkeypatch.setattr(torch, "compile", lambda function, dynamic: lambda *x: calls.append(function) or function(*x))
    run = formulas.compiled(formulas.textbook)(*tensors())
    assert calls == [formulas.textbook]
    assert run().shape == (2, 3, 11)
