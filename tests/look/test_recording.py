"""Recording sees every attention call and changes none."""

import copy
import gc
import json
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch
from safetensors.torch import save

from saccade import AuxOutput, AuxRequest, masks, nn
from saccade.errors import ArgumentError
from saccade.look import Record, Recording, load, record
from saccade.models import transformer
from saccade.models.padded import Padded


class TwoReads(torch.nn.Module):
    """Reads a sequence twice, and pools what it read: three attention modules, one of them inside another."""

    def __init__(self):
        super().__init__()
        self.read = nn.Attention(5, 7, hidden_dim=3)
        self.heads = nn.MultiheadAttention(8, 2)
        self.pool = nn.AttentionPool(7, num_queries=2)

    def forward(self, query, key, **options):
        self.heads(torch.ones(2, 3, 8), torch.ones(2, 3, 8), torch.ones(2, 3, 8))
        return self.read(query, key, **options), self.pool(key)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return TwoReads().eval()


@pytest.fixture
def inputs():
    generator = torch.Generator().manual_seed(1)
    return torch.randn(2, 3, 5, generator=generator), torch.randn(2, 11, 7, generator=generator)


def hooks(model):
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_forward_hooks_always_called", "_forward_hooks_with_kwargs")
    return sum(len(getattr(module, kind)) for module in model.modules() for kind in kinds)


def test_calls_are_recorded_in_order_under_their_names(model, inputs):
    with record(model) as records:
        model(*inputs)
        model.pool(inputs[1])
    assert [name for name, _ in records] == ["heads", "read", "pool", "pool"]
    assert [tuple(aux.weights.shape) for _, aux in records] == [(2, 2, 3, 3), (2, 3, 11), (2, 2, 11), (2, 2, 11)]
    assert all(isinstance(aux, AuxOutput) and aux.lse is None for _, aux in records)


def test_the_model_answers_as_without_recording(model, inputs):
    plain, pooled = model(*inputs)
    with record(model):
        recorded, recorded_pooled = model(*inputs)
    assert isinstance(recorded, torch.Tensor)
    torch.testing.assert_close(recorded, plain)
    torch.testing.assert_close(recorded_pooled, pooled)
    assert hooks(model) == 0


def test_a_record_has_its_name_number_kind_and_statistics(model, inputs):
    with record(model, AuxRequest(weights=True, top=2)) as recording:
        model(*inputs)
    first = recording[0]
    name, aux = first
    assert (first.name, first.aux, first.call) == (name, aux, 0) and [one.call for one in recording] == [0, 1, 2]
    assert all(getattr(first, field) is getattr(aux, field) for field in ("weights", "top", "lse", "index", "received"))
    assert first.top[0].shape == (2, 2, 3, 2) and first.index is None
    copied = [copy.copy(one) for one in recording]
    assert copied == list(recording) and [(one.call, one.kind) for one in copied] == [(n, "cross") for n in range(3)]


def test_kinds_tell_self_attention_from_cross_attention():
    torch.manual_seed(0)
    options = transformer.Options(hidden_dim=8, heads=2, layers=1, feedforward_dim=8)
    model = transformer.Transformer(9, 9, options).eval()
    source, target = Padded(torch.tensor([[5, 6, 2]]), torch.tensor([3])), torch.tensor([[1, 4]])
    with record(model) as recording:
        model(source, target)
    kinds = {one.name: one.kind for one in recording}
    assert all(kind == ("cross" if name.endswith("source_attention") else "self") for name, kind in kinds.items())
    assert set(kinds.values()) == {"self", "cross"}
    for grads in (False, True):  # a memory that grows with the queries is their own, however it is kept
        with torch.set_grad_enabled(grads), record(model) as steps:
            state = model.encode(source)
            for token in target.T:
                _, state = model.step(token, state)
        assert {one.name: one.kind for one in steps} == kinds


def test_selections_are_recordings_again(model, inputs):
    with record(model) as recording:
        model(*inputs)
        model.pool(inputs[1])
    assert isinstance(recording[1:], Recording) and [one.call for one in recording[-3:]] == [1, 2, 3]
    assert [one.call for one in recording["pool"]] == [2, 3] and len(recording[""]) == 4
    assert recording["pool"][0] is recording[2] and recording["pool"].coverage == recording.coverage
    with record(torch.nn.ModuleDict({"layer": model})) as nested:
        model(*inputs)
    assert [one.name for one in nested["layer"]] == ["layer.heads", "layer.read", "layer.pool"]
    with pytest.raises(ArgumentError, match=r"^name: expected a module .*'heads', 'pool', 'read'\), got 'poo'\. See"):
        recording["poo"]


def test_coverage_names_every_attention_module(model, inputs):
    model.other = torch.nn.MultiheadAttention(4, 2)
    with record(model) as recording:
        model.read(*inputs)
        model.pool(inputs[1])
        with pytest.raises(Exception, match="shape|dim|size|mat"):
            model.pool(inputs[1][..., :3])
        model.heads.forward(*[torch.ones(2, 3, 8)] * 3)
    assert recording.coverage == (("read",), ("pool",), ("heads", "other"))


def test_records_of_an_iterator_are_covered(model, inputs):
    with record(model) as recording:
        model(*inputs)
    assert Recording(iter(recording)).coverage.recorded == tuple(dict.fromkeys(name for name, _ in recording))


def test_a_recording_holds_no_model(inputs):
    model = TwoReads()
    with record(model, detach=True) as recording:
        model(*inputs)
    alive = weakref.ref(model)
    del model
    gc.collect()
    assert alive() is None and copy.deepcopy(recording).coverage == recording.coverage


def test_attention_inside_another_is_covered_by_it(inputs):
    class Outer(nn.Attention):
        def __init__(self):
            super().__init__(5, 7, hidden_dim=3)
            self.inner = nn.Attention(5)

        def forward(self, query, key, **options):
            return super().forward(self.inner(query), key, **options)

    with record(outer := Outer()) as recording:
        assert recording.coverage.bypassing == ("", "inner")
        outer(*inputs)
    assert recording.coverage == (("",), (), ())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_saved_recording_is_read_as_it_was(model, inputs, tmp_path, dtype):
    request = AuxRequest(weights=True, entropy=True, top=2, received=True)
    with record(model.to(dtype), request, required=False) as recording:
        model.read(*(one.to(dtype) for one in inputs))
        model.pool(inputs[1].to(dtype))
    paths = recording[1:].save(tmp_path / "new" / "a.b")
    assert [path.name for path in paths] == ["a.b.safetensors", "a.b.json"]
    loaded = load(tmp_path / "new" / "a.b")
    assert [(one.name, one.call, one.kind) for one in loaded] == [("pool", 1, "cross")]
    assert loaded.coverage == recording.coverage == (("read", "pool"), (), ("heads",))
    torch.testing.assert_close(vars(loaded[0].aux), vars(recording[1].aux), rtol=0, atol=0)


def test_saving_overwrites_nothing_and_unpickles_nothing(model, inputs, tmp_path):
    with record(model) as recording:
        model(*inputs)
    (tmp_path / "a.json").write_text("mine")
    with pytest.raises(ArgumentError, match=r"^path: expected a free name, got .*a\.json, which exists\. Remove"):
        recording.save(tmp_path / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"] and (tmp_path / "a.json").read_text() == "mine"
    tensors, about = recording.save(tmp_path / "b")
    described = json.loads(about.read_text())
    for damage in ("{", "[]", json.dumps({**described, "format": 3}), json.dumps({**described, "calls": [{}]})):
        about.write_text(damage)
        with pytest.raises(ArgumentError, match=r"^path: expected a recording of format 2, got .*b: "):
            load(tmp_path / "b")
    about.write_text(json.dumps(described))
    tensors.write_bytes(pickle.dumps(recording[0].weights))
    with pytest.raises(ArgumentError, match="^path: expected a recording"):
        load(tmp_path / "b")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "c")


DAMAGED = {
    "nested without end": "[" * 100_000,
    "a number in place of names": {"coverage": {"recorded": 5, "partial": [], "bypassing": []}},
    "a text in place of names": {"coverage": {"recorded": "abc", "partial": [], "bypassing": []}},
    "names that are objects": {"coverage": {"recorded": [], "partial": [{}], "bypassing": []}},
    "no name": {"calls": [{"name": 3, "call": 0, "kind": "self"}]},
    "no offset of keys": {"calls": [{"name": "a", "call": 0, "kind": "self"}]},
    "no number": {"calls": [{"name": "a", "call": "x", "kind": "self"}]},
    "no kind": {"calls": [{"name": "a", "call": 0, "kind": ["self"]}]},
    "tensors of no call": {"calls": []},
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_description_is_one_error(tmp_path, damage):
    _, about = Recording([Record("a", AuxOutput(weights=torch.ones(1, 2)), 0, "self")]).save(tmp_path / "a")
    described = json.loads(about.read_text())
    about.write_text(damage if isinstance(damage, str) else json.dumps({**described, **damage}))
    with pytest.raises(ArgumentError, match=r"^path: expected a recording of format 2, got .*a: "):
        load(tmp_path / "a")


@pytest.mark.parametrize("tensors", [b"", bytes([255] * 8), ["0.top.0"], ["0.top.1"], ["0.weights.0", "1.weights.0"]])
def test_damaged_tensors_are_one_error(tmp_path, tensors):
    path, _ = Recording([Record("a", AuxOutput(weights=torch.ones(1, 2)), 0, "self")]).save(tmp_path / "a")
    path.write_bytes(tensors if isinstance(tensors, bytes) else save({name: torch.ones(1) for name in tensors}))
    with pytest.raises(ArgumentError, match=r"^path: expected a recording of format 2, got .*a: "):
        load(tmp_path / "a")


def test_a_caller_gets_its_request_and_the_record_its_own(model, inputs):
    asked = AuxRequest(lse=True, top=2)
    with record(model, AuxRequest(entropy=True, top=5)) as records:
        (_, aux), _ = model(*inputs, aux=asked)
    recorded = dict(records)["read"]
    assert aux.weights is None and aux.entropy is None and aux.lse.shape == (2, 3) and aux.top[0].shape == (2, 3, 2)
    assert recorded.lse is None and recorded.entropy.shape == (2, 3) and recorded.top[1].shape == (2, 3, 5)


def test_steps_through_a_memory_are_recorded(model, inputs):
    query, key = inputs
    memory = model.read.remember(key, mask=masks.Lengths(torch.tensor([11, 4])))
    with record(model) as records:
        for step in range(3):
            model.read(query[:, step : step + 1], memory=memory)
    together = torch.cat([aux.weights for _, aux in records], dim=-2)
    assert together.shape == (2, 3, 11)
    assert bool((together[1, :, 4:] == 0).all())
    torch.testing.assert_close(together.sum(-1), torch.ones(2, 3))


def test_gradients_flow_through_records_unless_they_are_detached(model, inputs):
    with record(model) as records:
        model(*inputs)
    dict(records)["read"].weights.square().sum().backward()
    assert model.read.query_projection.weight.grad is not None
    with record(model, detach=True) as records:
        model(*inputs)
    assert not any(aux.weights.requires_grad for _, aux in records)


def test_failures_leave_no_hooks_and_recording_goes_on_after_them(model, inputs):
    query, key = inputs
    with record(model) as records:
        with pytest.raises(Exception, match="shape|dim|size|mat"):
            model.read(query, key[..., :3])
        model.read(query, key)
    assert [name for name, _ in records] == ["read"]
    with pytest.raises(ZeroDivisionError), record(model):
        1 / 0
    assert hooks(model) == 0


def test_other_hooks_keep_their_place(model, inputs):
    seen = []
    handle = model.read.register_forward_hook(lambda module, args, output: seen.append(type(output)))
    with record(model) as records:
        model(*inputs)
    handle.remove()
    assert seen == [torch.Tensor] and len(records) == 3


def test_a_failing_hook_before_ours_is_reported_as_itself(model, inputs):
    def fail(module, args):
        raise KeyError("theirs")

    handle = model.read.register_forward_pre_hook(fail)
    with record(model) as records:
        with pytest.raises(KeyError, match="theirs"):
            model(*inputs)
        handle.remove()
        model(*inputs)
    assert [name for name, _ in records] == ["heads", "heads", "read", "pool"]


def test_recordings_nest(model, inputs):
    with record(model) as outer, record(model, AuxRequest(entropy=True)) as inner:
        output, _ = model(*inputs)
    assert isinstance(output, torch.Tensor)
    assert len(outer) == len(inner) == 3
    assert outer[1][1].weights is not None and inner[1][1].weights is None and inner[1][1].entropy is not None


def test_an_attention_module_itself_has_an_empty_name(inputs):
    attention = nn.Attention(5, 7, hidden_dim=3)
    with record(attention) as records:
        attention(*inputs)
    assert [name for name, _ in records] == [""]


def test_threads_record_their_own_calls_of_one_model(model):
    keys = torch.randn(8, 2, 11, 7)
    expected = [model.pool(key, aux=AuxRequest(weights=True)) for key in keys]
    inside = Barrier(8)

    def recorded(key):
        with record(model) as records:
            inside.wait()
            output = model.pool(key)
            inside.wait()
        return output, records

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(recorded, keys))
    for (output, records), (own, aux) in zip(results, expected, strict=True):
        [(name, found)] = records
        assert name == "pool" and torch.equal(output, own) and torch.equal(found.weights, aux.weights)
    assert hooks(model) == 0


def test_a_recording_leaves_calls_of_other_threads_alone(model, inputs):
    plain, pooled = model(*inputs)
    with ThreadPoolExecutor(1) as pool, record(model) as records:
        output, other_pooled = pool.submit(model, *inputs).result()
        assert not records
        (asked, aux), _ = pool.submit(model, *inputs, aux=AuxRequest(lse=True)).result()
        model.pool(inputs[1])
    assert torch.equal(output, plain) and torch.equal(other_pooled, pooled)
    assert torch.equal(asked, plain) and aux.weights is None and aux.lse is not None
    assert [name for name, _ in records] == ["pool"]


def test_a_copy_made_within_the_block_answers_and_has_no_records(model, inputs):
    with record(model, required=False) as records:
        copied = copy.deepcopy(model)
        outputs = copied(*inputs)
    assert not records
    torch.testing.assert_close([outputs, copied(*inputs)], [model(*inputs)] * 2)


def test_a_model_without_attention_is_an_error():
    expected = r"^model: expected a module that attends, got Linear without any\. Attend through saccade\.nn, "
    with pytest.raises(ArgumentError, match=expected), record(torch.nn.Linear(2, 2)):
        pass
    with record(torch.nn.Linear(2, 2), required=False) as records:
        pass
    assert not records


def test_a_block_that_calls_no_attention_is_an_error(model, inputs):
    expected = r"^model: expected a call of its attention .* got none that can be recorded of 'read', 'heads', 'pool'"
    with pytest.raises(ArgumentError, match=expected), record(model):
        pass
    with record(model, required=False) as records:
        pass
    assert not records and hooks(model) == 0
    with pytest.raises(ZeroDivisionError), record(model):
        1 / 0
