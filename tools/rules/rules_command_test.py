#!/usr/bin/env python3
"""Drives `encore rules`, and what other verbs do with --rules-file, as a user does."""
import json
import os
import subprocess
import sys
import unittest

from commands import CommandTest

TOOL = sys.argv.pop()

RIGHT = '''
// sin(-x) = -sin(x)
rule sine_of_negated exact {
  neg(sin(neg(%x))) -> sin(%x)
}
'''

WRONG = '''
// cos(-x) = -cos(x)
rule cosine_of_negated exact {
  neg(cos(neg(%x))) -> cos(%x)
}
'''

MODEL = '''
graph signs(%x: f32[64,64]) -> f32[64,64] {
  %0 = neg(%x)
  %1 = sin(%0)
  %y = neg(%1)
  return %y
}
'''


class RulesTest(CommandTest):
    def encore(self, *arguments, code=0):
        done = subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=250,
                              env=dict(os.environ, ENCORE_CACHE=self.path('cache')))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def lines(self, *arguments, code=0):
        return [json.loads(line) for line in self.encore(*arguments, '--json', '-', code=code).stdout.splitlines()]

    def test_lists_the_book_and_files(self):
        listed = self.lines('rules', 'list')
        self.assertGreater(len(listed), 80)
        first = next(rule for rule in listed if rule['rule'] == 'commute_sum')
        self.assertEqual((first['tag'], first['algebra']), ('exact', 'x + y = y + x'))
        self.assertIn('commute_sum (exact): x + y = y + x\n', self.encore('rules', 'list').stdout)
        mine = self.write('mine.rules', RIGHT + WRONG)
        self.assertEqual([rule['rule'] for rule in self.lines('rules', 'list', mine)],
                         ['sine_of_negated', 'cosine_of_negated'])

    def test_checks_the_book(self):
        verdicts = self.lines('rules', 'check')
        self.assertEqual(len(verdicts), len(self.lines('rules', 'list')))
        for verdict in verdicts:
            self.assertTrue(verdict['right'], verdict)
            self.assertGreaterEqual(verdict['graphs'], 100, verdict)

    def test_checks_a_file_and_shows_the_smallest_instance(self):
        right = self.write('right.rules', RIGHT)
        self.assertIn('1 right, 0 wrong', self.encore('rules', 'check', right).stdout)
        wrong = self.write('wrong.rules', RIGHT + WRONG)
        shown = self.encore('rules', 'check', wrong, code=1).stdout
        self.assertIn('1 right, 1 wrong', shown)
        self.assertIn('rule cosine_of_negated (exact) is wrong: element 0 of output 0 is 1, expected -1\n'
                      '%x = f32[] 0\nbefore:\ngraph left(%x: f32[]) -> f32[] {\n', shown)
        verdicts = self.lines('rules', 'check', wrong, code=1)
        self.assertEqual([verdict['right'] for verdict in verdicts], [True, False])
        self.assertIn('%x = f32[] 0', verdicts[1]['instance'])

    def test_bad_files_are_named_by_line(self):
        bad = self.write('bad.rules', '// a\nrule r exact {\n  neg(%x) -> nag(%x)\n}\n')
        for verb in (('rules', 'check', bad), ('run', self.write('m.txt', MODEL), '--rules-file', bad)):
            done = self.encore(*verb, code=2)
            self.assertIn('bad.rules:3:14: no operator is called "nag"', done.stderr)
            self.assertIn('opt/rules/README.md', done.stderr)
        self.assertIn('nothing.rules', self.encore('rules', 'check', self.path('nothing.rules'), code=2).stderr)

    def test_a_compile_uses_a_right_rule_and_refuses_a_wrong_one(self):
        model = self.write('model.txt', MODEL)
        right, wrong = self.write('right.rules', RIGHT), self.write('wrong.rules', WRONG)
        plain = self.encore('opt', model, '--emit', 'text').stdout
        better = self.encore('opt', model, '--rules-file', right, '--emit', 'text').stdout
        self.assertIn('neg(', plain)
        self.assertNotIn('neg(', better)
        stopped = self.encore('compile', model, '-o', '-', '--stop-after', 'optimize', '--emit', 'text',
                              '--rules-file', right).stdout
        self.assertEqual(stopped, better)
        for verb in (('opt', model), ('run', model), ('compile', model, '-o', self.path('m.encore'))):
            error = self.encore(*verb, '--rules-file', wrong, code=2).stderr
            self.assertIn('rule cosine_of_negated (exact) is wrong: element 0 of output 0 is 1, expected -1', error)
            self.assertIn('%x = f32[] 0', error)
        self.assertIn('--rewrites none', self.encore('run', model, '--rules-file', right, '--rewrites', 'none',
                                                     code=2).stderr)

    def test_the_key_has_the_rules_and_not_their_comments(self):
        model = self.write('model.txt', MODEL)
        rules = self.write('mine.rules', RIGHT)

        def cache(*flags):
            return self.lines('run', model, '--repeat', '1', *flags)[0]['cache']

        self.assertEqual(cache(), 'miss')
        self.assertEqual(cache('--rules-file', rules), 'miss')
        self.assertEqual(cache('--rules-file', rules), 'hit')
        self.write('mine.rules', '// other words\n// in two lines\nrule  sine_of_negated exact {\n\n'
                                 'neg(sin(neg( %x ))) ->\n sin(%x) // here too\n}\n')
        self.assertEqual(cache('--rules-file', rules), 'hit')
        self.write('mine.rules', RIGHT.replace('%x', '%z'))
        self.assertEqual(cache('--rules-file', rules), 'miss')
        self.assertEqual(cache(), 'hit')

    def test_a_package_keeps_them(self):
        model = self.write('model.txt', MODEL)
        package = self.path('m.encore')
        self.encore('compile', model, '-o', package, '--rules-file', self.write('mine.rules', RIGHT))
        # Compiled again from the graph in it, as nobody trusts its code.
        self.encore('replay', 'run', package)

    def test_finds_what_the_book_lacks(self):
        state = self.path('state')
        arguments = ('rules', 'find', '--operators', '2', '--kinds', '9')
        found = self.encore(*arguments).stdout
        self.assertEqual(self.encore(*arguments, '--state', state, '--seconds', '0').stdout.splitlines()[-1][:5],
                         'found')
        self.assertEqual(self.encore(*arguments, '--state', state).stdout, found)
        self.assertEqual(self.encore(*arguments, '--state', state).stdout, found)
        self.assertIn(state, self.encore('rules', 'find', '--operators', '1', '--state', state, code=2).stderr)


if __name__ == '__main__':
    unittest.main()
