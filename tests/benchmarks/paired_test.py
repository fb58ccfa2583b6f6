#!/usr/bin/env python3
"""Tests of rounds.py and paired.py: what counts, and what is said of it."""
import math
import random
import unittest

import paired
import rounds


class Loops:
    """A machine's loop that takes the times given, in order, then 1."""

    def __init__(self, *times):
        self.times = list(times)

    def __call__(self):
        return self.times.pop(0) if self.times else 1.0


def quiet():
    return rounds.Machine(Loops())


class RoundsTest(unittest.TestCase):
    def test_the_order_changes(self):
        order = []
        turns = {side: lambda side=side: order.append(side) for side in 'abc'}
        measured = rounds.Rounds(turns, quiet())
        for _ in range(3):
            measured.run()
        self.assertEqual(''.join(order), 'abcbcacab')

    def test_a_round_is_dropped_for_all_sides(self):
        # Three calibrations a round; the second round is disturbed after its first turn, by 1.2 of the best.
        machine = rounds.Machine(Loops(1, 1, 1, 1, 1.2, 1, 1.1, 1.1, 1.1))
        values = iter(range(6))
        measured = rounds.Rounds({side: lambda: next(values) for side in 'ab'}, machine)
        for _ in range(3):
            measured.run()
        settled = measured.settle()
        self.assertEqual(settled.of('a'), [0, 4])
        self.assertEqual(settled.of('b'), [1, 5])
        self.assertEqual([number for number, _ in settled.dropped], [2])
        self.assertFalse(settled.disturbed)
        self.assertEqual(rounds.reasons(settled.dropped), '1: the loop took 1.20 times its best')

    def test_what_is_learned_later_drops_what_was_before(self):
        machine = rounds.Machine(Loops(1.4, 1.4, 1, 1))
        measured = rounds.Rounds({'a': lambda: 0}, machine)
        measured.run()
        self.assertEqual(len(measured.settle().rounds), 1)
        measured.run()
        self.assertEqual([number for number, _ in measured.settle().dropped], [1])

    def test_all_disturbed(self):
        machine = rounds.Machine(Loops(1, 2, 1, 1.5, 1, 4, 1, 3, 1, 6))
        values = iter('vwxyz')
        measured = rounds.Rounds({'a': lambda: next(values)}, machine)
        for _ in range(5):
            measured.run()
        settled = measured.settle()
        self.assertTrue(settled.disturbed)
        self.assertEqual(settled.of('a'), ['w', 'v', 'y'])
        self.assertEqual(len(settled.dropped), 5)
        self.assertEqual(rounds.reasons(settled.dropped), '5: the loop took 1.50 to 6.00 times its best')
        self.assertEqual(measured.settle(least=0).rounds, [])

    def test_rounds_are_added_for_those_dropped(self):
        machine = rounds.Machine(Loops(1, 2, 1, 1, 1, 2))
        measured = rounds.Rounds({'a': lambda: 0}, machine)
        measured.run_until(undisturbed=2, most=9)
        self.assertEqual(len(measured), 4)
        measured = rounds.Rounds({'a': lambda: 0}, rounds.Machine(Loops(*[1, 2] * 9)))
        measured.run_until(undisturbed=2, most=9)
        self.assertEqual(len(measured), 9)


class IntervalTest(unittest.TestCase):
    def test_ranks_of_the_tables(self):
        # Conover, Practical Nonparametric Statistics, and every table of the sign test: two-sided, 0.05.
        for count, k in ((5, 0), (6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (20, 6), (25, 8), (30, 10), (50, 18), (100, 40)):
            self.assertEqual(paired.rank(count), k, count)

    def test_rank_is_the_largest_that_covers(self):
        for count in range(6, 301):
            k = paired.rank(count)
            outside = 2 * sum(math.comb(count, i) for i in range(k)) / 2**count
            one_more = 2 * sum(math.comb(count, i) for i in range(k + 1)) / 2**count
            self.assertLessEqual(outside, 0.05)
            self.assertGreater(one_more, 0.05)

    def test_interval(self):
        found = paired.interval(random.Random(1).sample(range(1, 31), 30))
        self.assertEqual((found.low, found.median, found.high), (10, 15.5, 21))
        self.assertEqual(paired.interval([3, 1, 2]).width, math.inf)

    def test_covers_the_median_as_often_as_it_says(self):
        draw = random.Random(7)
        inside = 0
        for _ in range(2000):
            found = paired.interval([draw.expovariate(1) for _ in range(40)])
            inside += found.low <= math.log(2) <= found.high
        self.assertGreater(inside, 0.945 * 2000)


def pairs_of(ratio, spread, count):
    """Pairs whose ratios lie evenly within spread of ratio."""
    return [(10.0, 10.0 * (ratio + spread * (2 * i / (count - 1) - 1))) for i in range(count)]


class LimitTest(unittest.TestCase):
    def test_ratio(self):
        limit = paired.RatioLimit(1.01)
        self.assertEqual(limit.verdict(pairs_of(1.0, 0.01, 30)), paired.HOLDS)
        self.assertEqual(limit.verdict(pairs_of(1.009, 0.01, 30)), paired.HOLDS)
        self.assertEqual(limit.verdict(pairs_of(1.011, 0.01, 30)), paired.EXCEEDED)
        # Ranks 10 and 21 of 30 lie 11 / 29 of the whole spread apart.
        self.assertEqual(limit.verdict(pairs_of(1.0, 0.026, 30)), paired.HOLDS)
        self.assertEqual(limit.verdict(pairs_of(1.0, 0.027, 30)), paired.NOT_RESOLVED)
        self.assertEqual(limit.verdict(pairs_of(0.9, 0.1, 30)), paired.NOT_RESOLVED)
        self.assertEqual(limit.verdict(pairs_of(1.0, 0.0, 29)), paired.NOT_RESOLVED)

    def test_without_pairs(self):
        for limit in (paired.RatioLimit(1.01), paired.DifferenceLimit(1)):
            self.assertEqual(limit.verdict([]), paired.NOT_RESOLVED)

    def test_difference(self):
        limit = paired.DifferenceLimit(0.3)
        self.assertEqual(limit.verdict(pairs_of(1.0, 0.05, 30)), paired.HOLDS)
        self.assertEqual(limit.verdict(pairs_of(1.02, 0.01, 30)), paired.HOLDS)
        self.assertEqual(limit.verdict(pairs_of(1.029, 0.01, 30)), paired.NOT_RESOLVED)
        self.assertEqual(limit.verdict(pairs_of(1.031, 0.01, 30)), paired.NOT_RESOLVED)
        self.assertEqual(limit.verdict(pairs_of(1.04, 0.01, 30)), paired.EXCEEDED)


class MeasureTest(unittest.TestCase):
    def test_stops_once_resolved(self):
        measured = paired.measure(lambda: 2.0, lambda: 2.0, [paired.RatioLimit(1.01)], quiet())
        self.assertEqual(len(measured.pairs), paired.LEAST)

    def test_which_is_old(self):
        measured = paired.measure(lambda: 2.0, lambda: 3.0, [paired.RatioLimit(1.01)], quiet())
        self.assertEqual(set(measured.pairs), {(2.0, 3.0)})
        self.assertEqual(paired.ratios(measured.pairs).median, 1.5)

    def test_pairs_are_added_until_the_interval_is_narrow(self):
        draw = random.Random(3)
        limit = paired.RatioLimit(1.01)
        measured = paired.measure(lambda: 1.0, lambda: draw.gauss(1, 0.06), [limit], quiet())
        self.assertGreater(len(measured.pairs), paired.LEAST)
        self.assertLess(len(measured.pairs), paired.MOST)
        self.assertLessEqual(paired.ratios(measured.pairs).width, paired.WIDTH)

    def test_noise_is_not_resolved(self):
        draw = random.Random(3)
        limit = paired.RatioLimit(1.01)
        measured = paired.measure(lambda: 1.0, lambda: draw.uniform(0.5, 1.5), [limit], quiet())
        self.assertEqual(measured.taken, paired.MOST)
        self.assertEqual(limit.verdict(measured.pairs), paired.NOT_RESOLVED)

    def test_dropped_pairs_do_not_count(self):
        # Each third pair is disturbed.
        times = Loops(*[1, 1, 1, 1, 1, 1, 1, 2, 1] * 100)
        measured = paired.measure(lambda: 1.0, lambda: 1.0, [paired.RatioLimit(1.01)], rounds.Machine(times))
        self.assertEqual((measured.taken, len(measured.pairs), len(measured.dropped)), (50, 34, 16))
        times = Loops(*[1, 2, 1] * 300)
        limit = paired.RatioLimit(1.01)
        measured = paired.measure(lambda: 1.0, lambda: 1.0, [limit], rounds.Machine(times))
        self.assertEqual((measured.taken, measured.pairs), (paired.MOST, []))


if __name__ == '__main__':
    unittest.main()
