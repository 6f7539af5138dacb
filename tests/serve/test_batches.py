import asyncio
import threading

import pytest

from saccade.serve import Limits
from saccade.serve.batches import Batches, Stopped

FOREVER = 600_000.0  # milliseconds


class Answering:
    """Answers a batch with its inputs in capitals, perhaps once it may."""

    def __init__(self, *, free=True):
        self.batches, self.begun, self.free = [], threading.Event(), threading.Event()
        if free:
            self.free.set()

    def __call__(self, inputs, options):
        self.batches.append((list(inputs), options))
        self.begun.set()
        self.free.wait()
        if "bad" in inputs:
            raise ValueError("bad")
        return [item.upper() for item in inputs]


async def served(batches, *requests, then=None):
    """The answers, or errors, of requests that come at once; `then` is called before they are awaited."""
    running = asyncio.create_task(batches.run())
    asked = [asyncio.create_task(batches.ask(inputs, options)) for inputs, options in requests]
    await asyncio.sleep(0)
    if then is not None:
        await then()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    batches.stop()
    await running
    return answers


def test_requests_with_equal_options_share_batches_in_order():
    answering = Answering()
    batches = Batches(answering, Limits(batch=3, wait_ms=0))
    answers = asyncio.run(served(batches, *[([f"{n}a"], n % 2) for n in range(8)]))
    assert answers == [[f"{n}A"] for n in range(8)]
    assert answering.batches == [
        (["0a", "2a", "4a"], 0), (["1a", "3a", "5a"], 1), (["6a"], 0), (["7a"], 1),
    ]  # fmt: skip
    assert (batches.requests, batches.batches, len(batches)) == (8, 4, 0)


def test_a_batch_waits_for_its_size_and_no_longer():
    answering = Answering()
    answers = asyncio.run(served(Batches(answering, Limits(batch=2, wait_ms=FOREVER)), (["a"], 0), (["b"], 0)))
    assert answers == [["A"], ["B"]] and len(answering.batches) == 1


def test_inputs_of_a_request_stay_together():
    answering = Answering()
    requests = [(["a", "b"], 0), (["c", "d"], 0), (["e"], 0), (["f", "g", "h", "i"], 0)]
    answers = asyncio.run(served(Batches(answering, Limits(batch=3, wait_ms=0)), *requests))
    assert answers == [["A", "B"], ["C", "D"], ["E"], ["F", "G", "H", "I"]]
    assert [inputs for inputs, _ in answering.batches] == [["a", "b", "e"], ["c", "d"], ["f", "g", "h", "i"]]


def test_a_request_that_fails_fails_alone():
    answering = Answering()
    good, bad, other = asyncio.run(served(Batches(answering, Limits(wait_ms=0)), (["a"], 0), (["bad"], 0), (["b"], 0)))
    assert (good, other) == (["A"], ["B"]) and isinstance(bad, ValueError)
    assert [inputs for inputs, _ in answering.batches] == [["a", "bad", "b"], ["a"], ["bad"], ["b"]]


def test_a_stop_answers_the_running_batch_and_refuses_the_rest():
    answering = Answering(free=False)
    batches = Batches(answering, Limits(batch=1, wait_ms=0))

    async def stop():
        await asyncio.to_thread(answering.begun.wait)
        batches.stop()
        answering.free.set()

    first, second = asyncio.run(served(batches, (["a"], 0), (["b"], 0), then=stop))
    assert first == ["A"] and isinstance(second, Stopped) and len(answering.batches) == 1
    with pytest.raises(Stopped, match="the server stops"):
        asyncio.run(batches.ask(["c"], 0))


def test_a_stop_ends_a_batch_that_waits_for_more():
    batches = Batches(Answering(), Limits(batch=2, wait_ms=FOREVER))

    async def stop():
        await asyncio.sleep(0)
        batches.stop()

    [answer] = asyncio.run(served(batches, (["a"], 0), then=stop))
    assert isinstance(answer, Stopped)


def test_a_request_whose_client_left_is_left_out():
    answering = Answering()

    async def leave():
        batches = Batches(answering, Limits(wait_ms=0))
        gone = asyncio.create_task(batches.ask(["a"], 0))
        stays = asyncio.create_task(batches.ask(["b"], 0))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        running = asyncio.create_task(batches.run())
        answer = await stays
        batches.stop()
        await running
        return answer

    assert asyncio.run(leave()) == ["B"] and answering.batches == [(["b"], 0)]


def test_too_few_answers_are_an_error_of_their_request_and_stop_nothing():
    batches = Batches(lambda inputs, _: [item for item in inputs if item != "bad"], Limits(wait_ms=0, batch=1))
    bad, good = asyncio.run(served(batches, (["bad"], 0), (["a"], 0)))
    assert good == ["a"] and str(bad) == "answers: expected 1 of a batch, got 0"


def test_no_request_waits_for_answers_that_have_ended():
    answering = Answering(free=False)
    batches = Batches(answering, Limits(batch=1, wait_ms=0))

    async def end():
        running = asyncio.create_task(batches.run())
        asked = [asyncio.create_task(batches.ask([name], 0)) for name in "ab"]
        await asyncio.to_thread(answering.begun.wait)
        answering.free.set()
        running.cancel()
        return await asyncio.gather(*asked, return_exceptions=True)

    assert [type(answer) for answer in asyncio.run(end())] == [Stopped, Stopped] and len(batches) == 0
