"""Measures whole models in Encore and in peers, in one run, and writes the table.

    ./encore bench models [--models NAME…] [--programs onnxruntime openvino] [--rounds 5] [--output FILE]

One process per model and program, all alive at once, measured in turns. Before and after each turn a loop
of fixed work is timed; turns around which it took over 1.15 times its best are dropped as disturbed (the
page says how many; where all were, the three least disturbed stay). A call is host to host, binding
included; peers have their inputs bound beforehand and are called from Python, which costs them below 10 us.

Cold: import, compile and prepare with an empty cache. Warm, for Encore: `encore run MODEL --repeat 0`, a whole
new process from exec to exit, everything cached; for peers, making a session of what they kept, in a new
process, imports apart. Error: largest difference from ONNX Runtime without optimizations, as a fraction of
the output's largest value.
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

import zoo

HERE = zoo.HERE
TOOL = os.path.join(zoo.ROOT, 'bazel-bin', 'tools', 'encore')
WORKER = os.path.join(zoo.ROOT, 'bazel-bin', 'tests', 'benchmarks', 'model_worker')
REPLAYER = os.path.join(zoo.ROOT, 'bazel-bin', 'runtime', 'replayer_benchmark')
TURN_US = 400e3
DISTURBED = 1.15


def calibrate():
    """Seconds that a fixed piece of work takes, the best of three."""
    best = float('inf')
    for _ in range(3):
        begin = time.perf_counter()
        sum(i * i for i in range(60000))
        best = min(best, time.perf_counter() - begin)
    return best


class Worker:
    """A process that has one model loaded in one program."""

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
            raise SystemExit('%s: %s ended with %s' % (self.model, self.program, self.process.wait()))
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


def error_of(worker, folder, scratch):
    path = os.path.join(scratch, 'out.npz')
    worker.ask('save ' + path)
    expected, actual = np.load(os.path.join(folder, 'expected.npz')), np.load(path)
    worst = 0.0
    for name in expected.files:
        want, have = expected[name].astype(np.float64), actual[name].astype(np.float64)
        worst = max(worst, np.abs(have.reshape(want.shape) - want).max() / max(np.abs(want).max(), 1e-30))
    return worst


def spawn_ms(command, environment):
    """A process from exec to exit."""
    begin = time.perf_counter()
    process = os.posix_spawn(command[0], command, environment,
                             file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, status = os.waitpid(process, 0)
    if status != 0:
        raise SystemExit('%s failed' % ' '.join(command))
    return (time.perf_counter() - begin) * 1e3


def warm_ms(program, model, folder, threads, kept, times=15):
    """Minimum and median of warm starts."""
    if program == 'encore':
        command = [TOOL, 'run', os.path.join(folder, 'model.onnx'), '--repeat', '0', '--threads', str(threads)]
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


def undisturbed(worker, best):
    kept = [times for calibration, times in worker.turns if calibration <= DISTURBED * best]
    if kept:
        return kept
    return [times for _, times in sorted(worker.turns, key=lambda turn: turn[0])[:3]]


def row_of(worker, best, folder, scratch, threads):
    kept = undisturbed(worker, best)
    error, peak = error_of(worker, folder, scratch), worker.peak_mib()
    return {'model': worker.model, 'program': worker.program, 'version': worker.ready.get('version', ''),
            'min_ms': min(min(times) for times in kept) / 1e3,
            'median_ms': statistics.median(statistics.median(times) for times in kept) / 1e3,
            'cold_ms': worker.ready['load_ms'], 'peak_mib': peak, 'error': error, 'ready': worker.ready,
            'turns': len(worker.turns), 'dropped': sum(c > DISTURBED * best for c, _ in worker.turns),
            'threads': threads}


def measure(arguments, scratch):
    kept = {}
    workers = []
    for model in arguments.models:
        folder = zoo.make(model, arguments.zoo)
        for program in ['encore'] + arguments.programs:
            kept[model, program] = os.path.join(scratch, model, program)
            os.makedirs(kept[model, program], mode=0o700)
            workers.append(Worker(program, model, folder, arguments.threads, kept[model, program]))
            print('ready:', model, program, file=sys.stderr)
    for worker in workers:
        worker.warm_up()
    for done in range(arguments.rounds):
        for worker in workers:
            worker.turn()
        print('round %d of %d' % (done + 1, arguments.rounds), file=sys.stderr)
    best = min(calibration for worker in workers for calibration, _ in worker.turns)
    rows = []
    for worker in workers:
        folder = os.path.join(arguments.zoo, worker.model)
        rows.append(row_of(worker, best, folder, scratch, arguments.threads))
    for worker in workers:
        worker.end()
    # Files that are younger than two seconds are not remembered by their stamps.
    time.sleep(2.1)
    for row in rows:
        folder = os.path.join(arguments.zoo, row['model'])
        key = row['model'], row['program']
        row['warm_ms'], row['warm_median_ms'] = warm_ms(key[1], key[0], folder, arguments.threads, kept[key])
    return rows


def replay_lines():
    """Costs of steps and calls, from the runtime's own benchmark, three repetitions, minimum."""
    if not os.path.exists(REPLAYER):
        return []
    out = subprocess.run([REPLAYER, '--benchmark_format=json', '--benchmark_repetitions=5', '--benchmark_min_time=0.1'], check=True,
                         capture_output=True, text=True).stdout
    best = {}
    for run in json.loads(out)['benchmarks']:
        if run['run_type'] == 'iteration':
            best[run['name']] = min(best.get(run['name'], float('inf')), run['real_time'])
    step = (best['BM_ThousandSteps/1'] - best['BM_ThousandCallsByHand']) / 1000
    return ['## Replay', '', '    ./encore bench replay', '',
            '| figure | ns | goal |', '|---|---|---|',
            '| a step of a thousand, beyond the same kernel called in a loop by hand | %.1f | 50 |' % step,
            '| the kernel called by hand | %.1f | |' % (best['BM_ThousandCallsByHand'] / 1000),
            '| a call of a one-step graph, binding included, 1 thread | %.0f | 1,000 |' % best['BM_OneAdd/1'],
            '| the same, 2 threads | %.0f | 1,000 |' % best['BM_OneAdd/2'], '']


def cpu():
    with open('/proc/cpuinfo') as file:
        text = file.read()
    name = next((line.split(':')[1].strip() for line in text.splitlines() if line.startswith('model name')),
                platform.processor())
    return name, 'AVX-512' if ' avx512f' in text else 'AVX2' if ' avx2' in text else platform.machine()


def page(rows, arguments):
    name, isa = cpu()
    encore = {row['model']: row for row in rows if row['program'] == 'encore'}
    lines = ['# Figures', '', 'Made by', '',
             '    ./encore bench models --models %s --programs %s --rounds %d --output tests/benchmarks/results.md' % (
                 ' '.join(arguments.models), ' '.join(arguments.programs), arguments.rounds), '',
             'on %s, %s, %s, %d threads, load %s at the start. How it is measured is at the top of `models.py`;' % (
                 datetime.date.today(), name, isa, arguments.threads, arguments.load),
             'milliseconds are of this run alone, ratios compare.', '',
             '## Models', '',
             '| model | program | version | min, ms | median, ms | cold, ms | warm, ms (median) | peak, MiB | error | turns (dropped) |',
             '|---|---|---|---|---|---|---|---|---|---|']
    for row in rows:
        lines.append('| %s | %s | %s | %.2f | %.2f | %.0f | %.1f (%.1f) | %.0f | %.1e | %d (%d) |' % (
            row['model'], row['program'], row['version'] or 'this', row['min_ms'], row['median_ms'], row['cold_ms'],
            row['warm_ms'], row['warm_median_ms'], row['peak_mib'], row['error'], row['turns'], row['dropped']))
    lines += ['', '## Encore against the goals', '',
              '| model | latency / ONNX Runtime, min | goal | cold, s | goal | warm, ms | goal | arena / live bytes | goal |',
              '|---|---|---|---|---|---|---|---|---|']
    for model, row in encore.items():
        peer = next((r for r in rows if r['model'] == model and r['program'] == 'onnxruntime'), None)
        trained = model in zoo.TRAINED
        live = max(row['ready']['live_bytes'], 1)
        lines.append('| %s | %s | %s | %.2f | %s | %.1f | %s | %.3f | 1.05 |' % (
            model, '%.2f' % (row['min_ms'] / peer['min_ms']) if peer else '', '2' if trained else '',
            row['cold_ms'] / 1e3, '3' if trained else '', row['warm_ms'],
            '15' if trained else '30' if model == 'resnet50' else '', row['ready']['arena_bytes'] / live))
    return '\n'.join(lines + [''] + replay_lines())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--models', nargs='+', default=zoo.NAMES, choices=zoo.NAMES, metavar='NAME')
    parser.add_argument('--programs', nargs='*', default=['onnxruntime'], choices=['onnxruntime', 'openvino'])
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--zoo', default=os.path.join(zoo.HOME, 'zoo'), help='where models are made')
    parser.add_argument('--output', help='the page; standard output without it')
    arguments = parser.parse_args()
    arguments.load = '%.1f' % os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as scratch:
        text = page(measure(arguments, scratch), arguments)
    if arguments.output:
        with open(arguments.output, 'w') as file:
            file.write(text)
    else:
        print(text)


if __name__ == '__main__':
    main()
