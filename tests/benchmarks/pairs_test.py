#!/usr/bin/env python3
"""`bench pairs` between copies of the built programs, and between a program and a slower one.

  pairs_test.py ENCORE MODEL_WORKER
"""
import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
import unittest

import files
import paired
import pairs
import rounds
import worker

WORKER = os.path.abspath(sys.argv.pop())
TOOL = os.path.abspath(sys.argv.pop())
# Copies of the programs have no code generator beside them.
os.environ['ENCORE_CODEGEN'] = os.path.join(os.path.dirname(os.path.dirname(TOOL)), 'backends', 'cpu', 'codegen',
                                            'libencore_cpu_codegen.so')


pairs.TURN_MS = 1  # tests want few calls


def run(*words):
    """(exit status, the rows' cells) of a run on a machine that nothing disturbs."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = pairs.main(list(words), rounds.Machine(lambda: 1.0))
    return status, [[cell.strip() for cell in line.split('|')[1:-1]] for line in out.getvalue().splitlines()]


class PairsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.model = self.write('model.onnx', files.affine())
        self.write('inputs.npz', files.npz({'x': files.npy([0, 1, 2, 3, 4, 5], [2, 3])}))

    def write(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, 'wb') as file:
            file.write(content)
        return path

    def copy(self, program):
        return shutil.copy(program, os.path.join(self.folder, 'copy'))

    def slower(self, program):
        path = self.write('slower', b'#!/bin/sh\nsleep 0.05\nexec %s "$@"\n' % program.encode())
        os.chmod(path, 0o700)
        return path

    def test_warm_of_copies(self):
        status, table = run('warm', TOOL, self.copy(TOOL), self.model, '--limit-ms', '40')
        self.assertEqual(table[0], ['', 'old, ms', 'new, ms', 'new - old, ms (95 %)', 'new / old (95 %)',
                                    'pairs (dropped)', 'at most 40 ms more'])
        name, old, new, difference, ratio, count, verdict = table[2]
        self.assertEqual(name, self.model)
        for side in (old, new):
            least, median = map(float, side.split(' / '))
            self.assertTrue(0 < least <= median)
        for text in (difference, ratio):
            median, low, high = map(float, re.fullmatch(r'(\S+) \((\S+) to (\S+)\)', text).groups())
            self.assertTrue(low <= median <= high)
        self.assertRegex(count, r'^\d+ \(0\)$')
        self.assertEqual((status, verdict), (0, paired.HOLDS))

    def test_warm_of_a_slower_one(self):
        status, table = run('warm', TOOL, self.slower(TOOL), self.model)
        self.assertEqual((status, table[2][-1]), (1, paired.EXCEEDED))
        self.assertGreater(float(table[2][3].split()[0]), 40)
        # In the other direction it is old that is slower.
        status, table = run('warm', self.slower(TOOL), TOOL, self.model)
        self.assertEqual((status, table[2][-1]), (0, paired.HOLDS))

    def test_cold_counts_the_work_of_a_compile(self):
        # On a busy machine an interval may stay too wide for a verdict, but is on one side of a limit that is far away.
        # Asleep is no work.
        _, table = run('cold', TOOL, self.slower(TOOL), self.model, '--limit', '1.5')
        self.assertIn(table[2][-1], (paired.HOLDS, paired.NOT_RESOLVED), table)
        self.assertLess(float(re.search(r' to (\S+)\)', table[2][4]).group(1)), 1.5, table)
        busy = self.write('busy', b'#!/bin/sh\ni=0\nwhile [ $i -lt 300000 ]; do i=$((i+1)); done\nexec %s "$@"\n'
                          % TOOL.encode())
        os.chmod(busy, 0o700)
        status, table = run('cold', TOOL, busy, self.model)
        self.assertEqual(status, 1, table)
        self.assertGreater(float(re.search(r'\((\S+) to', table[2][4]).group(1)), 1.5, table)

    def test_open_sizes_are_given(self):
        model = self.write('open.onnx', files.affine('N'))
        status, table = run('warm', TOOL, self.copy(TOOL), model, '--limit-ms', '40')
        self.assertEqual((status, table[2][-1]), (0, paired.HOLDS))

    def test_latency_of_copies(self):
        status, table = run('latency', WORKER, self.copy(WORKER), self.model, '--limit', '10', '--limit-ms', '5',
                            '--threads', '1')
        self.assertEqual(table[0][-2:], ['at most 5 ms more', 'at most 10 times'])
        difference, ratio = table[2][-2:]
        self.assertEqual(difference, paired.HOLDS)
        self.assertIn(ratio, (paired.HOLDS, paired.NOT_RESOLVED))
        self.assertEqual(status, 0 if ratio == paired.HOLDS else 1)

    def test_what_cannot_run_is_an_error(self):
        with self.assertRaises(SystemExit) as failed:
            run('warm', TOOL, TOOL, self.write('bad.onnx', b'nothing'))
        self.assertIn('failed', str(failed.exception))
        with self.assertRaises(SystemExit):
            run('latency', WORKER, WORKER, self.write('bad.onnx', b'nothing'))

    def test_workers_are_renewed(self):
        both = pairs.Latency({'old': WORKER, 'new': WORKER}, self.model, os.path.join(self.folder, 'inputs.npz'), 1,
                             self.folder)
        both.calls = 1
        first = both.workers['old'].process.pid
        for _ in range(pairs.RENEWED):
            both.turn('old')
            both.turn('new')
        self.assertEqual(both.workers['old'].process.pid, first)
        both.turn('old')
        self.assertNotEqual(both.workers['old'].process.pid, first)
        both.end()

    def test_calls_fill_a_turn(self):
        self.assertEqual(pairs.calls_per_turn(100), 10 * pairs.TURN_MS)
        self.assertEqual(pairs.calls_per_turn(1e7), 1)
        self.assertEqual(pairs.calls_per_turn(0.1), pairs.MOST_CALLS)


class WorkerTest(unittest.TestCase):
    def test_a_worker_that_ends_says_so(self):
        with self.assertRaisesRegex(worker.Failed, 'old: ended with 3'):
            worker.Worker(['/bin/sh', '-c', 'exit 3'], 'old')


if __name__ == '__main__':
    unittest.main()
