"""Keywords of `saccade.runs`. `python tools/write_options.py` writes this file."""

# fmt: off
# ruff: noqa: E501
from pathlib import Path
from typing import Any, Literal, Protocol, TypedDict, Unpack, overload

from saccade.runs import Run

class Options(TypedDict, total=False):
    data: Any
    run: str | Path
    resume: bool
    folds: int | None
    seed: int
    max_steps: int | None
    max_minutes: float | None
    checkpoint_steps: int
    validation_steps: int
    validation_examples: int
    device: str
    processes: int
    threads: int | None
    learning_rate: float
    schedule: str
    warmup_steps: int
    schedule_steps: int | None
    final_rate: float
    beta1: float
    beta2: float
    weight_decay: float
    clip: float
    precision: str
    matmul_precision: str
    average: int
    patience: int | None
    tensorboard: bool

class Translate(Options, total=False):
    model: Literal["rnnsearch", "encoder-decoder", "luong", "transformer", "bytenet"] | str
    label_smoothing: float
    beam_size: int
    length_penalty: float
    train_split: str | None
    validation_split: str | None
    test_split: str | None
    held_out: float | None
    fold: str | None
    source: str | None
    target: str | None
    tokenizer: str
    vocabulary_size: int
    max_length: int
    batch_tokens: int
    encoding: str | None
    source_column: str | None
    target_column: str | None
    read: Literal["soft", "reinforce", "straight-through"]
    baseline: Literal["learned", "leave-one-out", "moving-average"]
    samples: int
    entropy_bonus: float
    reward_weight: float
    soft_share: float
    charge: Literal["to-come", "whole"]
    hidden_dim: int
    embedding_dim: int
    dropout: float
    query: Literal["after", "before"]
    layers: int
    attention: Literal["global", "local-m", "local-p", "none"]
    score: Literal["general", "dot", "scaled_dot", "additive", "location", "cosine", "gaussian"]
    normalizer: Literal["softmax", "sparsemax", "entmax"]
    window: int
    positions: int | Literal["sinusoidal", "rotary", "alibi", "none"]
    input_feeding: bool
    reverse: bool
    experts: int
    top_k: int
    experts_every: int
    expert_groups: int | None
    capacity_factor: float | None
    importance_weight: float | None
    load_weight: float | None
    heads: int
    feedforward_dim: int
    norm: Literal["pre", "post"]
    self_read: Literal["soft", "sample", "argmax"]
    kernel_size: int
    sets: int
    max_dilation: int
    stretch: float

class ClassifyText(Options, total=False):
    model: Literal["rnn-attention", "self-attention", "fixed", "sum", "hierarchical"] | str
    train_split: str | None
    validation_split: str | None
    test_split: str | None
    held_out: float | None
    fold: str | None
    vocabulary_size: int
    max_length: int
    batch_tokens: int
    min_count: int
    vectors: str | None
    freeze_vectors: bool
    strip_markup: bool
    label_smoothing: float
    encoding: str | None
    text_column: str | None
    label_column: str | None
    score: Literal["additive", "dot", "scaled_dot", "general", "cosine", "gaussian"]
    queries: int
    own_projections: bool
    embedding_dim: int | None
    dropout: float
    word_dropout: float
    prior: Literal["none", "tfidf"]
    hidden_dim: int | None
    experts: int
    top_k: int
    experts_every: int
    expert_groups: int | None
    capacity_factor: float | None
    importance_weight: float | None
    load_weight: float | None
    heads: int
    layers: int
    feedforward_dim: int
    norm: Literal["pre", "post"]
    positions: Literal["sinusoidal", "rotary", "alibi", "none"]
    self_read: Literal["soft", "sample", "argmax"]
    baseline: Literal["learned", "leave-one-out", "moving-average"]
    samples: int
    entropy_bonus: float
    reward_weight: float
    soft_share: float
    routing: Literal["tokens", "experts"]
    ngrams: int
    buckets: int
    reduction: Literal["sum", "mean", "root"]
    sentence_words: int

class Transcribe(Options, total=False):
    model: Literal["las"] | str
    label_smoothing: float
    beam_size: int
    length_penalty: float
    train_split: str | None
    validation_split: str | None
    test_split: str | None
    held_out: float | None
    fold: str | None
    rate: int | None
    language: str | None
    mels: int
    window_ms: int
    hop_ms: int
    normalization: Literal["bands", "recording"]
    trim_db: float
    tokenizer: Literal["words", "characters", "bpe"]
    vocabulary_size: int
    max_seconds: float
    max_length: int
    batch_tokens: int
    stretch: float
    ctc_rescoring: float
    encoding: str | None
    audio_column: str | None
    text_column: str | None
    hidden_dim: int
    embedding_dim: int
    layers: int
    pyramid: int
    speller_layers: int
    attention: Literal["location", "content", "dot"]
    attend_to: Literal["all", "loud"]
    location_filters: int
    location_width: int
    dropout: float
    ctc_weight: float
    scheduled_sampling: float
    time_masks: int
    time_width: int
    frequency_masks: int
    frequency_width: int

class ClassifyImage(Options, total=False):
    model: Literal["cnn", "cnn-attention", "pretrained"] | str
    train_split: str | None
    validation_split: str | None
    test_split: str | None
    held_out: float | None
    fold: str | None
    size: int | None
    batch_size: int
    flip: bool
    shift: int
    label_smoothing: float
    encoding: str | None
    image_column: str | None
    label_column: str | None
    widths: str
    blocks: int
    stem_stride: int
    stem: Literal["patch", "double"]
    dropout: float
    colours: bool
    attention_dim: int
    heads: int
    attention_gain: float
    attention_stage: int
    encoder: str | None
    weights: str | None
    layer: str | None
    resolution: int

class Glimpse(Options, total=False):
    model: Literal["ram", "ram-grid", "tiles", "soft-tiles", "dram", "random", "whole"] | str
    train_split: str | None
    validation_split: str | None
    test_split: str | None
    held_out: float | None
    fold: str | None
    digits: str | None
    canvas: int
    shortest: int
    longest: int
    distractors: int
    distractor_size: int
    data_seed: int
    size: int | None
    batch_size: int
    shift: int
    rollouts: int
    label_smoothing: float
    encoding: str | None
    image_column: str | None
    label_column: str | None
    first: Literal["middle", "random"]
    glimpses: int
    patch: int
    scales: int
    glimpse_dim: int
    hidden_dim: int
    core: Literal["rnn", "lstm"]
    combine: Literal["add", "multiply"]
    earlier_loss: float
    baseline: Literal["learned", "leave-one-out", "moving-average"]
    samples: int
    entropy_bonus: float
    reward: Literal["right", "probability"]
    deviation: float
    last_deviation: float
    learn_deviation: bool
    rows: int
    columns: int
    thumbnail: int
    key_dim: int
    read: Literal["sample", "topk"]
    k: int
    coarse: int
    context_channels: int
    network: Literal["cnn", "mlp"]
    channels: int
    pooled: int

class Caption(Options, total=False):
    model: Literal["show-attend-and-tell", "adaptive-attention", "show-and-tell", "m-rnn", "first-step-rnn", "lrcn", "visual-memory", "transformer"] | str
    label_smoothing: float
    beam_size: int
    length_penalty: float
    train_split: str | None
    validation_split: str | None
    test_split: str | None
    held_out: float | None
    fold: str | None
    size: int | None
    features: str | None
    least: int
    most: int
    data_seed: int
    vocabulary_size: int
    min_count: int
    max_length: int
    batch_size: int
    shift: int
    flip: bool
    encoding: str | None
    image_column: str | None
    caption_column: str | None
    read: Literal["soft", "reinforce", "straight-through"]
    baseline: Literal["learned", "leave-one-out", "moving-average"]
    samples: int
    entropy_bonus: float
    reward_weight: float
    soft_share: float
    charge: Literal["to-come", "whole"]
    normalizer: Literal["softmax", "sparsemax", "entmax"]
    widths: str
    blocks: int
    stem_stride: int
    stem: Literal["patch", "double"]
    dropout: float
    cell_dim: int
    hidden_dim: int
    embedding_dim: int
    attention_dim: int
    query: Literal["state", "state-and-word"]
    doubly_stochastic: float
    sentinel: bool
    stack: Literal["1u", "2u", "2f"]
    reconstruction_weight: float
    experts: int
    top_k: int
    experts_every: int
    expert_groups: int | None
    capacity_factor: float | None
    importance_weight: float | None
    load_weight: float | None
    heads: int
    layers: int
    feedforward_dim: int
    norm: Literal["pre", "post"]
    positions: Literal["sinusoidal", "none"]
    score: Literal["scaled_dot", "dot", "additive", "general", "cosine", "gaussian"]

class Answer(Options, total=False):
    model: Literal["ask-attend-and-answer", "show-ask-attend-and-answer", "attention-lstm", "show-and-answer", "question-only", "image-only"] | str
    train_split: str | None
    validation_split: str | None
    test_split: str | None
    held_out: float | None
    fold: str | None
    size: int | None
    features: str | None
    least: int
    most: int
    data_seed: int
    vocabulary_size: int
    min_count: int
    max_length: int
    batch_size: int
    shift: int
    answers: int
    generate: bool
    beam_size: int
    label_smoothing: float
    encoding: str | None
    image_column: str | None
    question_column: str | None
    answer_column: str | None
    widths: str
    blocks: int
    stem_stride: int
    stem: Literal["patch", "double"]
    dropout: float
    cell_dim: int
    read: Literal["soft", "reinforce", "straight-through"]
    baseline: Literal["learned", "leave-one-out", "moving-average"]
    samples: int
    entropy_bonus: float
    reward_weight: float
    soft_share: float
    normalizer: Literal["softmax", "sparsemax", "entmax"]
    hidden_dim: int
    question: Literal["lstm", "bag"]
    embedding_dim: int
    classifier_dim: int
    glimpses: int

class Memorize(Options, total=False):
    model: Literal["ntm", "dnc", "lstm", "past-attention", "transformer"] | str
    train_split: str | None
    validation_split: str | None
    test_split: str | None
    held_out: float | None
    fold: str | None
    batch_size: int
    sentences: bool
    longest: int | None
    encoding: str | None
    input_column: str | None
    output_column: str | None
    hidden_dim: int
    embedding_dim: int
    cells: int
    least_cells: int | None
    most_cells: int | None
    cell_dim: int
    read_heads: int
    forget_bias: float
    dropout: float
    normalize: bool
    forgetting: float
    strength_bias: float
    write_heads: int
    by: Literal["both", "content", "location"]
    layers: int
    attention_dim: int
    score: Literal["additive", "scaled_dot", "dot", "general", "cosine", "gaussian"]
    window: int | None
    experts: int
    top_k: int
    experts_every: int
    expert_groups: int | None
    capacity_factor: float | None
    importance_weight: float | None
    load_weight: float | None
    heads: int
    feedforward_dim: int
    norm: Literal["pre", "post"]
    positions: Literal["sinusoidal", "rotary", "alibi", "none"]

class Regress(Options, total=False):
    model: Literal["nadaraya-watson", "learned-kernel", "set-transformer", "mlp", "mean"] | str
    train_split: str | None
    validation_split: str | None
    test_split: str | None
    held_out: float | None
    fold: str | None
    target: str | None
    features: str | None
    sets: bool
    decimal: Literal[".", ","] | None
    batch_size: int
    loss: Literal["squared", "absolute"]
    start: Literal["none", "linear", "stacked"]
    encoding: str | None
    kernel: Literal["gaussian", "epanechnikov", "triangular"]
    bandwidth: float | None
    metric: Literal["scalar", "diagonal"]
    hidden_dim: int
    key_dim: int
    score: Literal["gaussian", "scaled_dot", "additive"]
    heads: int
    layers: int
    inducing: int
    layer_norm: bool
    pool: Literal["max", "mean", "sum"]

class TagWords(Options, total=False):
    model: Literal["self-attention"] | str
    train_split: str | None
    validation_split: str | None
    test_split: str | None
    held_out: float | None
    fold: str | None
    vocabulary_size: int
    max_length: int
    batch_tokens: int
    encoding: str | None
    words_column: str | None
    tags_column: str | None
    embedding_dim: int | None
    dropout: float
    word_dropout: float
    prior: Literal["none", "tfidf"]
    experts: int
    top_k: int
    experts_every: int
    expert_groups: int | None
    capacity_factor: float | None
    importance_weight: float | None
    load_weight: float | None
    hidden_dim: int
    heads: int
    layers: int
    feedforward_dim: int
    norm: Literal["pre", "post"]
    positions: Literal["sinusoidal", "rotary", "alibi", "none"]
    score: Literal["scaled_dot", "dot", "additive", "general", "cosine", "gaussian"]

class Predict(TypedDict, total=False):
    beam_size: int | None
    length_penalty: float | None
    min_length: int
    nbest: int
    prefix: str | None
    sample: bool
    temperature: float | None
    top_p: float | None
    seed: int | None
    coverage_penalty: float
    replace_unknown: bool
    ctc_rescoring: float | None
    rollouts: int | None
    likeliest: bool
    cells: int | None
    coverage: float

class Eval(TypedDict, total=False):
    beam_size: int | None
    length_penalty: float | None
    min_length: int
    coverage_penalty: float
    replace_unknown: bool
    ctc_rescoring: float | None
    rollouts: int | None
    cells: int | None
    coverage: float

class Look(TypedDict, total=False):
    by: Literal["attention", "rollout", "flow", "gradient", "grad-cam", "jacobian", "integrated-gradients"] | None
    signed: bool
    layer: int | None
    head: int | None
    faithful: bool
    prefix: str | None
    label: str | None
    likeliest: bool
    cells: int | None
    coverage: float

class Train(Protocol):
    @overload
    def __call__(self, task: Literal["translate"], **more: Unpack[Translate]) -> Run: ...
    @overload
    def __call__(self, task: Literal["classify-text"], **more: Unpack[ClassifyText]) -> Run: ...
    @overload
    def __call__(self, task: Literal["transcribe"], **more: Unpack[Transcribe]) -> Run: ...
    @overload
    def __call__(self, task: Literal["classify-image"], **more: Unpack[ClassifyImage]) -> Run: ...
    @overload
    def __call__(self, task: Literal["glimpse"], **more: Unpack[Glimpse]) -> Run: ...
    @overload
    def __call__(self, task: Literal["caption"], **more: Unpack[Caption]) -> Run: ...
    @overload
    def __call__(self, task: Literal["answer"], **more: Unpack[Answer]) -> Run: ...
    @overload
    def __call__(self, task: Literal["memorize"], **more: Unpack[Memorize]) -> Run: ...
    @overload
    def __call__(self, task: Literal["regress"], **more: Unpack[Regress]) -> Run: ...
    @overload
    def __call__(self, task: Literal["tag-words"], **more: Unpack[TagWords]) -> Run: ...
    @overload
    def __call__(self, task: str, **more: Any) -> Run: ...
