#!/usr/bin/env python3
"""Runs around caches and models that change, go, or cannot be used: the answer is right each time."""
import json
import os
import shutil
import struct
import subprocess
import sys
import unittest

import files
from commands import CommandTest

TOOL = os.path.abspath(sys.argv.pop(1))

X = [1.0, 2.0, 3.0, -4.0, 0.5, 2.0]


class RunCacheTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.write('affine.onnx', files.affine())
        self.write('x.npy', files.npy(X, [2, 3]))
        self.expect(0)

    def expect(self, more):
        """What is right where the bias of the first column is greater by `more`."""
        x_w = [[sum(X[3 * row + k] * (1 + 2 * k + column) for k in range(3)) for column in range(2)]
               for row in range(2)]
        self.write('y.npz', files.npz({'y': files.npy(
            [max(0.0, v) for row in x_w for v in (row[0] - 10 + more, row[1] + 1)], [2, 2])}))

    def run_tool(self, *arguments, model=None, shell=None, **environment):
        command = [TOOL, 'run', model or self.model, '--target', 'ref', '--input', 'x=' + self.path('x.npy'),
                   '--expect', self.path('y.npz'), '--json', '-', *arguments]
        if shell:
            command = ['/bin/sh', '-c', shell + '; exec "$@"', 'sh', *command]
        environment = {**os.environ, 'ENCORE_CACHE': self.path('cache'), **environment}
        return subprocess.run(command, capture_output=True, text=True, check=False,
                              env={name: value for name, value in environment.items() if value is not None})

    def cache_of(self, *arguments, **options):
        """Whether the run, which gives the right answer, hit."""
        result = self.run_tool(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        report = json.loads(result.stdout)
        self.assertTrue(report['outputs'][0]['ok'])
        return report['cache']

    def test_weights_that_change_within_a_moment(self):
        self.cache_of()
        stamp = os.stat(self.model).st_mtime_ns
        for more in range(1, 8):
            # In place, the size and the time of the last change as before.
            before, after = struct.pack('<f', more - 11), struct.pack('<f', more - 10)
            with open(self.model, 'rb') as file:
                content = file.read()
            self.assertEqual(content.count(before), 1)
            with open(self.model, 'r+b') as file:
                file.write(content.replace(before, after))
            os.utime(self.model, ns=(stamp, stamp))
            self.expect(more)
            self.assertEqual(self.cache_of(), 'hit')

    def test_a_model_that_goes_and_comes_back(self):
        self.cache_of()
        os.rename(self.model, self.path('away.onnx'))
        result = self.run_tool()
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn('affine.onnx', result.stderr)
        os.rename(self.path('away.onnx'), self.model)
        self.assertEqual(self.cache_of(), 'hit')

    def test_no_home(self):
        self.assertEqual(self.cache_of(HOME=None, XDG_CACHE_HOME=None, ENCORE_CACHE=None), 'off')
        home = self.path('home')
        for found in ('miss', 'hit'):
            self.assertEqual(self.cache_of(HOME=home, XDG_CACHE_HOME=None, ENCORE_CACHE=None), found)
        self.assertTrue(os.path.isdir(self.path('home/.cache/encore/cache/v1')))

    def test_a_cache_behind_a_link(self):
        os.mkdir(self.path('real'), 0o700)
        os.symlink('real', self.path('cache'))
        for found in ('miss', 'hit'):
            self.assertEqual(self.cache_of(), found)
        os.remove(self.path('cache'))
        os.symlink('nowhere', self.path('cache'))
        self.assertEqual(self.cache_of(), 'off')

    def test_a_cache_that_others_may_read(self):
        os.mkdir(self.path('cache'), 0o700)
        os.chmod(self.path('cache'), 0o755)
        result = self.run_tool()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('chmod 700', result.stderr)
        self.assertEqual(json.loads(result.stdout)['cache'], 'off')

    def test_a_cache_that_cannot_be_made(self):
        for cache in ('/proc/none/cache', '/dev/null', self.model):
            self.assertEqual(self.cache_of('--cache', cache), 'off')

    def test_a_cache_that_may_be_read_and_not_written(self):
        self.cache_of()
        cache = self.path('cache')
        other = self.write('other.txt', b'graph g(%x: f32[4]) -> f32[4] { %y = neg(%x) return %y }')
        user = {}
        tool = TOOL
        if os.getuid() == 0:  # whom permissions do not bind
            user = {'user': 65534, 'group': 65534, 'extra_groups': []}
            tool = shutil.copy(TOOL, self.path('encore'))
            os.chmod(self.folder, 0o755)
        for parent, _, names in os.walk(cache, topdown=False):
            for path in [os.path.join(parent, name) for name in names] + [parent]:
                if user:
                    os.chown(path, 65534, 65534)
                os.chmod(path, 0o500 if path == parent else 0o400)

        def start(*arguments):
            return subprocess.run([tool, *arguments, '--cache', cache], capture_output=True, text=True, check=False,
                                  cwd=self.folder, **user)

        for model, found, said in ((self.model, 'hit', ''), (other, 'miss', 'without writing the cache')):
            result = start('run', model, '--target', 'ref', '--json', '-')
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(json.loads(result.stdout)['cache'], found)
            self.assertIn(said, result.stderr)
        for verb in ('status', 'list', 'verify'):
            self.assertEqual(start('cache', verb).returncode, 0)
        result = start('cache', 'clear')
        self.assertEqual(result.returncode, 2)
        self.assertIn('Permission denied', result.stderr)
        for parent, folders, _ in os.walk(cache):  # so that the test's folder can be removed
            for path in [parent] + [os.path.join(parent, name) for name in folders]:
                os.chmod(path, 0o700)

    def test_a_full_disk(self):
        # No file may be longer than nothing.
        full = 'ulimit -f 0; trap "" XFSZ'
        for _ in range(2):
            result = self.run_tool(shell=full)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(json.loads(result.stdout)['cache'], 'miss')
            self.assertIn('without writing the cache', result.stderr)
        self.assertEqual(self.cache_of(), 'miss')
        self.assertEqual(self.cache_of(shell=full), 'hit')

    def test_what_stands_in_the_place_of_entries(self):
        self.cache_of()
        for parent, _, names in list(os.walk(self.path('cache/v1'))):
            for name in names:
                if name.endswith('.encore'):
                    os.remove(os.path.join(parent, name))
                    os.mkdir(os.path.join(parent, name))
        for _ in range(2):
            self.cache_of()

    def test_a_cache_that_is_removed_between_runs(self):
        for _ in range(2):
            self.assertEqual(self.cache_of(), 'miss')
            subprocess.run(['rm', '-r', self.path('cache')], check=True)


if __name__ == '__main__':
    unittest.main()
