"""Outputs of untrained models are valid text: greedy, of a beam, drawn, of an ensemble, from bytes and from words."""

import codecs

import pytest
import torch

from saccade.kernels.topk import Logits, dense
from saccade.models.padded import Padded
from saccade.models.rnnsearch import Options, RNNSearch
from saccade.tasks.generate.ensemble import Ensemble
from saccade.tasks.generate.generate import Sampling, Search, generate
from saccade.tasks.generate.writable import Rules, Writer
from saccade.tasks.text.bpe import BytePairs
from saccade.tasks.text.special import BEGIN, END, PADDING, UNKNOWN
from saccade.tasks.text.tokenizer import Characters
from saccade.tasks.text.words import Words

MISSING = "\N{REPLACEMENT CHARACTER}"
PAIRS = BytePairs.learn(["größe 日本語 日本 💥💥 привет привет"] * 3, 300)
SOURCE = Padded(torch.tensor([[4, 5, 2], [6, 2, 0]]), torch.tensor([3, 2]))
LIMITS = torch.tensor([9, 4])
WAYS = {
    "greedy": Search(),
    "beam": Search(beam_size=4, count=4),
    "a least length": Search(beam_size=2, min_length=4),
    "a prefix": Search(beam_size=3, count=2, prefix=tuple(PAIRS.encode("日"))),
    "draws": Search(count=3, sampling=Sampling(1.0, 1.0, 1)),
    "a nucleus": Search(count=2, sampling=Sampling(2.0, 0.8, 1)),
}


@pytest.fixture(autouse=True)
def inference():
    with torch.inference_mode():
        yield


def model_of(target, seed):
    torch.manual_seed(seed)
    model = RNNSearch(9, len(target), Options(hidden_dim=4, embedding_dim=4)).eval()
    model.output[0].data.mul_(30)  # far from uniform, so that seeds differ
    return model


def written(model, target, how):
    writer = Writer(model, Rules.of(target))
    names = [(1, "a"), (2, "b")]
    return generate(writer, writer.start(model.encode(SOURCE), LIMITS), LIMITS, how, names)


@pytest.mark.parametrize("how", WAYS.values(), ids=WAYS)
def test_bytes_of_an_untrained_model_are_text(how):
    for seed in range(10):
        found = written(model_of(PAIRS, seed), PAIRS, how)
        assert all(found.lists()) and found.scores.isfinite().all()
        for limit, outputs in zip(LIMITS.tolist(), found.lists(), strict=True):
            for ids in outputs:
                text = b"".join(map(PAIRS.spelled, ids)).decode()  # raises for invalid bytes
                assert MISSING not in text and len(ids) <= max(limit, len(how.prefix))
                assert not {PADDING, BEGIN, END, UNKNOWN} & set(ids)


@pytest.mark.parametrize(
    "target", [Characters(f"ab{MISSING}"), Words(["dog", MISSING, "cat"])], ids=["letters", "words"]
)
@pytest.mark.parametrize("how", [way for name, way in WAYS.items() if name != "a prefix"])
def test_units_that_are_no_text_are_never_written(target, how):
    for seed in range(5):
        model = Ensemble([model_of(target, seed), model_of(target, seed + 50)])
        for outputs in written(model, target, how).lists():
            assert all(outputs) or not how.min_length
            assert MISSING not in "".join(map(target.decode, outputs))
            assert not any({PADDING, BEGIN, UNKNOWN} & set(ids) for ids in outputs)


def test_the_unknown_token_is_written_where_it_is_replaced():
    rules = Rules.of(Characters("ab"), unknown=True)
    assert rules.penalties[0].isfinite().nonzero().flatten().tolist() == [END, UNKNOWN, 4, 5]


def test_probabilities_are_those_of_the_model_among_allowed_tokens():
    model, target = model_of(PAIRS, 0), PAIRS
    rules, state, limits = Rules.of(target), model.encode(SOURCE), torch.tensor([20, 20])
    writer, token = Writer(model, rules), torch.tensor([BEGIN, BEGIN])
    first, after = writer.step(token, writer.start(state, limits))
    assert isinstance(first, Logits)  # not laid out while characters are complete
    plain, _ = model.step(token, state)
    shares, allowed = dense(plain).softmax(-1), dense(first) > -torch.inf
    torch.testing.assert_close(dense(first).softmax(-1), shares * allowed / (shares * allowed).sum(-1, keepdim=True))
    begun = next(number for number in range(len(target)) if target.spelled(number) == b"\xf0")
    then, _ = writer.step(torch.tensor([begun, 4]), after)
    spelled = [target.spelled(number) for number in (then[0] > -torch.inf).nonzero().flatten().tolist()]
    assert spelled and all(0x90 <= token[0] <= 0xBF for token in spelled)


def test_rules_follow_the_decoder_of_python():
    singles = {target[0]: number for number in range(len(PAIRS)) if len(target := PAIRS.spelled(number)) == 1}
    rules, generator = Rules.of(PAIRS), torch.Generator().manual_seed(0)
    leads = [0x41, 0x80, 0xC1, 0xC3, 0xE0, 0xE2, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5]
    surrogate = rules.penalties[int(rules.after[0, singles[0xED]]) * 4 + 3]
    assert surrogate[singles[0x9F]] == 0 and surrogate[singles[0xA0]] == -torch.inf  # Python sees that a byte later
    for lead in leads:
        for _ in range(40):
            rest = torch.randint(0x7F, 0xC2, (3,), generator=generator).tolist()
            decoder, state = codecs.getincrementaldecoder("utf-8")(), 0
            for byte in [lead, *rest]:
                try:
                    decoder.decode(bytes([byte]))
                    fits = True
                except UnicodeDecodeError:
                    fits = False
                assert bool(rules.penalties[state * 4 + 3, singles[byte]] == 0) == fits
                if not fits:
                    break
                state = int(rules.after[state, singles[byte]])
                assert (state == 0) == (decoder.getstate()[0] == b"")
