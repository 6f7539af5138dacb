"""Architectures of transformers with small random configurations, and inputs for them.

A configuration takes each size of `SIZES` that it has, then the sizes of its own. A size in a nested configuration,
such as the text model of CLIP, applies there. None is the default of the class.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

LENGTH, PADDED, VOCABULARY = 9, 3, 40
SIZES: Mapping[str, Any] = {
    **dict.fromkeys(("vocab_size", "decoder_vocab_size"), VOCABULARY),
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "embed_dim", "encoder_hidden_size"), 32),
    **dict.fromkeys(("num_hidden_layers", "num_layers", "n_layer", "n_layers", "encoder_layers", "decoder_layers"), 2),
    **dict.fromkeys(("num_decoder_layers", "num_encoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "num_heads", "n_head", "n_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("num_encoder_attention_heads", "num_decoder_attention_heads"), 4),
    **dict.fromkeys(("intermediate_size", "d_ff", "ffn_dim", "n_inner", "d_inner", "moe_intermediate_size"), 48),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim", "ffn_hidden_size", "shared_expert_intermediate_size"), 48),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx"), 64),
    **dict.fromkeys(("num_experts", "n_routed_experts", "num_local_experts"), 4),
    **dict.fromkeys(("num_experts_per_tok", "num_selected_experts"), 2),
    **dict.fromkeys(("embedding_size", "vocab_size_per_layer_input"), 32),
    "num_key_value_heads": 2,
    "head_dim": 8,
    "d_kv": 8,
    "sliding_window": 4,
    "image_size": 32,
    "patch_size": 8,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
}
LATENT = {
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 8,
    "head_dim": 8,
    "num_key_value_heads": 4,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
}
SPEECH = {
    "conv_dim": (16, 16),
    "conv_kernel": (10, 8),
    "conv_stride": (5, 8),
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
}
STATES = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 8, "mamba_n_groups": 1, "mamba_chunk_size": 8}
NO_DEPTH = {"num_hidden_layers": None, "num_layers": None, "hidden_size": None, "num_attention_heads": None}
ROTARY = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}}
TOWERS = {"projection_dim": 16}
MIXED = {"layer_types": ["linear_attention", "full_attention"]}
GATED = {
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
}


@dataclass(frozen=True)
class Case:
    """An architecture: its kind of inputs, and sizes of its configuration beside `SIZES`."""

    name: str
    kind: str
    sizes: Mapping[str, Any] = field(default_factory=dict)

    def config(self) -> Any:
        """The configuration."""
        from transformers import AutoConfig

        return AutoConfig.for_model(self.name, **small(AutoConfig.for_model(self.name), self.sizes))

    def inputs(self, padded: bool, config: Any) -> dict[str, Tensor]:
        """Inputs of a batch of two, the second with padding on its left if `padded` and the kind has a mask."""
        return KINDS[self.kind](padded, config)


def small(default: Any, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Sizes for the configurations of a class, from a default one."""
    chosen = {name: value for name, value in SIZES.items() if getattr(default, name, None) is not None}
    if chosen.get("head_dim") is not None and "head_dim" not in vars(default):
        del chosen["head_dim"]
    for name, part in vars(default).items():
        if hasattr(part, "model_type") and name.endswith("config"):
            chosen[name] = small(part, sizes.get(name, {}))
    chosen.update({name: value for name, value in sizes.items() if not name.endswith("_config")})
    return {name: value for name, value in chosen.items() if value is not None}


def tokens(padded: bool, config: Any) -> dict[str, Tensor]:
    """Identifiers of tokens and their mask."""
    ids = torch.randint(3, VOCABULARY, (2, LENGTH), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    if padded:
        mask[1, :PADDED], ids[1, :PADDED] = 0, 0
    return {"input_ids": ids, "attention_mask": mask}


def translation(padded: bool, config: Any) -> dict[str, Tensor]:
    """Tokens of a source and of a target."""
    given = tokens(padded, config)
    return {**given, "decoder_input_ids": given["input_ids"][:, -5:].flip(0)}


def image(padded: bool, config: Any) -> dict[str, Tensor]:
    """Images of the size that the configuration or its vision part has."""
    size = getattr(getattr(config, "vision_config", config), "image_size", 32)
    height, width = size if isinstance(size, list | tuple) else (size, size)
    return {"pixel_values": torch.randn(2, 3, height, width, generator=torch.Generator().manual_seed(2))}


def video(padded: bool, config: Any) -> dict[str, Tensor]:
    """Videos."""
    size = (2, config.num_frames, 3, config.image_size, config.image_size)
    return {"pixel_values": torch.randn(size, generator=torch.Generator().manual_seed(2))}


def caption(padded: bool, config: Any) -> dict[str, Tensor]:
    """Images and tokens, which end with the last number of the vocabulary."""
    given = tokens(padded, config)
    given["input_ids"][:, -1] = VOCABULARY - 1
    return {**given, **image(padded, config)}


def illustrated(padded: bool, config: Any) -> dict[str, Tensor]:
    """Tokens with an image among them, as patches with their grid for a model that takes images of any size."""
    given, vision = tokens(padded, config), config.vision_config
    merged = getattr(vision, "spatial_merge_size", None)
    count = 4 if merged else getattr(config, "mm_tokens_per_image", 16)
    token = getattr(config, "image_token_id", getattr(config, "image_token_index", None))
    ids, mask = given["input_ids"], given["attention_mask"]
    drawn = torch.full((2, count), token)
    ids = torch.cat([ids[:, : PADDED + 1], drawn, ids[:, PADDED + 1 :]], 1)
    mask = torch.cat([mask[:, : PADDED + 1], torch.ones_like(drawn), mask[:, PADDED + 1 :]], 1)
    given = {"input_ids": ids, "attention_mask": mask}
    if not merged:
        return {**given, "token_type_ids": (ids == token).long(), **image(padded, config)}
    size = (32, 3 * vision.temporal_patch_size * vision.patch_size**2)
    pixels = torch.randn(size, generator=torch.Generator().manual_seed(2))
    grid = torch.tensor([[1, 4, 4], [1, 4, 4]])
    return {**given, "mm_token_type_ids": (ids == token).long(), "pixel_values": pixels, "image_grid_thw": grid}


def waveform(padded: bool, config: Any) -> dict[str, Tensor]:
    """Samples of sound."""
    return {"input_values": torch.randn(2, 1600, generator=torch.Generator().manual_seed(3))}


def spectrogram(padded: bool, config: Any) -> dict[str, Tensor]:
    """A spectrogram and tokens of a target."""
    bins = torch.randn(2, config.num_mel_bins, 32, generator=torch.Generator().manual_seed(3))
    return {"input_features": bins, "decoder_input_ids": tokens(False, config)["input_ids"][:, :5]}


def frames(padded: bool, config: Any) -> dict[str, Tensor]:
    """A spectrogram, time before frequency."""
    size = (2, config.max_length, config.num_mel_bins)
    return {"input_values": torch.randn(size, generator=torch.Generator().manual_seed(3))}


KINDS = {
    "decoder": tokens,
    "encoder": tokens,
    "encoder-decoder": translation,
    "vision": image,
    "video": video,
    "vision and text": caption,
    "image in text": illustrated,
    "audio": waveform,
    "audio and text": spectrogram,
    "spectrogram": frames,
}


def plain(names: str) -> dict[str, dict[str, Any]]:
    """Architectures without sizes of their own."""
    return {name: {} for name in names.split()}


def cases() -> Iterator[Case]:
    """All architectures, by kind."""
    for kind, listed in CASES.items():
        for name, sizes in listed.items():
            yield Case(name, kind, sizes)


CASES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "decoder": {
        **plain("llama mistral mixtral qwen2 qwen2_moe qwen3 qwen3_moe"),
        **plain("gemma gemma2 gemma3_text phi phi3 phimoe gpt2 gpt_neox"),
        **plain("gpt_bigcode gpt_oss bloom mpt falcon stablelm"),
        **plain("starcoder2 cohere cohere2 olmo olmo2 olmo3 olmoe granite"),
        **plain("granitemoe glm glm4 smollm3 helium diffllama"),
        "ministral": {"head_dim": 8},
        "nemotron": {"head_dim": 8, "num_key_value_heads": 2},
        **plain("persimmon ernie4_5 exaone4 biogpt seed_oss arcee"),
        **plain("afmoe apertus bitnet doge exaone_moe flex_olmo glm4_moe mimo_v2_flash"),
        **plain("minimax_m2 modernbert-decoder nanochat vaultgemma inkling2_text openai-gpt"),
        "gpt_neo": {"attention_types": [[["global", "local"], 1]], "window_size": 4},
        "gptj": {"rotary_dim": 8},
        "codegen": {"rotary_dim": 8},
        "opt": {"word_embed_proj_dim": 32},
        "xglm": {"attention_heads": 4},
        "llama4_text": {"attention_chunk_size": 4, "intermediate_size_mlp": 48},
        "glm_moe_dsa": {**LATENT, "index_topk": 4, "index_head_dim": 16, "index_n_heads": 2},
        "deepseek_v2": {**LATENT, "num_experts_per_tok": 2},
        "deepseek_v3": LATENT,
        "deepseek_v32": {**LATENT, "index_topk": 4, "index_head_dim": 16, "index_n_heads": 2},
        "minimax": {**MIXED, "block_size": 4},
        "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "use_mamba_kernels": False, "mamba_dt_rank": 4},
        "bamba": {**STATES, "attn_layer_indices": [1]},
        "falcon_h1": {**STATES, "mamba_d_ssm": 64},
        "qwen3_next": {**MIXED, **GATED},
        "lfm2": {"full_attn_idxs": [1]},
        "recurrent_gemma": {"attention_window_size": 4, "lru_width": 32, "block_types": ["recurrent", "attention"]},
    },
    "encoder": {
        **plain("bert roberta electra albert camembert xlm-roberta mpnet"),
        **plain("data2vec-text ernie eurobert gte nomic_bert xlm-roberta-xl splinter"),
        **plain("deberta deberta-v2 roformer mobilebert squeezebert"),
        **plain("convbert rembert megatron-bert xlm nystromformer"),
        "xlnet": {"max_position_embeddings": None},
        "esm": {"vocab_size": 40, "pad_token_id": 0, "mask_token_id": 3},
        "distilbert": {"dim": 32, "hidden_dim": 48},
        "modernbert": {"local_attention": 4, "global_attn_every_n_layers": 2},
        "longformer": {"attention_window": 4},
        "big_bird": {"block_size": 4, "num_random_blocks": 1},
        "funnel": {
            **NO_DEPTH,
            "block_sizes": [1, 1],
            "block_repeats": [1, 1],
            "d_head": 8,
            "architectures": ["FunnelModel"],
        },
        "layoutlm": {},
    },
    "encoder-decoder": {
        **plain("t5 mt5 umt5 longt5 switch_transformers"),
        **plain("bart mbart marian pegasus m2m_100 blenderbot plbart nllb-moe"),
        "bigbird_pegasus": {"block_size": 4, "num_random_blocks": 1},
        "prophetnet": {
            **NO_DEPTH,
            "hidden_size": 32,
            "num_encoder_attention_heads": 4,
            "num_decoder_attention_heads": 4,
        },
        "led": {"attention_window": 4, "max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 64},
    },
    "vision": {
        **plain("vit deit dinov2 dinov3_vit beit ijepa"),
        **plain("dinov2_with_registers vit_msn mlcd pixtral data2vec-vision sam_vision_model"),
        "yolos": {"image_size": [32, 32], "num_detection_tokens": 3},
        "swin": {"window_size": 2, "depths": [1, 1], "num_heads": [2, 4], "embed_dim": 16, "patch_size": 4, **NO_DEPTH},
        "swinv2": {
            "window_size": 2,
            "depths": [1, 1],
            "num_heads": [2, 4],
            "embed_dim": 16,
            "patch_size": 4,
            **NO_DEPTH,
        },
        "segformer": {
            "hidden_sizes": [16, 16, 32, 32],
            "num_attention_heads": [1, 2, 2, 4],
            "depths": [1, 1, 1, 1],
            "sr_ratios": [2, 1, 1, 1],
        },
    },
    "video": {"videomae": {"num_frames": 4}, "timesformer": {"num_frames": 2}},
    "vision and text": dict.fromkeys(("clip", "siglip", "chinese_clip", "blip", "clipseg", "owlvit", "aimv2"), TOWERS),
    "image in text": {
        "qwen2_vl": {"image_token_id": 39, "vision_config": {"depth": 2}, "text_config": ROTARY},
        "qwen2_5_vl": {
            "image_token_id": 39,
            "vision_config": {"depth": 2, "out_hidden_size": 32, "window_size": 16, "fullatt_block_indexes": [1]},
            "text_config": ROTARY,
        },
        "qwen3_vl": {
            "image_token_id": 39,
            "vision_config": {"depth": 2, "out_hidden_size": 32, "deepstack_visual_indexes": [0]},
            "text_config": ROTARY,
        },
        "gemma3": {"image_token_index": 39, "mm_tokens_per_image": 4},
        "paligemma": {"image_token_index": 39, "projection_dim": 32, "vision_config": {"projection_dim": 32}},
        "llava": {"image_token_index": 39, "vision_feature_layer": -1},
    },
    "audio": dict.fromkeys(
        ("wav2vec2", "hubert", "wavlm", "unispeech", "sew", "data2vec-audio", "wav2vec2-conformer"), SPEECH
    ),
    "audio and text": {"whisper": {"num_mel_bins": 8, "max_source_positions": 16, "max_target_positions": 32}},
    "spectrogram": {"audio-spectrogram-transformer": {"max_length": 32, "num_mel_bins": 16}},
}
