import pytest

from reports.echo import Echo
from saccade.reports.length.buckets import by_source_length, measured
from saccade.tasks.translate.data.corpus import Pair

#: Ten sentences of a length, and one longer.
PAIRS = [Pair("w " * (12 if index == 3 else 4), "a b c d e", "") for index in range(11)]


def test_sentences_are_together_with_those_of_like_length():
    short, long = by_source_length(PAIRS, "words")
    assert (short.name, short.length, len(short.pairs)) == ("1-5", 4.0, 10)
    assert (long.name, long.length, len(long.pairs)) == ("11-15", 12.0, 1)
    assert [bucket.name for bucket in by_source_length(PAIRS, "characters")] == ["1-10", "21-30"]


def test_a_bucket_is_a_corpus_of_its_own():
    task = Echo("a b c d e", "files", "en")
    short, long = (measured(task, None, bucket, 1) for bucket in by_source_length(PAIRS, "words"))
    assert short["score"] == pytest.approx(100.0) and short["error"] == pytest.approx(0.0, abs=1e-9)
    assert short["signature"].startswith("nrefs:1|") and short["few"] and short["sentences"] == 10
    assert long["error"] is None
