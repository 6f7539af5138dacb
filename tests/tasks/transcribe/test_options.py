import math

import pytest

from saccade import runs
from saccade.errors import ArgumentError
from saccade.tasks.transcribe import TRANSCRIBE
from saccade.tasks.transcribe.options import RECIPES, EvalRequest, Options, Request, check_rescoring
from tiers import every


@every(
    ("words", "option"),
    [
        ({"mels": 0}, "--mels"),
        ({"batch_tokens": 0}, "--batch-tokens"),
        ({"vocabulary_size": 4}, "--vocabulary-size"),
        ({"vocabulary_size": 259, "tokenizer": "bpe"}, "--vocabulary-size"),
        ({"max_length": 0}, "--max-length"),
        ({"hop_ms": 0}, "--hop-ms"),
        ({"hop_ms": 30}, "--hop-ms"),
        ({"window_ms": 5}, "--hop-ms"),
        ({"window_ms": 0}, "--window-ms"),
        ({"max_seconds": 0.0}, "--max-seconds"),
        ({"max_seconds": math.nan}, "--max-seconds"),
        ({"rate": 0}, "--rate"),
        ({"rate": 10**9}, "--rate"),
        ({"stretch": 1.0}, "--stretch"),
        ({"stretch": -0.1}, "--stretch"),
        ({"label_smoothing": 1.0}, "--label-smoothing"),
        ({"beam_size": 0}, "--beam-size"),
        ({"length_penalty": math.inf}, "--length-penalty"),
        ({"ctc_rescoring": 0.5}, "--ctc-rescoring"),
        ({"ctc_rescoring": 1.1, "beam_size": 2}, "--ctc-rescoring"),
    ],
)
def test_what_means_nothing_is_refused_by_name(words, option):
    with pytest.raises(ArgumentError, match=f"^{option}: expected ") as error:
        Options(**words)
    assert "\n" not in str(error.value)


def test_a_share_of_ctc_needs_something_to_rank():
    for share, size in ((0.0, 1), (0.0, 9), (1.0, 2)):
        check_rescoring(share, size)
    with pytest.raises(ArgumentError, match="--ctc-rescoring: expected a share from 0 to 1, got nan"):
        check_rescoring(math.nan, 2)
    with pytest.raises(ArgumentError, match="expected a --beam-size above 1, got 1: there is nothing to rank"):
        check_rescoring(0.1, 1)


def test_recipes_hold_together():
    for data in ("tones", "some/files"):
        found, recipe = runs.options(TRANSCRIBE, data, "las", {}), RECIPES["tones" if data == "tones" else "files"]
        assert found.batch_tokens == recipe["batch_tokens"] and found.warmup_steps == recipe["warmup_steps"]
    assert runs.options(TRANSCRIBE, "some/files", "las", {}).ctc_rescoring == 0.5


def test_an_evaluation_is_asked_as_an_answer_but_for_what_is_written():
    assert EvalRequest(ctc_rescoring=0.5, beam_size=3).ctc_rescoring == 0.5 and Request().ctc_rescoring is None
    with pytest.raises(ArgumentError, match="--temperature: expected only with --sample"):
        Request(temperature=1.0)
