"""Measures whole models in Encore and in peers, in one run, and writes the tables.

    ./encore bench models [--models NAME…|--group GROUP…] [--programs onnxruntime openvino] [--rounds 5] [--cold 3]
                          [--starts 15] [--threads 2] [--clock FILE.so] [--results FILE.json] [--output PAGE.md]

The models are the rows of zoo/table.py. For each, one process per program, all alive at once, measured in turns by the
same rules: as many rounds, as many calls in a turn (what the slowest program makes of TURN_US), the same statistics. A round in
which the machine was disturbed is dropped for all programs (rounds.py) and another one taken, until --rounds are left or three
times as many were taken; the page says how many were dropped and by how much they were disturbed, and marks a row all of whose
rounds were. A call is host to host, inputs bound beforehand, outputs in memory that stays; Encore binds its inputs anew in
each call. Peers are called from Python, which costs them below 10 us.

Cold: from having the program's code in memory until the first call can be made, with an empty cache: import, compile, prepare.
Warm: the same in a new process with everything cached. Both without the process's own start and its imports, the same number
of times for each program, in turns; before warm starts are measured each program makes one that does not count. Exec to exit:
`encore run MODEL --repeat 0` as a whole process, which is what the goals are of. Memory: the peak of the process, and what of it
was there before the model was opened (for peers, Python and its modules). Error: largest difference from ONNX Runtime without
optimizations, as a fraction of the output's largest value; a program agrees where every element is within 1e-4 + 1e-3 of its
size.

On a machine that is shared with others, --threads 1 with --clock, cpu_clock.c as a library, has all programs measure their own
CPU time; starts from exec to exit stay what they are.

With --results, rows are kept in that file, those of other models and programs from earlier runs with them, and the page shows
them all, each model with its date and load.
"""
import argparse
import datetime
import json
import os
import shutil
import statistics
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, 'zoo'))

import device  # noqa: E402
import make  # noqa: E402 (zoo/)
import page  # noqa: E402
import rounds  # noqa: E402
import table  # noqa: E402 (zoo/)
import worker  # noqa: E402

TOOL = os.path.join(ROOT, 'bazel-bin', 'tools', 'encore')
WORKER = os.path.join(ROOT, 'bazel-bin', 'tests', 'benchmarks', 'model_worker')
TURN_US = 400e3
LEAST_CALLS, MOST_CALLS = 3, 5000
RTOL, ATOL = 1e-3, 1e-4
PROCESS = 'encore, exec to exit'


def compare(process, folder, scratch):
    """(error, whether the program agrees)."""
    path = os.path.join(scratch, 'out.npz')
    process.ask('save ' + path)
    expected, actual = np.load(os.path.join(folder, 'expected.npz')), np.load(path)
    worst, agrees = 0.0, True
    for name in expected.files:
        want, have = expected[name].astype(np.float64), actual[name].astype(np.float64)
        difference = np.abs(have.reshape(want.shape) - want)
        worst = max(worst, difference.max() / max(np.abs(want).max(), 1e-30))
        agrees &= bool((difference <= ATOL + RTOL * np.abs(want)).all())
    return worst, agrees


def calls_per_turn(slowest_us):
    return int(min(max(TURN_US / slowest_us, LEAST_CALLS), MOST_CALLS))


def figures(prefix, settled, side):
    """What a row says of times in milliseconds."""
    least, median = rounds.least_and_median(settled.of(side))
    return {prefix + '_ms': least, prefix + '_median_ms': median, prefix + '_runs': len(settled.rounds),
            prefix + '_dropped': rounds.reasons(settled.dropped), prefix + '_disturbed': settled.disturbed}


class Model:
    """One model in all programs. Rounds are settled once the whole run is known."""

    def __init__(self, name, arguments, machine, scratch):
        self.name, self.arguments, self.machine, self.scratch = name, arguments, machine, scratch
        self.folder = make.make(name, arguments.zoo)
        self.failed = set()
        self.kept = {}  # where each program keeps what it made
        self.workers, self.said = {}, {}
        self.cold = self.calls = self.warm = None
        self.load = 0.0  # of the machine, after all was measured

    def process(self, program, kept):
        """A new process that has the model; None, and no further try, where the program cannot run it."""
        if program in self.failed:
            return None
        paths = [self.folder + '/model.onnx', self.folder + '/inputs.npz', str(self.arguments.threads), kept]
        command = [WORKER] if program == 'encore' else [sys.executable, os.path.join(HERE, 'peer_worker.py'), program]
        if self.arguments.clock:
            command = ['env', 'LD_PRELOAD=' + os.path.abspath(self.arguments.clock)] + command
        try:
            return worker.Worker(command + paths, '%s: %s' % (self.name, program))
        except worker.Failed as failed:
            print(failed, file=sys.stderr)
            self.failed.add(program)
            return None

    def load_cold(self, program):
        """Milliseconds with an empty cache. The process stays until the next one."""
        if program in self.workers:
            self.workers.pop(program).end()
            shutil.rmtree(self.kept[program])
        self.kept[program] = tempfile.mkdtemp(dir=self.scratch)
        process = self.process(program, self.kept[program])
        if process is None:
            return None
        self.workers[program] = process
        return process.ready['load_ms']

    def first_calls(self, program):
        """Microseconds of the best of a few; None where the program cannot make them."""
        try:
            return min(self.workers[program].times(LEAST_CALLS))
        except worker.Failed as failed:
            print(failed, file=sys.stderr)
            self.failed.add(program)
            del self.workers[program]
            return None

    def load_warm(self, program):
        process = self.process(program, self.kept[program])
        if process is None:
            raise worker.Failed('%s: %s runs cold, and not warm' % (self.name, program))
        process.end()
        return process.ready['load_ms']

    def turns(self, turn, programs):
        return rounds.Rounds({program: lambda program=program: turn(program) for program in programs}, self.machine)

    def measure(self):
        self.cold = self.turns(self.load_cold, ['encore'] + self.arguments.programs)
        for _ in range(self.arguments.cold):
            self.cold.run()
        first = {program: self.first_calls(program) for program in list(self.workers)}
        if not self.workers:
            return
        calls = calls_per_turn(max(us for us in first.values() if us))
        self.calls = self.turns(lambda program: rounds.least_and_median(self.workers[program].times(calls)), self.workers)
        self.calls.run_until(self.arguments.rounds, 3 * self.arguments.rounds)
        for program, process in self.workers.items():
            error, agrees = compare(process, self.folder, self.scratch)
            self.said[program] = {'error': error, 'agrees': agrees, 'peak_mib': process.peak_mib(),
                                  'version': process.ready.pop('version', ''), 'base_mib': process.ready.pop('base_mib'),
                                  'ready': process.ready, 'calls': calls}
            process.end()
        worker.let_files_age()
        self.measure_warm()
        self.load = os.getloadavg()[0]

    def measure_warm(self):
        self.warm = self.turns(self.load_warm, self.said)
        if 'encore' in self.said:
            starts = worker.Starts(TOOL, self.folder + '/model.onnx', self.folder + '/inputs.npz',
                                   self.arguments.threads, self.kept['encore'])
            self.warm.turns[PROCESS] = starts.milliseconds
        for turn in self.warm.turns.values():
            turn()
        for _ in range(self.arguments.starts):
            self.warm.run()

    def figures(self, program):
        calls, warm = self.calls.settle(), self.warm.settle()
        least, medians = zip(*calls.of(program))
        return {**self.said[program], 'min_us': min(least), 'median_us': statistics.median(medians),
                'rounds': len(calls.rounds), 'dropped': rounds.reasons(calls.dropped), 'disturbed': calls.disturbed,
                **figures('cold', self.cold.settle(), program), **figures('warm', warm, program),
                **(figures('process', warm, PROCESS) if program == 'encore' else {})}

    def rows(self):
        for program in ['encore'] + self.arguments.programs:
            row = {'model': self.name, 'program': program, 'threads': self.arguments.threads,
                   'date': str(datetime.date.today()), 'load': self.load, 'device': device.name(),
                   'fails': program not in self.said}
            row.update({} if row['fails'] else self.figures(program))
            yield row


def merged(rows, path):
    """`rows` and those of other models that the file has, which then has all."""
    if not path:
        return rows
    earlier = []
    if os.path.exists(path):
        with open(path) as file:
            earlier = [json.loads(line) for line in file]
    measured = {row['model'] for row in rows}
    rows = rows + [row for row in earlier if row['model'] not in measured]
    order = list(table.BY_NAME)
    rows.sort(key=lambda row: order.index(row['model']))
    with open(path, 'w') as file:
        for row in rows:
            file.write(json.dumps(row) + '\n')
    return rows


def command(arguments):
    """What makes the page: the groups that are measured as a rule are not named."""
    if 'architectures' not in arguments.group:
        return page.COMMAND
    how = ' --threads %d' % arguments.threads if arguments.threads != 2 else ''
    how += ' --clock %s' % os.path.basename(arguments.clock) if arguments.clock else ''
    files = ''.join(' --%s %s' % (name, value) for name, value in
                    (('results', arguments.results), ('output', arguments.output)) if value)
    return './encore bench models --group %s%s%s' % (' '.join(arguments.group), how, files)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--models', nargs='+', choices=list(table.BY_NAME), metavar='NAME')
    parser.add_argument('--group', nargs='+', default=['first', 'models', 'overhead'],
                        choices=['first', 'models', 'overhead', 'architectures'])
    parser.add_argument('--programs', nargs='*', default=['onnxruntime', 'openvino'],
                        choices=['onnxruntime', 'openvino'])
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--rounds', type=int, default=5, help='undisturbed ones; at most three times as many are taken')
    parser.add_argument('--cold', type=int, default=3, help='cold starts of each program')
    parser.add_argument('--starts', type=int, default=15, help='warm starts of each program')
    parser.add_argument('--clock', metavar='FILE.so', help='preloaded into all programs')
    parser.add_argument('--zoo', default=make.OUT, help='where models are made')
    parser.add_argument('--results', help='where rows are kept')
    parser.add_argument('--output', help='the page; standard output without it')
    arguments = parser.parse_args()
    machine, measured = rounds.Machine(), []
    for name in arguments.models or table.names(*arguments.group):
        with tempfile.TemporaryDirectory() as scratch:
            measured.append(Model(name, arguments, machine, scratch))
            measured[-1].measure()
        print('measured', name, file=sys.stderr)
    rows = [row for model in measured for row in model.rows()]
    text = page.render(merged(rows, arguments.results), command(arguments))
    if arguments.output:
        with open(arguments.output, 'w') as file:
            file.write(text)
    else:
        print(text)


if __name__ == '__main__':
    main()
