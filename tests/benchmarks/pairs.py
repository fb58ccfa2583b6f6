#!/usr/bin/env python3
"""Two builds side by side, in pairs, against a limit.

    ./encore bench pairs warm OLD_TOOL NEW_TOOL MODEL…            [--limit-ms 0.3] [--limit RATIO]
    ./encore bench pairs cold OLD_TOOL NEW_TOOL MODEL…            [--limit 1.01]
    ./encore bench pairs latency OLD_WORKER NEW_WORKER MODEL…     [--limit 1.01]
    ./encore bench pairs packages TOOL OLD.encore NEW.encore      [--limit 1.01]

warm: a pair is a process of each build, `TOOL run MODEL --repeat 0` with everything cached, from exec to exit.
cold: the same with an empty cache, in seconds of CPU of all threads, which other work on the machine disturbs least.
latency: a pair is a turn of each build's worker (bazel-bin/tests/benchmarks/model_worker), of TURN_MS or one call, and
counts with the median of its calls, host to host, binding included. Both processes are alive at once, and others take
their places every RENEWED pairs, so that where one process happened to lie in memory is no property of a build.
packages: two compiled graphs in one tool; a pair is a process of each, `TOOL replay bench`, which replays for as long.

A MODEL is a name of zoo/table.py, or a path to an ONNX file beside which lies an inputs.npz. Each build has a cache of its
own. Pairs are taken in changing order, 30 to 300, until the limits are resolved (paired.py says when); those during
which the machine was disturbed are dropped (rounds.py), and the table says how many. The exit status is 0 where every
limit holds, 1 where one is exceeded or not resolved.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import paired
import rounds
import worker

HERE = os.path.dirname(os.path.abspath(__file__))
TURN_MS = 100
MOST_CALLS = 5000
WARMUP = 3
RENEWED = 30


def calls_per_turn(slowest_us):
    return int(min(max(1e3 * TURN_MS / slowest_us, 1), MOST_CALLS))


def files_of(model, zoo):
    """(model, inputs) of a name of the zoo, where it is made if need be, or of a path."""
    if not os.path.exists(model):
        sys.path.insert(0, os.path.join(HERE, 'zoo'))
        import make  # pylint: disable=import-outside-toplevel; wants packages that files do not
        if model not in make.table.BY_NAME:
            raise SystemExit('%s: no such file, and zoo/table.py has no such row' % model)
        model = os.path.join(make.make(model, zoo or make.OUT), 'model.onnx')
    path = os.path.abspath(model)
    return path, os.path.join(os.path.dirname(path), 'inputs.npz')


class Latency:
    """Turns of both builds' workers on one model."""

    def __init__(self, programs, model, inputs, threads, scratch):
        self.commands = {side: [os.path.abspath(program), model, inputs, str(threads), os.path.join(scratch, side)]
                         for side, program in programs.items()}
        for command in self.commands.values():
            os.makedirs(command[-1], mode=0o700)
        self.workers, self.turns = {}, 0
        self.renew()
        self.calls = calls_per_turn(max(min(each.times(WARMUP)) for each in self.workers.values()))

    def renew(self):
        self.end()
        self.workers = {side: worker.Worker(command, side) for side, command in self.commands.items()}
        for each in self.workers.values():
            each.times(WARMUP)

    def turn(self, side):
        if self.turns and self.turns % (2 * RENEWED) == 0:
            self.renew()
        self.turns += 1
        return statistics.median(self.workers[side].times(self.calls)) / 1e3

    def end(self):
        for each in self.workers.values():
            each.end()


def replay_ms(tool, package, calls, threads):
    done = subprocess.run([tool, 'replay', 'bench', package, '--trust', '--threads', str(threads), '--warmup',
                           str(WARMUP), '--repeat', str(calls), '--json', '-'], capture_output=True, text=True, check=False)
    if done.returncode:
        raise worker.Failed('%s: %s' % (package, done.stderr.strip()))
    return json.loads(done.stdout)['latency_us']['median'] / 1e3


def measure(arguments, sides, model, limits, machine, scratch):
    """The pairs of one model, in milliseconds."""
    if arguments.what == 'packages':
        slowest = max(replay_ms(arguments.tool, package, WARMUP, arguments.threads) for package in sides.values())
        calls = calls_per_turn(1e3 * slowest)
        turn = {side: lambda package=package: replay_ms(arguments.tool, package, calls, arguments.threads)
                for side, package in sides.items()}
        return paired.measure(turn['old'], turn['new'], limits, machine)
    path, inputs = files_of(model, arguments.zoo)
    if arguments.what == 'latency':
        both = Latency(sides, path, inputs, arguments.threads, scratch)
        try:
            return paired.measure(lambda: both.turn('old'), lambda: both.turn('new'), limits, machine)
        finally:
            both.end()
    kind = worker.ColdStarts if arguments.what == 'cold' else worker.Starts
    starts = {side: kind(tool, path, inputs, arguments.threads, os.path.join(scratch, side))
              for side, tool in sides.items()}
    worker.let_files_age()
    for each in starts.values():
        each.milliseconds()
    return paired.measure(starts['old'].milliseconds, starts['new'].milliseconds, limits, machine)


def head(limits):
    cells = ['', 'old, ms', 'new, ms', 'new - old, ms (95 %)', 'new / old (95 %)', 'pairs (dropped)']
    cells += [title for title, _ in limits]
    return '| %s |\n|%s' % (' | '.join(cells), '---|' * len(cells))


def row(title, measured, limits):
    if not measured.pairs:
        return '| %s | | | | | %d (%s) |%s' % (title, measured.taken, rounds.reasons(measured.dropped),
                                              ' %s |' % paired.NOT_RESOLVED * len(limits))
    old, new = zip(*measured.pairs)
    difference, ratio = paired.differences(measured.pairs), paired.ratios(measured.pairs)
    cells = [title] + ['%.3f / %.3f' % rounds.least_and_median(side) for side in (old, new)]
    cells += ['%+.3f (%+.3f to %+.3f)' % (difference.median, difference.low, difference.high),
              '%.3f (%.3f to %.3f)' % (ratio.median, ratio.low, ratio.high),
              '%d (%s)' % (measured.taken, rounds.reasons(measured.dropped) or '0')]
    cells += [limit.verdict(measured.pairs) for _, limit in limits]
    return '| %s |' % ' | '.join(cells)


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(dest='what', required=True)
    for what, names in (('warm', ('OLD_TOOL', 'NEW_TOOL')), ('cold', ('OLD_TOOL', 'NEW_TOOL')),
                        ('latency', ('OLD_WORKER', 'NEW_WORKER')), ('packages', ('OLD.encore', 'NEW.encore'))):
        mode = modes.add_parser(what)
        if what == 'packages':
            mode.add_argument('tool', metavar='TOOL')
        mode.add_argument('old', metavar=names[0])
        mode.add_argument('new', metavar=names[1])
        if what != 'packages':
            mode.add_argument('models', nargs='+', metavar='MODEL')
            mode.add_argument('--zoo', help='where models are made')
        mode.add_argument('--threads', type=int, default=2)
        mode.add_argument('--limit', type=float, metavar='RATIO', default=None if what == 'warm' else 1.01)
        mode.add_argument('--limit-ms', type=float, metavar='MS', default=0.3 if what == 'warm' else None)
    return parser.parse_args(words)


def main(words, machine):
    arguments = parse(words)
    limits = []
    if arguments.limit_ms is not None:
        limits.append(('at most %g ms more' % arguments.limit_ms, paired.DifferenceLimit(arguments.limit_ms)))
    if arguments.limit is not None:
        limits.append(('at most %g times' % arguments.limit, paired.RatioLimit(arguments.limit)))
    sides = {'old': arguments.old, 'new': arguments.new}
    held = True
    print(head(limits))
    for model in [arguments.new] if arguments.what == 'packages' else arguments.models:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                measured = measure(arguments, sides, model, [limit for _, limit in limits], machine, scratch)
            except worker.Failed as failed:
                raise SystemExit(str(failed)) from failed
        print(row(model, measured, limits), flush=True)
        held &= all(limit.verdict(measured.pairs) == paired.HOLDS for _, limit in limits)
    return 0 if held else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:], rounds.Machine()))
