#!/usr/bin/env python3
"""Drives `encore extract` as a user does."""
import json
import os
import random
import subprocess
import sys
import time
import unittest

from commands import CommandTest

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


def layers(depth, width):
    """A graph with something to search: each class has four nodes over the layer below."""
    random.seed(3)
    nodes = {}
    for c in range(depth * width):
        below = (c // width + 1) * width
        for i in range(4):
            children = []
            if below < depth * width:
                children = ['%d.0' % (below + random.randrange(width)) for _ in range(2)]
            nodes['%d.%d' % (c, i)] = {'eclass': str(c), 'children': children, 'cost': random.randint(1, 20)}
    return {'nodes': nodes, 'root_eclasses': [str(c) for c in range(width)]}


class ExtractCommandTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.out = self.path('choices.json')

    def write(self, name, content):
        return super().write(name, content if isinstance(content, str) else json.dumps(content))

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

    def test_work_limit_ignores_the_machine(self):
        path = self.write('layers.json', layers(20, 25))
        command = [TOOL, 'extract', path, '--work', '150000', '--seed', '7']
        one_core = {min(os.sched_getaffinity(0))}
        alone = subprocess.run(command, capture_output=True, check=True,
                               preexec_fn=lambda: os.sched_setaffinity(0, one_core)).stdout
        environments = [dict(os.environ, OMP_NUM_THREADS=threads) for threads in ('1', '2', '5')]
        beside = [subprocess.Popen(command, stdout=subprocess.PIPE, env=e) for e in environments]
        for process in beside:
            self.assertEqual(process.communicate()[0], alone)
            self.assertEqual(process.returncode, 0)
        result, = json.loads(alone)['results']
        self.assertGreater(len(result['choices']), 25)
        self.assertFalse(result['optimal'])

    def test_ends_in_time(self):
        path = self.write('layers.json', layers(60, 60))
        for seconds in (0, 1):
            begin = time.monotonic()
            result, = self.results(path, '--seconds', str(seconds))
            # Reading and starting are included; the rest is for a busy machine.
            self.assertLess(time.monotonic() - begin, seconds + 5)
            self.assertEqual(result['status'], 'ok')

    def test_hostile_numbers(self):
        def graph(*costs):
            nodes = {str(i): {'eclass': 'c%d' % i, 'cost': cost} for i, cost in enumerate(costs)}
            return {'nodes': nodes, 'root_eclasses': ['c%d' % i for i in range(len(costs))]}
        for costs, message in [((1e300, 1e300), 'larger unit'), ((float('inf'),), 'line 1'),
                               ((float('nan'),), 'line 1'), ((10 ** 400,), 'line 1')]:
            path = self.write('costs.json', graph(*costs))
            done = self.run_tool(path, '--seconds', '0')
            self.assertEqual(done.returncode, 2)
            self.assertIn(path, done.stderr)
            self.assertIn(message, done.stderr)
        path = self.write('costs.json', graph(1e299, -1e299, 5e-324, 2 ** 70))
        result, = self.results(path, '--seconds', '0')
        self.assertTrue(result['optimal'])

    def test_malformed_input_leaves_no_file(self):
        good = self.write('good.json', SHARED)
        for name, text, message in [
                ('cut.json', '{"nodes": {', 'line 1'),
                ('empty.json', '', 'The document is empty'),
                ('list.json', '[]', 'the document is an array'),
                ('child.json', '{"nodes": {"n": {"eclass": "c", "children": ["x"]}}, "root_eclasses": []}', '"x"')]:
            path = self.write(name, text)
            done = self.run_tool(good, path, '-o', self.out)
            self.assertEqual(done.returncode, 2)
            self.assertIn(path, done.stderr)
            self.assertIn(message, done.stderr)
            self.assertFalse(os.path.exists(self.out))

    def test_what_has_no_end_is_refused(self):
        run = self.run_tool('/dev/zero')
        self.assertEqual(run.returncode, 2)
        self.assertIn('/dev/zero: more than 1073741824 bytes', run.stderr)

    def test_bad_arguments(self):
        self.assertEqual(self.run_tool().returncode, 2)
        self.assertEqual(self.run_tool(os.path.join(self.folder, 'none.json')).returncode, 2)
        path = self.write('a.json', SHARED)
        for option, values in [('--seconds', ('-1', 'nan', 'inf', '1s')),
                               ('--work', ('x', '-1', '1.5', str(2 ** 64))), ('--seed', ('-1', 'x'))]:
            for value in values:
                self.assertEqual(self.run_tool(path, option, value).returncode, 2, (option, value))
        self.assertEqual(self.run_tool('--help').returncode, 0)


if __name__ == '__main__':
    unittest.main()
