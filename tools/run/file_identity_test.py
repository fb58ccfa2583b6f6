#!/usr/bin/env python3
"""Files that are not what they were, or not what they say: models, weights, links, entries, packages."""
import glob
import json
import os
import struct
import subprocess
import sys
import time
import unittest

import files
from commands import CommandTest

FORGE = os.path.abspath(sys.argv.pop())
TOOL = os.path.abspath(sys.argv.pop())

SUM = 'graph g(%x: f32[2], %w: param f32[2] = f32[2] [4, 5]) { %y = add(%x, %w) return %y as y }'
PRODUCT = SUM.replace('add', 'mul')


def weights(value):
    return struct.pack('<6f', *[value] * 6)


class FileIdentityTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.write('x.npy', files.npy([1.0, 2.0, 3.0, -4.0, 0.5, 2.0], [2, 3]))

    def tool(self, *arguments):
        return subprocess.run([TOOL, *arguments], capture_output=True, text=True, check=False,
                              env={**os.environ, 'ENCORE_CACHE': self.path('cache')})

    def first(self, *arguments, code=0):
        """The first element of output y, for each model that ran."""
        values = []
        for i, argument in enumerate(arguments):
            done = self.tool('run', argument, '--target', 'ref', '--save', self.path('y%d.npz' % i), '--input',
                             'x=' + self.path('x.npy'))
            self.assertEqual(done.returncode, code, done.stderr)
            values.append(files.read_npz(self.path('y%d.npz' % i))['y'][1][0])
        return values

    @staticmethod
    def settle():
        # What was written less than 2 s before it is read is never remembered.
        time.sleep(2.2)

    def external_model(self):
        """y = x * w with all of w alike: the sum of a row of x, 6 and -1.5, times that."""
        self.write('weights.bin', weights(1))
        return self.write('model.onnx', files.model(
            [('MatMul', ['x', 'w'], ['y'])], [('x', [2, 3], files.FLOAT)], [('y', [2, 2], files.FLOAT)],
            [files.external_tensor('weights.bin', [3, 2], name='w')]))

    def test_external_weights_are_replaced(self):
        model = self.external_model()
        self.settle()
        self.assertEqual(self.first(model), [6])
        self.write('new.bin', weights(2))
        self.settle()
        os.rename(self.path('new.bin'), self.path('weights.bin'))
        self.assertEqual(self.first(model), [12])
        package = self.path('model.encore')
        self.assertEqual(self.tool('compile', model, '--target', 'ref', '-o', package).returncode, 0)
        self.assertEqual(self.first(package), [12])
        for flag in ('--verify', '--check-cache'):
            done = self.tool('run', model, '--target', 'ref', flag, '--save', self.path('flag.npz'), '--input',
                             'x=' + self.path('x.npy'))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(files.read_npz(self.path('flag.npz'))['y'][1][0], 12)

    def test_external_weights_are_written_in_place_with_their_times_put_back(self):
        model = self.external_model()
        self.settle()
        self.assertEqual(self.first(model), [6])
        for path in (self.path('weights.bin'), model):
            stamp = os.stat(path)
            with open(path, 'r+b') as file:
                content = file.read()
                file.seek(0)
                file.write(weights(3) if path.endswith('.bin') else content)
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        self.settle()
        self.assertEqual(self.first(model), [18])

    def test_a_link_is_switched(self):
        for version in (1, 2):
            self.write('v%d.onnx' % version, files.model(
                [('MatMul', ['x', 'w'], ['y'])], [('x', [2, 3], files.FLOAT)], [('y', [2, 2], files.FLOAT)],
                [files.tensor([version] * 6, [3, 2], name='w')]))
        link = self.path('model.onnx')
        os.symlink('v1.onnx', link)
        self.settle()
        self.assertEqual(self.first(link), [6])
        os.remove(link)
        os.symlink('v2.onnx', link)
        self.assertEqual(self.first(link, self.path('v2.onnx'), self.path('v1.onnx'), link), [12, 12, 6, 12])

    def test_prepared_weights_change_with_their_times_put_back(self):
        # Four names of different lengths: three of the weights are not aligned in the file, and so are prepared.
        names = ['w' * length for length in range(1, 5)]
        model = self.write('sum.onnx', files.model(
            [('Add', ['x' if i == 0 else 's%d' % i, name], ['y' if i == 3 else 's%d' % (i + 1)])
             for i, name in enumerate(names)],
            [('x', [2, 3], files.FLOAT)], [('y', [2, 3], files.FLOAT)],
            [files.tensor([1] * 6, [2, 3], name=name) for name in names]))
        self.assertEqual(self.first(model), [5])
        entries = glob.glob(self.path('cache/v1/weights/*/*.encore'))
        self.assertEqual(len(entries), 1)
        self.settle()
        for _ in range(2):  # the second start remembers that their checksums were right
            self.assertEqual(self.first(model), [5])
        stamp = os.stat(entries[0])
        with open(entries[0], 'r+b') as file:
            content = bytearray(file.read())
            content[content.index(weights(1)) + 3] ^= 0x40
            file.seek(0)
            file.write(content)
        os.utime(entries[0], ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        self.assertEqual(self.first(model), [5])
        self.assertEqual(len(os.listdir(self.path('cache/v1/bad'))), 1)

    def test_a_forged_package_is_run_for_itself_alone(self):
        genuine, other = self.write('sum.txt', SUM), self.write('product.txt', PRODUCT)
        for name in ('sum', 'product'):
            done = self.tool('compile', self.path(name + '.txt'), '--target', 'ref', '-o',
                             self.path(name + '.encore'))
            self.assertEqual(done.returncode, 0, done.stderr)
        forged = self.path('forged.encore')
        subprocess.run([FORGE, self.path('sum.encore'), self.path('product.encore'), forged], check=True)
        self.tool('cache', 'clear')
        inputs = ('--target', 'ref', '--input', 'x=' + self.write('two.npy', files.npy([3.0, 4.0], [2])))

        def run(*arguments):
            """Whether each model gave the sum, [7, 9]; else it gave the product, [12, 20]."""
            answers = []
            for expected in ([7.0, 9.0], [12.0, 20.0]):
                done = self.tool('run', *arguments, *inputs, '--json', '-', '--expect', self.write(
                    'expected.npz', files.npz({'y': files.npy(expected, [2])})))
                self.assertIn(done.returncode, (0, 1), done.stderr)
                answers.append([json.loads(line)['outputs'][0]['ok'] for line in done.stdout.splitlines()])
            self.assertEqual(answers[0], [not ok for ok in answers[1]])
            return answers[0]

        self.assertEqual(run(forged, '--trust'), [False])
        self.assertEqual(run(genuine), [True])
        self.assertEqual(run(forged), [True])
        self.assertEqual(run(forged, genuine, '--trust'), [False, True])
        self.assertEqual(run(genuine, other), [True, False])


if __name__ == '__main__':
    unittest.main()
