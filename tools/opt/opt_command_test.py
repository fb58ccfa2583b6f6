#!/usr/bin/env python3
"""Drives `encore opt`, and what other verbs say of passes, as a user does."""
import glob
import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import unittest

from commands import CommandTest

TOOL = sys.argv.pop()

PASSES = ['specialize', 'decompose', 'subpixel', 'loops', 'strings', 'size-assertions', 'symbol-facts',
          'rewrite']

MODEL = '''
symbols N in [1, 16]
graph norm(%x: f32[N,4]) -> f32[N,4] {
  %y = softmax(%x) {axis = 1} @"head/softmax"
  return %y
}
'''

# Fits for N = 4 alone.
MISMATCH = '''
symbols N in [1, 16]
graph mismatch(%x: f32[N,2], %z: f32[4,2]) -> f32[N,2] {
  %a = reshape(%z) {shape = [N,2]} @"head/reshape"
  %y = add(%x, %a)
  return %y
}
'''


class OptTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.write('model.txt', MODEL)
        self.temporary = self.path('tmp')
        os.mkdir(self.temporary)

    def encore(self, *arguments, code=0, tool=TOOL, **user):
        done = subprocess.run([tool, *arguments], capture_output=True, text=True, timeout=120,
                              env=dict(os.environ, TMPDIR=self.temporary), **user)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_lists_every_pass_in_order(self):
        listed = self.encore('opt', '--list').stdout
        self.assertEqual(re.findall(r'^  (\S+)$', listed, re.MULTILINE), PASSES)
        for word in ('takes', 'gives', 'keeps'):
            self.assertEqual(len(re.findall(rf'^    {word}  \S', listed, re.MULTILINE)), len(PASSES))

    def test_runs_those_that_are_named(self):
        unchanged = self.encore('opt', self.model, '--passes', 'loops,strings').stdout
        self.assertIn('softmax(', unchanged)
        # What it prints it takes.
        again = self.write('again.txt', unchanged)
        self.assertEqual(self.encore('opt', again, '--passes', 'loops').stdout, unchanged)
        bound = self.encore('opt', self.model, '--passes', 'specialize', '--bind', 'N=3').stdout
        self.assertIn('f32[3,4]', bound)
        self.assertIn('softmax(', bound)
        self.assertNotIn('softmax(', self.encore('opt', self.model).stdout)
        done = self.encore('opt', self.model, '--passes', 'decompose,lop', code=2)
        self.assertIn('lop', done.stderr)
        self.assertIn('size-assertions', done.stderr)
        self.assertIn('--bind M', self.encore('opt', self.model, '--bind', 'M=3', code=2).stderr)
        self.assertIn('FILE', self.encore('opt', code=2).stderr)

    def test_all_passes_are_what_a_compile_does(self):
        whole = self.encore('opt', self.model).stdout
        stopped = self.encore('compile', self.model, '-o', '-', '--stop-after', 'optimize', '--no-cache').stdout
        self.assertEqual(whole, stopped)

    def test_a_compile_stops_after_each(self):
        for index, name in enumerate(PASSES):
            stopped = self.encore('compile', self.model, '-o', '-', '--stop-after', name, '--emit', 'text',
                                  '--no-cache').stdout
            passes = ','.join(PASSES[:index + 1])
            self.assertEqual(self.encore('opt', self.model, '--passes', passes).stdout, stopped)

    def test_says_what_each_took(self):
        json_file, output = self.path('out.json'), self.path('out.txt')
        self.encore('opt', self.model, '-o', output, '--json', json_file)
        with open(json_file, encoding='utf-8') as file:
            report = json.load(file)
        self.assertEqual(list(report['passes_ms']), PASSES)
        self.assertAlmostEqual(report['optimize_ms'], sum(report['passes_ms'].values()))
        self.assertGreater(report['nodes'], report['nodes_before'])

    def test_rewrites_by_the_rules_that_are_allowed(self):
        model = self.write('signs.txt', '''
graph signs(%x: f32[64,64], %z: f32[64,64]) -> f32[64,64] {
  %0 = neg(%z)
  %1 = add(%x, %0)
  %y = div(%1, %z)
  return %y
}
''')
        self.assertIn('neg(', self.encore('opt', model, '--rewrites', 'none').stdout)
        self.assertIn('sub(', self.encore('opt', model).stdout)
        json_file, output = self.path('out.json'), self.path('out.txt')
        self.encore('opt', model, '--rewrites', 'exact', '-o', output, '--json', json_file)
        with open(output, encoding='utf-8') as file:
            self.assertIn('sub(%x, %z)', file.read())
        with open(json_file, encoding='utf-8') as file:
            report = json.load(file)['rewrite']
        self.assertEqual(report['stop'], 'saturated')
        self.assertTrue(report['improved'])
        self.assertLess(report['cost'], report['cost_before'])
        self.assertEqual(report['rules']['add_negated'], 1)
        some = self.encore('opt', model, '--rewrites', 'fast', '--rules', 'sub.*|mul.*').stdout
        self.assertIn('neg(', some)
        self.assertIn('--rules (', self.encore('opt', model, '--rewrites', 'fast', '--rules', '(', code=2).stderr)
        self.assertIn('--rewrites', self.encore('opt', model, '--rewrites', 'some', code=2).stderr)

    def test_a_miss_runs_all_and_a_hit_those_before_the_key(self):
        run = ['run', self.model, '--bind', 'N=2', '--target', 'ref', '--cache', self.path('cache'), '--json', '-']
        report = json.loads(self.encore(*run).stdout)
        self.assertEqual(report['cache'], 'miss')
        self.assertEqual(list(report['passes_ms']), PASSES)
        self.assertAlmostEqual(report['optimize_ms'], sum(report['passes_ms'].values()))
        self.assertLess(report['optimize_ms'], report['compile_ms'])
        report = json.loads(self.encore(*run).stdout)
        self.assertEqual(report['cache'], 'hit')
        self.assertEqual(list(report['passes_ms']), PASSES[:1])  # those before the key

    def test_a_trace_shows_them(self):
        trace = self.path('trace.json')
        self.encore('run', self.model, '--bind', 'N=2', '--target', 'ref', '--no-cache', '--trace', trace)
        with open(trace, encoding='utf-8') as file:
            events = json.load(file)['traceEvents']
        names = [event['name'] for event in events]
        self.assertEqual([name for name in names if name.startswith('pass ')], ['pass ' + p for p in PASSES])
        times = [event['ts'] for event in events]
        self.assertEqual(times, sorted(times))
        self.assertGreaterEqual(times[0], 0)

    def test_prints_after_a_pass(self):
        arguments = ['compile', self.model, '-o', self.path('out'), '--cache', self.path('cache'), '--bind', 'N=2',
                     '--target', 'ref', '--verify-passes', '--print-after', 'specialize', '--print-after', 'decompose']
        for _ in range(2):  # a miss, and a hit
            printed = self.encore(*arguments).stderr
            before, after = printed.split('// after decompose\n')
            self.assertTrue(before.startswith('// after specialize\n'), before)
            self.assertIn('softmax(', before)
            self.assertNotIn('softmax(', after)
        self.encore('opt', self.model, '--print-after', 'nothing', code=2)

    def test_a_failing_pass_leaves_what_shows_it_again(self):
        model = self.write('mismatch.txt', MISMATCH)
        done = self.encore('opt', model, '--passes', 'decompose,specialize', '--bind', 'N=5', code=2)
        self.assertIn('head/reshape', done.stderr)
        files = glob.glob(os.path.join(self.temporary, 'encore-specialize-*.txt'))
        self.assertEqual(len(files), 1)
        command = re.search(r'shows it again: encore (.*)', done.stderr).group(1)
        again = self.encore(*shlex.split(command), code=2)
        self.assertIn('head/reshape', again.stderr)
        # The same failure is the same file.
        self.assertEqual(glob.glob(os.path.join(self.temporary, '*')), files)
        self.encore('opt', model, '--bind', 'N=4')

    def test_the_reproducer_is_private(self):
        model = self.write('mismatch.txt', MISMATCH)
        before = os.umask(0)
        self.addCleanup(os.umask, before)
        self.encore('opt', model, '--bind', 'N=5', code=2)
        names = os.listdir(self.temporary)  # no staging file is left beside it
        self.assertEqual(len(names), 1)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.temporary, names[0])).st_mode), 0o600)

    def fails_without_a_reproducer(self, reason, **program):
        model = self.write('mismatch.txt', MISMATCH)
        done = self.encore('opt', model, '--bind', 'N=5', code=2, **program)
        self.assertIn('head/reshape', done.stderr)  # why the pass failed
        self.assertRegex(done.stderr, r'the pass specialize failed, and its reproducer could not be written: '
                         + re.escape(self.temporary) + r'/encore-specialize-\w{16}\.txt: ' + reason)
        self.assertIn('set TMPDIR to a folder that can be written to', done.stderr)
        self.assertNotIn('shows it again', done.stderr)

    def test_a_folder_that_is_not_there_takes_no_reproducer(self):
        self.temporary = self.path('none')
        self.fails_without_a_reproducer('No such file or directory')
        self.temporary = self.write('file', 'no folder')
        self.fails_without_a_reproducer('Not a directory')

    def test_a_folder_closed_to_writing_takes_no_reproducer(self):
        user, tool = {}, TOOL
        if os.geteuid() == 0:  # whom permissions do not bind
            user = {'user': 65534, 'group': 65534, 'extra_groups': []}
            tool = shutil.copy(TOOL, self.path('encore'))
            os.chmod(self.folder, 0o755)
            os.chown(self.temporary, 65534, 65534)
        os.chmod(self.temporary, 0o500)
        self.fails_without_a_reproducer('Permission denied', tool=tool, **user)
        self.assertEqual(os.listdir(self.temporary), [])


if __name__ == '__main__':
    unittest.main()
