import torch

from saccade import AuxRequest, look, masks, nn
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


def test_queries_may_have_projections_of_their_own():
    pool = nn.AttentionPool(6, num_queries=3, hidden_dim=8, score="additive", own_projections=True)
    x, lengths = torch.randn(4, 7, 6), torch.tensor([7, 1, 3, 7])
    mask, there = masks.Lengths(lengths), torch.arange(7) < lengths[:, None]
    outputs, weights, entropies = [], [], []
    for one in pool.pools:
        scores = torch.tanh(one.attention.key_projection(x) + one.queries[0]) @ one.attention.score.get().v
        weights.append(scores.masked_fill(~there, -torch.inf).softmax(-1))
        outputs.append((weights[-1][..., None] * x).sum(1))
        entropies.append(torch.special.entr(weights[-1]).sum(-1))
    request = AuxRequest(weights=True, entropy=True, top=2, received=True, lse=True)
    output, aux = pool(x, mask=mask, aux=request)
    torch.testing.assert_close(output, torch.stack(outputs, 1))
    torch.testing.assert_close(pool(x, mask=mask), output)
    torch.testing.assert_close(aux.weights, torch.stack(weights, 1))
    torch.testing.assert_close(aux.entropy, torch.stack(entropies, 1))
    torch.testing.assert_close(aux.received, aux.weights.sum(1))
    torch.testing.assert_close(aux.top[0], aux.weights.topk(2).values)
    assert aux.lse.shape == (4, 3) and aux.index is None and len(list(pool.parameters())) == 9
    with look.record(torch.nn.ModuleDict({"pool": pool})) as records:
        pool(x, mask=mask)
    [(name, recorded)] = records
    assert name == "pool" and torch.equal(recorded.weights, aux.weights)


def test_dot_is_a_learned_vector():
    pool, x = nn.AttentionPool(6), torch.randn(4, 7, 6)
    weights = (x @ pool.queries[0]).softmax(-1)
    torch.testing.assert_close(pool(x)[:, 0], (weights[..., None] * x).sum(1))


def test_additive_is_an_mlp_of_the_key():
    pool, x = nn.AttentionPool(6, hidden_dim=8, score="additive"), torch.randn(4, 7, 6)
    hidden = torch.tanh(pool.attention.key_projection(x) + pool.queries[0])
    weights = (hidden @ pool.attention.score.get().v).softmax(-1)
    torch.testing.assert_close(pool(x)[:, 0], (weights[..., None] * x).sum(1))
