#!/usr/bin/env python3
"""Names that a terminal would obey: of nodes, inputs, outputs, symbols, metadata and files, in what every verb says."""
import json
import os
import subprocess
import sys
import unittest

import files
from commands import CommandTest

TOOL = os.path.abspath(sys.argv.pop())

# An escape sequence, a carriage return, a C1 control and a mark that turns the direction of text, and bytes that are
# no UTF-8; line ends could add lines to a report.
EVIL = b'a\x1b[31m\rb\x7f\xc2\x9b2K\xe2\x80\xaec\n  d: ok\xff\x9b'
# What may be in ONNX's strings, which are UTF-8.
UTF8 = EVIL[:-2]


def quoted(name):
    """A name in the text form of graphs."""
    return '"%s"' % ''.join('\\x%02x' % byte for byte in name)


GRAPH = '''graph %s(%%%s: f32[2]) -> (f32[2], f32[2]) {
  %%m = neg(%%%s) @%s
  return %%m as %s, %%%s as %s
}
''' % (quoted(EVIL), quoted(EVIL), quoted(EVIL), quoted(b'n' + EVIL), quoted(b'o' + EVIL), quoted(EVIL),
       quoted(b'p' + EVIL))


class NamesTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.write('model.txt', GRAPH)

    def start(self, *arguments, code=0):
        """Standard output and error of a run whose text no terminal obeys."""
        done = subprocess.run([TOOL, *arguments], capture_output=True, check=False,
                              env={**os.environ, 'ENCORE_CACHE': self.path('cache')})
        self.assertEqual(done.returncode, code, (arguments, done.stdout, done.stderr))
        for text in (done.stdout, done.stderr):
            for character in text.decode():  # it is UTF-8
                self.assertFalse(character not in '\n\t' and (
                    ord(character) < 0x20 or 0x7f <= ord(character) < 0xa0 or character in '\u202e\u2066'),
                                 (arguments, text))
            self.assertNotIn(b'\n  d: ok', text)
        return done.stdout.decode(), done.stderr.decode()

    def test_reports(self):
        out, _ = self.start('run', self.model)
        self.assertIn('oa\\x1b[31m\\x0db\\x7f\\u009b2K\\u202ec\\x0a  d: ok\\xff\\x9b: f32[2]', out)
        package, recording = self.path('a.encore'), self.path('b.encore')
        self.start('compile', self.model, '-o', package)
        self.start('compile', self.model, '-o', recording, '--emit', 'recording', '--explain')
        for verb in ('info', 'dump', 'verify', 'run', 'bench', 'profile'):
            for file in (package, recording):
                out, _ = self.start('replay', verb, file)
                if verb in ('info', 'run', 'profile'):
                    self.assertIn('\\x1b[31m', out)

    def test_errors(self):
        wrong = self.write('wrong.npy', files.npy([1, 2, 3], [3]))
        _, err = self.start('run', self.model, '--input', EVIL + b'=' + wrong.encode(), code=2)
        self.assertIn('\\x1b[31m', err)
        _, err = self.start('run', self.model, '--input', b'z' + EVIL + b'=' + wrong.encode(), code=2)
        self.assertIn('no input', err)
        package = self.path('a.encore')
        self.start('compile', self.model, '-o', package)
        self.start('replay', 'run', package, '--input', EVIL + b'=' + wrong.encode(), code=2)
        self.start('replay', 'bench', package, '--input', EVIL + b'=' + wrong.encode(), code=2)
        self.start('run', self.model, '--placement', EVIL + b'=tpu', code=2)
        self.start('run', self.model, '--bind', EVIL + b'=1', code=2)

    def test_arguments_and_paths(self):
        self.start(EVIL, code=2)
        self.start('replay', EVIL, code=2)
        self.start('run', b'--' + EVIL, code=2)
        self.start('run', self.model, '--seed', EVIL, code=2)
        self.start('run', self.model, '--cache', self.folder.encode() + b'/' + EVIL)
        strange = os.path.join(self.folder.encode(), EVIL.replace(b'/', b'') + b'.txt')
        with open(strange, 'w') as file:
            file.write(GRAPH)
        out, _ = self.start('run', strange)
        self.assertIn('\\x1b[31m', out)
        self.start('run', strange + b'none', code=2)
        self.start('compile', strange, '-o', strange + b'.encore')
        for verb in ('info', 'dump', 'verify', 'run', 'bench', 'profile'):
            self.start('replay', verb, strange + b'.encore')
        self.start('extract', strange, code=2)
        self.start('egraph', strange, code=2)
        self.start('egraph', strange + b'none', code=2)
        with open(self.model) as file:
            self.assertEqual(file.read(), GRAPH)

    def test_logs(self):
        # No folder can be made there: a line of the log says so.
        folder = self.model.encode() + b'/' + EVIL
        _, err = self.start('run', self.model, '--cache', folder)
        self.assertIn('nothing is kept on disk', err)
        self.assertIn('\\x1b[31m', err)
        self.start('cache', 'list', '--cache', folder)
        self.start('cache', 'status', '--cache', folder)

    def test_programs_of_rewrites(self):
        program = self.write('p.egg', b'(datatype M (S String))\n(extract (S "a\x1b[31m\xc2\x9bb"))\n'
                                      b'(check (= (S "\x1b[31m") (S "c")))\n')
        self.start('egraph', program, code=1)

    def test_json_is_ascii_and_has_the_names(self):
        out, _ = self.start('run', self.model, '--json', '-')
        self.assertTrue(out.isascii())
        names = [output['name'] for output in json.loads(out)['outputs']]
        # Bytes that are no UTF-8 are replaced, one for one.
        expected = UTF8.decode() + '\ufffd\ufffd'
        self.assertEqual(names, ['o' + expected, 'p' + expected])

    def test_files_stay_readable(self):
        # The graph as text is its own inverse.
        text, _ = self.start('compile', self.model, '--stop-after', 'import', '-o', '-')
        again, _ = self.start('compile', self.write('again.txt', text), '--stop-after', 'import', '-o', '-')
        self.assertEqual(again, text)
        self.assertIn('\\x1b[31m', text)
        self.start('compile', self.model, '--emit', 'text', '-o', self.path('plan.txt'))
        with open(self.path('plan.txt'), 'rb') as file:
            plan = file.read()
        self.assertTrue(plan.isascii())
        self.assertIn(rb'"na\x1b[31m\x0db\x7f\xc2\x9b2K\xe2\x80\xaec\n  d: ok\xff\x9b"', plan)
        self.start('run', self.model, '--trace', self.path('trace.json'))
        with open(self.path('trace.json'), encoding='utf-8') as file:
            events = json.load(file)['traceEvents']
        self.assertIn('n' + UTF8.decode() + '\ufffd\ufffd', sum((event['args']['origins'] for event in events), []))

    def test_models_of_others(self):
        name = UTF8.decode()
        model = self.write('evil.onnx', files.model(
            [('Relu', [name], ['m' + name]), ('Neg', ['m' + name], ['o' + name])],
            [(name, [name, 2], files.FLOAT)], [('o' + name, [name, 2], files.FLOAT)]))
        _, err = self.start('run', model, code=2)
        self.assertIn('--bind', err)
        given = self.write('x.npz', files.npz({}))
        self.start('run', model, '--input', given, code=2)
        value = self.write('x.npy', files.npy([1, 2], [1, 2]))
        self.start('run', model, '--input', '%s=%s' % (name, value))
        self.start('compile', model, '-o', self.path('evil.encore'), '--input', '%s=%s' % (name, value))
        for verb in ('info', 'dump', 'verify', 'run', 'profile'):
            self.start('replay', verb, self.path('evil.encore'))
        strange = self.write('strange.onnx', files.model([(name, ['x'], ['y'])], [('x', [2], files.FLOAT)],
                                                         [('y', [2], files.FLOAT)]))
        _, err = self.start('run', strange, code=2)
        self.assertIn('\\x1b[31m', err)


if __name__ == '__main__':
    unittest.main()
