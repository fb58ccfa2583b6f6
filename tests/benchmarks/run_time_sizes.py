#!/usr/bin/env python3
"""Kernels of data-dependent sizes, beside the same kernels of known sizes.

  run_time_sizes.py TOOL [--rows 1000] [--repeat 200] [--rounds 5] [--threads 1]

Each graph takes the first N of 4096 rows of 256 floats, N being an input or a constant, and computes with
them. Both plans run in turns, in changing order; rounds in which the machine was disturbed are dropped for both
(rounds.py). The table has the least time of each and their ratio, and the time of a plan that does nothing but take
the rows.
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import zipfile

import rounds

ROWS, COLUMNS = 4096, 256

# Name, lines after %s: f32[N,256], the result.
GRAPHS = (
    ('take', [], '%s'),
    ('elementwise', ['%a = logistic(%s)', '%e = mul(%a, %s)', '%c = add(%e, %s)', '%d = tanh(%c)'], '%d'),
    ('broadcast', ['%v = broadcast(%w0) {shape = [N, 256], axes = [1]}', '%d = add(%s, %v)'], '%d'),
    ('reduce', ['%d = reduce(%s) {combiner = sum, axes = [1]}'], '%d'),
    ('reduce_rows', ['%d = reduce(%s) {combiner = sum, axes = [0]}'], '%d'),
    ('softmax', ['%d = softmax(%s) {axis = 1}'], '%d'),
    ('transpose', ['%d = transpose(%s) {permutation = [1, 0]}'], '%d'),
    ('reshape', ['%r = reshape(%s) {shape = [4*N, 64]}', '%d = exp(%r)'], '%d'),
    ('concat', ['%d = concat(%s, %s) {axis = 0}'], '%d'),
    ('gather', ['%i = iota() {shape = [N], axis = 0}',
                '%d = gather(%x, %i) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], '
                'index_vector_dim = 1, slice_sizes = [1, 256]}'], '%d'),
    ('matmul', ['%d = dot_general(%s, %w) {contract = [1]x[0]}'], '%d'),
)


def text(lines, result, rows):
    """The graph; rows None: known when it runs."""
    body = ['%w0 = reshape(%b) {shape = [256]}'] if any('%w0' in line for line in lines) else []
    if rows is None:
        body += ['%k = define_symbols(%n) {dims = [N], message = "no rows"}']
    body += ['%s = slice(%x) {starts = [0, 0], limits = [N, 256], strides = [1, 1]}'] + lines
    head = 'symbols N at_run_time in [0, %d]\n' % ROWS if rows is None else ''
    graph = ('graph g(%%x: f32[%d,%d], %%w: f32[256,256], %%b: f32[1,256], %%n: i64[]) {\n  %s\n  return %s as y\n}\n'
             % (ROWS, COLUMNS, '\n  '.join(body), result))
    return head + (graph if rows is None else graph.replace('N', str(rows)))


def npy(descr, shape, data):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    header += ' ' * (-(10 + len(header) + 1) % 64) + '\n'
    return b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode() + data


def write_inputs(path, rows):
    def floats(*dims):
        count = 1
        for dim in dims:
            count *= dim
        return npy('<f4', dims, struct.pack('<%df' % count, *((i * 37 % 101 - 50) / 64 for i in range(count))))

    with zipfile.ZipFile(path, 'w') as archive:
        archive.writestr('x.npy', floats(ROWS, COLUMNS))
        archive.writestr('w.npy', floats(256, 256))
        archive.writestr('b.npy', floats(1, 256))
        archive.writestr('n.npy', npy('<i8', (), struct.pack('<q', rows)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('tool')
    parser.add_argument('--rows', type=int, default=1000)
    parser.add_argument('--repeat', type=int, default=200)
    parser.add_argument('--rounds', type=int, default=5, help='undisturbed ones; at most three times as many are taken')
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--only', default='')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        inputs = os.path.join(folder, 'inputs.npz')
        write_inputs(inputs, options.rows)

        def best(name):
            run = subprocess.run(
                [options.tool, 'run', os.path.join(folder, name), '--input', inputs, '--repeat', str(options.repeat),
                 '--warmup', '5', '--threads', str(options.threads), '--json', '-'],
                capture_output=True, text=True, check=False, env={**os.environ, 'ENCORE_CACHE': folder + '/cache'})
            if run.returncode != 0:
                sys.exit('%s: %s' % (name, run.stderr))
            return json.loads(run.stdout)['latency_us']['min']

        machine = rounds.Machine()
        print('%-12s %12s %12s %7s  %s' % ('', 'known, us', 'found, us', 'ratio', 'dropped rounds'))
        for name, lines, result in GRAPHS:
            if options.only not in name:
                continue
            for suffix, rows in (('known', options.rows), ('found', None)):
                with open(os.path.join(folder, '%s_%s.txt' % (name, suffix)), 'w', encoding='utf-8') as file:
                    file.write(text(lines, result, rows))
            taken = rounds.Rounds({suffix: lambda file='%s_%s.txt' % (name, suffix): best(file)
                                   for suffix in ('known', 'found')}, machine)
            taken.run_until(options.rounds, 3 * options.rounds)
            settled = taken.settle()
            known, found = min(settled.of('known')), min(settled.of('found'))
            print('%-12s %12.1f %12.1f %7.2f  %s%s' % (name, known, found, found / known, rounds.reasons(settled.dropped),
                                                       ' (all)' * settled.disturbed), flush=True)


if __name__ == '__main__':
    main()
