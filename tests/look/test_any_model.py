"""Models of other libraries: recorded from torch's own attention functions, with their output untouched."""

import copy
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from saccade import AuxRequest, look, masks, normalizers, replace_sdpa
from saccade.errors import ArgumentError

ALL = AuxRequest(weights=True, lse=True, entropy=True, top=3, received=True)


class SelfAttention(nn.Module):
    """Causal self-attention as in nanoGPT."""

    def __init__(self, dim=8, heads=2, dropout_p=0.0):
        super().__init__()
        self.projection, self.heads, self.dropout_p = nn.Linear(dim, 3 * dim), heads, dropout_p

    def split(self, x):
        return (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.projection(x).chunk(3, -1))

    def forward(self, x):
        dropout_p = self.dropout_p if self.training else 0.0
        output = F.scaled_dot_product_attention(*self.split(x), is_causal=True, dropout_p=dropout_p)
        return output.transpose(1, 2).flatten(2)

    def weights(self, x):
        query, key, _ = self.split(x)
        scores = query @ key.mT / query.shape[-1] ** 0.5
        return scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -torch.inf).softmax(-1)


class OwnProducts(SelfAttention):
    """The same weights by matrix products of its own."""

    def forward(self, x):
        *_, value = self.split(x)
        return (self.weights(x) @ value).transpose(1, 2).flatten(2)


class Stack(nn.Module):
    def __init__(self, *layers, checkpointed=None):
        super().__init__()
        self.layers, self.checkpointed = nn.ModuleList(layers), checkpointed

    def forward(self, x):
        for layer in self.layers:
            plain = self.checkpointed is None
            x = x + (layer(x) if plain else checkpoint(layer, x, use_reentrant=self.checkpointed))
        return x


@pytest.fixture
def x():
    return torch.randn(2, 5, 8)


def expected(weights):
    """Statistics of weights by their definitions."""
    return {
        "weights": weights,
        "entropy": torch.special.entr(weights).sum(-1),
        "received": weights.sum(-2),
    }


@pytest.mark.parametrize("mode", ["observe", "serve"])
def test_records_of_torchs_function_are_the_softmax_of_its_scores(x, mode):
    layer = SelfAttention().double()
    x = x.double()
    with look.record(layer, ALL, mode=mode) as recording:
        output = layer(x)
    [record] = recording
    for name, value in expected(layer.weights(x)).items():
        torch.testing.assert_close(getattr(record, name), value, rtol=1e-12, atol=1e-12)
    values, index = torch.sort(layer.weights(x), dim=-1, descending=True, stable=True)
    torch.testing.assert_close(record.top[0], values[..., :3], rtol=1e-12, atol=1e-12)
    shown = values[..., :3] > 0
    assert torch.equal(record.top[1][shown], index[..., :3][shown]) and (record.top[1][~shown] == -1).all()
    torch.testing.assert_close(output, layer(x), rtol=1e-12, atol=1e-12)
    assert (record.kind, record.key_offset, record.sink) == ("self", 0, None)
    assert record.weights.requires_grad == (mode == "serve")
    assert recording.coverage == (("",), (), ())


def test_an_observed_model_returns_the_same_bits_and_draws_the_same_numbers(x):
    model = Stack(SelfAttention(dropout_p=0.3), SelfAttention(dropout_p=0.3))
    torch.manual_seed(5)
    plain, after = model(x), torch.rand(1)
    torch.manual_seed(5)
    with look.record(model, ALL):
        observed = model(x)
    assert torch.equal(observed, plain) and torch.equal(torch.rand(1), after)
    gradients = [
        torch.autograd.grad(output.sum(), model.layers[0].projection.weight)[0] for output in (plain, observed)
    ]
    assert torch.equal(*gradients)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_torchs_encoder_keeps_its_fused_path(grad, batch_first, padded):
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=batch_first)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    x, padding = torch.randn(3, 3, 8), None
    if padded:
        padding = torch.tensor([[False, False, True], [False] * 3, [False, True, True]])
    with torch.set_grad_enabled(grad):
        plain = encoder(x, src_key_padding_mask=padding)
        with look.record(encoder, ALL) as recording:
            observed = encoder(x, src_key_padding_mask=padding)
        with look.record(encoder, ALL, mode="serve") as served:
            output = encoder(x, src_key_padding_mask=padding)
    assert torch.equal(plain, observed)
    torch.testing.assert_close(output, plain, rtol=1e-5, atol=1e-5)
    assert recording.coverage.recorded == ("layers.0.self_attn", "layers.1.self_attn")
    sequence = x if batch_first else x.transpose(0, 1)
    _, weights = encoder.layers[0].self_attn(x, x, x, key_padding_mask=padding, average_attn_weights=False)
    torch.testing.assert_close(recording[0].weights, weights, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(served[0].weights, weights, rtol=1e-5, atol=1e-6)
    assert len(sequence) == weights.shape[0] and not any("forward" in vars(part) for part in encoder.modules())


def heads(**options):
    return nn.MultiheadAttention(8, 2, batch_first=True, **options)


FLOATS = torch.randn(5, 5, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("layer", "options"),
    [
        (heads(), {}),
        (heads(bias=False), {"need_weights": False}),
        (heads(add_bias_kv=True, add_zero_attn=True), {"average_attn_weights": False}),
        (heads(), {"attn_mask": torch.ones(5, 5).triu(1).bool(), "key_padding_mask": torch.ones(2, 5).triu(4).bool()}),
        (heads(add_zero_attn=True), {"attn_mask": FLOATS}),
        (heads(), {"attn_mask": FLOATS.expand(4, 5, 5)}),
        (heads(kdim=8, vdim=8), {"average_attn_weights": False}),
    ],
)
def test_torchs_multihead_attention_is_replaced_and_served(x, layer, options):
    plain, weights = layer(x, x, x, **options)
    with replace_sdpa():
        replaced, mean = layer(x, x, x, **options)
    with look.record(layer, mode="serve") as recording:
        served, _ = layer(x, x, x, **options)
    with look.record(layer) as observing:
        assert torch.equal(layer(x, x, x, **options)[0], plain)
    for output in (replaced, served):
        torch.testing.assert_close(output, plain, rtol=1e-5, atol=1e-6)
    assert (weights is None) == (mean is None)
    if weights is not None:
        torch.testing.assert_close(mean, weights, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(recording[0].weights, observing[0].weights, rtol=1e-5, atol=1e-6)


def test_unbatched_multihead_attention(x):
    layer = nn.MultiheadAttention(8, 2)
    plain = layer(x[0], x[0], x[0])
    with replace_sdpa():
        replaced = layer(x[0], x[0], x[0])
    for one, other in zip(plain, replaced, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def test_kinds_of_torchs_transformer(x):
    model = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    with look.record(model) as recording:
        model(x, x[:, :3])
    kinds = {record.name: record.kind for record in recording}
    assert kinds == {
        "encoder.layers.0.self_attn": "self",
        "decoder.layers.0.self_attn": "self",
        "decoder.layers.0.multihead_attn": "cross",
    }


def test_a_module_with_matrix_products_of_its_own_is_named(x):
    model = Stack(SelfAttention(), OwnProducts())
    with look.record(model) as recording:
        model(x)
    assert recording.coverage == (("layers.0",), (), ("layers.1",))
    message = r"^model: expected a call .*got none that can be recorded of ''\. Call"
    with pytest.raises(ArgumentError, match=message), look.record(model.layers[1]):
        model.layers[1](x)


def test_a_softmax_names_a_module_of_any_class(x):
    class Mixer(nn.Module):
        def forward(self, x):
            return (x[:, None] @ x[:, None].mT).softmax(-1) @ x[:, None]

    model = Stack(SelfAttention(), Mixer())
    model.layers[1].forward = lambda x: Mixer.forward(model.layers[1], x)[:, 0]
    with look.record(model) as recording:
        model(x)
    assert recording.coverage == (("layers.0",), (), ("layers.1",))


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("mode", ["observe", "serve"])
def test_a_checkpoint_is_recorded_once(x, reentrant, mode):
    model = Stack(SelfAttention(), SelfAttention(), checkpointed=reentrant)
    x = x.requires_grad_()
    [plain] = torch.autograd.grad(model(x).sum(), model.layers[1].projection.weight) if not reentrant else [None]
    with look.record(model, ALL, mode=mode) as recording:
        model(x).sum().backward()
    assert [record.name for record in recording] == ["layers.0", "layers.1"]
    if plain is not None:
        torch.testing.assert_close(model.layers[1].projection.weight.grad, plain, rtol=1e-5, atol=1e-6)


def test_nested_recorders_record_the_same(x):
    model = Stack(SelfAttention(), SelfAttention())
    for inner_mode in ("observe", "serve"):
        with look.record(model, ALL) as outer, look.record(model, ALL, mode=inner_mode) as inner:
            model(x)
        with look.record(model, ALL) as after:
            model(x)
        assert len(outer) == len(inner) == len(after) == 2
        for one, two in zip(outer, inner, strict=True):
            torch.testing.assert_close(one.entropy, two.entropy)


def test_other_threads_are_left_alone(x):
    model, outputs = SelfAttention(), []
    with look.record(model, required=False) as recording, replace_sdpa(normalizer=normalizers.Sparsemax()):
        thread = threading.Thread(target=lambda: outputs.append(model(x)))
        thread.start()
        thread.join()
    assert not recording
    torch.testing.assert_close(outputs[0], model(x))  # a new thread may compute by other numbers of threads


def test_a_compiled_model_runs_as_compiled(x):
    model = SelfAttention()
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    plain = compiled(x)
    with look.record(compiled, required=False) as recording:
        assert torch.equal(compiled(x), plain)
    assert not recording and recording.coverage.bypassing == ("_orig_mod",)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_types_and_autocast(x, dtype):
    model = SelfAttention()
    with torch.autocast("cpu", dtype):
        plain = model(x)
        with look.record(model, ALL) as recording:
            assert torch.equal(model(x), plain)
    assert recording[0].entropy.dtype == torch.float32
    torch.testing.assert_close(recording[0].entropy, torch.special.entr(model.weights(x)).sum(-1), atol=0.05, rtol=0.05)


def test_selected_layers_heads_and_rows(x):
    model = Stack(SelfAttention(), SelfAttention())
    with look.record(model, ALL) as every:
        model(x)
    with look.record(model, ALL, layers=1, heads=1, rows=[-1, 2]) as recording:
        model(x)
    [record] = recording
    assert record.name == "layers.1"
    torch.testing.assert_close(record.weights, every[1].weights[:, 1:][:, :, [-1, 2]])
    torch.testing.assert_close(record.entropy, every[1].entropy[:, 1:][:, :, [-1, 2]])
    torch.testing.assert_close(record.received, every[1].weights[:, 1:][:, :, [-1, 2]].sum(-2))
    with look.record(model, ALL, layers=["layers.0"], rows=slice(3, None)) as recording:
        model(x)
    torch.testing.assert_close(recording["layers.0"][0].weights, every[0].weights[:, :, 3:])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": [10_000_000]}, "^rows: expected numbers from 0 to 4, got 10000000$"),
        ({"rows": range(10_000_000)}, "^rows: expected at most 5 numbers, got 10000000. Pass a slice$"),
        ({"heads": 2}, "^heads: expected numbers from 0 to 1, got 2$"),
        ({"layers": "decoder"}, r"^layers: expected names or numbers of modules that attend \(''\), got 'decoder'$"),
        ({"mode": "eager"}, "^mode: expected 'observe' or 'serve', got 'eager'$"),
    ],
)
def test_a_wrong_selection_is_one_error(x, options, message):
    model = SelfAttention()
    with pytest.raises(ArgumentError, match=message), look.record(model, ALL, **options):
        model(x)


def test_records_are_saved_with_their_offsets(x, tmp_path):
    model = SelfAttention()
    with look.record(model, ALL) as recording:
        model(x)
    recording.save(tmp_path / "records" / "x")
    loaded = look.load(tmp_path / "records" / "x")
    assert (loaded[0].kind, loaded[0].key_offset, loaded.coverage) == ("self", 0, recording.coverage)
    torch.testing.assert_close(loaded[0].weights, recording[0].weights, rtol=0, atol=0)


def test_a_copy_made_in_the_block_is_an_ordinary_module():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 1, enable_nested_tensor=False).eval()
    with look.record(encoder, required=False) as recording, torch.no_grad():
        copied = copy.deepcopy(encoder)
        output = copied(torch.ones(3, 1, 8))
    assert not recording and torch.equal(output, copied(torch.ones(3, 1, 8)))


def test_replaced_attention_is_recorded_as_replaced(x):
    model = SelfAttention()
    with look.record(model) as outer, replace_sdpa(normalizer=normalizers.Sparsemax()), look.record(model) as inner:
        model(x)
    for recording in (outer, inner):
        assert (recording[0].weights == 0)[:, :, -1].any() and recording[0].weights.sum(-1).allclose(
            torch.ones(2, 2, 5)
        )


def test_replacements_end_with_their_block_and_leave_attend_alone(x):
    import saccade

    query = x[:, None]
    plain = F.scaled_dot_product_attention(query, query, query)
    with replace_sdpa(normalizer=normalizers.Sparsemax()):
        assert not torch.equal(F.scaled_dot_product_attention(query, query, query), plain)
        torch.testing.assert_close(saccade.attend(query, query, query), plain)
        with replace_sdpa():
            torch.testing.assert_close(F.scaled_dot_product_attention(query, query, query), plain)
    assert torch.equal(F.scaled_dot_product_attention(query, query, query), plain)
    message = "^mask: expected one of score, .*, got mask. The call has the rest"
    with pytest.raises(ArgumentError, match=message), replace_sdpa(mask=masks.Causal()):
        pass


def test_grouped_queries_and_scale(x):
    query = torch.randn(2, 4, 5, 8)
    key = torch.randn(2, 2, 7, 8)
    allowed = torch.rand(2, 1, 5, 7) > 0.3
    allowed[..., 0] = True
    options = {"attn_mask": allowed, "scale": 0.3, "enable_gqa": True}
    plain = F.scaled_dot_product_attention(query, key, key, **options)
    with replace_sdpa():
        replaced = F.scaled_dot_product_attention(query, key, key, **options)
    torch.testing.assert_close(replaced, plain)


def test_a_causal_call_with_a_mask_keeps_both(x):
    query, allowed = x[:, None], torch.rand(2, 1, 5, 5) > 0.3
    with replace_sdpa():
        both = F.scaled_dot_product_attention(query, query, query, attn_mask=allowed, is_causal=True)
    causal = allowed & torch.ones(5, 5).tril().bool()
    expected = F.scaled_dot_product_attention(query, query, query, attn_mask=causal)
    read = causal.any(-1)
    torch.testing.assert_close(both[read], expected[read])
    assert (both[~read] == 0).all()


@pytest.fixture
def encoder():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()


@torch.no_grad()
def test_threads_record_one_encoder_at_once(encoder):
    inside, batches = threading.Barrier(4), torch.randn(4, 20, 2, 9, 16)

    @torch.no_grad()
    def outputs(batch):
        inside.wait()
        return torch.stack([encoder(x) for x in batch])

    @torch.no_grad()
    def recorded(batch):
        inside.wait()
        results = []
        for x in batch:
            with look.record(encoder) as recording:
                results.append(encoder(x))
            assert [record.name for record in recording] == ["layers.0.self_attn", "layers.1.self_attn"]
        return torch.stack(results)

    with ThreadPoolExecutor(4) as pool:
        plain = list(pool.map(outputs, batches))
        observed = list(pool.map(recorded, batches))
    assert all(torch.equal(one, other) for one, other in zip(plain, observed, strict=True))
    assert not any("forward" in vars(part) for part in encoder.modules())


@torch.no_grad()
def test_each_thread_keeps_the_fused_path_while_another_records(encoder):
    x = torch.randn(2, 9, 16)

    @torch.no_grad()
    def call(record=False):
        with look.record(encoder) if record else ExitStack() as recording:
            output = encoder(x)
        return output, recording

    with ThreadPoolExecutor(1) as pool:
        plain, _ = pool.submit(call).result()
        with look.record(encoder, required=False) as recording:
            unrecorded, _ = pool.submit(call).result()
            observed, other = pool.submit(call, record=True).result()
            assert not recording
            encoder(x)
    assert torch.equal(unrecorded, plain) and torch.equal(observed, plain)
    assert len(recording) == len(other) == 2


@torch.no_grad()
@pytest.mark.parametrize("compiled", [False, True])
def test_blocks_of_two_threads_may_end_in_any_order(encoder, compiled):
    model = torch.compile(encoder, backend="eager") if compiled else encoder
    before = {part: vars(part).get("forward") for part in model.modules()}
    blocks = [ExitStack(), ExitStack()]
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as two:
        for pool, block in zip((one, two), blocks, strict=True):
            pool.submit(block.enter_context, look.record(model, required=False)).result()
        one.submit(blocks[0].close).result()
        assert any(vars(part).get("forward") != forward for part, forward in before.items())
        two.submit(blocks[1].close).result()
    assert {part: vars(part).get("forward") for part in model.modules()} == before


@torch.no_grad()
def test_a_replaced_encoder_returns_the_same_bits_when_recorded(encoder):
    x = torch.randn(2, 9, 16)
    with replace_sdpa(normalizer=normalizers.Sparsemax()):
        replaced = encoder(x)
        with look.record(encoder) as recording:
            assert torch.equal(encoder(x), replaced)
    assert not torch.allclose(replaced, encoder(x)) and (recording[0].weights == 0).any()


@torch.no_grad()
def test_the_second_run_of_a_module_leaves_its_buffers_and_random_numbers(encoder):
    class Counted(nn.TransformerEncoderLayer):
        def __init__(self):
            super().__init__(16, 2, 32, batch_first=True)
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            return super().forward(x) + torch.rand(())

    layer, x, results = Counted().eval(), torch.randn(2, 9, 16), []
    layer.dropout1.train()
    for recorded in (False, True):
        torch.manual_seed(1)
        layer.calls.zero_()
        with look.record(layer) if recorded else ExitStack():
            results.append((layer(x), torch.rand(3), layer.calls.clone()))
    assert all(torch.equal(plain, observed) for plain, observed in zip(*results, strict=True))


@pytest.mark.parametrize("softmax", [torch.softmax, F.softmax])
def test_a_softmax_takes_its_scores_by_name(x, softmax):
    class Mixer(nn.Module):
        def forward(self, x):
            return softmax(input=x[:, None] @ x[:, None].mT, dim=-1) @ x[:, None]

    mixer = Mixer()
    with look.record(mixer, required=False) as recording, replace_sdpa():
        assert torch.equal(mixer(x), softmax(x[:, None] @ x[:, None].mT, dim=-1) @ x[:, None])
        with pytest.raises(TypeError, match="input"):
            softmax(dim=-1)
    assert recording.coverage.bypassing == ("",)


def test_attention_functions_take_their_arguments_by_name(x):
    class Named(nn.MultiheadAttention):
        def forward(self, x):
            arguments = {
                "in_proj_bias": self.in_proj_bias,
                "in_proj_weight": self.in_proj_weight,
                "out_proj_weight": self.out_proj.weight,
                "out_proj_bias": self.out_proj.bias,
                "embed_dim_to_check": self.embed_dim,
                "num_heads": self.num_heads,
                "dropout_p": 0.0,
                "add_zero_attn": False,
                "bias_k": None,
                "bias_v": None,
            }
            joined, _ = F.multi_head_attention_forward(value=x, key=x, query=x, **arguments)
            return F.scaled_dot_product_attention(value=joined, key=x, query=x)

    layer = Named(8, 2)
    with look.record(layer) as recording:
        output = layer(x)
    assert torch.equal(output, layer(x))
    assert [record.weights.shape for record in recording] == [(5, 2, 2, 2), (2, 5, 5)]
    with replace_sdpa():
        torch.testing.assert_close(layer(x), output, rtol=1e-5, atol=1e-6)
    with look.record(layer, required=False), pytest.raises(TypeError):
        F.scaled_dot_product_attention(key=x, value=x)
