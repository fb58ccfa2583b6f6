#!/usr/bin/env python3
"""That what is taken to a machine with a GPU is whole: the programs find what they load beside them."""
import os
import subprocess
import sys
import tarfile
import unittest

from commands import CommandTest

BUNDLE = os.path.abspath(sys.argv.pop())
FAILED, PASSED, NO_DEVICE = 1, 0, 77
NVRTC = 'libnvrtc.so.13'


class BundleTest(CommandTest):
    def setUp(self):
        super().setUp()
        with tarfile.open(BUNDLE) as bundle:
            bundle.extractall(self.folder)

    def run_program(self, name, *arguments, code, **environment):
        """Where nothing says where anything is."""
        done = subprocess.run([self.path(name), *arguments], capture_output=True, text=True, timeout=280, cwd=self.folder,
                              env=environment, check=False)
        self.assertEqual(done.returncode, code, done.stdout[-3000:] + done.stderr[-3000:])
        return done

    def test_it_is_all_that_is_needed(self):
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ['gpu_benchmark', 'gpu_test', 'libencore_cpu_codegen.so', 'libnvrtc-builtins.so.13.0', NVRTC])
        for program in ('gpu_test', 'gpu_benchmark'):
            self.run_program(program, ENCORE_CUDA_DRIVER='/nowhere/libcuda.so.1', code=NO_DEVICE)
        self.run_program('gpu_test', '--target=cuda_emulated', '--gtest_filter=GpuPackages.*:Gpu/DifferentialTest.*/3',
                         code=PASSED)
        self.run_program('gpu_benchmark', '--target=cuda_emulated', '--elements=1024', '--seconds=0', code=PASSED)

    def test_it_is_what_the_programs_load(self):
        os.unlink(self.path(NVRTC))
        done = self.run_program('gpu_test', '--write-packages=' + self.folder, code=FAILED)
        self.assertIn('belong beside the program', done.stderr)


if __name__ == '__main__':
    unittest.main()
