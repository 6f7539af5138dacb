"""The disentangled score of docs/scores.md is that of DeBERTa in transformers, on tiny random weights."""

import re

import pytest
import torch

from commands import ROOT
from saccade import attend

PAGE = (ROOT / "docs/scores.md").read_text(encoding="utf-8")
D = 12  # √(3D) is exact: transformers computes it in float32


@pytest.fixture
def disentangled():
    [block] = re.findall(r"```python\n(def disentangled.*?)\n\n\n", PAGE, flags=re.S)
    assert len(block.splitlines()) <= 25
    names = {"torch": torch}
    exec(block, names)
    return names["disentangled"]


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 2e-6)])
def test_it_is_debertas(disentangled, dtype, tolerance, shared):
    modeling = pytest.importorskip("transformers.models.deberta_v2.modeling_deberta_v2")
    sizes = {"hidden_size": 2 * D, "num_attention_heads": 2, "max_relative_positions": 3}
    options = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "share_att_key": shared}
    theirs = modeling.DisentangledSelfAttention(modeling.DebertaV2Config(**sizes, **options)).eval().to(dtype)
    hidden, embeddings = torch.randn(2, 7, 2 * D, dtype=dtype), torch.randn(6, 2 * D, dtype=dtype)
    lengths = torch.tensor([7, 4])
    mask = torch.arange(7) < lengths[:, None, None, None]  # 7 tokens are further apart than 3
    embeddings.requires_grad_()

    expected, weights = theirs(hidden, mask, output_attentions=True, rel_embeddings=embeddings)

    def project(name, states):
        return theirs.get_submodule(name)(states).unflatten(-1, (2, D)).transpose(-2, -3)

    query, key, value = (project(f"{name}_proj", hidden) for name in ("query", "key", "value"))
    prefix = "" if shared else "pos_"
    score = disentangled(project(f"{prefix}query_proj", embeddings), project(f"{prefix}key_proj", embeddings))
    output = attend(query, key, value, score=score, mask=mask).transpose(1, 2).flatten(2)
    torch.testing.assert_close(output, expected, rtol=0, atol=tolerance)
    assert weights.std() > 0.05  # the scores differ
    gradients = [torch.autograd.grad(each.square().sum(), embeddings)[0] for each in (output, expected)]
    torch.testing.assert_close(*gradients, rtol=0, atol=100 * tolerance)
