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

PASSES = ['specialize', 'decompose', 'subpixel', 'loops', 'loop-invariants', 'strings', 'size-assertions', 'symbol-facts',
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

SIGNS = '''
graph signs(%x: f32[64,64], %z: f32[64,64]) -> f32[64,64] {
  %0 = neg(%z)
  %1 = add(%x, %0)
  %y = div(%1, %z)
  return %y
}
'''

# With a body, which is improved by itself.
LOOP = '''
graph loop(%c: bool[], %x: f32[32,32]) -> f32[32,32] {
  %n = constant() {value = i64[] 4}
  %y = loop(%n, %c, %x) {carried = 1, max_trips = 4} @"loop"
    graph body(%i: i64[], %go: bool[], %a: f32[32,32]) -> (bool[], f32[32,32]) {
      %0 = neg(%a)
      %1 = exp(%a)
      %b = add(%1, %0)
      return %go, %b
    }
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
        unchanged = self.encore('opt', self.model, '--passes', 'loops,strings', '--emit', 'text').stdout
        self.assertIn('softmax(', unchanged)
        # What it prints it takes.
        again = self.write('again.txt', unchanged)
        self.assertEqual(self.encore('opt', again, '--passes', 'loops', '--emit', 'text').stdout, unchanged)
        bound = self.encore('opt', self.model, '--passes', 'specialize', '--bind', 'N=3', '--emit', 'text').stdout
        self.assertIn('f32[3,4]', bound)
        self.assertIn('softmax(', bound)
        self.assertNotIn('softmax(', self.encore('opt', self.model, '--emit', 'text').stdout)
        done = self.encore('opt', self.model, '--passes', 'decompose,lop', code=2)
        self.assertIn('lop', done.stderr)
        self.assertIn('size-assertions', done.stderr)
        self.assertIn('--bind M', self.encore('opt', self.model, '--bind', 'M=3', code=2).stderr)
        self.assertIn('FILE', self.encore('opt', code=2).stderr)

    def test_all_passes_are_what_a_compile_does(self):
        whole = self.encore('opt', self.model, '-o', '-').stdout
        stopped = self.encore('compile', self.model, '-o', '-', '--stop-after', 'optimize', '--no-cache').stdout
        self.assertEqual(whole, stopped)

    def test_a_compile_stops_after_each(self):
        for index, name in enumerate(PASSES):
            stopped = self.encore('compile', self.model, '-o', '-', '--stop-after', name, '--emit', 'text',
                                  '--no-cache').stdout
            passes = ','.join(PASSES[:index + 1])
            self.assertEqual(self.encore('opt', self.model, '--passes', passes, '--emit', 'text').stdout, stopped)

    def test_prints_a_table(self):
        table = self.encore('opt', self.model, '--bind', 'N=4').stdout
        self.assertRegex(table, r'(?m)^graph +\S*model\.txt$')
        self.assertRegex(table, r'(?m)^nodes +\d+ -> \d+$')
        self.assertRegex(table, r'(?m)^cost +\S+ \S?s')
        self.assertRegex(table, r'(?m)^choice .* gap -?[\d.]+ %$')
        self.assertRegex(table, r'(?m)^kernels +1, greedily \S+ us -> \S+ us; cheapest .*, gap [\d.]+ %$')
        self.assertRegex(table, r'(?m)^variants +\d+ of \d+ values, of one at most \d+$')
        self.assertRegex(table, r'(?m)^layouts +row-major')
        for phase in ['import', *PASSES, 'lowering', 'gains', 'write', 'total']:
            self.assertRegex(table, rf'(?m)^{phase} +[\d.]+$')
        # Beside data there is none.
        self.assertTrue(self.encore('opt', self.model, '--emit', 'text').stdout.startswith('symbols N'))
        self.assertEqual(list(json.loads(self.encore('opt', self.model, '--json', '-').stdout))[0], 'model')
        self.assertIn('phase', self.encore('opt', self.model, '-o', self.path('o.txt')).stdout)
        self.encore('opt', self.model, '--emit', 'text', '--json', '-', code=2)
        self.encore('opt', self.model, '--emit', 'proto', code=2)

    def test_json_has_nodes_costs_rules_and_times(self):
        model = self.write('signs.txt', SIGNS)
        report = json.loads(self.encore('opt', model, '--json', '-').stdout)
        self.assertEqual((report['nodes_before'], report['nodes']), (5, 4))
        self.assertLess(report['cost'], report['cost_before'])
        self.assertGreaterEqual(report['gap'], 0)
        self.assertAlmostEqual(report['gap'], report['rewrite']['choice'] - report['bound'])
        self.assertEqual(report['rules'][0]['name'], 'add_negated')
        self.assertEqual(report['rules'][0]['applications'], 1)
        self.assertEqual(list(report['ms']), ['import', *PASSES, 'lowering', 'gains', 'write', 'total'])
        self.assertGreaterEqual(report['ms']['total'], sum(ms for name, ms in report['ms'].items() if name != 'total'))
        none = json.loads(self.encore('opt', model, '--rewrites', 'none', '--json', '-').stdout)
        self.assertEqual((none['cost'], none['gap'], none['rules']), (None, None, []))

    def test_says_how_the_graph_would_be_lowered(self):
        model = self.write('loop.txt', LOOP)

        def scopes(*arguments):
            return json.loads(self.encore('opt', model, '--json', '-', *arguments).stdout)['lowering']

        found = scopes()
        self.assertEqual([scope['place'] for scope in found], ['body 0 of while loop', 'body 1 of while loop', ''])
        body = found[1]
        self.assertGreaterEqual(body['kernels'], 2)
        for less, more in ('chosen', 'greedy'), ('cheapest', 'chosen'), ('bound', 'cheapest'):
            self.assertLessEqual(body[less], body[more] * (1 + 1e-9), (less, more))
        self.assertAlmostEqual(body['gap'], body['cheapest'] - body['bound'])
        self.assertGreaterEqual(body['variants'], body['classes'])
        self.assertEqual(body['layouts'], {'choices': 0, 'row_major': 0, 'chosen': 0, 'bound': None, 'changes': []})
        greedy = scopes('--optimizer', 'greedy')[0]
        self.assertEqual((greedy['chosen'], greedy['bound']), (greedy['greedy'], None))
        self.assertIsNone(scopes('--target', 'none'))
        self.assertIsNone(scopes('--passes', 'decompose'))
        self.assertIn('"nowhere"', self.encore('opt', model, '--target', 'nowhere', code=2).stderr)

    def test_emits_dot(self):
        model = self.write('quoted.txt', SIGNS.replace('%x', '%"x\\"<|>\\n"'))
        dot = self.encore('opt', model, '--emit', 'dot').stdout
        self.assertTrue(dot.startswith('digraph'))
        self.assertIn('sub', dot)
        self.assertNotIn('neg', dot)
        self.assertEqual(re.sub(r'\\.', '', dot).count('"') % 2, 0)
        self.assertEqual(self.encore('opt', model, '--emit', 'dot').stdout, dot)

    def test_dumps_what_extract_reads(self):
        for model, text in (('signs.txt', SIGNS), ('loop.txt', LOOP), ('norm.txt', MODEL)):
            model, dump = self.write(model, text), self.path('egraph.json')
            report = json.loads(self.encore('opt', model, '--dump-egraph', dump, '--json', '-').stdout)
            result = json.loads(self.encore('extract', dump, '--work', '200000').stdout)['results'][0]
            self.assertEqual(result['status'], 'ok')
            self.assertAlmostEqual(result['cost'] / report['egraphs']['cost'], 1, 9)
            self.assertAlmostEqual(result['lower_bound'] / report['egraphs']['bound'], 1, 9)
            self.assertEqual(report['egraphs']['count'], 3 if text == LOOP else 1)
        with open(dump, encoding='utf-8') as file:
            nodes = json.load(file)['nodes']
        self.assertIn('argument x', {node['op'] for node in nodes.values()})
        # The same bytes, on standard output as well.
        with open(dump, encoding='utf-8') as file:
            self.assertEqual(self.encore('opt', model, '--dump-egraph', '-').stdout, file.read())
        for arguments in (['--rewrites', 'none'], ['--passes', 'loops']):
            self.assertIn('--dump-egraph', self.encore('opt', model, '--dump-egraph', dump, *arguments, code=2).stderr)

    def test_explains_and_checks(self):
        model = self.write('signs.txt', SIGNS.replace('add(%x, %0)', 'add(%x, %0) @"head/minus"'))
        plain = json.loads(self.encore('opt', model, '--json', '-').stdout)
        report = json.loads(self.encore('opt', model, '--explain', '--check', '--json', '-').stdout)
        self.assertNotIn('explanations', plain)
        explanation, = report['explanations']
        step, = explanation['steps']
        self.assertEqual((explanation['graph'], explanation['taken'], explanation['proof_ok']), ('signs', True, True))
        self.assertEqual((step['rule'], step['tag'], step['reversed'], step['place'], step['ok']),
                         ('add_negated', 'exact', False, 'head/minus', True))
        self.assertIn('add(', step['before'])
        self.assertIn('sub(', step['after'])
        # The rule's gain is that of its steps, whether they are asked for or not.
        self.assertAlmostEqual(step['gain'] * 1e9, (report['cost_before'] - report['cost']) * 1e9)
        self.assertEqual([plain[key] for key in ('nodes', 'cost', 'bound', 'rules')],
                         [report[key] for key in ('nodes', 'cost', 'bound', 'rules')])
        self.assertEqual(plain['rules'][0]['gain'], step['gain'])
        # What a step shows is a graph.
        for side in ('before', 'after'):
            shown = self.encore('opt', self.write('side.txt', step[side]), '--rewrites', 'none', '--emit', 'text')
            self.assertIn('result', shown.stdout)
        text = self.encore('opt', model, '--explain').stdout
        self.assertIn('step 1: add_negated (exact) at head/minus', text)
        self.assertNotIn('check  ', text)
        # Beside a graph on standard output.
        beside = self.encore('opt', model, '--explain', '-o', '-')
        self.assertIn('step 1: add_negated (exact) at head/minus', beside.stderr)
        self.assertNotIn('step 1', beside.stdout)
        self.assertNotIn('step 1', self.encore('opt', model, '--explain', '--json', '-', '-o', '/dev/null').stderr)
        text = self.encore('opt', model, '--check').stdout
        self.assertRegex(text, r'(?m)^check +1 steps hold by evaluation, \d+ lemmas')
        self.assertNotIn('step 1', text)
        unchecked = json.loads(self.encore('opt', model, '--explain', '--json', '-').stdout)['explanations'][0]
        self.assertEqual((unchecked['proof_ok'], unchecked['steps'][0]['ok']), (None, None))
        for arguments in (['--rewrites', 'none'], ['--passes', 'loops']):
            self.assertIn('--explain', self.encore('opt', model, '--explain', *arguments, code=2).stderr)

    def test_lists_rules(self):
        listed = self.encore('opt', '--list-rules', '--rewrites', 'exact').stdout
        self.assertRegex(listed, r'(?m)^add_negated \(exact\)$')
        self.assertNotIn('finite_math', listed)
        some = self.encore('opt', '--list-rules', '--rules', 'merge_.*').stdout
        self.assertIn('merge_products (exact)', some)
        self.assertNotIn('add_negated', some)

    def test_says_what_each_took(self):
        json_file, output = self.path('out.json'), self.path('out.txt')
        self.encore('opt', self.model, '-o', output, '--json', json_file)
        with open(json_file, encoding='utf-8') as file:
            report = json.load(file)
        self.assertEqual(list(report['passes_ms']), PASSES)
        self.assertAlmostEqual(report['optimize_ms'], sum(report['passes_ms'].values()))
        self.assertGreater(report['nodes'], report['nodes_before'])

    def test_the_clock_ends_rewriting(self):
        model = self.write('signs.txt', SIGNS)
        cut = self.encore('opt', model, '--max-seconds', '1e-9', '--emit', 'text').stdout
        self.assertIn('neg(', cut)
        self.assertIn('ended by: time', self.encore('opt', model, '--max-seconds', '1e-9').stdout)
        # Where it suffices it changes nothing.
        self.assertEqual(self.encore('opt', model, '--max-seconds', '1e6', '--emit', 'text').stdout,
                         self.encore('opt', model, '--emit', 'text').stdout)
        for bad in ('-1', 'nan', 'inf', 'soon'):
            self.assertIn('--max-seconds', self.encore('opt', model, '--max-seconds', bad, code=2).stderr)

    def test_verdicts_on_rules_of_a_file_are_kept(self):
        rules = self.write('mine.rules', """// sin(-x) = -sin(x)
rule sine_of_negated exact { neg(sin(neg(%x))) -> sin(%x) }
""")
        cache = self.path('cache')
        self.encore('opt', self.model, '--rules-file', rules, '--cache', cache)
        kept = self.encore('cache', 'list', '--cache', cache).stdout
        self.assertEqual(kept.count('artifact '), 1, kept)
        self.encore('opt', self.model, '--rules-file', rules, '--cache', cache)
        self.assertEqual(self.encore('cache', 'list', '--cache', cache).stdout, kept)

    def test_rewrites_by_the_rules_that_are_allowed(self):
        model = self.write('signs.txt', SIGNS)
        self.assertIn('neg(', self.encore('opt', model, '--rewrites', 'none', '--emit', 'text').stdout)
        self.assertIn('sub(', self.encore('opt', model, '--emit', 'text').stdout)
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
        some = self.encore('opt', model, '--rewrites', 'fast', '--rules', 'sub.*|mul.*', '--emit', 'text').stdout
        self.assertIn('neg(', some)
        self.assertIn('--rules (', self.encore('opt', model, '--rewrites', 'fast', '--rules', '(', code=2).stderr)
        self.assertIn('--list-rules', self.encore('opt', model, '--rules', 'add_neg', code=2).stderr)
        finite = self.encore('opt', '--list-rules', '--rewrites', 'fast').stdout
        finite = re.findall(r'(?m)^(\w+) \(finite_math\)$', finite)[0]
        self.assertIn('--rewrites fast', self.encore('opt', model, '--rules', finite, code=2).stderr)
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
