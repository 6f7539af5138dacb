import pytest
import torch

from saccade import AuxRequest, attend, masks, nn, normalizers, reads, scores
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError
from saccade.nn.attention import SCORES
from tiers import every


@pytest.mark.parametrize("score", SCORES)
def test_every_name_is_attend_over_projections(score):
    module = nn.Attention(6, 4, 3, hidden_dim=8, score=score, max_length=9)
    query, key, value = torch.randn(2, 5, 6), torch.randn(2, 7, 4), torch.randn(2, 7, 3)
    lengths = masks.Lengths(torch.tensor([7, 2]))
    output, aux = module(query, key, value, mask=lengths, aux=AuxRequest(weights=True))
    expected = attend(
        module.query_projection(query), module.key_projection(key), value, score=module.score.get(), mask=lengths
    )
    torch.testing.assert_close(output, expected)
    assert aux.weights.shape == (2, 5, 7) and (aux.weights[1, :, 2:] == 0).all()


@pytest.mark.parametrize("score", SCORES)
def test_every_parameter_learns_and_is_saved(score):
    module = nn.Attention(6, 4, hidden_dim=8, score=score, max_length=9, output_dim=2)
    query, key = torch.randn(2, 5, 6), torch.randn(2, 7, 4)
    module(query, key).square().sum().backward()
    still = {"key_projection.weight", "key_projection.bias"} if score == "location" else {"key_projection.bias"}
    assert {
        name for name, parameter in module.named_parameters() if parameter.grad is None or not parameter.grad.any()
    } <= still
    other = nn.Attention(6, 4, hidden_dim=8, score=score, max_length=9, output_dim=2)
    other.load_state_dict(module.state_dict())
    assert torch.equal(other(query, key), module(query, key))


def test_a_location_score_has_a_fixed_size():
    module = nn.Attention(6, 4, score="location", max_length=9)
    query, key = torch.randn(2, 5, 6), torch.randn(2, 10, 4)
    assert module(query, key[:, :9]).shape == (2, 5, 4)
    message = r"weight of scores.Location: expected at least 10 rows, one for each key, got 9\. .*max_length of a layer"
    with pytest.raises(ShapeError, match=message):
        module(query, key)


def test_additive_is_bahdanaus():
    module = nn.Attention(6, 4, hidden_dim=8)
    state, annotations = torch.randn(2, 1, 6), torch.randn(2, 7, 4)
    w, u, v = module.query_projection, module.key_projection, module.score.get().v
    energies = torch.tanh(w(state) + u(annotations)) @ v
    expected = (energies.softmax(-1)[:, None] @ annotations).squeeze(-2)
    torch.testing.assert_close(module(state, annotations).squeeze(-2), expected)
    assert u.bias is None


@pytest.mark.parametrize("score", SCORES)
def test_a_memory_reads_as_the_keys_themselves(score):
    module = nn.Attention(6, 4, 3, hidden_dim=8, score=score, max_length=9).eval()
    query, key, value = torch.randn(2, 5, 6), torch.randn(2, 7, 4), torch.randn(2, 7, 3)
    memory = module.append(module.remember(key[:, :4], value[:, :4], capacity=7), key[:, 4:], value[:, 4:])
    torch.testing.assert_close(module(query, memory=memory), module(query, key, value))


def test_a_score_as_object_learns_with_the_module():
    beta = torch.nn.Parameter(torch.tensor(2.0))
    module = nn.Attention(
        6,
        score=scores.Cosine(beta),
        normalizer=normalizers.Entmax(torch.nn.Parameter(torch.tensor(1.5))),
        read=reads.TopK(3),
    )
    module(torch.randn(2, 5, 6)).square().sum().backward()
    assert {name for name, _ in module.named_parameters()} == {"score.beta", "normalizer.alpha"}
    assert beta.grad.abs() > 0
    assert module.double()(torch.randn(2, 5, 6, dtype=torch.float64)).dtype == torch.float64


def test_a_module_as_score_is_registered():
    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(6, 6)

        def forward(self, query, key):
            return self.inner(query) @ key.mT

    module = nn.Attention(6, score=Own())
    module(torch.randn(2, 5, 6)).square().sum().backward()
    assert module.score.thing.inner.weight.grad.abs().sum() > 0


def test_values_may_have_a_projection():
    module = nn.Attention(6, 4, 3, hidden_dim=8, value_hidden_dim=5, score="dot", output_dim=2).double()
    query, key, value = (torch.randn(2, *shape, dtype=torch.float64) for shape in ((5, 6), (7, 4), (7, 3)))
    projected = value @ module.value_projection.weight.T
    expected = attend(module.query_projection(query), module.key_projection(key), projected, score=scores.Dot())
    expected = module.output_projection(expected)
    torch.testing.assert_close(module(query, key, value), expected)
    torch.testing.assert_close(module(query, key, lambda index: value[index]), expected)
    memory = module.append(module.remember(key[:, :4], value[:, :4], capacity=7), key[:, 4:], value[:, 4:])
    torch.testing.assert_close(module(query, memory=memory), expected)
    module(query, key, value).square().sum().backward()
    assert module.value_projection.weight.grad.any() and module.value_projection.bias is None
    with pytest.raises(ShapeError, match="value: expected .*3.* got .*4"):
        module(query, key)


def test_dropout_only_in_training():
    module = nn.Attention(6, dropout_p=0.9)
    x = torch.randn(2, 30, 6)
    assert not torch.equal(module(x), module(x))
    assert torch.equal(module.eval()(x), module(x))


def test_defaults_are_self_attention():
    module = nn.Attention(6, score="dot")
    x, y = torch.randn(2, 5, 6), torch.randn(2, 7, 6)
    torch.testing.assert_close(module(x), attend(x, x, x, score=scores.Dot()))
    torch.testing.assert_close(module(x, y), attend(x, y, y, score=scores.Dot()))


def test_it_may_draw_in_training_alone():
    torch.manual_seed(0)
    module = nn.Attention(6, 4, hidden_dim=8, read=reads.Sample(), eval_read=reads.Argmax())
    query, key = torch.randn(2, 50, 6), torch.randn(2, 7, 4)
    drawn = [module(query, key) for _ in range(2)]
    assert not torch.equal(*drawn)
    module.eval()
    likeliest = attend(
        module.query_projection(query), module.key_projection(key), key, score=module.score.get(), read=reads.Argmax()
    )
    torch.testing.assert_close(module(query, key), likeliest)
    assert {*module.state_dict()} == {*nn.Attention(6, 4, hidden_dim=8).state_dict()}
    given = nn.Attention(6, 4, hidden_dim=8, read=reads.Sample(uniform=torch.rand(2, 50)))
    assert [name for name in given.state_dict() if "uniform" in name] == ["read.uniform"]
    with pytest.raises(TypeError, match="read"):
        nn.Attention(6, eval_read="argmax")


def test_one_call_may_read_in_another_way():
    module, draw = nn.Attention(6, 4, hidden_dim=8), reads.Sample(uniform=torch.rand(2, 5))
    query, key = torch.randn(2, 5, 6), torch.randn(2, 7, 4)
    drawn = module(query, key, read=draw)
    assert torch.equal(drawn, nn_attention_with(module, draw)(query, key))
    assert torch.equal(drawn, module(query, memory=module.remember(key), read=draw))
    assert (drawn[:, :, None] == key[:, None]).all(-1).any(-1).all() and not torch.equal(module(query, key), drawn)


def nn_attention_with(module, read):
    """A module with the same weights that reads so."""
    other = nn.Attention(6, 4, hidden_dim=8, read=read)
    other.load_state_dict(module.state_dict(), strict=False)
    return other


MODULES = {
    "Attention": lambda x: nn.Attention(6)(x),
    "key": lambda x: nn.Attention(6)(torch.randn(2, 5, 6), x),
    "value": lambda x: nn.Attention(6, score="dot", output_dim=4)(x),
    "remember": lambda x: nn.Attention(6).remember(x),
    "append": lambda x: (m := nn.Attention(6)).append(m.remember(torch.randn(2, 5, 6)), x),
    "MultiheadAttention": lambda x: nn.MultiheadAttention(6, 2)(x),
    "its key": lambda x: nn.MultiheadAttention(6, 2)(torch.randn(2, 5, 6), x),
    "its memory": lambda x: nn.MultiheadAttention(6, 2).remember(x),
    "AttentionPool": lambda x: nn.AttentionPool(6)(x),
    "SetAttention": lambda x: nn.SetAttention(6, 2, num_inducing=2)(x),
    "SetPool": lambda x: nn.SetPool(6, 2)(x),
}


@every("name", MODULES)
def test_another_dtype_is_one_clear_error(name):
    named = "(query|key|value|elements)"
    with pytest.raises(ArgumentError, match=f"^{named}: expected dtype torch.float32.*got dtype.*float64"):
        MODULES[name](torch.randn(2, 5, 6, dtype=torch.float64))
    with pytest.raises(ArgumentError, match=f"{named}: expected .*dtype.*int64"):
        MODULES[name](torch.ones(2, 5, 6, dtype=torch.int64))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@every("layout", [torch.strided, torch.jagged])
@every("name", MODULES)
def test_a_nested_tensor_is_one_clear_error(name, layout):
    nested = torch.nested.nested_tensor([torch.randn(3, 6), torch.randn(5, 6)], layout=layout)
    said = "(query|key|elements): expected a dense tensor, got a nested one. Pad it"
    with pytest.raises(ArgumentTypeError, match=said):
        MODULES[name](nested)


def test_autocast_may_mix_what_it_casts():
    with torch.autocast("cpu", torch.bfloat16):
        assert nn.MultiheadAttention(6, 2)(torch.randn(2, 5, 6, dtype=torch.bfloat16)).dtype == torch.bfloat16
        with pytest.raises(ArgumentError, match="float64"):
            nn.MultiheadAttention(6, 2)(torch.randn(2, 5, 6, dtype=torch.float64))


def test_a_recurrent_model_reads_an_unencoded_memory():
    things, keys = torch.randn(2, 30, 5), torch.randn(2, 30, 4)
    attention = nn.Attention(6, 4, 3, hidden_dim=8, read=reads.Sample("reinforce"), eval_read=reads.Argmax())
    encoder, cell = torch.nn.Linear(5, 3), torch.nn.GRUCell(3, 6)
    asked = []

    def encoded(index):
        asked.append(len(index[0]))
        return encoder(things[index])

    memory, state, losses = attention.remember(keys, encoded), torch.zeros(2, 6), []
    for _ in range(4):
        read, aux = attention(state[:, None], memory=memory, aux=AuxRequest(log_prob=True, index=True))
        assert torch.allclose(read[:, 0], encoder(things[torch.arange(2), aux.index[:, 0]]), atol=1e-6)
        state = cell(read[:, 0], state)
        losses.append(aux.log_prob.mean())
    (state.square().mean() + torch.stack(losses).sum()).backward()
    assert asked == [2, 2, 2, 2]
    for part in (*attention.parameters(), *encoder.parameters()):
        assert part.grad.isfinite().all()
    assert encoder.weight.grad.abs().sum() > 0 and attention.query_projection.weight.grad.abs().sum() > 0
    attention.eval()
    with torch.no_grad():
        given = attention(state[:, None], keys, encoder(things))
        assert torch.allclose(attention(state[:, None], keys, encoded), given, atol=1e-6)
