"""The kinds of targets that rows have."""

from saccade.bench.row import Result, Target

__all__ = ["as_fast", "at_most", "beyond", "close_behind", "speed_of", "times", "within"]

_SHARE, _SECONDS = 0.05, 25e-6  # how far behind torch's kernels a call may be, whichever is more


def times(ratio: float) -> Target:
    """So many times as fast as the peer.

    >>> times(30).text
    '≥ 30x'
    """
    return Target(f"≥ {ratio:g}x", lambda result: _ratio(result) >= ratio, ratio)


def as_fast(share: float, own: float, peers: float) -> Target:
    """So much of the peer's work a second, where the peer is a call of another size.

    Args:
        share: of its speed.
        own: work of our call.
        peers: work of the peer's, in the same unit.

    >>> as_fast(0.6, 1e6, 1e8).text
    '≥ 60% of its speed'
    """
    least = share * peers / own
    return Target(f"≥ {share:.0%} of its speed", lambda result: _ratio(result) >= least, least)


def at_most(factor: float) -> Target:
    """At most so many times the peer's time: what something more beside the output may cost.

    >>> at_most(1.5).text
    '≤ 1.5x the time'
    """
    return Target(f"≤ {factor:g}x the time", lambda result: _ratio(result) * factor >= 1, 1 / factor)


def beyond(seconds: float) -> Target:
    """At most so many seconds more than the peer, which does a part of the work.

    >>> beyond(1.2).text
    '≤ 1.2 s more'
    """
    return Target(f"≤ {seconds:g} s more", lambda result: result.behind is not None and result.behind <= seconds)


def close_behind() -> Target:
    """At most 5% or 25 µs behind the peer, whichever is more.

    >>> close_behind().text
    '≤ 5% or 25 µs behind'
    """

    def met(result: Result) -> bool:
        assert result.behind is not None
        assert result.peer is not None
        return result.behind <= max(_SHARE * result.peer, _SECONDS)

    return Target("≤ 5% or 25 µs behind", met)


def speed_of(rate: float, unit: str, threads: int) -> Target:
    """So many units of work a second and thread, whatever the peer does.

    Args:
        rate: in units a second and thread.
        unit: of work.
        threads: that work together.

    >>> speed_of(5e9, "terms", 2).text
    '≥ 5 G terms/s a thread'
    """
    text = f"≥ {rate / 1e9:g} G {unit}/s a thread"
    return Target(text, lambda result: (result.speed or 0.0) >= rate * threads, beside=False)


def within(mebibytes: int) -> Target:
    """Less than so much memory.

    >>> within(400).text
    '< 400 MiB'
    """
    return Target(f"< {mebibytes} MiB", lambda result: (result.ours or 0.0) < mebibytes * 2**20, beside=False)


def _ratio(result: Result) -> float:
    return result.ratio or 0.0
