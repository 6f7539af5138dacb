"""The laws' entry of `tag-words`."""

from saccade.tasks import tag_words
from saccade.tasks.labels import word_labels
from tasks.laws.entry import HELD_OUT, LEARNED_FROM, Entry, accuracy_of_words, label_each_word

ENTRY = Entry(
    options={"batch_tokens": 80},
    models={"self-attention": {"hidden_dim": 8, "heads": 2, "feedforward_dim": 8, "embedding_dim": 6}},
    row=lambda example: (example.text, example.label),
    columns=("words", "tags"),
    by_hand=accuracy_of_words,
    small=(
        (tag_words, "HELD_OUT", HELD_OUT),
        (tag_words.parts.WordLabelsCodec, "endless", LEARNED_FROM),
        (word_labels, "_ENDLESS", LEARNED_FROM),
    ),
    repair=label_each_word,
    blank=" \u3000",
    baselines=("majority", "word"),
    incompatible=({"vocabulary_size": 9}, "the words of RUN"),
)
