#!/usr/bin/env python3
"""That the comparison with PyTorch says what is wrong or absent, and how it reads its samples."""
import importlib.util
import os
import subprocess
import sys
import unittest

from commands import CommandTest

PROGRAM = sys.argv.pop()
WRONG_ARGUMENTS, NO_DEVICE = 2, 77


def load():
    spec = importlib.util.spec_from_file_location('pytorch', PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class PyTorchTest(CommandTest):
    def run_program(self, *arguments, code):
        done = subprocess.run([sys.executable, PROGRAM, *arguments], capture_output=True, text=True, timeout=100, check=False,
                              env=dict(os.environ, CUDA_VISIBLE_DEVICES=''))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_arguments_that_are_none(self):
        self.assertIn('--encore says where', self.run_program(code=WRONG_ARGUMENTS).stderr)
        wrong = self.run_program('--kernels', '--models', 'mlp,alexnet', code=WRONG_ARGUMENTS)
        self.assertIn('no model called alexnet; there are mlp, resnet50', wrong.stderr)

    # Neither PyTorch nor a GPU is among what tests need.
    def test_without_a_device_nothing_is_measured(self):
        done = self.run_program('--kernels', code=NO_DEVICE)
        self.assertIn('nothing was measured', done.stderr)
        self.assertEqual(done.stdout, '')

    def test_calls_are_measured_in_turns(self):
        calls, order = load(), []
        waits = []
        medians = calls.median_of_rounds({name: lambda name=name: order.append(name) for name in 'ab'}, 0.0, lambda: waits.append(1))
        self.assertEqual(''.join(order), 'aabb' * calls.ROUNDS)
        self.assertEqual(len(waits), len(order))
        self.assertEqual(sorted(medians), ['a', 'b'])
        self.assertTrue(all(seconds >= 0 for seconds in medians.values()))


if __name__ == '__main__':
    unittest.main()
