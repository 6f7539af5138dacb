"""A monitor reads attention as it is, and leaves a training as it is."""

import math
import warnings
from contextlib import nullcontext

import pytest
import torch

from saccade import AuxRequest, biases, masks, nn, normalizers, reads, replace_sdpa
from saccade._integrations.call import STACK
from saccade.errors import ArgumentError, ArgumentTypeError
from saccade.look import Monitor, record
from tiers import every, rest_slow


class Reader(torch.nn.Module):
    """Self-attention with dropout, and a read of its output by one query a row."""

    def __init__(self, dropout_p=0.0, **options):
        super().__init__()
        self.heads = nn.MultiheadAttention(8, 2, dropout_p=dropout_p, **options)
        self.read = nn.Attention(5, 8, hidden_dim=3, score="additive", dropout_p=dropout_p)

    def forward(self, tokens, query, lengths):
        hidden = self.heads(tokens, mask=masks.Lengths(lengths) & masks.Causal())
        return self.read(query, memory=self.read.remember(hidden), mask=masks.Lengths(lengths))


def batch(seed=0):
    generator = torch.Generator().manual_seed(seed)
    tokens, query = torch.randn(2, 11, 8, generator=generator), torch.randn(2, 3, 5, generator=generator)
    return tokens, query, torch.tensor([11, 7])


def test_values_are_those_of_the_weights():
    torch.manual_seed(0)
    model, monitor = Reader(), Monitor()
    tokens, query, lengths = batch()
    with monitor.step(model, 0):
        model(tokens, query, lengths)
    mask = masks.Lengths(lengths) & masks.Causal()
    hidden, aux = model.heads(tokens, mask=mask, aux=AuxRequest(weights=True))
    weights = aux.weights.double()  # 2, 2, 11, 11
    count = torch.arange(1, 12)[None].minimum(lengths[:, None]).double()
    kept, keys = weights.topk(8)
    distance = (torch.arange(11)[:, None] - keys).abs()
    for head in range(2):
        one = weights[:, head]
        entropy = -torch.xlogy(one, one).sum(-1)
        name = f"attention/heads/head {head}"
        expected = {
            f"{name}/entropy": entropy.mean(),
            f"{name}/entropy share": entropy.sum() / count.log().sum(),
            f"{name}/sink share": one[..., 0].mean(),
            f"{name}/top-8 distance": (kept * distance)[:, head].sum() / kept[:, head].sum(),
        }
        read = {key: value for key, value in monitor.latest.items() if key.startswith(name)}
        assert read == pytest.approx({key: value.item() for key, value in expected.items()}, rel=1e-5)
    _, aux = model.read(query, hidden, mask=masks.Lengths(lengths), aux=AuxRequest(weights=True))
    entropy = -torch.xlogy(aux.weights, aux.weights).sum(-1)
    read = {key: value for key, value in monitor.latest.items() if key.startswith("attention/read")}
    assert read == pytest.approx(
        {
            "attention/read/head 0/entropy": entropy.mean().item(),
            "attention/read/head 0/entropy share": (entropy.sum() / lengths.log().sum() / 3).item(),
            "attention/read/head 0/sink share": aux.weights[..., 0].mean().item(),
        },
        rel=1e-5,
    )


def test_a_query_without_a_key_does_not_count():
    torch.manual_seed(0)
    model, monitor, tokens = nn.MultiheadAttention(8, 2), Monitor(), torch.randn(3, 5, 8)
    with monitor.step(model, 0):
        model(tokens, mask=masks.Lengths(torch.tensor([4, 0, 4])))
    expected = dict(monitor.latest)
    with monitor.step(model, 500):
        model(tokens[::2], mask=masks.Lengths(torch.tensor([4, 4])))
    assert monitor.latest == pytest.approx(expected, rel=1e-5)
    assert expected["attention/model/head 1/entropy"] > 0.1


def test_uniform_attention_has_a_share_of_1_and_calls_of_a_step_are_one_reading():
    model, monitor = nn.MultiheadAttention(8, 2, num_kv_heads=1), Monitor()
    torch.nn.init.zeros_(model.in_proj_weight)
    tokens = torch.randn(2, 5, 8)
    with monitor.step(model, 0):
        model(tokens, mask=masks.Causal())
        model(tokens[:, :1], memory=model.remember(tokens[:, :4]))
    assert monitor.latest["attention/model/head 1/entropy share"] == pytest.approx(1)
    entropies = 2 * torch.arange(1, 6).log().sum() + 2 * torch.tensor(4.0).log()
    assert monitor.latest["attention/model/head 1/entropy"] == pytest.approx(entropies.item() / 12)


@pytest.mark.parametrize("training", [True, False])
def test_outputs_gradients_and_random_numbers_stay_as_they_are(training):
    results = []
    for monitored in (False, True):
        torch.manual_seed(0)
        model, monitor = Reader(dropout_p=0.3).train(training), Monitor(every=1)
        outputs = []
        for part in range(2):  # gradients of two batches add up
            if monitored:
                with monitor.step(model, 0):
                    output = model(*batch(part))
            else:
                output = model(*batch(part))
            output.pow(2).sum().backward()
            outputs.append(output.detach())
        assert bool(monitor.latest) == monitored
        assert not any(module._forward_hooks for module in model.modules())
        results.append([*outputs, *(weight.grad for weight in model.parameters()), torch.rand(3)])
    assert all(torch.equal(plain, monitored) for plain, monitored in zip(*results, strict=True))


def test_the_first_batch_of_each_multiple_is_read():
    model, read = nn.MultiheadAttention(8, 2), []
    monitor = Monitor(every=10, log=lambda values, step: read.append(step))
    for step in [3, 3, 4, 9, 10, 10, 19, 27, 30]:
        with monitor.step(model, step):
            model(torch.randn(1, 3, 8))
    assert read == [3, 10, 27, 30]


def test_between_readings_nothing_is_hooked_or_intercepted():
    layer, monitor, x = torch_layer(), Monitor(every=10), torch.randn(1, 3, 8)
    seen = []
    for step in (0, 1, 9, 10):
        with monitor.step(layer, step):
            layer(x)
            seen.append((len(STACK.recorders), torch.overrides._get_current_function_mode() is not None))
    assert seen == [(1, True), (0, False), (0, False), (1, True)]


def collapsed():
    """Two heads: one reads key 0 alone, one is uniform."""
    model = nn.MultiheadAttention(4, 2, bias=False)
    with torch.no_grad():
        model.in_proj_weight.zero_()
        model.in_proj_weight[0, 0] = model.in_proj_weight[4, 0] = 10.0
    tokens = torch.zeros(2, 6, 4)
    tokens[:, :, 0], tokens[:, 0, 0] = 1.0, 3.0
    return model, tokens


def test_a_collapsed_head_warns_once_in_its_third_reading():
    (model, tokens), monitor = collapsed(), Monitor(every=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        counts = []
        for step in range(6):
            with monitor.step(model, step):
                model(tokens)
            counts.append(len(caught))
    assert counts == [0, 0, 1, 1, 1, 1]
    text = str(caught[0].message)
    assert text.startswith("model, head 0: entropy is 0.0% of uniform attention's at step 2")
    assert "qk_norm" in text and "\n" not in text
    assert monitor.latest["attention/model/head 0/sink share"] == pytest.approx(1)


def test_a_reading_above_the_bound_begins_the_count_again():
    (model, tokens), monitor = collapsed(), Monitor(every=1)
    for step, factor in enumerate([1, 1, 0, 1, 1]):
        with monitor.step(model, step):
            model(tokens * factor)  # a warning would be an error


def torch_layer(dropout=0.0):
    torch.manual_seed(0)
    return torch.nn.TransformerEncoderLayer(8, 2, 16, dropout, batch_first=True)


def gpt2(attention):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed: pip install transformers")
    pytest.importorskip("saccade.hf")
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_embd=8, n_layer=2, n_head=2, vocab_size=11, bos_token_id=0, eos_token_id=0)
    return transformers.GPT2Model._from_config(config, attn_implementation=attention)


PADDING = torch.arange(7) >= torch.tensor([[7], [5]])
OTHERS = {
    "torch's encoder layer": (lambda: torch_layer(0.3), lambda layer, x: layer(x, src_key_padding_mask=PADDING)),
    "torch's encoder": (
        lambda: torch.nn.TransformerEncoder(torch_layer(0.3), 2, enable_nested_tensor=False),
        lambda encoder, x: encoder(x, torch.nn.Transformer.generate_square_subsequent_mask(7), is_causal=True),
    ),
    **{
        f"GPT-2, {name}": (lambda name=name: gpt2(name), lambda model, x: model(inputs_embeds=x).last_hidden_state)
        for name in ("sdpa", "saccade")
    },
}
"""Models of other libraries with dropout, and their calls of (2, 7, 8)."""


@pytest.mark.parametrize("name", rest_slow(OTHERS, fast=2))  # transformers takes seconds to import
def test_a_training_of_another_librarys_model_is_that_without_a_monitor(name):
    make, call = OTHERS[name]
    trained = []
    for monitored in (False, True):
        model, read = make().train(), []
        monitor = Monitor(every=2, log=lambda values, step, read=read: read.append(step))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        torch.manual_seed(1)
        results = []
        for step in range(5):
            x = torch.randn(2, 7, 8)
            with monitor.step(model, step) if monitored else nullcontext():
                loss = call(model, x).square().mean()
                optimizer.zero_grad()
                loss.backward()
            optimizer.step()
            results.append(loss.detach())
        trained.append([*results, *model.parameters(), torch.rand(3)])
        assert read == ([0, 2, 4] if monitored else []) and bool(monitor.latest) == monitored
    assert all(torch.equal(plain, monitored) for plain, monitored in zip(*trained, strict=True))


@pytest.mark.parametrize("name", rest_slow(OTHERS, fast=2))
@every("training", [True, False])
def test_readings_are_the_statistics_of_a_recording(name, training):
    make, call = OTHERS[name]
    training = training and "saccade" not in name  # which draws another dropout if it returns weights
    model, monitor = make().train(training), Monitor()
    x = torch.randn(2, 7, 8)
    with torch.set_grad_enabled(training):
        torch.manual_seed(0)
        with monitor.step(model, 0):
            output = call(model, x)
        torch.manual_seed(0)
        with record(model, AuxRequest(weights=True)) as recording:
            torch.testing.assert_close(call(model, x), output)
    expected = {}
    for module, aux in recording:
        weights = aux.weights.detach().double()
        kept, keys = weights.topk(min(8, 7))
        distance = (torch.arange(7)[:, None] - keys).abs()
        for head, one in enumerate(weights.unbind(1)):
            entropy, count = torch.special.entr(one).sum(-1), (one > 0).sum(-1)
            expected |= {
                f"attention/{module}/head {head}/{statistic}": value.item()
                for statistic, value in {
                    "entropy": entropy.mean(),
                    "entropy share": entropy.sum() / count.log().sum(),
                    "sink share": one[..., 0].mean(),
                    "top-8 distance": (kept * distance)[:, head].sum() / kept[:, head].sum(),
                }.items()
            }
    assert monitor.latest == pytest.approx(expected, rel=1e-4)


def test_a_learned_sink_is_one_more_key():
    """Equal scores and a sink of logit 0 are uniform attention on four keys and the sink."""
    layer, monitor, x = Attends(), Monitor(), torch.zeros(2, 3, 4, 5)
    with replace_sdpa(normalizer=normalizers.Softmax(sink=0.0)), monitor.step(layer, 0):
        layer(x)
    name = "attention/model/head 2"
    assert monitor.latest[f"{name}/entropy"] == pytest.approx(math.log(5), rel=1e-5)
    assert monitor.latest[f"{name}/entropy share"] == pytest.approx(1, rel=1e-5)
    assert monitor.latest[f"{name}/sink share"] == pytest.approx(1 / 4, rel=1e-5)


class Attends(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.scaled_dot_product_attention(x, x, x)


@every("options", [{"read": reads.Sample()}, {"normalizer": normalizers.Sigmoid()}])
def test_replaced_attention_is_read_and_draws_the_same_numbers(options):
    x, outputs, monitor = torch.randn(2, 3, 4, 5), [], Monitor()
    for monitored in (False, True):
        model = Attends()
        torch.manual_seed(0)
        with replace_sdpa(**options), monitor.step(model, 0) if monitored else nullcontext():
            outputs.append((model(x), torch.rand(3)))
    assert all(map(torch.equal, *outputs))
    statistics = 3 if "normalizer" in options else 4
    assert len(monitor.latest) == 3 * (statistics if "read" in options else 2)


def test_calls_without_heads_are_one_head_and_extra_keys_have_no_distance():
    x, monitor = torch.randn(2, 5, 8), Monitor()
    model = Attends()
    with monitor.step(model, 0):
        model(x)
    assert {name.split("/")[2] for name in monitor.latest} == {"head 0"} and len(monitor.latest) == 4
    heads, monitor = torch.nn.MultiheadAttention(8, 2, add_zero_attn=True, batch_first=True), Monitor()
    with monitor.step(heads, 0):
        heads(x, x, x)
    assert len(monitor.latest) == 6 and not any("distance" in name for name in monitor.latest)


def test_a_collapsed_head_of_torchs_module_warns_once():
    (ours, tokens), monitor = collapsed(), Monitor(every=1)
    model = torch.nn.MultiheadAttention(4, 2, bias=False, batch_first=True)
    model.load_state_dict(ours.state_dict())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for step in range(6):
            with monitor.step(model, step):
                model(tokens, tokens, tokens)
    [text] = [str(warning.message) for warning in caught]
    assert text.startswith("model, head 0: entropy is 0.0% of uniform attention's at step 2")
    assert monitor.latest["attention/model/head 0/sink share"] == pytest.approx(1)


class Metrics:
    def __init__(self):
        self.calls = []

    def log_metrics(self, metrics, step):
        self.calls.append((metrics, step))


class Scalars:
    def __init__(self):
        self.calls = []

    def add_scalar(self, tag, value, step):
        self.calls.append((tag, value, step))


def test_loggers_of_three_kinds():
    torch.manual_seed(0)
    model, tokens, calls = nn.MultiheadAttention(8, 2), torch.randn(2, 5, 8), []
    metrics, scalars = Metrics(), Scalars()
    for log in (metrics, scalars, lambda values, step: calls.append((values, step))):
        monitor = Monitor(log=log)
        with monitor.step(model, 500):
            model(tokens)
    assert metrics.calls == calls == [(monitor.latest, 500)]
    assert scalars.calls == [(name, value, 500) for name, value in monitor.latest.items()]
    assert len(monitor.latest) == 8


def test_weights_that_do_not_sum_to_one_have_no_entropy():
    torch.manual_seed(0)
    model, monitor = nn.Attention(4, 4, normalizer=normalizers.Sigmoid()), Monitor()
    x = torch.randn(2, 5, 4)
    with monitor.step(model, 0):
        model(x, bias=biases.Alibi(torch.tensor(1.0)))
    _, aux = model(x, bias=biases.Alibi(torch.tensor(1.0)), aux=AuxRequest(weights=True))
    assert set(monitor.latest) == {f"attention/model/head 0/{name}" for name in ("sink share", "top-8 distance")}
    sink = (aux.weights[..., 0].sum() / aux.weights.sum()).item()
    assert monitor.latest["attention/model/head 0/sink share"] == pytest.approx(sink)


def test_a_model_without_attention_is_an_error_in_the_first_reading():
    model, monitor = torch.nn.Linear(3, 3), Monitor()
    wrong = pytest.raises(ArgumentError, match=r"model: expected a module that attends, got Linear without any")
    with wrong, monitor.step(model, 0):
        model(torch.ones(3))
    reader, monitor = nn.MultiheadAttention(8, 2), Monitor(every=1)
    with monitor.step(reader, 0):
        reader(torch.ones(1, 3, 8))
    with monitor.step(reader, 1):  # a later step may do without
        pass
    assert monitor.latest == {}


def test_an_error_of_the_block_comes_through_and_leaves_no_hook():
    model, monitor = nn.MultiheadAttention(8, 2), Monitor()
    with pytest.raises(ZeroDivisionError), monitor.step(model, 0):
        1 / 0
    assert not model._forward_hooks and monitor.latest == {}


def test_arguments_are_checked():
    with pytest.raises(ArgumentError, match="every"):
        Monitor(every=0)
    with pytest.raises(ArgumentTypeError, match="log: expected a callable, a Lightning logger .* got int"):
        Monitor(log=3)


@pytest.mark.slow
def test_a_callback_of_lightning(tmp_path):
    import lightning.pytorch as pl

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = Reader(dropout_p=0.1)

        def training_step(self, batch, index):
            return self.model(*batch).pow(2).sum()

        def validation_step(self, batch, index):
            self.model(*batch)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1e-3)

    def trained(callbacks):
        torch.manual_seed(0)
        module = Module()
        trainer = pl.Trainer(
            max_steps=6, accumulate_grad_batches=2, callbacks=callbacks, logger=False, accelerator="cpu",
            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
            default_root_dir=tmp_path, num_sanity_val_steps=1, val_check_interval=4,
        )  # fmt: skip
        batches = [batch(seed) for seed in range(12)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Lightning's, of workers and loggers
            trainer.fit(
                module,
                torch.utils.data.DataLoader(batches, batch_size=None),
                torch.utils.data.DataLoader(batches[:2], batch_size=None),
            )
        return [*module.parameters(), torch.rand(3)]

    read = []
    monitor = Monitor(every=2, log=lambda values, step: read.append((step, len(values))))
    plain, monitored = trained([]), trained([monitor.callback()])
    assert read == [(0, 11), (2, 11), (4, 11)]
    assert all(torch.equal(one, other) for one, other in zip(plain, monitored, strict=True))


def spectral_hook(model):
    torch.nn.utils.spectral_norm(model.heads.out_proj)


def spectral_output(model):
    torch.nn.utils.parametrizations.spectral_norm(model.heads.out_proj)


def spectral_input(model):
    torch.nn.utils.parametrizations.spectral_norm(model.heads, "in_proj_weight")


@pytest.mark.parametrize("normalize", [spectral_hook, spectral_output, spectral_input])
def test_a_training_with_spectral_normalization_is_that_without_a_monitor(normalize):
    results = []
    for monitored in (False, True):
        torch.manual_seed(0)
        model, monitor, losses = Reader(dropout_p=0.1), Monitor(every=1), []
        normalize(model)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for step in range(3):
            with monitor.step(model, step) if monitored else nullcontext():
                loss = model(*batch(step)).pow(2).sum()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        assert "attention/heads/head 1/entropy" in monitor.latest or not monitored
        assert model.heads.out_proj.weight.requires_grad
        results.append([*losses, *model.parameters(), *model.buffers()])
    assert len(list(model.buffers())) == 2
    assert all(torch.equal(plain, monitored) for plain, monitored in zip(*results, strict=True))
