#!/usr/bin/env python3
"""What generates code is part of the key: LLVM by the code generator, oneDNN. What cannot be loaded is said."""
import json
import os
import shutil
import subprocess
import sys
import unittest

from commands import CommandTest

TOOL = os.path.abspath(sys.argv.pop())
ONEDNN = os.path.abspath(sys.argv.pop())
CODEGEN = os.path.abspath(sys.argv.pop())

# A product that oneDNN computes when it is asked to.
MODEL = '''
graph product(%x: f32[64,64], %w: param f32[64,64] = f32[64,64] 1) -> f32[64,64] {
  %y = dot_general(%x, %w) {contract = [1]x[0]}
  return %y
}
'''


class LibrariesTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.write('model.txt', MODEL)

    def start(self, *arguments, **environment):
        return subprocess.run([TOOL, *arguments], capture_output=True, text=True, check=False,
                              env={**os.environ, 'ENCORE_CACHE': self.path('cache'), **environment})

    def run_model(self, **environment):
        return self.start('run', self.model, '--target', 'cpu', '--cpu-kernels', 'vendor', '--repeat', '0', '--json', '-',
                          **environment)

    def cache_of(self, **environment):
        """Whether the run hit."""
        done = self.run_model(**environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)['cache']

    def unlike(self, library, name):
        """A copy that is another library to whoever looks at it."""
        copy = self.path(name)
        shutil.copyfile(library, copy)
        with open(copy, 'r+b') as file:
            head = bytearray(file.read(1 << 16))
            # The build id, after the note's owner; without one the copy's time is another.
            at = head.find(b'GNU\0', head.find(b'\x14\0\0\0\x03\0\0\0GNU\0'))
            if at > 0:
                head[at + 4] ^= 1
                file.seek(0)
                file.write(head)
        return copy

    def test_another_code_generator_is_another_key(self):
        other = self.unlike(CODEGEN, 'generator.so')
        self.assertEqual([self.cache_of(), self.cache_of()], ['miss', 'hit'])
        self.assertEqual(self.cache_of(ENCORE_CODEGEN=CODEGEN), 'hit')
        self.assertEqual(self.cache_of(ENCORE_CODEGEN=other), 'miss')
        self.assertEqual(self.cache_of(), 'hit')

    def test_another_onednn_is_another_key(self):
        other = self.unlike(ONEDNN, 'libdnnl.so.3')
        self.assertEqual([self.cache_of(), self.cache_of()], ['miss', 'hit'])
        self.assertEqual(self.cache_of(ENCORE_ONEDNN=other), 'miss')
        self.assertEqual(self.cache_of(ENCORE_ONEDNN='none'), 'miss')
        self.assertEqual(self.cache_of(ENCORE_ONEDNN='none'), 'hit')
        self.assertEqual(self.cache_of(), 'hit')

    def test_a_library_that_cannot_be_loaded(self):
        folder = self.path('')
        text = self.write('libdnnl.so.3', 'no library')
        os.mkdir(self.path('unreadable'))
        for library, said in ((text, 'libdnnl.so.3'), (self.path('unreadable'), 'unreadable')):
            done = self.run_model(ENCORE_ONEDNN=library)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn('oneDNN cannot be loaded', done.stderr)
            self.assertIn(said, done.stderr)
            self.assertIn('ENCORE_ONEDNN=none goes on without it', done.stderr)
        # Nothing was kept under the key of a library that computed nothing.
        self.assertEqual(self.cache_of(), 'miss')
        # A library that this one needs is not as it should be.
        self.write('libgomp.so.1', 'no library')
        done = self.start('run', self.model, '--target', 'cpu', '--cpu-kernels', 'vendor', '--no-cache',
                          LD_LIBRARY_PATH=folder)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn('libgomp.so.1', done.stderr)

    def test_a_package_for_a_library_that_cannot_be_loaded(self):
        package = self.path('model.encore')
        done = self.start('compile', self.model, '-o', package, '--target', 'cpu', '--cpu-kernels', 'vendor')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.write('libgomp.so.1', 'no library')
        done = self.start('replay', 'run', package, '--trust', LD_LIBRARY_PATH=self.folder)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn('libgomp.so.1', done.stderr)
        self.assertEqual(self.start('replay', 'run', package, '--trust').returncode, 0)


if __name__ == '__main__':
    unittest.main()
