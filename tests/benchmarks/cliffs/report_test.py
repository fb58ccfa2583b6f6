#!/usr/bin/env python3
"""Tests of report.py: what the page says of rows."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import report  # noqa: E402


def row(number, encore, peers, failed=(), difference=0.0):
    us = {'peer%d' % i: time for i, time in enumerate(peers)}
    if encore:
        us['encore'] = encore
    return {'number': number, 'family': 'product' if number % 2 else 'norm', 'kernel': 'kernel %d' % number, 'us': us, 'roofline_us': 5.0,
            'failed': list(failed), 'difference': difference, 'device': 'a machine'}


def page(rows, profiled=0):
    return list(report.lines(rows, lambda row: ['step of %d' % row['number']], profiled))


class Report(unittest.TestCase):
    def test_a_ratio_is_to_the_better_peer(self):
        self.assertEqual(report.ratio(row(1, 30, [20, 10])), 3)
        self.assertIsNone(report.ratio(row(1, 30, [])))
        self.assertIsNone(report.ratio(row(1, None, [20])))

    def test_shares_are_of_kernels_that_both_run(self):
        rows = [row(1, 10, [10]), row(2, 12, [10]), row(3, 25, [10]), row(4, 11, [10, 99]), row(5, None, [10], ['encore'])]
        head = page(rows)
        self.assertEqual(head[0], '4 kernels, a machine: median 1.15, within 1.15: 50 %, over 2: 1, worst 2.50')
        self.assertIn('fails in Encore: 5, kernel 5', head)

    def test_the_worst_come_first_with_their_steps(self):
        rows = [row(number, 10 + number, [10]) for number in range(30)]
        table = [line for line in page(rows, profiled=2) if line.startswith('| 2') or line.startswith('| 1')]
        self.assertEqual(len(table), report.WORST)
        self.assertTrue(table[0].startswith('| 29 | kernel 29 | 39.0 | 5.0 | peer0 10.0 | 3.90 |'))
        steps = [line for line in page(rows, profiled=2) if 'step of' in line]
        self.assertEqual(steps, ['    step of 29', '    step of 28'])

    def test_families_have_rows_of_their_own(self):
        lines = page([row(1, 10, [20]), row(3, 30, [10]), row(2, 10, [10])])
        self.assertIn('| norm | 1 | 1.00 | 1.00 | 0 | 0.50 |', lines)
        self.assertTrue(any(line.startswith('| product | 2 | 1.75 | 3.00 | 1 |') for line in lines))

    def test_outputs_that_differ_are_named(self):
        self.assertIn('differs by 1.0e-01 of the largest element: 7, kernel 7', page([row(7, 10, [10], difference=0.1)]))

    def test_denormal_inputs_are_compared_with_usual_ones(self):
        rows = [dict(row(number, 10, []), us={'encore': 10.0, report.DENORMAL: time}) for number, time in ((1, 10.0), (2, 12.0), (3, 30.0))]
        rows.append(row(4, 10, []))  # failed on them
        lines = list(report.denormal_lines(rows))
        self.assertEqual(lines[0], '3 kernels on denormal inputs, a machine: median 1.20, within 1.2: 67 %, worst 3.00')
        self.assertEqual(lines[-3], '| 3 | kernel 3 | 10.0 | 30.0 | 3.00 |')
        self.assertEqual(list(report.denormal_lines([row(1, 10, [])])), ['no kernel was measured on denormal inputs'])
        self.assertEqual(report.text_of(report.denormal_ratio(rows[-1])), 'fails')

    def test_nothing_measured_is_said(self):
        self.assertEqual(page([row(1, None, [10])]), ['no kernel was measured in Encore and a peer'])


if __name__ == '__main__':
    unittest.main()
