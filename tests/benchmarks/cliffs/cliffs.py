"""Looks for cliffs: drawn kernels in Encore and in peers, and against the roofline of the machine.

    ./encore bench cliffs --seed S [--count 200] [--resume FILE] [--programs onnxruntime openvino]
                          [--threads 2] [--clock FILE.so] [--families NAME…] [--numbers N…] [--denormal]

Kernels number 0 to COUNT - 1 of the seed (draw.py) are each made as an ONNX model and timed, host to host, in all programs in turns:
the least of ROUNDS turns of as many calls, less what the same program takes for a graph of one Identity of one float. A time
counts as at least LEAST_US. The ratio is Encore's time to the better peer's. The roofline is the larger of the operations at
the machine's peak and the bytes at the bandwidth of the smallest level that holds them (`./encore bench peak`, in the same
run). Encore's outputs are compared with the first peer's.

On a machine that is shared with others, --threads 1 with --clock, ../cpu_clock.c as a library, has all programs measure their own
CPU time in place of time.

With --resume, each kernel's row is appended to FILE as it is measured, and what is there already is not measured again.
With --families or --numbers only those of the kernels are measured and printed. Printed are shares, families, and the worst twenty
with the steps that `encore replay profile` shows of them.

With --denormal, Encore alone: each kernel with inputs that are all denormal (the same, times 2^-130; weights stay), in turns with
itself on the usual ones. The ratio is the time of the former to that of the latter.
"""
import argparse
import concurrent.futures
import datetime
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

HERE = os.path.dirname(os.path.abspath(__file__))
BENCHMARKS = os.path.dirname(HERE)
BIN = os.path.join(os.path.dirname(os.path.dirname(BENCHMARKS)), 'bazel-bin')
sys.path.insert(0, BENCHMARKS)

import device  # noqa: E402
import draw  # noqa: E402
import report  # noqa: E402
import rounds  # noqa: E402
import worker  # noqa: E402

TOOL = os.path.join(BIN, 'tools', 'encore')
WORKER, PEAK = (os.path.join(BIN, 'tests', 'benchmarks', name) for name in ('model_worker', 'peak'))
TURN_US, LEAST_CALLS, MOST_CALLS = 10e3, 2, 1000
ROUNDS = 8
LEAST_US = 1.0
DENORMAL = np.float32(2)**np.float32(-130)


class Programs:
    """All programs with one model, while in scope; `failed` names those that cannot run it. report.DENORMAL is Encore too."""

    def __init__(self, names, model, inputs, threads, clock):
        self.scratch = tempfile.TemporaryDirectory()
        self.environment = ['env', 'LD_PRELOAD=' + os.path.abspath(clock)] if clock else []
        folder = self.scratch.name
        onnx.save(model, os.path.join(folder, 'model.onnx'))
        np.savez(os.path.join(folder, 'inputs.npz'), **inputs)
        np.savez(os.path.join(folder, report.DENORMAL + '.npz'), **{name: value * DENORMAL for name, value in inputs.items()})
        with concurrent.futures.ThreadPoolExecutor() as pool:
            started = {name: pool.submit(self.start, name, self.arguments(name, threads)) for name in names}
            self.workers = {name: future.result() for name, future in started.items()}
        self.failed = [name for name, process in self.workers.items() if process is None]
        self.workers = {name: process for name, process in self.workers.items() if process}

    def arguments(self, name, threads):
        inputs = name if name == report.DENORMAL else 'inputs'
        return [os.path.join(self.scratch.name, file) for file in ('model.onnx', inputs + '.npz')] + [str(threads)]

    def start(self, name, arguments):
        if name in ('encore', report.DENORMAL):
            cache = os.path.join(self.scratch.name, 'cache of ' + name)
            os.makedirs(cache, mode=0o700)
            command = [WORKER, *arguments, cache]
        else:
            command = [sys.executable, os.path.join(BENCHMARKS, 'peer_worker.py'), name, *arguments, '']
        try:
            return worker.Worker(self.environment + command, name)
        except worker.Failed as failed:
            print(failed, file=sys.stderr)
            return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.workers.values():
            process.end()
        self.scratch.cleanup()

    def least_us(self, machine):
        """{program: microseconds of its best call}."""
        slowest = max(min(process.times(LEAST_CALLS)) for process in self.workers.values())
        calls = int(min(max(TURN_US / slowest, LEAST_CALLS), MOST_CALLS))
        turns = rounds.Rounds({name: lambda process=process: min(process.times(calls))
                               for name, process in self.workers.items()}, machine)
        for _ in range(ROUNDS):
            turns.run()
        return {name: min(results[name] for _, results in turns.taken) for name in self.workers}

    def difference(self):
        """Between Encore and the first peer that runs it, as a fraction of the largest element; None without both."""
        saved = []
        for name in [name for name in self.workers if name == 'encore'] + [name for name in self.workers if name != 'encore'][:1]:
            path = os.path.join(self.scratch.name, name + '.npz')
            self.workers[name].ask('save ' + path)
            with np.load(path) as file:
                saved.append(next(iter(file.values())).astype(np.float64).ravel())
        if len(saved) < 2 or 'encore' in self.failed:
            return None
        return float(np.abs(saved[0] - saved[1]).max() / max(np.abs(saved[1]).max(), 1e-30))


def empty():
    described = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (1,)) for name in 'xy']
    graph = helper.make_graph([helper.make_node('Identity', ['x'], ['y'])], 'empty', described[:1], described[1:])
    opset = helper.make_opsetid('', draw.OPSET)
    return helper.make_model(graph, opset_imports=[opset], ir_version=draw.IR), {'x': np.ones(1, np.float32)}


class Roofline:
    """Of this machine, on all of so many threads."""

    def __init__(self, threads):
        self.peak = json.loads(subprocess.run([PEAK, '--json', str(threads)], check=True, stdout=subprocess.PIPE).stdout)
        self.flops = 1e9 * max(all_threads for name, (_, all_threads) in self.peak.items() if name.startswith('f32'))
        held = {name: 1024 * self.peak['size ' + name][1] for name in ('L1', 'L2', 'L3')}
        held['memory'] = float('inf')
        self.levels = [(most, 1e9 * max(self.peak['read ' + name][1], self.peak['copy ' + name][1])) for name, most in held.items()]

    def microseconds(self, kernel):
        rate = next(rate for most, rate in self.levels if kernel.bytes <= most)
        return 1e6 * max(kernel.flops / self.flops, kernel.bytes / rate)


class Run:
    def __init__(self, arguments):
        self.arguments, self.machine = arguments, rounds.Machine()
        self.names = ['encore'] + ([report.DENORMAL] if arguments.denormal else arguments.programs)
        self.rows = []
        if arguments.resume and os.path.exists(arguments.resume):
            with open(arguments.resume) as file:
                rows = [json.loads(line) for line in file]
            self.rows = [row for row in rows if row['seed'] == arguments.seed and self.is_wanted(row['number']) and
                         (report.DENORMAL in row['us']) == arguments.denormal]

    def is_wanted(self, number):
        numbers, families = self.arguments.numbers, self.arguments.families
        return (number < self.arguments.count and (not numbers or number in numbers) and
                (not families or draw.kernel(self.arguments.seed, number).family in families))

    def measure(self):
        measured = {row['number'] for row in self.rows}
        wanted = [number for number in range(self.arguments.count) if number not in measured and self.is_wanted(number)]
        if not wanted:
            return
        roofline = Roofline(self.arguments.threads)
        with Programs(self.names, *empty(), self.arguments.threads, self.arguments.clock) as programs:
            overhead = programs.least_us(self.machine)
        for done, number in enumerate(wanted, 1):
            row = self.measure_one(number, overhead, roofline)
            self.rows.append(row)
            if self.arguments.resume:
                with open(self.arguments.resume, 'a') as file:
                    file.write(json.dumps(row) + '\n')
            print('%d of %d: %s, %s' % (done, len(wanted), row['kernel'], self.ratio_text(row)), file=sys.stderr, flush=True)

    def ratio_text(self, row):
        return report.text_of(report.denormal_ratio(row)) if self.arguments.denormal else report.ratio_text(row)

    def measure_one(self, number, overhead, roofline):
        kernel = draw.kernel(self.arguments.seed, number)
        net = draw.Net(kernel.text)
        model = net.model(kernel.build(net))
        with Programs(self.names, model, net.inputs, self.arguments.threads, self.arguments.clock) as programs:
            us = programs.least_us(self.machine)
            difference = None if self.arguments.denormal else programs.difference()
        return {'seed': self.arguments.seed, 'number': number, 'family': kernel.family, 'kernel': kernel.text,
                'us': {name: max(time - overhead[name], LEAST_US) for name, time in us.items()}, 'overhead_us': overhead,
                'roofline_us': roofline.microseconds(kernel), 'difference': difference, 'failed': programs.failed,
                'date': str(datetime.date.today()), 'device': device.name()}


def steps_of(row, threads):
    """The lines that `encore replay profile` shows of the kernel, compiled for so many threads and run by them."""
    kernel = draw.kernel(row['seed'], row['number'])
    net = draw.Net(kernel.text)
    with tempfile.TemporaryDirectory() as folder:
        model, package = (os.path.join(folder, name) for name in ('model.onnx', 'model.encore'))
        onnx.save(net.model(kernel.build(net)), model)
        threads = ['--threads', str(threads)]
        subprocess.run([TOOL, 'compile', model, '-o', package, '--no-cache', *threads], check=True, stdout=subprocess.DEVNULL)
        said = subprocess.run([TOOL, 'replay', 'profile', package, '--repeat', '20', *threads], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
    return said.splitlines()[1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--seed', type=int, required=True)
    parser.add_argument('--count', type=int, default=200)
    parser.add_argument('--resume', metavar='FILE', help='where rows are kept, one a line')
    parser.add_argument('--programs', nargs='+', default=['onnxruntime', 'openvino'], choices=['onnxruntime', 'openvino'])
    parser.add_argument('--threads', type=int, default=os.cpu_count())
    parser.add_argument('--clock', metavar='FILE.so', help='preloaded into all programs')
    parser.add_argument('--denormal', action='store_true', help='Encore on denormal inputs beside itself on usual ones')
    parser.add_argument('--families', nargs='+', metavar='NAME')
    parser.add_argument('--numbers', nargs='+', type=int, metavar='N')
    parser.add_argument('--profiled', type=int, default=report.WORST, help='how many of the worst are shown with their steps')
    arguments = parser.parse_args()
    run = Run(arguments)
    run.measure()
    if arguments.denormal:
        print('\n'.join(report.denormal_lines(run.rows)))
        return
    print('\n'.join(report.lines(run.rows, lambda row: steps_of(row, arguments.threads), arguments.profiled)))


if __name__ == '__main__':
    main()
