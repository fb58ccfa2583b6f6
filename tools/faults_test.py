#!/usr/bin/env python3
"""What `encore` ends with where the fault is its own (3), and where its output cannot be written (2)."""
import os
import subprocess
import sys
import unittest

from commands import CommandTest

TOOL = os.path.abspath(sys.argv.pop())
FAULTY = os.path.abspath(sys.argv.pop())

MODEL = 'graph small(%x: f32[4]) -> f32[4] { %y = exp(%x) return %y }'


class FaultsTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.write('small.txt', MODEL)

    def start(self, *arguments, stdout=subprocess.PIPE, **environment):
        return subprocess.run([TOOL, *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True, check=False,
                              env={**os.environ, 'ENCORE_CACHE': os.path.join(self.folder, 'cache'), **environment})

    def test_a_code_generator_that_fails(self):
        for verb in (('run', self.model), ('compile', self.model, '-o', os.path.join(self.folder, 'out'))):
            done = self.start(*verb, '--target', 'cpu', ENCORE_CODEGEN=FAULTY)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn('generated code: made to fail', done.stderr)

    def test_a_broken_invariant_and_a_stack_without_room(self):
        # A sanitizer would take the signal and end otherwise.
        sanitizer = os.environ.get('ASAN_OPTIONS', '') + ':handle_segv=0'
        for fault, said in (('abort', ''), ('overflow', 'please report')):
            done = self.start('run', self.model, '--target', 'cpu', ENCORE_CODEGEN=FAULTY, ENCORE_FAULT=fault,
                              ASAN_OPTIONS=sanitizer)
            self.assertEqual(done.returncode, 3, (fault, done.stderr))
            self.assertIn(said, done.stderr)
            left = [name for _, _, names in os.walk(self.folder) for name in names if name.endswith('.tmp')]
            self.assertEqual(left, [])
            self.assertEqual(self.start('run', self.model, '--target', 'cpu', '--no-cache').returncode, 0)

    def test_a_full_standard_output(self):
        package = os.path.join(self.folder, 'small.encore')
        self.assertEqual(self.start('compile', self.model, '-o', package).returncode, 0)
        for arguments in (['help'], ['ops'], ['run', self.model], ['run', '--help'], ['cache', 'list'],
                          ['cache', 'status'], ['compile', self.model, '--stop-after', 'optimize', '-o', '-'],
                          ['replay', 'info', package], ['replay', 'dump', package], ['replay', 'verify', package]):
            with open('/dev/full', 'w') as full:
                done = self.start(*arguments, stdout=full)
            self.assertEqual(done.returncode, 2, (arguments, done.stderr))
            self.assertIn('cannot be written', done.stderr)


if __name__ == '__main__':
    unittest.main()
