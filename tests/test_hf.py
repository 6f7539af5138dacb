"""Models of transformers attend through Saccade as by their eager functions, and are recorded."""

import copy
import shutil

import pytest
import torch

from saccade import AuxRequest, look, masks
from saccade.errors import ArgumentError

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
hf = pytest.importorskip("saccade.hf")
masking_utils = pytest.importorskip("transformers.masking_utils")

SMALL = {"vocab_size": 40, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
DECODER = {
    **SMALL,
    "intermediate_size": 48,
    "num_key_value_heads": 2,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GEMMA = {**DECODER, "head_dim": 8, "sliding_window": 4}
T5 = {"vocab_size": 40, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
BART = {
    **{f"{part}_{name}": size for part in ("encoder", "decoder") for name, size in (("layers", 2), ("ffn_dim", 48))},
    "vocab_size": 40,
    "d_model": 32,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "max_position_embeddings": 32,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
}
IMAGES = {**SMALL, "intermediate_size": 48, "image_size": 24, "patch_size": 8}
CONFIGS = {
    "llama": lambda: transformers.LlamaConfig(**DECODER),
    "gpt2": lambda: transformers.GPT2Config(
        vocab_size=40, n_embd=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2
    ),
    "mistral": lambda: transformers.MistralConfig(**DECODER, sliding_window=4),
    "qwen2": lambda: transformers.Qwen2Config(**DECODER),
    "gemma2": lambda: transformers.Gemma2Config(**GEMMA, attn_logit_softcapping=2.0),
    "gemma3": lambda: transformers.Gemma3TextConfig(**GEMMA),
    "gpt_oss": lambda: transformers.GptOssConfig(**GEMMA, num_local_experts=2, num_experts_per_tok=1),
    "diffllama": lambda: transformers.DiffLlamaConfig(**DECODER),
    "bert": lambda: transformers.BertConfig(**SMALL, intermediate_size=48),
    "t5": lambda: transformers.T5Config(**T5, decoder_start_token_id=0),
    "bart": lambda: transformers.BartConfig(**BART),
    "whisper": lambda: transformers.WhisperConfig(
        **BART, num_mel_bins=8, max_source_positions=8, max_target_positions=16
    ),
    "vit": lambda: transformers.ViTConfig(**IMAGES),
    "clip": lambda: transformers.CLIPConfig(
        text_config={**SMALL, "intermediate_size": 48, "eos_token_id": 39}, vision_config=IMAGES, projection_dim=16
    ),
}
TRANSLATORS = ("t5", "bart")
DECODERS = ("llama", "gpt2", "mistral", "qwen2", "gemma2", "gemma3", "gpt_oss")
CACHED = ("llama", "mistral", "gemma2", "gemma3", "gpt_oss")
REQUEST = AuxRequest(weights=True, entropy=True, top=2, received=True)


def pair(name, head=False, implementation="saccade"):
    """The same random model by Saccade and by its eager function."""
    torch.manual_seed(0)
    kind = transformers.AutoModelForCausalLM if head else transformers.AutoModel
    ours = kind.from_config(CONFIGS[name](), attn_implementation=implementation).eval()
    eager = kind.from_config(CONFIGS[name](), attn_implementation="eager").eval()
    state = {
        key: torch.randn_like(part) * 0.3 if part.is_floating_point() else part
        for key, part in ours.state_dict().items()
    }
    ours.load_state_dict(state)
    eager.load_state_dict(state)
    return ours, eager


def inputs(name, padded):
    ids = torch.randint(3, 40, (2, 7), generator=torch.Generator().manual_seed(1))
    mask = torch.ones(2, 7, dtype=torch.long)
    if padded:
        mask[1, :3] = 0
    images = torch.randn(2, 3, 24, 24, generator=torch.Generator().manual_seed(2))
    if name == "clip":
        ids[:, -1] = 39  # the state of this token stands for the text
    if name == "vit":
        return {"pixel_values": images}
    if name == "whisper":
        return {"input_features": images.flatten(1)[:, :128].view(2, 8, 16), "decoder_input_ids": ids[:, :5]}
    more = {"decoder_input_ids": ids[:, :5]} if name in TRANSLATORS else {}
    return {"input_ids": ids, "attention_mask": mask, **more, **({"pixel_values": images} if name == "clip" else {})}


def attentions(output):
    names = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")
    parts = [part for name in ("text_model_output", "vision_model_output") if (part := getattr(output, name, None))]
    return [weights for part in parts or [output] for name in names for weights in getattr(part, name, None) or ()]


def state(output):
    return output.logits_per_text if "logits_per_text" in output else output.last_hidden_state


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("name", CONFIGS)
@torch.no_grad()
def test_outputs_and_weights_are_the_eager_ones(name, padded):
    ours, eager = pair(name)
    given = inputs(name, padded)
    one, other = ours(**given, output_attentions=True), eager(**given, output_attentions=True)
    torch.testing.assert_close(state(ours(**given)), state(one), rtol=1e-4, atol=1e-4)
    tokens = given["attention_mask"].bool() if name in (*DECODERS, "diffllama") else slice(None)
    torch.testing.assert_close(state(one)[tokens], state(other)[tokens], rtol=1e-4, atol=1e-4)
    assert len(attentions(one)) == len(attentions(other)) > 0
    for weights, reference in zip(attentions(one), attentions(other), strict=True):
        allowed = weights.sum(-1, keepdim=True) > 0  # an empty row is zeros here, and uniform there
        torch.testing.assert_close(weights, torch.where(allowed, reference, 0.0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", DECODERS)
@torch.no_grad()
def test_generation_is_the_eager_one(name):
    ours, eager = pair(name, head=True)
    given = inputs(name, padded=True)
    options = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
    expected = eager.generate(**given, **options)
    assert torch.equal(ours.generate(**given, **options), expected)
    if name in CACHED:
        assert torch.equal(ours.generate(**given, **options, cache_implementation="static"), expected)


@pytest.mark.parametrize("implementation", ["saccade", "sdpa"])
@pytest.mark.parametrize("mode", ["observe", "serve"])
@torch.no_grad()
def test_generation_is_recorded_with_the_offset_of_rolling_caches(implementation, mode):
    ours, _ = pair("mistral", head=True, implementation=implementation)
    given = inputs("mistral", padded=False)
    options = {"max_new_tokens": 3, "do_sample": False, "pad_token_id": 0}
    expected = ours.generate(**given, **options)
    with look.record(ours, REQUEST, mode=mode) as recording:
        assert torch.equal(ours.generate(**given, **options), expected)
    calls = recording["model.layers.1.self_attn"]
    assert [tuple(call.entropy.shape) for call in calls] == [(2, 4, 7), (2, 4, 1), (2, 4, 1)]
    assert [call.kind for call in calls] == ["sliding"] * 3
    assert [call.key_offset + call.weights.shape[-1] for call in calls] == [7, 8, 9]
    assert calls[2].weights.shape[-1] == 4 and calls[2].weights.sum(-1).allclose(torch.ones(2, 4, 1))


@pytest.mark.parametrize("name", sorted(set(CONFIGS) - {"gpt_oss", "gemma2"}))
@torch.no_grad()
def test_an_observed_model_keeps_its_kernel(name):
    ours, eager = pair(name, implementation="sdpa")
    given = inputs(name, padded=False)
    expected = state(ours(**given))
    with look.record(ours, REQUEST) as recording:
        assert torch.equal(state(ours(**given)), expected)
    reference = attentions(eager(**given, output_attentions=True))
    assert recording.coverage.bypassing == recording.coverage.partial == ()
    if name == "diffllama":  # two calls a layer, whose weights its eager function has subtracted
        assert len(recording) == 2 * len(reference)
        return
    order = {"encoder": 0, "decoder": 1, "text_model": 0, "vision_model": 1}
    records = sorted(recording, key=lambda record: (order.get(record.name.split(".")[0], 0), record.kind == "cross"))
    assert len(records) == len(reference)
    for record, weights in zip(records, reference, strict=True):
        torch.testing.assert_close(record.weights, weights, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(record.entropy, torch.special.entr(weights).sum(-1), rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_a_sink_is_an_event_of_the_entropy():
    ours, eager = pair("gpt_oss")
    given = inputs("gpt_oss", padded=False)
    with look.record(ours, REQUEST) as recording:
        ours(**given)
    reference = eager(**given, output_attentions=True).attentions
    for record, weights in zip(recording, reference, strict=True):
        share = 1 - weights.sum(-1)
        torch.testing.assert_close(record.sink, share, rtol=1e-4, atol=1e-5)
        entropy = torch.special.entr(weights).sum(-1) + torch.special.entr(share.clamp(min=0))
        torch.testing.assert_close(record.entropy, entropy, rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_cross_attention_and_windows_have_their_kinds():
    kinds = {}
    for name in ("bart", "gemma3", "whisper", "vit"):
        ours, _ = pair(name)
        with look.record(ours, REQUEST) as recording:
            ours(**inputs(name, padded=True))
        kinds[name] = {record.kind for record in recording}
    assert kinds["bart"] == kinds["whisper"] == {"self", "cross"}
    assert kinds["gemma3"] == {"sliding"} and kinds["vit"] == {"self"}


@torch.no_grad()
def test_no_mask_is_a_matrix(monkeypatch):
    monkeypatch.setattr(hf.LazyMask, "dense", lambda mask: pytest.fail("a tensor (B, 1, L, L)"))
    for name in ("llama", "mistral", "bert", "gemma3"):
        ours, _ = pair(name)
        ours(**inputs(name, padded=True))


@torch.no_grad()
def test_chunks_and_blocks_are_objects():
    lazy = hf.mask(1, 6, 6, mask_function=masking_utils.chunked_causal_mask_function(4, torch.zeros(1, dtype=int)))
    assert isinstance(lazy.allowed, masks.Both) and lazy.kind == "self"
    blocks = masking_utils.blockwise_overlay(torch.tensor([[0, 0, -1]]))
    lazy = hf.mask(1, 3, 3, mask_function=masking_utils.or_masks(masking_utils.causal_mask_function, blocks))
    assert isinstance(lazy.allowed, masks.Either) and lazy[0, 0, 0].tolist() == [True, True, False]


def call(mask=None, module=None, **options):
    """Attention of a fixed query, key and value, its output with heads first."""
    query, key, value = torch.randn(3, 2, 4, 5, 8, generator=torch.Generator().manual_seed(3)).unbind()
    module = torch.nn.Module() if module is None else module
    return query, key, value, hf.attention(module, query, key, value, mask, **options)[0].transpose(1, 2)


def test_each_query_attends_to_its_indices():
    indices = torch.randint(0, 5, (2, 5, 2), dtype=torch.int32, generator=torch.Generator().manual_seed(4))
    selected = (indices[..., None] == torch.arange(5)).any(2)[:, None]
    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    for mask in (None, hf.mask(2, 5, 5), causal[None, None].expand(2, 1, 5, 5)):
        allowed = selected if mask is None else selected & causal
        *_, expected = call(allowed)
        torch.testing.assert_close(call(mask, indices=indices)[-1], expected)


def test_sinks_of_each_query():
    sinks = torch.randn(2, 4, 5, 1, generator=torch.Generator().manual_seed(4))
    query, key, value, output = call(sinks=sinks, is_causal=False)
    scores = query @ key.mT / 8**0.5
    expected = torch.cat([scores, sinks], -1).softmax(-1)[..., :-1] @ value
    torch.testing.assert_close(output, expected)


def test_offsets_separate_packed_sequences():
    offsets = torch.tensor([0, 2, 5], dtype=torch.int32)
    ids = torch.tensor([0, 0, 1, 1, 1])
    *_, expected = call((ids[:, None] == ids).tril()[None, None].expand(2, 1, 5, 5))
    output = call(is_causal=True, cu_seq_lens_q=offsets, cu_seq_lens_k=offsets, max_length_q=3, max_length_k=3)[-1]
    torch.testing.assert_close(output, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("forbidden", ["least", "infinite"])
def test_a_row_of_the_least_numbers_gives_zeros(dtype, forbidden):
    mask = torch.zeros(2, 1, 5, 5, dtype=dtype)
    mask[0, 0, 1] = torch.finfo(dtype).min if forbidden == "least" else -torch.inf
    mask[0, 0, 2, 3] = -1.0
    query, key, value, output = call(mask)
    assert torch.equal(output[0, :, 1], torch.zeros(4, 8))
    expected = (query @ key.mT / 8**0.5 + mask).softmax(-1) @ value
    torch.testing.assert_close(output[0, :, 2:], expected[0, :, 2:])


def test_a_module_that_names_no_causality_has_none():
    query, key, value, output = call()
    torch.testing.assert_close(output, (query @ key.mT / 8**0.5).softmax(-1) @ value)


def test_a_lazy_mask_added_to_scores_is_a_bias():
    causal = hf.LazyMask(masks.Causal(), (1, 2, 2), torch.device("cpu"))
    for added in (
        torch.ones(1, 1, 2, 2) + causal,
        causal + torch.ones(1, 1, 2, 2),
        torch.add(torch.ones(2, 2), causal),
    ):
        assert added.tolist() == [[[[1.0, torch.finfo(torch.float32).min], [1.0, 1.0]]]]


@torch.no_grad()
def test_packed_sequences_do_not_see_each_other():
    ours, eager = pair("llama")
    ids = torch.randint(3, 40, (1, 7))
    positions = torch.tensor([[0, 1, 2, 0, 1, 2, 3]])
    packed = ours(input_ids=ids, position_ids=positions, use_cache=False).last_hidden_state
    alone = eager(input_ids=ids[:, 3:], use_cache=False).last_hidden_state
    torch.testing.assert_close(packed[:, 3:], alone, rtol=1e-4, atol=1e-4)


def test_gradients_and_checkpoints():
    ours, eager = pair("llama")
    given = inputs("llama", padded=False)
    gradients = []
    for model in (ours, eager):
        model.train()
        getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)()
        model(**given, use_cache=False).last_hidden_state.square().sum().backward()
        gradients.append(model.layers[0].self_attn.q_proj.weight.grad)
    torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-4)
    with look.record(ours, REQUEST) as recording:
        ours(**given, use_cache=False).last_hidden_state.sum().backward()
    assert [record.name for record in recording] == ["layers.0.self_attn", "layers.1.self_attn"]


@torch.no_grad()
def test_bfloat16():
    ours, eager = pair("llama")
    given = inputs("llama", padded=False)
    reference = eager(**given).last_hidden_state
    errors = [
        (copy.deepcopy(model).bfloat16()(**given).last_hidden_state - reference).abs().max() for model in (ours, eager)
    ]
    assert errors[0] <= 2 * errors[1]


@torch.no_grad()
def test_autocast():
    ours, eager = pair("llama")
    given = inputs("llama", padded=True)
    tokens = given["attention_mask"].bool()
    reference = eager(**given).last_hidden_state[tokens]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        errors = [(model(**given).last_hidden_state[tokens] - reference).abs().max() for model in (ours, eager)]
    assert errors[0] <= 2 * errors[1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["llama", "mistral", "bert"])
@torch.no_grad()
def test_compiled_models_are_one_graph_with_the_eager_outputs(name):
    torch.compiler.reset()
    ours, eager = pair(name)
    compiled = torch.compile(ours, backend="aot_eager", fullgraph=True)
    for padded in (False, True):
        given = inputs(name, padded)
        tokens = given["attention_mask"].bool()
        expected = eager(**given).last_hidden_state[tokens]
        torch.testing.assert_close(compiled(**given).last_hidden_state[tokens], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(shutil.which("c++") is None, reason="torch.compile needs a C++ compiler")
@torch.no_grad()
def test_compiled_code_has_the_eager_outputs():
    torch.compiler.reset()
    ours, eager = pair("llama")
    ours.layers, eager.layers = ours.layers[:1], eager.layers[:1]
    given = inputs("llama", padded=False)
    output = torch.compile(ours)(**given, use_cache=False).last_hidden_state
    torch.testing.assert_close(output, eager(**given).last_hidden_state, rtol=1e-4, atol=1e-4)


def test_keywords_that_change_the_result_are_errors():
    ours, _ = pair("llama")
    query = torch.randn(1, 4, 3, 8)
    with pytest.raises(ArgumentError, match="^head_mask: expected a keyword that saccade.hf knows, got a value for"):
        hf.attention(ours.layers[0].self_attn, query, query, query, None, head_mask=torch.ones(4))


@torch.no_grad()
def test_keywords_that_a_model_only_passes_on_have_no_effect():
    ours, given = pair("llama")[0], inputs("llama", padded=True)
    expected = ours(**given).last_hidden_state
    assert torch.equal(ours(**given, grid=torch.ones(2), colour="red").last_hidden_state, expected)
    for name in ("cu_seqlens", "block_indices"):
        with pytest.raises(ArgumentError, match=f"^{name}: expected a keyword .* attn_implementation='sdpa'"):
            ours(**given, **{name: torch.tensor([0, 7])})


@torch.no_grad()
def test_an_eager_model_is_one_clear_error():
    _, eager = pair("llama")
    with pytest.raises(ArgumentError, match="attn_implementation='sdpa' or 'saccade'"), look.record(eager):
        eager(**inputs("llama", padded=False))
    with look.record(eager, required=False) as recording:
        eager(**inputs("llama", padded=False))
    assert recording.coverage.bypassing == ("layers.0.self_attn", "layers.1.self_attn")


@pytest.mark.parametrize("name", ["bloom", "mpt"])
@torch.no_grad()
def test_a_model_with_matrix_products_of_its_own_gets_its_eager_mask(name):
    sizes = {
        "bloom": {"hidden_size": 32, "n_layer": 2, "n_head": 4},
        "mpt": {"d_model": 32, "n_layers": 2, "n_heads": 4},
    }
    configs = [transformers.AutoConfig.for_model(name, vocab_size=40, **sizes[name]) for _ in range(2)]
    ours = transformers.AutoModel.from_config(configs[0], attn_implementation="saccade").eval()
    eager = transformers.AutoModel.from_config(configs[1], attn_implementation="eager").eval()
    eager.load_state_dict(ours.state_dict())
    given = inputs(name, padded=True)
    assert torch.equal(ours(**given).last_hidden_state, eager(**given).last_hidden_state)
    causal = hf.LazyMask(masks.Causal(), (1, 2, 2), torch.device("cpu"))
    assert causal.added(torch.float32).tolist() == [[[[0.0, torch.finfo(torch.float32).min], [0.0, 0.0]]]]


def test_nothing_is_dropped_in_evaluation():
    module, query = torch.nn.Module().eval(), torch.randn(1, 2, 3, 8)
    assert torch.equal(*(hf.attention(module, query, query, query, None, dropout=rate)[0] for rate in (0.0, 0.9)))
