"""What rewriting costs as graphs grow: random graphs without repeats, and rows of equal layers.

    ./encore bench rewriting [--nodes 1000 10000 100000] [--layers 1 36 360]

Prints, for each graph, milliseconds of the pass and the most memory that the process had above what it takes without
rewriting, the least of three runs of `encore opt` each. Graphs are text of the graph's own language, from a fixed seed.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.join(os.path.dirname(os.path.dirname(HERE)), 'bazel-bin', 'tools', 'encore')
TYPE = 'f32[32,32]'
UNARY = ('neg', 'abs', 'exp', 'sin', 'cos', 'tanh', 'sqrt', 'erf')
BINARY = ('add', 'sub', 'mul', 'max', 'min')
RUNS = 3


def without_repeats(nodes):
    """Operands are among the last twenty values, so that a graph is as deep as it is long."""
    draw = random.Random(nodes)
    weights = nodes // 40
    arguments = ['%%x: %s' % TYPE] + ['%%w%d: param %s' % (i, TYPE) for i in range(weights)]
    lines, values = [], ['%x']
    for i in range(nodes):
        kind = draw.random()
        a, b = (draw.choice(values[-20:]) for _ in range(2))
        if kind < 0.45:
            text = '%s(%s)' % (draw.choice(UNARY), a)
        elif kind < 0.8:
            text = '%s(%s, %s)' % (draw.choice(BINARY), a, b)
        elif kind < 0.9:
            text = 'transpose(%s) {permutation = [1, 0]}' % a
        else:
            weight = '%%w%d' % draw.randrange(weights)
            text = 'dot_general(%s, %s) {contract = [1]x[0]}' % (a, draw.choice((weight, b)))
        values.append('%%n%d' % i)
        lines.append('  %s = %s' % (values[-1], text))
    # Whatever nothing uses is used in the end.
    used = set(' '.join(line.split(' = ', 1)[1] for line in lines).replace('(', ' ').replace(')', ' ').replace(',', ' ').split())
    rest = [value for value in values if value not in used]
    for i, value in enumerate(rest[1:]):
        lines.append('  %%s%d = add(%s, %s)' % (i, rest[0] if i == 0 else '%%s%d' % (i - 1), value))
    result = '%%s%d' % (len(rest) - 2) if len(rest) > 1 else rest[0]
    return 'graph g(%s) -> %s {\n%s\n  return %s as y\n}\n' % (', '.join(arguments), TYPE, '\n'.join(lines), result)


def layers(count):
    """Rows of x + tanh(x a + x b) c, with twenty steps in each."""
    arguments = ['%%x0: %s' % TYPE]
    lines = []
    for i in range(count):
        arguments += ['%%%s%d: param %s' % (name, i, TYPE) for name in 'abc']
        lines += ['  %%p%d = dot_general(%%x%d, %%a%d) {contract = [1]x[0]}' % (i, i, i),
                  '  %%q%d = dot_general(%%x%d, %%b%d) {contract = [1]x[0]}' % (i, i, i),
                  '  %%s%d_0 = add(%%p%d, %%q%d)' % (i, i, i)]
        lines += ['  %%s%d_%d = %s(%%s%d_%d)' % (i, j + 1, UNARY[3 + j % 3], i, j) for j in range(20)]
        lines += ['  %%r%d = dot_general(%%s%d_20, %%c%d) {contract = [1]x[0]}' % (i, i, i),
                  '  %%x%d = add(%%x%d, %%r%d)' % (i + 1, i, i)]
    return 'graph g(%s) -> %s {\n%s\n  return %%x%d as y\n}\n' % (', '.join(arguments), TYPE, '\n'.join(lines), count)


def measure(path, rewrites):
    """Milliseconds of the pass, the process's memory in MiB, and what the pass says."""
    with tempfile.NamedTemporaryFile() as report:
        child = subprocess.Popen([TOOL, 'opt', path, '--rewrites', rewrites, '--target', 'none', '--json', report.name,
                                  '--emit', 'proto', '-o', os.devnull], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        if status:
            sys.exit('encore opt %s failed' % path)
        answer = json.load(report)
    return answer['passes_ms']['rewrite'], usage.ru_maxrss / 1024, answer.get('rewrite', {})


def row(name, text, folder):
    path = os.path.join(folder, 'graph.txt')
    with open(path, 'w') as file:
        file.write(text)
    with_rules = [measure(path, 'reassociate') for _ in range(RUNS)]
    without = min(measure(path, 'none')[1] for _ in range(RUNS))
    ms, memory, report = min(with_rules, key=lambda result: result[0])
    parts = '%d of %d' % (report['distinct_parts'], report['parts']) if report['parts'] else 'one'
    print('| %s | %.0f | %.0f | %s |' % (name, ms, max(0, memory - without), parts), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--nodes', type=int, nargs='*', default=[1000, 10000, 100000])
    parser.add_argument('--layers', type=int, nargs='*', default=[1, 36, 360])
    arguments = parser.parse_args()
    print('| | ms | MiB more | unlike parts |\n|---|---|---|---|')
    with tempfile.TemporaryDirectory() as folder:
        for nodes in arguments.nodes:
            row('%s random nodes' % format(nodes, ','), without_repeats(nodes), folder)
        for count in arguments.layers:
            row('%d layers' % count, layers(count), folder)


if __name__ == '__main__':
    main()
