import torch

from saccade.models.rnnsearch import Options, RNNSearch
from saccade.tasks.generate import Decoding, search
from saccade.tasks.generate.generate import Search, Tokens, pursued, write

SOURCE, LENGTHS = torch.tensor([[4, 5, 2], [6, 2, 0]]), torch.tensor([3, 2])
NAMES = [(1, "a"), (2, "b")]


def model():
    torch.manual_seed(0)
    return RNNSearch(9, 9, Options(hidden_dim=8, embedding_dim=4)).eval()


def written(decoding, asked, names=NAMES, prefix=()):
    found = model()
    with torch.inference_mode():
        state = found.encode(SOURCE, LENGTHS)
        return write(found, state, torch.tensor([6, 4]), Tokens(1, 2, prefix), decoding, asked, names)


def test_it_searches_as_the_run_says():
    found = model()
    with torch.inference_mode():
        state = found.encode(SOURCE, LENGTHS)
        plain = search(found, state, torch.tensor([6, 4]), begin=1, end=2, beam_size=3, length_penalty=0.2, count=2)
    ours = written(Decoding(), Search(3, 0.2, 2, seed=1))
    assert ours.lists() == plain.lists() and torch.equal(ours.scores, plain.scores)
    assert [len(outputs) for outputs in written(Decoding(), Search(3, 0.2, 1, 1, rank_all=True)).lists()] == [3, 3]


def test_draws_follow_from_the_seed_and_the_name_alone():
    drawing, asked = Decoding(sample=True), Search(1, 0.6, 3, seed=7)
    first = written(drawing, asked).lists()
    assert written(drawing, asked).lists() == first
    assert written(drawing, Search(1, 0.6, 3, seed=8)).lists() != first
    assert written(Decoding(sample=True, seed=7), Search(1, 0.6, 3, seed=8)).lists() == first
    assert written(drawing, asked, [(2, "a"), (2, "b")]).lists()[1] == first[1]
    assert pursued(drawing, asked) == 3


def test_a_prefix_and_a_least_length_are_kept():
    found = written(Decoding(min_length=3), Search(2, 0.6, 1, seed=1), prefix=[5])
    assert all(ids[0] == 5 and len(ids) >= 3 for [ids] in found.lists())
