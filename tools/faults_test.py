#!/usr/bin/env python3
"""What `encore` ends with where the fault is its own (3), and where the machine lacks something (2)."""
import os
import resource
import subprocess
import sys
import unittest

from commands import CommandTest

TOOL = os.path.abspath(sys.argv.pop())
FAULTY = os.path.abspath(sys.argv.pop())

MODEL = 'graph small(%x: f32[4]) -> f32[4] { %y = exp(%x) return %y }'
# Two kernels.
TWO = '''
graph two(%x: f32[4], %z: f32[5]) -> (f32[4], f32[5]) {
  %y = exp(%x)
  %w = log(%z)
  return %y, %w
}
'''


def limit(**limits):
    """What a new process does to have these limits: limit(FSIZE=0)."""
    def set_limits():
        for name, value in limits.items():
            number = getattr(resource, 'RLIMIT_' + name)
            resource.setrlimit(number, (value, resource.getrlimit(number)[1]))
    return set_limits


class FaultsTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.write('small.txt', MODEL)

    def start(self, *arguments, stdout=subprocess.PIPE, before=None, wrapper=(), **environment):
        return subprocess.run([*wrapper, TOOL, *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True, check=False,
                              preexec_fn=before,
                              env={**os.environ, 'ENCORE_CACHE': os.path.join(self.folder, 'cache'), **environment})

    def left(self):
        return [name for _, _, names in os.walk(self.folder) for name in names if name.endswith('.tmp')]

    def test_a_code_generator_that_fails(self):
        for verb in (('run', self.model), ('compile', self.model, '-o', os.path.join(self.folder, 'out'))):
            done = self.start(*verb, '--target', 'cpu', ENCORE_CODEGEN=FAULTY)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn('generated code: made to fail', done.stderr)

    def test_a_broken_invariant_and_a_stack_without_room(self):
        two = self.write('two.txt', TWO)
        # A sanitizer would take the signal and end otherwise.
        sanitizer = os.environ.get('ASAN_OPTIONS', '') + ':handle_segv=0'
        for fault, said in (('abort', 'abort'), ('overflow', 'processor'), ('helper overflow', 'processor')):
            done = self.start('run', two, '--target', 'cpu', '--threads', '2', ENCORE_CODEGEN=FAULTY, ENCORE_FAULT=fault,
                              ASAN_OPTIONS=sanitizer)
            self.assertEqual(done.returncode, 3, (fault, done.stderr))
            self.assertIn(said, done.stderr)
            self.assertIn('please report', done.stderr)
            self.assertEqual(self.left(), [])
            self.assertEqual(self.start('run', self.model, '--target', 'cpu', '--no-cache').returncode, 0)

    def test_no_memory_for_compiling(self):
        done = self.start('run', self.model, '--target', 'cpu', ENCORE_CODEGEN=FAULTY, ENCORE_FAULT='memory')
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn('memory ran out', done.stderr)

    def test_no_code_generator(self):
        for place, said in (('/nowhere', 'Looked for: /nowhere'), (self.model, 'cannot be loaded')):
            done = self.start('run', self.model, '--target', 'cpu', ENCORE_CODEGEN=place)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)

    def test_compiling_writes_no_file(self):
        # Not a byte: any write to a file would fail.
        done = self.start('run', self.model, '--target', 'cpu', '--no-cache', '--json', '-', before=limit(FSIZE=0))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_no_folder_for_temporary_files(self):
        # What may be used for them is read-only or full, which takes a mount of the process's own.
        folder = os.environ.get('TEST_TMPDIR', os.getcwd())
        if folder.startswith(('/tmp/', '/var/tmp/')):
            self.skipTest(f'{folder} is below what is to be unusable')
        model = os.path.join(folder, 'model.txt')
        with open(model, 'w') as file:
            file.write(MODEL)
        for options in ('ro', 'size=4k'):
            script = f'mount -t tmpfs -o {options} none /tmp && mount -t tmpfs -o {options} none /var/tmp && ' \
                     '{ head -c 1M /dev/zero > /tmp/full || true; } 2>/dev/null && exec "$@"'
            wrapper = ['unshare', '--map-root-user', '--mount', '/bin/sh', '-c', script, 'sh']
            if subprocess.run([*wrapper, 'true'], capture_output=True, check=False).returncode != 0:
                self.skipTest('no mount namespaces here')
            done = self.start('run', model, '--target', 'cpu', '--no-cache', wrapper=wrapper, TMPDIR='/tmp')
            self.assertEqual(done.returncode, 0, (options, done.stderr))

    def test_few_descriptors(self):
        """However few there are, it runs or says what it lacks."""
        if 'UBSAN_OPTIONS' in os.environ:
            self.skipTest('the check of virtual tables needs descriptors of its own and fails without')
        codes = set()
        for descriptors in range(4, 20):
            done = self.start('run', self.model, '--target', 'cpu', before=limit(NOFILE=descriptors))
            codes.add(done.returncode)
            self.assertIn(done.returncode, (0, 2), (descriptors, done.stderr))
            self.assertTrue(done.returncode == 0 or done.stderr, descriptors)
        self.assertIn(0, codes)

    def test_an_output_that_may_not_become_that_large(self):
        package = os.path.join(self.folder, 'small.encore')
        done = self.start('compile', self.model, '-o', package, '--no-cache', before=limit(FSIZE=100))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn('File too large', done.stderr)
        self.assertEqual(self.left(), [])
        self.assertFalse(os.path.exists(package))

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
