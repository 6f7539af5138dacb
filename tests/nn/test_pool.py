import torch

from saccade import AuxRequest, masks, nn
from saccade.nn.attention import SCORES
from tiers import every


@every("score", SCORES)
@every("hidden", [None, 8])
def test_one_output_a_query(score, hidden):
    pool = nn.AttentionPool(6, 3, num_queries=2, hidden_dim=hidden, score=score, max_length=9)
    key, value = torch.randn(4, 7, 6), torch.randn(4, 7, 3)
    output, aux = pool(key, value, mask=masks.Lengths(torch.tensor([7, 1, 3, 0])), aux=AuxRequest(weights=True))
    assert output.shape == (4, 2, 3) and aux.weights.shape == (4, 2, 7)
    assert (output[3] == 0).all()
    torch.testing.assert_close(output[1], value[1, :1].expand(2, 3))
    output.square().sum().backward()
    assert pool.queries.grad.isfinite().all()


def test_dot_is_a_learned_vector():
    pool, x = nn.AttentionPool(6), torch.randn(4, 7, 6)
    weights = (x @ pool.queries[0]).softmax(-1)
    torch.testing.assert_close(pool(x)[:, 0], (weights[..., None] * x).sum(1))


def test_additive_is_an_mlp_of_the_key():
    pool, x = nn.AttentionPool(6, hidden_dim=8, score="additive"), torch.randn(4, 7, 6)
    hidden = torch.tanh(pool.attention.key_projection(x) + pool.queries[0])
    weights = (hidden @ pool.attention.score.get().v).softmax(-1)
    torch.testing.assert_close(pool(x)[:, 0], (weights[..., None] * x).sum(1))
