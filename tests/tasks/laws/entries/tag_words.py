"""The laws' entry of `tag-words`."""

from saccade.tasks.tag_words import Names
from saccade.tasks.text.codec import WordLabelsCodec
from tasks.laws.entry import HELD_OUT, LEARNED_FROM, Entry, accuracy_of_words, label_each_word

ENTRY = Entry(
    looked=({}, {"by": "jacobian", "signed": True}),
    options={"batch_tokens": 80},
    models={"self-attention": {"hidden_dim": 8, "heads": 2, "feedforward_dim": 8, "embedding_dim": 6}},
    row=lambda example: (example.text, example.label),
    columns=("words", "tags"),
    by_hand=accuracy_of_words,
    small=((Names, "held_out", HELD_OUT), (WordLabelsCodec, "endless", LEARNED_FROM)),
    repair=label_each_word,
    blank=" \u3000",
    baselines=("majority", "word"),
    incompatible=({"vocabulary_size": 9}, "the words of RUN"),
)
