#!/usr/bin/env python3
"""Which pairs of `bench programs` may be above the limit."""
import unittest

import programs

LIST = """# A head.
cost a/estimated rates prefer the written form
time a/slow a mask of indices
cost a/both a mask of indices
time a/both a mask of indices
"""


def ratio(low, median, high):
    return {'low': low, 'median': median, 'high': high}


class ProgramsTest(unittest.TestCase):

    def judge(self, **ratios):
        return programs.judge({f'a/{name}': value for name, value in ratios.items()}, programs.exceptions('time', LIST), 1.15)

    def test_each_kind_has_its_own_exceptions(self):
        self.assertEqual(set(programs.exceptions('time', LIST)), {'a/slow', 'a/both'})
        self.assertEqual(set(programs.exceptions('cost', LIST)), {'a/estimated', 'a/both'})

    def test_an_exception_has_a_reason(self):
        for line in ('time a/slow', 'time a/slow ', 'time a/slow  '):
            with self.assertRaisesRegex(SystemExit, 'there is no reason'):
                programs.exceptions('time', line)

    def test_what_is_estimated_at_more_may_not_take_more(self):
        lines, failed = self.judge(estimated=ratio(1.2, 1.3, 1.4))
        self.assertTrue(failed)
        self.assertRegex(lines[0], 'a/estimated: above the limit')

    def test_what_is_listed_may(self):
        for name in ('slow', 'both'):
            lines, failed = self.judge(**{name: ratio(1.2, 1.3, 1.4)})
            self.assertFalse(failed)
            self.assertEqual(lines, [f'a/{name}: a mask of indices'])

    def test_what_is_listed_and_is_not_above_is_said(self):
        lines, failed = self.judge(slow=ratio(0.9, 1.0, 1.1), both=ratio(1.1, 1.2, 1.3))
        self.assertFalse(failed)
        self.assertEqual(len(lines), 1)
        self.assertRegex(lines[0], 'a/slow: not above the limit')

    def test_the_interval_counts_and_the_median_where_there_is_none(self):
        self.assertEqual(self.judge(other=ratio(1.1, 1.2, 1.3)), ([], False))
        self.assertTrue(self.judge(other=ratio(None, 1.2, None))[1])
        self.assertFalse(self.judge(other=ratio(None, 1.1, None))[1])

    def test_the_list_as_it_is(self):
        text = programs.EXCEPTIONS.read_text()
        paths = {f'{path.parent.name}/{path.stem}' for path in programs.FOLDER.glob('*/*.txt')}
        for kind in ('cost', 'time'):
            self.assertLessEqual(set(programs.exceptions(kind, text)), paths)
        kinds = {line.split(' ')[0] for line in text.splitlines() if not line.startswith('#')}
        self.assertLessEqual(kinds, {'cost', 'time'})


if __name__ == '__main__':
    unittest.main()
