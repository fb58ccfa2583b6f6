"""What replaying costs beside the kernels.

    ./encore bench replay [--results FILE.json]

Two benchmarks in turns: runtime's own on a test device, whose kernels do next to nothing, and the same on the cpu
device with real kernels. --results keeps the table for the page that models.py writes. Each figure is the minimum of
--repetitions, taken in turns.
"""
import argparse
import datetime
import json
import os
import subprocess

import device

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = [os.path.join(ROOT, 'bazel-bin', *path) for path in (
    ('runtime', 'replayer_benchmark'), ('tests', 'benchmarks', 'step_benchmark'))]
STEPS = 1000


def measured(repetitions):
    """The least time of each benchmark, in ns."""
    best = {}
    for _ in range(repetitions):
        for program in PROGRAMS:
            out = subprocess.run([program, '--benchmark_format=json', '--benchmark_min_time=0.1'], check=True,
                                 capture_output=True, text=True).stdout
            for run in json.loads(out)['benchmarks']:
                scale = {'ns': 1, 'us': 1e3, 'ms': 1e6}[run['time_unit']]
                best[run['name']] = min(best.get(run['name'], float('inf')), scale * run['real_time'])
    return best


def table(best):
    on_cpu, by_hand = best['BM_ReplayOnCpu/1'], best['BM_KernelsByHand']
    test, test_by_hand = best['BM_ThousandSteps/1'], best['BM_ThousandCallsByHand']
    rows = [
        ('cpu device: a step of a chain of 1,000 Add, Mul and Relu of 16 floats, one step per node, all included: '
         'walking to it, its kernel\'s call and work, its part of what a replay costs', '%.1f' % (on_cpu / STEPS), '50'),
        ('cpu device: the same, 2 threads', '%.1f' % (best['BM_ReplayOnCpu/2'] / STEPS), '50'),
        ('cpu device: the same kernels called in a loop by hand, each', '%.1f' % (by_hand / STEPS), ''),
        ('cpu device: a step beyond its kernel called by hand', '%.1f' % ((on_cpu - by_hand) / STEPS), ''),
        ('test device (virtual kernels on one float): a step of a thousand beyond its kernel called by hand',
         '%.1f' % ((test - test_by_hand) / STEPS), ''),
        ('test device: its kernel called by hand', '%.1f' % (test_by_hand / STEPS), ''),
        ('test device: a call of a one-step graph, binding included, 1 thread', '%.0f' % best['BM_OneAdd/1'], '1,000'),
        ('test device: the same, 2 threads', '%.0f' % best['BM_OneAdd/2'], '1,000')]
    return ['| figure | ns | goal |', '|---|---|---|'] + ['| %s | %s | %s |' % row for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--repetitions', type=int, default=5)
    parser.add_argument('--results', help='where the table is kept')
    arguments = parser.parse_args()
    lines = table(measured(arguments.repetitions))
    print('\n'.join(lines))
    if arguments.results:
        with open(arguments.results, 'w') as file:
            json.dump({'date': str(datetime.date.today()), 'device': device.name(), 'lines': lines}, file, indent=1)
            file.write('\n')


if __name__ == '__main__':
    main()
