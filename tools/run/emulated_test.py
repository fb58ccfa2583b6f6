#!/usr/bin/env python3
"""An example on CUDA's kernels, on the driver that executes: slow, and only because it is named."""
import json
import os
import subprocess
import sys
import unittest

TOOL = os.path.abspath(sys.argv.pop(1))
HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(os.environ['ENCORE_DEPS'], 'models', 'magika==1.0.3', 'magika', 'models', 'standard_v3_3',
                     'model.onnx')


class EmulatedTest(unittest.TestCase):
    def run_example(self, target, code):
        call = os.path.join(HERE, 'examples', 'magika', 'setup.npz')
        done = subprocess.run([TOOL, 'run', MODEL, '--calls', call, '--target', target, '--no-cache', '--repeat', '1',
                               '--warmup', '0', '--atol', '5e-3', '--json', '-'], capture_output=True, text=True, check=False,
                              env={**os.environ, 'ENCORE_CUDA_DRIVER': '/nowhere/libcuda.so.1'})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_an_example(self):
        report = json.loads(self.run_example('cuda:emulated', 0).stdout)
        self.assertEqual([output['ok'] for output in report['outputs']], [True])
        self.assertGreater(report['device_kernels'], 0)

    def test_nothing_stands_in_for_a_device(self):
        self.assertIn('no CUDA driver can be loaded', self.run_example('cuda', 2).stderr)


if __name__ == '__main__':
    unittest.main()
