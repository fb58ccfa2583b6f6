"""Measures whole models in Encore and in peers, in one run, and writes the tables.

    ./encore bench models [--models NAME…|--group GROUP…] [--programs onnxruntime openvino] [--rounds 5]
                          [--results FILE.json] [--output PAGE.md]

The models are the rows of zoo/table.py. For each, one process per program, all alive at once, measured in
turns. Before and after each turn a loop of fixed work is timed; turns around which it took over 1.15 times
its best of the whole run are dropped as disturbed (the page says how many; where all were, the three least
disturbed stay). A call is host to host, binding included; peers have their inputs bound beforehand and are
called from Python, which costs them below 10 us.

Cold: import, compile and prepare with an empty cache. Warm, for Encore: `encore run MODEL --repeat 0`, a whole
new process from exec to exit, everything cached; for peers, making a session of what they kept, in a new
process, imports apart. Error: largest difference from ONNX Runtime without optimizations, as a fraction of
the output's largest value; a program agrees where every element is within 1e-4 + 1e-3 of its size.

With --results, rows are kept in that file, those of other models and programs from earlier runs with them,
and the page shows them all, each model with its date and load.
"""
import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, 'zoo'))

import make  # noqa: E402 (zoo/)
import page  # noqa: E402
import table  # noqa: E402 (zoo/)

TOOL = os.path.join(ROOT, 'bazel-bin', 'tools', 'encore')
WORKER = os.path.join(ROOT, 'bazel-bin', 'tests', 'benchmarks', 'model_worker')
TURN_US = 400e3
DISTURBED = 1.15
RTOL, ATOL = 1e-3, 1e-4


def calibrate():
    """Seconds that a fixed piece of work takes, the best of three."""
    best = float('inf')
    for _ in range(3):
        begin = time.perf_counter()
        sum(i * i for i in range(60000))
        best = min(best, time.perf_counter() - begin)
    return best


class Failed(Exception):
    pass


class Worker:
    """A process that has one model loaded in one program. Failed where the program cannot run it."""

    def __init__(self, program, model, folder, threads, kept):
        self.program, self.model = program, model
        paths = [os.path.join(folder, 'model.onnx'), os.path.join(folder, 'inputs.npz'), str(threads), kept]
        command = ([WORKER] if program == 'encore' else
                   [sys.executable, os.path.join(HERE, 'peer_worker.py'), program]) + paths
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = self.answer()
        self.turns = []  # (calibration, times in us)
        self.per_turn = 1

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failed('%s: %s ended with %s' % (self.model, self.program, self.process.wait()))
        return json.loads(line)

    def ask(self, text):
        self.process.stdin.write(text + '\n')
        self.process.stdin.flush()
        return self.answer()

    def warm_up(self):
        first = min(self.ask('time 3')['us'])
        self.per_turn = int(min(max(TURN_US / first, 3), 5000))

    def turn(self):
        before = calibrate()
        times = self.ask('time %d' % self.per_turn)['us']
        self.turns.append((max(before, calibrate()), times))

    def peak_mib(self):
        with open('/proc/%d/status' % self.process.pid) as file:
            return next(int(line.split()[1]) for line in file if line.startswith('VmHWM')) / 1024

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def compare(worker, folder, scratch):
    """(error, whether the program agrees)."""
    path = os.path.join(scratch, 'out.npz')
    worker.ask('save ' + path)
    expected, actual = np.load(os.path.join(folder, 'expected.npz')), np.load(path)
    worst, agrees = 0.0, True
    for name in expected.files:
        want, have = expected[name].astype(np.float64), actual[name].astype(np.float64)
        difference = np.abs(have.reshape(want.shape) - want)
        worst = max(worst, difference.max() / max(np.abs(want).max(), 1e-30))
        agrees &= bool((difference <= ATOL + RTOL * np.abs(want)).all())
    return worst, agrees


def spawn_ms(command, environment):
    """A process from exec to exit."""
    begin = time.perf_counter()
    process = os.posix_spawn(command[0], command, environment,
                             file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, status = os.waitpid(process, 0)
    if status != 0:
        raise SystemExit('%s failed' % ' '.join(command))
    return (time.perf_counter() - begin) * 1e3


def sizes_are_known(path):
    """Whether the model says the size of every input."""
    graph = onnx.load(path, load_external_data=False).graph
    return all(dim.HasField('dim_value') for value in graph.input for dim in value.type.tensor_type.shape.dim)


def warm_ms(program, model, folder, threads, kept, times=15):
    """Minimum and median of warm starts."""
    if program == 'encore':
        path = os.path.join(folder, 'model.onnx')
        command = [TOOL, 'run', path, '--repeat', '0', '--threads', str(threads)]
        if not sizes_are_known(path):
            command += ['--input', os.path.join(folder, 'inputs.npz')]
        environment = {**os.environ, 'ENCORE_CACHE': kept}
        spawn_ms(command, environment)
        found = [spawn_ms(command, environment) for _ in range(times)]
    else:
        found = []
        for _ in range(3):
            worker = Worker(program, model, folder, threads, kept)
            found.append(worker.ready['load_ms'])
            worker.end()
    return min(found), statistics.median(found)


def start(program, model, folder, threads, kept):
    os.makedirs(kept, mode=0o700)
    try:
        worker = Worker(program, model, folder, threads, kept)
        worker.warm_up()
        return worker
    except Failed as failed:
        print(failed, file=sys.stderr)
        return None


def measure_model(model, arguments, scratch):
    """The rows of one model, with all turns; times are taken out of them once the whole run is known."""
    folder = make.make(model, arguments.zoo)
    programs = ['encore'] + arguments.programs
    kept = {program: os.path.join(scratch, model, program) for program in programs}
    workers = {program: start(program, model, folder, arguments.threads, kept[program]) for program in programs}
    for _ in range(arguments.rounds):
        for worker in filter(None, workers.values()):
            worker.turn()
    rows = []
    for program, worker in workers.items():
        row = {'model': model, 'program': program, 'threads': arguments.threads,
               'date': str(datetime.date.today()), 'load': os.getloadavg()[0], 'device': device(),
               'fails': worker is None}
        rows.append(row)
        if worker is None:
            continue
        error, agrees = compare(worker, folder, scratch)
        row.update(version=worker.ready.pop('version', ''), cold_ms=worker.ready['load_ms'], error=error,
                   agrees=agrees, peak_mib=worker.peak_mib(), ready=worker.ready, turns=worker.turns)
        worker.end()
    # Files that are younger than two seconds are not remembered by their stamps.
    time.sleep(2.1)
    for row in rows:
        if not row['fails']:
            row['warm_ms'], row['warm_median_ms'] = warm_ms(row['program'], model, folder, arguments.threads,
                                                            kept[row['program']])
    return rows


def settle_times(rows):
    """Replaces each row's turns by the times of those that nothing disturbed."""
    rows = [row for row in rows if not row['fails']]
    best = min(calibration for row in rows for calibration, _ in row['turns'])
    for row in rows:
        turns = row.pop('turns')
        kept = [times for calibration, times in turns if calibration <= DISTURBED * best]
        row['turns'], row['dropped'] = len(turns), len(turns) - len(kept)
        if not kept:
            kept = [times for _, times in sorted(turns, key=lambda turn: turn[0])[:3]]
        row['min_us'] = min(min(times) for times in kept)
        row['median_us'] = statistics.median(statistics.median(times) for times in kept)


def device():
    with open('/proc/cpuinfo') as file:
        text = file.read()
    name = next((line.split(':')[1].strip() for line in text.splitlines() if line.startswith('model name')),
                platform.processor())
    isa = 'AVX-512' if ' avx512f' in text else 'AVX2' if ' avx2' in text else platform.machine()
    return '%s, %s' % (name, isa)


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--models', nargs='+', choices=list(table.BY_NAME), metavar='NAME')
    parser.add_argument('--group', nargs='+', default=['first', 'models', 'overhead'],
                        choices=['first', 'models', 'overhead'])
    parser.add_argument('--programs', nargs='*', default=['onnxruntime', 'openvino'],
                        choices=['onnxruntime', 'openvino'])
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--zoo', default=make.OUT, help='where models are made')
    parser.add_argument('--results', help='where rows are kept')
    parser.add_argument('--output', help='the page; standard output without it')
    arguments = parser.parse_args()
    rows = []
    for model in arguments.models or table.names(*arguments.group):
        with tempfile.TemporaryDirectory() as scratch:
            rows += measure_model(model, arguments, scratch)
        print('measured', model, file=sys.stderr)
    settle_times(rows)
    text = page.render(merged(rows, arguments.results))
    if arguments.output:
        with open(arguments.output, 'w') as file:
            file.write(text)
    else:
        print(text)


if __name__ == '__main__':
    main()
