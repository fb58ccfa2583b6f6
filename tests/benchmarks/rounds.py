"""Rounds of measurements in turns, and which of them count.

A round takes one turn of each side. The order changes from round to round, so that no side always runs after the same
other one. Before the first turn and after each a loop of fixed work is timed: a round around whose turns it took over
DISTURBED times its best of the whole run is dropped for all sides, so that what is left has the same number of turns of
each. What was dropped, and why, is kept.
"""
import statistics
import time

DISTURBED = 1.15


def loop_seconds():
    """Seconds that a fixed piece of work takes, the best of three."""
    best = float('inf')
    for _ in range(3):
        begin = time.perf_counter()
        sum(i * i for i in range(60000))
        best = min(best, time.perf_counter() - begin)
    return best


class Machine:
    """How long the loop takes on this machine when nothing disturbs it: its best of the whole run."""

    def __init__(self, loop=loop_seconds):
        self.loop, self.best = loop, float('inf')

    def calibrate(self):
        seconds = self.loop()
        self.best = min(self.best, seconds)
        return seconds


class Settled:
    """The rounds that count, and those that do not. `rounds`: {side: result}, in order. `dropped`: (number of the round,
    how many times its best the loop took). `disturbed`: all rounds were dropped, and `rounds` are the least disturbed of
    them nevertheless."""

    def __init__(self, rounds, dropped, disturbed):
        self.rounds, self.dropped, self.disturbed = rounds, dropped, disturbed

    def of(self, side):
        return [results[side] for results in self.rounds]


class Rounds:
    """`turns`: a function for each side, by name, which measures once and returns the result."""

    LEAST = 3  # rounds that are kept where all are disturbed

    def __init__(self, turns, machine):
        self.turns, self.machine = turns, machine
        self.taken = []  # (the loop's longest time, {side: result})

    def __len__(self):
        return len(self.taken)

    def run(self):
        sides = list(self.turns)
        shift = len(self.taken) % len(sides)
        slowest, results = self.machine.calibrate(), {}
        for side in sides[shift:] + sides[:shift]:
            results[side] = self.turns[side]()
            slowest = max(slowest, self.machine.calibrate())
        self.taken.append((slowest, results))

    def run_until(self, undisturbed, most):
        """Takes rounds until so many are undisturbed by what is known of the machine, at most `most`."""
        while len(self.taken) < most and len(self.settle(0).rounds) < undisturbed:
            self.run()

    def settle(self, least=LEAST):
        limit = DISTURBED * self.machine.best
        rounds = [results for slowest, results in self.taken if slowest <= limit]
        dropped = [(number, slowest / self.machine.best)
                   for number, (slowest, _) in enumerate(self.taken, 1) if slowest > limit]
        if rounds or not least:
            return Settled(rounds, dropped, False)
        quietest = sorted(self.taken, key=lambda taken: taken[0])[:least]
        return Settled([results for _, results in quietest], dropped, bool(self.taken))


def least_and_median(values):
    return min(values), statistics.median(values)


def reasons(dropped):
    """How many rounds were dropped and why: '2: the loop took 1.20 to 1.41 times its best'; empty where none was."""
    if not dropped:
        return ''
    least, most = ('%.2f' % pick(factor for _, factor in dropped) for pick in (min, max))
    return '%d: the loop took %s times its best' % (len(dropped), least if least == most else least + ' to ' + most)
