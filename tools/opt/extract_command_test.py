#!/usr/bin/env python3
"""Drives `encore extract` as a user does."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

TOOL = sys.argv.pop(1)

SHARED = {
    'nodes': {
        'r 0': {'op': 'f', 'children': ['a#', 'b.'], 'eclass': 'root class'},
        'r 1': {'op': 'g', 'eclass': 'root class', 'cost': 14},
        'a#': {'op': 'a', 'children': ['c'], 'eclass': 'A', 'cost': 1},
        'b.': {'op': 'b', 'children': ['c'], 'eclass': 'B', 'cost': 1},
        'self': {'op': 's', 'children': ['b.'], 'eclass': 'B', 'cost': -50},
        'c': {'op': 'c', 'eclass': 'C', 'cost': 10.5},
    },
    'root_eclasses': ['root class', 'no such class', 'root class'],
    'class_data': {'A': {'type': 'int'}},
}


class ExtractCommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = os.path.join(self.folder, 'choices.json')

    def write(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, 'w') as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def run_tool(self, *arguments):
        return subprocess.run([TOOL, 'extract', *arguments], capture_output=True, text=True)

    def results(self, *arguments):
        done = self.run_tool(*arguments, '-o', self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, '')
        with open(self.out) as file:
            return json.load(file)['results']

    def test_shared_class_is_paid_once(self):
        path = self.write('odd name #1.json', SHARED)
        result, = self.results(path)
        self.assertEqual(result['file'], path)
        self.assertEqual((result['status'], result['cost'], result['optimal']), ('ok', 13.5, True))
        self.assertEqual(result['lower_bound'], 13.5)
        self.assertEqual(result['choices'], {'root class': 'r 0', 'A': 'a#', 'B': 'b.', 'C': 'c'})

    def test_files_keep_their_order(self):
        empty = self.write('empty.json', dict(SHARED, root_eclasses=['gone']))
        loop = self.write('loop.json', {'nodes': {'n': {'eclass': 'c', 'children': ['n']}}, 'root_eclasses': ['c']})
        first, second, third = self.results(empty, loop, empty, '--seconds', '0')
        self.assertEqual((first['cost'], first['choices'], first['optimal']), (0, {}, True))
        self.assertEqual((second['status'], second['cost'], second['choices']), ('infeasible', None, {}))
        self.assertEqual(third, dict(first, seconds=third['seconds']))

    def test_work_limit_gives_the_same_bytes(self):
        path = self.write('a.json', SHARED)
        runs = [self.run_tool(path, '--work', '1000', '--seed', '3').stdout for _ in range(2)]
        self.assertEqual(runs[0], runs[1])
        self.assertEqual(json.loads(runs[0])['results'][0]['cost'], 13.5)

    def test_malformed_input_leaves_no_file(self):
        good = self.write('good.json', SHARED)
        for name, text, message in [
                ('cut.json', '{"nodes": {', 'line 1'),
                ('list.json', '[]', 'the document is an array'),
                ('child.json', '{"nodes": {"n": {"eclass": "c", "children": ["x"]}}, "root_eclasses": []}', '"x"')]:
            path = self.write(name, text)
            done = self.run_tool(good, path, '-o', self.out)
            self.assertEqual(done.returncode, 2)
            self.assertIn(path, done.stderr)
            self.assertIn(message, done.stderr)
            self.assertFalse(os.path.exists(self.out))

    def test_bad_arguments(self):
        self.assertEqual(self.run_tool().returncode, 2)
        self.assertEqual(self.run_tool(os.path.join(self.folder, 'none.json')).returncode, 2)
        path = self.write('a.json', SHARED)
        self.assertEqual(self.run_tool(path, '--seconds', '-1').returncode, 2)
        self.assertEqual(self.run_tool(path, '--work', 'x').returncode, 2)
        self.assertEqual(self.run_tool('--help').returncode, 0)


if __name__ == '__main__':
    unittest.main()
