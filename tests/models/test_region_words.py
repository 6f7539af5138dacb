from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from near import assert_near
from saccade.errors import ArgumentError, ShapeError
from saccade.models.image_encoder import FeatureEncoder, ImageEncoder, Visual
from saccade.models.padded import Padded
from saccade.models.region_words import Options, RegionWords, ranking_loss, smoothed
from tiers import every

SMALL = Options(widths="4", cell_dim=6, hidden_dim=17, embedding_dim=7, dropout=0.5)
SENTENCES = Padded(torch.tensor([[4, 5, 6, 7], [8, 9, 0, 0], [5, 5, 10, 0]]), torch.tensor([4, 2, 3]))
IMAGES = Visual(torch.rand(2, 3, 16, 24, generator=torch.Generator().manual_seed(1)))
REGIONS = Visual(
    torch.rand(3, 5, 11, generator=torch.Generator().manual_seed(2)),
    torch.tensor([0.0, 0.0, 0.5, 1.0]).expand(3, 5, 4),
    torch.tensor([5, 2, 3]),
)


def model_of(encoder, **changes):
    torch.manual_seed(0)
    options = replace(SMALL, **changes)
    made = encoder(options)
    return RegionWords(made, 13, options).eval()


def of_images(**changes):
    return model_of(lambda options: ImageEncoder(3, options), **changes)


def of_features(**changes):
    return model_of(lambda options: FeatureEncoder(11, options.cell_dim), **changes)


def words_alone(model, tokens):
    """Equations 2 to 6 of one sentence, a word at a time."""

    def state(inputs, before, layer):
        return F.relu(inputs + layer.weight @ before + layer.bias)

    inputs = [F.relu(model.word(model.embedding(token))) for token in tokens]
    zeros = torch.zeros_like(inputs[0])
    ahead, back = [zeros], [zeros]
    for one, other in zip(inputs, reversed(inputs), strict=True):
        ahead.append(state(one, ahead[-1], model.forwards))
        back.append(state(other, back[-1], model.backwards))
    sums = [one + other for one, other in zip(ahead[1:], back[:0:-1], strict=True)]
    return torch.stack([F.relu(model.output(both)) for both in sums])


def plain_scores(regions, words, within, lengths=None):
    """Equation 8: the sum over words of the largest product."""
    products = torch.einsum("knd,ltd->kltn", regions, words)
    if lengths is not None:
        absent = torch.arange(regions.shape[1]) >= lengths[:, None]
        products = products.masked_fill(absent[:, None, None], -torch.inf)
    return torch.where(within, products.amax(-1), 0.0).sum(-1)


def test_words_are_a_recurrent_network_in_both_directions():
    model = of_images()
    words = model.words(SENTENCES)
    for row, length in enumerate(SENTENCES.lengths.tolist()):
        torch.testing.assert_close(words[row, :length], words_alone(model, SENTENCES.values[row, :length]))


def test_a_score_is_the_sum_of_the_largest_products_and_so_are_its_gradients():
    numbers = torch.Generator().manual_seed(3)
    model = of_images()
    regions, words = (torch.randn(size, generator=numbers) for size in ((2, 7, 17), (3, 4, 17)))
    cells = model.regions(IMAGES)._replace(shape=None)
    parts = [regions.requires_grad_(), words.requires_grad_()]
    ours = model.scores(cells._replace(values=regions), words, SENTENCES.within)
    plain = plain_scores(regions, words, SENTENCES.within)
    assert_near(ours, lambda x, y: plain_scores(x, y, SENTENCES.within), regions, words)
    upstream = torch.randn(2, 3, generator=numbers)
    for one, other in zip(*(torch.autograd.grad(x, parts, upstream) for x in (ours, plain)), strict=True):
        torch.testing.assert_close(one, other)


def test_regions_beyond_an_image_are_never_taken():
    model = of_features()
    scores, cells = model(REGIONS, SENTENCES), model.regions(REGIONS)
    expected = plain_scores(cells.values, model.words(SENTENCES), SENTENCES.within, REGIONS.lengths)
    torch.testing.assert_close(scores, expected)
    aligned = model.align(REGIONS, SENTENCES)
    torch.testing.assert_close(aligned.scores, scores.diagonal())
    within = SENTENCES.within
    assert bool((aligned.regions < REGIONS.lengths[:, None]).all()) and bool(((aligned.regions >= 0) == within).all())
    spoilt = REGIONS._replace(values=REGIONS.values.clone())
    spoilt.values[1, 2:] = 100.0
    torch.testing.assert_close(model(spoilt, SENTENCES), scores)


def test_words_take_the_region_of_the_largest_product():
    model, shared = of_images(), IMAGES._replace(about=torch.tensor([0, 1, 1]))
    aligned = model.align(shared, SENTENCES)
    assert aligned.shape == (8, 12) and aligned.products.shape == (3, 4, 96)
    best = aligned.products.argmax(-1).masked_fill(~SENTENCES.within, -1)
    assert torch.equal(aligned.regions, best)
    torch.testing.assert_close(aligned.scores, model(IMAGES, SENTENCES)[shared.about, torch.arange(3)])
    for products, regions in zip(aligned.products, aligned.regions, strict=True):
        length = int((regions >= 0).sum())
        assert torch.equal(smoothed(products[:length], 0.0), regions[:length])


def test_padding_changes_nothing():
    model, spoilt = of_images(), SENTENCES._replace(values=SENTENCES.values.masked_fill(~SENTENCES.within, 12))
    torch.testing.assert_close(model(IMAGES, spoilt), model(IMAGES, SENTENCES))
    alone = Padded(SENTENCES.values[1:2, :2], SENTENCES.lengths[1:2])
    torch.testing.assert_close(model(IMAGES, alone), model(IMAGES, SENTENCES)[:, 1:2])


def test_the_loss_ranks_each_pair_above_its_row_and_its_column():
    scores = torch.randn(5, 5, generator=torch.Generator().manual_seed(4))
    expected = sum(
        max(0.0, float(scores[pair] - scores[k, k]) + 1)
        for k in range(5)
        for other in range(5)
        if other != k
        for pair in ((k, other), (other, k))
    )
    assert float(ranking_loss(scores)) == pytest.approx(expected)
    assert float(ranking_loss(torch.eye(4))) == 0 and float(ranking_loss(torch.eye(4), margin=1.5)) == 12.0


def test_a_smoothed_path_is_the_best_of_all_paths():
    products = torch.randn(4, 3, generator=torch.Generator().manual_seed(5))
    paths = torch.cartesian_prod(*[torch.arange(3)] * 4)
    for strength in (0.0, 0.5, 2.0):
        shared = (paths[:, 1:] == paths[:, :-1]).sum(1)
        totals = products.gather(1, paths.mT).sum(0) + strength * shared
        assert torch.equal(smoothed(products, strength), paths[totals.argmax()])
    assert len({*smoothed(products, 100.0).tolist()}) == 1


def test_a_few_steps_bring_pairs_together():
    model = of_features(dropout=0.0)
    stepping = torch.optim.Adam(model.parameters(), 2e-2)
    losses = []
    for _ in range(25):
        stepping.zero_grad()
        losses.append(ranking_loss(model(REGIONS, SENTENCES)))
        losses[-1].backward()
        stepping.step()
    scores = model(REGIONS, SENTENCES)
    assert losses[-1] < 0.5 * losses[0] and torch.equal(scores.argmax(1), torch.arange(3))


@every(("name", "value"), [("hidden_dim", 0), ("embedding_dim", 1 << 20), ("dropout", 1.0), ("widths", "4,x")])
def test_sizes_of_nothing_are_refused_by_name(name, value):
    with pytest.raises(ArgumentError, match=f"--{name.replace('_', '-')}"):
        Options(**{name: value})


def test_images_without_a_sentence_each_are_an_error():
    with pytest.raises(ShapeError, match="visual: expected an image for each of 3 sentences, got 2"):
        of_images().align(IMAGES, SENTENCES)
    with pytest.raises(ShapeError, match=r"scores: expected as many images as sentences, \(n, n\), got \(2, 3\)"):
        ranking_loss(torch.zeros(2, 3))
