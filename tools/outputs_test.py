#!/usr/bin/env python3
"""No output takes the place of an input, under whatever name, nor of another output."""
import os
import shutil
import subprocess
import sys
import unittest

import files
from commands import CommandTest

TOOL = os.path.abspath(sys.argv.pop())

X = [1.0, 2.0, 3.0, -4.0, 0.5, 2.0]
EGRAPH = '{"nodes": {"a": {"op": "A", "cost": 1, "eclass": "1", "children": []}}, "root_eclasses": ["1"]}'


class OutputsTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.write('affine.onnx', files.affine())
        self.x = self.write('x.npy', files.npy(X, [2, 3]))
        self.both = self.write('x.npz', files.npz({'x': files.npy(X, [2, 3])}))
        self.y = self.write('y.npz', files.npz({'y': files.npy(files.affine_of(X), [2, 2])}))
        self.data = self.path('data')
        os.mkdir(self.data)
        self.write('data/input_0.pb', files.tensor(X, [2, 3]))
        self.write('data/output_0.pb', files.tensor(files.affine_of(X), [2, 2]))
        self.package, self.recording = self.path('p.encore'), self.path('r.encore')
        for emit, path in (('package', self.package), ('recording', self.recording)):
            self.assertEqual(self.start('compile', self.model, '-o', path, '--emit', emit).returncode, 0)

    def start(self, *arguments):
        return subprocess.run([TOOL, *arguments], capture_output=True, text=True, check=False,
                              env={**os.environ, 'ENCORE_CACHE': self.path('cache')})

    def contents(self):
        """Of every file but the cache's, by path."""
        found = {}
        for folder, folders, names in os.walk(self.folder):
            folders[:] = [name for name in folders if name != 'cache']
            for path in [os.path.join(folder, name) for name in names]:
                found[path] = None  # a link to nothing
                if os.path.exists(path):
                    with open(path, 'rb') as file:
                        found[path] = file.read()
        return found

    def assert_refused(self, *arguments, both):
        before = self.contents()
        done = self.start(*arguments)
        self.assertEqual(done.returncode, 2, (arguments, done.stdout, done.stderr))
        for path in both:
            self.assertIn(path, done.stderr)
        self.assertEqual(self.contents(), before)

    def names_of(self, path):
        """Other names of a file."""
        link, hard = path + '.link', path + '.hard'
        os.symlink(path, link)
        os.link(path, hard)
        return path, link, hard, os.path.join(os.path.dirname(path), '.', os.path.basename(path))

    def test_run(self):
        for name in self.names_of(self.model):
            for flag in ('--save', '--trace', '--record', '--json'):
                self.assert_refused('run', self.model, flag, name, both=(self.model, name))
        for flag in ('--save', '--trace', '--record'):
            self.assert_refused('run', self.model, '--input', 'x=' + self.x, flag, self.x, both=(self.x,))
            self.assert_refused('run', self.model, '--input', self.both, flag, self.both, both=(self.both,))
            self.assert_refused('run', self.model, '--expect', self.y, flag, self.y, both=(self.y,))
            self.assert_refused('run', self.recording, flag, self.recording, both=(self.recording,))
            for part in ('input_0.pb', 'output_0.pb'):
                path = os.path.join(self.data, part)
                self.assert_refused('run', self.model, '--data', self.data, flag, path, both=(path,))
        calls = self.write('calls.npz', files.npz({'in/x': files.npy(X, [2, 3])}))
        self.assert_refused('run', self.model, '--calls', calls, '--save', calls, both=(calls,))

    def test_run_into_the_folder_of_its_data(self):
        for folder in (self.data, self.data + '/'):
            self.assert_refused('run', self.model, '--data', self.data, '--save', folder, both=(self.data,))
        os.mkdir(self.path('out'))
        os.link(self.model, self.path('out/output_0.pb'))
        self.assert_refused('run', self.model, '--save', self.path('out'), both=(self.model,))
        os.remove(self.path('out/output_0.pb'))
        for _ in range(2):
            done = self.start('run', self.model, '--data', self.data, '--save', self.path('out'))
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(self.path('out/output_0.pb')))

    def test_weights_beside_the_model(self):
        model, weights = self.write('outside.onnx', files.affine_outside('w.bin')), self.path('w.bin')
        self.write('w.bin', files.AFFINE_WEIGHTS)
        for name in self.names_of(weights):
            self.assert_refused('run', model, '--save', name, both=(weights, name))
            self.assert_refused('compile', model, '-o', name, both=(weights, name))
        self.assertEqual(self.start('run', model, '--input', 'x=' + self.x, '--expect', self.y).returncode, 0)

    def test_compile(self):
        for name in self.names_of(self.model):
            for flags in (['-o', name], ['-o', self.path('new'), '--json', name],
                          ['-o', name, '--stop-after', 'import'], ['-o', name, '--emit', 'text']):
                self.assert_refused('compile', self.model, *flags, both=(self.model, name))
        self.assert_refused('compile', self.model, '--emit', 'recording', '--input', 'x=' + self.x, '-o', self.x,
                            both=(self.x,))
        self.assert_refused('compile', self.model, '-o', self.path('new'), '--json', self.path('./new'),
                            both=('new',))

    def test_replay(self):
        for name in self.names_of(self.package):
            self.assert_refused('replay', 'run', self.package, '--save', name, both=(self.package, name))
            self.assert_refused('replay', 'profile', self.package, '--trace', name, both=(self.package, name))
            for verb in ('info', 'dump', 'verify', 'run', 'bench', 'profile'):
                self.assert_refused('replay', verb, self.package, '--json', name, both=(self.package, name))
        self.assert_refused('replay', 'run', self.package, '--input', 'x=' + self.x, '--save', self.x, both=(self.x,))
        self.assert_refused('replay', 'bench', self.package, '--baseline', self.recording, '--json', self.recording,
                            both=(self.recording,))
        # Each file's outputs would take the place of those before.
        done = self.start('replay', 'run', self.package, self.recording, '--save', self.path('out.npz'))
        self.assertEqual(done.returncode, 2)
        self.assertIn('--save takes exactly one file', done.stderr)
        self.assertFalse(os.path.exists(self.path('out.npz')))

    def test_extract_and_cache(self):
        graph = self.write('graph.json', EGRAPH)
        for name in self.names_of(graph):
            self.assert_refused('extract', graph, '-o', name, both=(graph, name))
        self.assertEqual(self.start('extract', graph, '-o', self.path('choices.json')).returncode, 0)
        self.assert_refused('cache', 'explain', self.package, self.recording, '--json', self.recording,
                            both=(self.recording,))

    def test_two_outputs(self):
        out = self.path('out')
        for one, two in (('--save', '--trace'), ('--trace', '--record'), ('--record', '--json')):
            self.assert_refused('run', self.model, one, out, two, out, both=(one, two))
        self.assert_refused('compile', self.model, '--stop-after', 'import', '-o', '-', '--json', '-',
                            both=('-o', '--json'))
        os.symlink('out', self.path('to'))
        self.assert_refused('run', self.model, '--save', out, '--trace', self.path('to'), both=('--save', '--trace'))

    def test_what_is_no_json_stays(self):
        hidden = self.write('hidden', 'a diary')
        user, tool = {}, TOOL
        if os.geteuid() == 0:  # whom permissions do not bind
            user = {'user': 65534, 'group': 65534, 'extra_groups': []}
            tool = shutil.copy(TOOL, self.path('encore'))
            os.chmod(self.folder, 0o755)
            os.chown(hidden, 65534, 65534)
        os.chmod(hidden, 0o200)
        done = subprocess.run([tool, 'run', self.model, '--no-cache', '--json', hidden], capture_output=True,
                              text=True, check=False, cwd=self.folder, **user)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn('stays as it is', done.stderr)
        os.chmod(hidden, 0o600)
        with open(hidden) as file:
            self.assertEqual(file.read(), 'a diary')

    def test_paths_that_cannot_be_looked_at(self):
        os.symlink('loop', self.path('loop'))
        for arguments in (['run', self.model, '--save', self.path('loop')],
                          ['run', self.model, '--data', self.path('loop')],
                          ['run', self.path('loop'), '--save', self.path('out')],
                          ['compile', self.model, '-o', self.path('loop/x')]):
            done = self.start(*arguments)
            self.assertEqual(done.returncode, 2, (arguments, done.stderr))


if __name__ == '__main__':
    unittest.main()
