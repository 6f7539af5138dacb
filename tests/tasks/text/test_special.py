from saccade.tasks.text import special
from saccade.tasks.text.bpe import BytePairs
from saccade.tasks.text.tokenizer import Characters, SpacedWords
from saccade.tasks.text.words import Words

TEXTS = ["a man", "a dog"]


def test_ids_below_are_no_text_in_any_tokenizer():
    assert (special.PADDING, special.BEGIN, special.END, special.UNKNOWN, special.SPECIAL) == (0, 1, 2, 3, 4)
    tokenizers = [
        BytePairs.learn(TEXTS, 270),
        Characters.learn(TEXTS),
        SpacedWords.learn(TEXTS),
        Words.learn(TEXTS, 99, 1),
    ]
    for tokenizer in tokenizers:
        assert min(tokenizer.encode("a man")) >= special.SPECIAL
        assert tokenizer.decode([special.BEGIN, *tokenizer.encode("a man"), special.END]) == "a man"
