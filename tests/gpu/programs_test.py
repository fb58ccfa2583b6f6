#!/usr/bin/env python3
"""That the programs for GPUs start, say what is absent, and pass on the driver that executes."""
import os
import re
import subprocess
import sys
import unittest

from commands import CommandTest

BENCHMARK = os.path.abspath(sys.argv.pop())
TEST = os.path.abspath(sys.argv.pop())
PASSED, WRONG_ARGUMENTS, NO_DEVICE = 0, 2, 77
EMULATED = '--target=cuda_emulated'


class ProgramsTest(CommandTest):
    def run_program(self, program, *arguments, code, **environment):
        # The log of cases is this test's own: a program that has to fail is no failure.
        own = {name: value for name, value in os.environ.items() if name != 'XML_OUTPUT_FILE'}
        done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=280,
                              env=dict(own, **environment))
        self.assertEqual(done.returncode, code, done.stdout[-3000:] + done.stderr[-3000:])
        return done

    def test_without_a_device_nothing_runs(self):
        for program in (TEST, BENCHMARK):
            done = self.run_program(program, code=NO_DEVICE, ENCORE_CUDA_DRIVER='/nowhere/libcuda.so.1')
            self.assertRegex(done.stderr, 'nothing was (tested|measured): no CUDA driver can be loaded')
            self.assertEqual(done.stdout, '')

    def test_arguments_that_are_none(self):
        self.run_program(TEST, EMULATED, '--tarzan=1', code=WRONG_ARGUMENTS)
        for wrong in ('--elements=1', '--elements=x', '--elements=9000000000000000000', '--seconds=-1', '--seconds=nan', '--other'):
            self.run_program(BENCHMARK, EMULATED, wrong, code=WRONG_ARGUMENTS)

    def test_a_name_that_no_kernel_has(self):
        done = self.run_program(BENCHMARK, EMULATED, '--only=softmix', '--elements=1024', code=1)
        self.assertIn('no kernel has softmix in its name', done.stderr)
        self.assertEqual(done.stdout, '')

    def test_packages_are_written_without_a_device(self):
        self.run_program(TEST, '--write-packages=' + self.folder, code=PASSED,
                         ENCORE_CUDA_DRIVER='/nowhere/libcuda.so.1')
        self.assertEqual(sorted(os.listdir(self.folder)),
                         sorted('%s.cuda_%s.encore' % (model, device) for model in ('layers', 'halves', 'image')
                                for device in ('a100', 'h100', 'b200')))

    def test_on_the_driver_that_executes(self):
        self.run_program(TEST, EMULATED, '--write-packages=' + self.folder, code=PASSED)
        done = self.run_program(
            TEST, EMULATED, '--packages=' + self.folder,
            '--gtest_filter=Gpu/*/Softmax:Gpu/*/Gather:Gpu/DifferentialTest.*/3:GpuRecordings.*:GpuLibraries.*:GpuPackages.*:'
            '*/ControlFlow.KernelsOfRunTimeSizes/*', code=PASSED)
        ran = int(re.search(r'\[  PASSED  \] (\d+) tests', done.stdout)[1])
        self.assertEqual(ran, 8, done.stdout)
        # It would say what is wrong.
        layers = self.path('layers.cuda_emulated.encore')
        with open(layers, 'r+b') as file:
            file.seek(os.path.getsize(layers) // 2)
            file.write(b'other bytes')
        self.run_program(TEST, EMULATED, '--packages=' + self.folder, '--gtest_filter=GpuPackages.*', code=1)

    def test_what_is_measured(self):
        done = self.run_program(BENCHMARK, EMULATED, '--elements=1024', '--seconds=0', code=PASSED)
        self.assertIn('in place of cublaslt 13: device cuda_emulated has no libraries', done.stderr)
        rows = [line for line in done.stdout.splitlines() if line.startswith('| ')]
        self.assertEqual(len(rows), 3 + 14 + 15 + 2, done.stdout)


if __name__ == '__main__':
    unittest.main()
