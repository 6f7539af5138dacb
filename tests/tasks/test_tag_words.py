import pytest
import torch

from saccade import runs
from saccade.errors import ArgumentError
from saccade.models.padded import Padded
from saccade.models.word_tagger import Options, WordTagger
from saccade.tasks.tag_words import TAG_WORDS, Names
from tiers import every

ROWS = [{"words": f"Ada met room {n}".split(), "tags": ["B-PER", "O", "O", "O"]} for n in range(40)]


def test_words_of_names_have_several_tags_by_their_sentence():
    examples = [Names().example("train", index) for index in range(300)]
    tags = {pair for text, label, _ in examples for pair in zip(text.split(), label.split(), strict=True)}
    assert {("Paris", "B-PER"), ("Paris", "B-LOC"), ("Paris", "B-ORG"), ("Paris", "I-ORG")} <= tags


@every("row", [("Ada lives", ["B-PER"]), {"text": "Ada", "tags": "B-PER O"}])
def test_a_row_has_a_tag_for_each_word(row):
    with pytest.raises(ArgumentError, match="data: train, row 41: expected a tag for each of . words, got . tags"):
        TAG_WORDS.prepare(runs.options(TAG_WORDS, "objects", "self-attention", {}), [*ROWS, row])


def test_a_word_has_the_same_logits_alone_and_beside_longer_texts():
    model = WordTagger(9, 3, Options(embedding_dim=4, hidden_dim=8, heads=2, feedforward_dim=8)).eval()
    both = model(Padded(torch.tensor([[4, 5, 0], [6, 7, 8]]), torch.tensor([2, 3])))
    torch.testing.assert_close(both[:2], model(Padded(torch.tensor([[4, 5]]), torch.tensor([2]))))
