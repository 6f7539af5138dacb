import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.tasks.classify_text.batches import Encoded, pad


@given(st.lists(st.tuples(st.lists(st.integers(4, 99), min_size=1, max_size=9), st.integers(0, 3)), min_size=1))
def test_texts_lie_side_by_side_with_nothing_behind_them(rows):
    texts = [Encoded(*row) for row in rows]
    (values, lengths), labels = pad(texts)
    assert values.shape == (len(rows), max(text.size for text in texts))
    assert lengths.tolist() == [text.size for text in texts] and labels.tolist() == [label for _, label in rows]
    for row, text in zip(values.tolist(), texts, strict=True):
        assert row[: text.size] == text.ids and not any(row[text.size :])


def test_texts_are_sorted_by_their_words_and_move_as_whole():
    assert [text.label for text in sorted([Encoded([5] * 3, 0), Encoded([5], 1)], key=lambda text: text.order)] == [
        1,
        0,
    ]
    moved = pad([Encoded([7, 8], 0)]).to(torch.device("meta"))
    assert moved.source.values.is_meta and moved.labels.is_meta and moved.source.lengths.is_meta
