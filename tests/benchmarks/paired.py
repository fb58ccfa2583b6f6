"""Two sides measured in pairs: the median of their ratios and differences with 95 % intervals, and when a limit holds.

A limit on a ratio holds where the median is within it and the interval is narrow, at most WIDTH of the median wide. A limit
on a difference, which has no such scale, holds where the whole interval is within it and is exceeded where the whole
interval is beyond. LEAST pairs are measured, then more until every limit is resolved, at most MOST; one that is not by
then neither holds nor is exceeded.
"""
import math
import statistics

import rounds

LEAST, MOST, STEP = 30, 300, 10
WIDTH = 0.02
CONFIDENCE = 0.95
HOLDS, EXCEEDED, NOT_RESOLVED = 'holds', 'exceeded', 'not resolved'


class Interval:
    """The median of values and its confidence interval."""

    def __init__(self, low, median, high):
        self.low, self.median, self.high = low, median, high

    @property
    def width(self):
        return self.high - self.low


def rank(count):
    """The largest k for which the k-th least and the k-th greatest of `count` values hold their distribution's median
    between them with CONFIDENCE, by the binomial distribution of the number of values below it; 0: there is none."""
    tail, k = 0.0, 0
    while k < count // 2:
        # exp(log C(count, k) - count log 2)
        tail += math.exp(math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) -
                         count * math.log(2))
        if 2 * tail > 1 - CONFIDENCE:
            break
        k += 1
    return k


def interval(values):
    """No distribution is assumed but that the values are drawn independently from one. Unbounded below 6 values."""
    ordered, k = sorted(values), rank(len(values))
    low, high = (ordered[k - 1], ordered[-k]) if k else (-math.inf, math.inf)
    return Interval(low, statistics.median(ordered), high)


class RatioLimit:
    """A limit on new / old."""

    def __init__(self, most):
        self.most = most

    def verdict(self, pairs):
        if len(pairs) < LEAST:
            return NOT_RESOLVED
        found = ratios(pairs)
        if found.width > WIDTH * found.median:
            return NOT_RESOLVED
        return HOLDS if found.median <= self.most else EXCEEDED


class DifferenceLimit:
    """A limit on new - old, in the sides' own unit."""

    def __init__(self, most):
        self.most = most

    def verdict(self, pairs):
        if len(pairs) < LEAST:
            return NOT_RESOLVED
        found = differences(pairs)
        if found.low <= self.most < found.high:
            return NOT_RESOLVED
        return HOLDS if found.high <= self.most else EXCEEDED


def ratios(pairs):
    return interval([new / old for old, new in pairs])


def differences(pairs):
    return interval([new - old for old, new in pairs])


class Measured:
    """`pairs`: (old, new) of the pairs that count. `taken`: how many were measured. `dropped`: as of rounds.Settled."""

    def __init__(self, pairs, taken, dropped):
        self.pairs, self.taken, self.dropped = pairs, taken, dropped


def measure(old, new, limits, machine):
    """Measures pairs of the functions `old` and `new` until all limits are resolved, at most MOST pairs. Which side comes
    first changes from pair to pair."""
    turns = rounds.Rounds({'old': old, 'new': new}, machine)
    while True:
        settled = turns.settle(least=0)
        pairs = list(zip(settled.of('old'), settled.of('new')))
        resolved = all(limit.verdict(pairs) != NOT_RESOLVED for limit in limits)
        if len(pairs) >= LEAST and resolved or len(turns) >= MOST:
            return Measured(pairs, len(turns), settled.dropped)
        for _ in range(min(STEP, MOST - len(turns))):
            turns.run()
