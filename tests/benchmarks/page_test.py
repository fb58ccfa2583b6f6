#!/usr/bin/env python3
"""Tests of page.py: what the page says of rows."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'zoo'))

import page  # noqa: E402


def row(model, program, us, **other):
    fails = us is None
    figures = {'min_us': us, 'median_us': us, 'rounds': 5, 'dropped': '', 'disturbed': False, 'error': 0.0, 'agrees': True,
               'version': '1', 'peak_mib': 20.0, 'base_mib': 10.0, 'ready': {'arena_bytes': 64, 'live_bytes': 64}}
    for prefix, count in (('cold', 3), ('warm', 15), ('process', 15)):
        if prefix != 'process' or program == 'encore':
            figures.update({prefix + '_ms': 2.0, prefix + '_median_ms': 3.0, prefix + '_runs': count,
                            prefix + '_dropped': '', prefix + '_disturbed': False})
    return {'model': model, 'program': program, 'threads': 2, 'date': '2026-01-01', 'load': 0.5, 'device': 'a CPU',
            'fails': fails, **({} if fails else figures), **other}


def rows(model, encore, *peers):
    return [row(model, name, us) for name, us in zip(('encore', 'one', 'two'), (encore, *peers))]


def bullets(text):
    return [line[2:] for line in text.splitlines() if line.startswith('* ')]


class MeansTest(unittest.TestCase):
    def test_all_and_those_that_several_peers_run(self):
        text = page.render(rows('a', 100, 200, 400) + rows('b', 100, 50, 70) + rows('alone', 100, 800, None))
        self.assertEqual(bullets(text), [
            'all: 2.00 over 3 models; ahead on 2; the least 0.50.',
            'those that at least two peers run (without alone): 1.00 over 2 models; ahead on 1; the least 0.50.'])

    def test_only_alone(self):
        text = page.render(rows('alone', 100, 800, None))
        self.assertEqual(bullets(text), ['all: 8.00 over 1 models; ahead on 1; the least 8.00.'])

    def test_what_is_in_no_mean_is_said(self):
        text = page.render(rows('a', 100, 200, 400) + rows('b', None, 50, 70) + rows('c', 100, None, None))
        self.assertEqual(bullets(text)[2:], ['in no mean, because Encore fails: b.',
                                             'in no mean, because no peer runs it: c.'])
        self.assertIn('| b | fails | 50.0 us | 70.0 us |  |  | no |', text)

    def test_overhead_is_apart(self):
        self.assertIn('add', page.OVERHEAD)
        self.assertEqual(bullets(page.render(rows('add', 1, 10, 20))), [])


class BehindTest(unittest.TestCase):
    def test_the_least_first_with_the_peer(self):
        text = page.render(rows('a', 100, 90, 80) + rows('b', 100, 50, 70) + rows('c', 100, 200, 300))
        self.assertIn('Furthest behind, of 3 models: b (0.50, one), a (0.80, two).', text)

    def test_at_most_five(self):
        text = page.render([line for us in range(10, 80, 10) for line in rows('m%d' % us, 100, us)])
        self.assertIn('of 7 models: m10 (0.10, one)', text)
        self.assertIn('m50', text.split('Furthest')[1].split('\n')[0])
        self.assertNotIn('m60', text.split('Furthest')[1].split('\n')[0])

    def test_none(self):
        self.assertNotIn('Furthest', page.render(rows('a', 100, 200)))


class CommandTest(unittest.TestCase):
    def test_goals_are_of_the_page_of_all_models(self):
        self.assertIn('against the goals', page.render(rows('a', 100, 200)))
        text = page.render(rows('a', 100, 200), './encore bench models --group architectures')
        self.assertNotIn('against the goals', text)
        self.assertIn('    ./encore bench models --group architectures\n', text)


class MarksTest(unittest.TestCase):
    def test_disturbed(self):
        text = page.render(rows('a', 100, 200, 400))
        self.assertNotIn('disturbed', text)
        text = page.render([row('a', 'encore', 100, disturbed=True, dropped='2: the loop took 1.20 times its best'),
                            row('a', 'one', 200)])
        self.assertIn('| a | encore | 1 | 2 | a CPU | 100.0 us | 100.0 us | 5 | 2: the loop took 1.20 times its best (all) |',
                      text)
        self.assertIn('| a | 100.0 us * | 200.0 us | 2.00 |', text)
        self.assertIn('*: all rounds of the row were disturbed', text)

    def test_a_peer_that_does_not_agree(self):
        text = page.render([row('a', 'encore', 100), row('a', 'one', 200, agrees=False)])
        self.assertIn('| a | 100.0 us | 200.0 us (!) | 2.00 | 0.0e+00 | yes |', text)
        self.assertIn('(!): does not agree', text)

    def test_starts(self):
        text = page.render(rows('a', 100, 200))
        self.assertIn('| 2.0 (3.0) of 3 | 2.0 (3.0) of 15 | 2.0 (3.0) of 15 | 20 (10) |', text)
        self.assertIn('| 2.0 (3.0) of 3 | 2.0 (3.0) of 15 |  | 20 (10) |', text)
        self.assertNotIn('Of different number', text)
        text = page.render([row('a', 'encore', 100), row('a', 'one', 200, warm_runs=3)])
        self.assertIn('the warm starts of all.', text)
        text = page.render([row('a', 'encore', 100), row('a', 'one', 200, rounds=3)] + rows('b', 1, 2))
        self.assertIn('the rounds of a.', text)


if __name__ == '__main__':
    unittest.main()
