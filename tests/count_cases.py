#!/usr/bin/env python3
"""Counts the test cases of Bazel test targets: "N passed, N failed, N skipped".

  count_cases.py TESTLOGS [passed|failed|skipped]… < LABELS

LABELS, one a line, are the targets that were run. A target that wrote no cases of its own
(a script) counts as one; a target without a log (it did not build) as one failed. The
words beside TESTLOGS are results of cases that ran elsewhere.
"""
import os
import sys
import xml.etree.ElementTree as ElementTree


def logs_of(testlogs, label):
    """The XML logs of a target: one, or one for each shard."""
    folder = os.path.join(testlogs, *label.lstrip('/').split(':'))
    return [os.path.join(parent, name)
            for parent, _, names in os.walk(folder)
            for name in names if name == 'test.xml']


def count(path):
    """(passed, failed, skipped) of one log."""
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError:
        return 0, 1, 0
    passed = failed = skipped = 0
    for case in root.iter('testcase'):
        if case.find('failure') is not None or case.find('error') is not None:
            failed += 1
        elif (case.find('skipped') is not None or case.get('status') == 'notrun'
              or case.get('result') == 'skipped'):
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main():
    words = ('passed', 'failed', 'skipped')
    if len(sys.argv) < 2 or any(word not in words for word in sys.argv[2:]):
        sys.exit(__doc__)
    testlogs = os.path.realpath(sys.argv[1])
    totals = [sys.argv[2:].count(word) for word in words]
    for label in sys.stdin.read().split():
        logs = logs_of(testlogs, label)
        if not logs:
            print(f'no log of {label}: it was not built or not run', file=sys.stderr)
            totals[1] += 1
        for path in logs:
            totals = [a + b for a, b in zip(totals, count(path))]
    print('%d passed, %d failed, %d skipped' % tuple(totals))
    sys.exit(1 if totals[1] else 0)


if __name__ == '__main__':
    main()
