#!/usr/bin/env python3
"""Measures `encore extract` on a folder of extraction-gym JSON instances.

  extraction.py TOOL FOLDER TABLE.tsv [--seconds 0 0.1 1 10] [--jobs 2]
                [--only TEXT]... [--clock CLOCK.so] [--output PAGE.md] [--details]

TABLE.tsv has the columns instance, bottom_up_dag, greedy_dag, best_known and
proven_optimum; the data set is the part of a name before "__". Every result is checked by
code that shares nothing with the tool: own nodes, everything reachable chosen, no cycle,
cost recomputed, no bound above a known cost, in time. The exit status is 1 if one fails.
"""
import argparse
import collections
import concurrent.futures
import csv
import json
import os
import platform
import subprocess
import sys
import tempfile
import time

# Best known costs are rounded to six digits where no optimum is proven.
TOLERANCE = 1e-5


def load(path):
    with open(path) as file:
        return json.load(file)


def recompute(graph, choices):
    """(cost of the reachable choices, None) or (None, what is wrong)."""
    nodes = graph['nodes']
    classes = {node['eclass'] for node in nodes.values()}
    roots = [c for c in dict.fromkeys(graph['root_eclasses']) if c in classes]
    state, cost = {}, 0.0
    stack = [(c, None) for c in roots]
    while stack:
        c, iterator = stack.pop()
        if iterator is None:
            if state.get(c) == 'done':
                continue
            if state.get(c) == 'open':
                return None, 'cycle through class %s' % c
            if c not in choices:
                return None, 'class %s has no choice' % c
            node = nodes.get(choices[c])
            if node is None or node['eclass'] != c:
                return None, 'choice of class %s is not its own' % c
            state[c] = 'open'
            cost += node.get('cost', 1)
            iterator = iter([nodes[n]['eclass'] for n in node.get('children', [])])
        for child in iterator:
            if state.get(child) == 'open':
                return None, 'cycle through class %s' % child
            if state.get(child) != 'done':
                stack.append((c, iterator))
                stack.append((child, None))
                break
        else:
            state[c] = 'done'
    return cost, None


def faults(graph, result, row, seconds, wall):
    """Everything that is wrong with one result."""
    if result['status'] != 'ok':
        return ['status ' + result['status']]
    cost, problem = recompute(graph, result['choices'])
    if problem:
        return [problem]
    slack = TOLERANCE * max(1.0, abs(row['best']))
    found = []
    if abs(cost - result['cost']) > 1e-6 * max(1.0, abs(cost)):
        found.append('cost is %r, not %r' % (cost, result['cost']))
    known = min(row['best'], cost)
    if result['lower_bound'] is not None and result['lower_bound'] > known + slack:
        found.append('bound %r above %r' % (result['lower_bound'], known))
    if result['optimal'] and cost > row['best'] + slack:
        found.append('claimed optimal at %r, known %r' % (cost, row['best']))
    if cost > row['greedy'] * (1 + 1e-6) and cost > row['greedy'] + slack:
        found.append('worse than greedy: %r, %r' % (cost, row['greedy']))
    if wall > seconds + 1:
        found.append('took %.2f s of %g' % (wall, seconds))
    return found


def run_one(arguments, name, row, seconds):
    path = os.path.join(arguments.folder, os.path.splitext(name)[0] + '.json')
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, 'choices.json')
        command = [arguments.tool, 'extract', path, '--seconds', str(seconds), '-o', out]
        environment = dict(os.environ)
        if arguments.clock:
            environment['LD_PRELOAD'] = os.path.abspath(arguments.clock)
        begin = time.monotonic()
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, env=environment)
        wall = time.monotonic() - begin
        if done.returncode:
            return name, seconds, None, ['exit %d: %s' % (done.returncode, done.stderr)], wall
        result = load(out)['results'][0]
        if arguments.clock:
            wall = result['seconds']
    return name, seconds, result, faults(load(path), result, row, seconds, wall), wall


def read_table(path, only):
    rows = {}
    with open(path) as file:
        for line in csv.DictReader(file, delimiter='\t'):
            name = line['instance']
            if only and not any(text in name for text in only):
                continue
            rows[name] = {'greedy': float(line['greedy_dag']), 'tree': float(line['bottom_up_dag']),
                          'best': float(line['best_known'])}
    return rows


def measure(arguments, rows):
    results, wrong = {}, 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        futures = [pool.submit(run_one, arguments, name, row, seconds)
                   for seconds in arguments.seconds for name, row in rows.items()]
        for future in concurrent.futures.as_completed(futures):
            name, seconds, result, problems, wall = future.result()
            results[name, seconds] = result
            for problem in problems:
                wrong += 1
                print('FAULT %s after %g s: %s' % (name, seconds, problem), flush=True)
            if arguments.details and result:
                row = rows[name]
                mark = '>' if result['cost'] > row['best'] * (1 + TOLERANCE) else ' '
                print('%-70s %6g s: %s %.9g bound %s%s, best %.9g, greedy %.9g, %.2f s' % (
                    name[:70], seconds, mark, result['cost'], result['lower_bound'],
                    ' optimal' if result['optimal'] else '', row['best'], row['greedy'], wall), flush=True)
    return results, wrong


def table(arguments, rows, results):
    sets = collections.defaultdict(list)
    for name in rows:
        sets[name.split('__')[0]].append(name)
    head = ['data set', 'instances', 'greedy'] + ['%g s' % s for s in arguments.seconds]
    head += ['best known', 'bound', 'proven']
    lines = ['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)]
    last = arguments.seconds[-1]
    total_proven = 0
    for data_set in sorted(sets):
        names = sets[data_set]
        proven = sum(results[n, last] is not None and results[n, last]['optimal'] for n in names)
        total_proven += proven
        cells = [data_set, str(len(names)), '%.8g' % sum(rows[n]['greedy'] for n in names)]
        cells += ['%.8g' % sum(results[n, s]['cost'] for n in names) for s in arguments.seconds]
        cells += ['%.8g' % sum(rows[n]['best'] for n in names)]
        cells += ['%.8g' % sum(results[n, last]['lower_bound'] or 0 for n in names), str(proven)]
        lines.append('| ' + ' | '.join(cells) + ' |')
    lines.append('')
    lines.append('Optimality proven after %g s: %d of %d.' % (last, total_proven, len(rows)))
    return '\n'.join(lines) + '\n'


def processor():
    with open('/proc/cpuinfo') as file:
        for line in file:
            if line.startswith('model name'):
                return line.split(':', 1)[1].strip()
    return platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('tool')
    parser.add_argument('folder')
    parser.add_argument('table')
    parser.add_argument('--seconds', type=float, nargs='+', default=[0, 0.1, 1, 10])
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--only', action='append')
    parser.add_argument('--clock', help='preloaded into the tool; cpu_clock.c beside this file')
    parser.add_argument('--output')
    parser.add_argument('--details', action='store_true')
    arguments = parser.parse_args()
    rows = read_table(arguments.table, arguments.only)
    results, wrong = measure(arguments, rows)
    text = table(arguments, rows, results)
    print(text)
    if arguments.output:
        with open(arguments.output, 'w') as file:
            file.write('# DAG extraction\n\nSums of costs per data set, instances of extraction-gym. '
                       'Faults found by the independent check: %d.\n\n' % wrong)
            file.write(text)
            clock = ' --clock cpu_clock.so' if arguments.clock else ''
            file.write('\n%s, %d runs at a time. Command:\n\n```\ntests/benchmarks/extraction.py '
                       'bazel-bin/tools/encore FOLDER TABLE.tsv --seconds %s%s\n```\n' % (
                           processor(), arguments.jobs, ' '.join('%g' % s for s in arguments.seconds), clock))
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()
