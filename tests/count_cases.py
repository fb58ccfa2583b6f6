#!/usr/bin/env python3
"""Counts the test cases in Bazel's XML logs: "N passed, N failed, N skipped".

  count_cases.py TESTLOGS [--since FILE]

A target that wrote no cases of its own (a script) counts as one case. Logs older than
FILE are of another run and do not count.
"""
import argparse
import os
import sys
import xml.etree.ElementTree as ElementTree


def count(path):
    """(passed, failed, skipped) of one test.xml."""
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError:
        return 0, 1, 0
    passed = failed = skipped = 0
    for case in root.iter('testcase'):
        if case.find('failure') is not None or case.find('error') is not None:
            failed += 1
        elif case.find('skipped') is not None or case.get('status') == 'notrun' or case.get('result') == 'skipped':
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('testlogs')
    parser.add_argument('--since', metavar='FILE')
    arguments = parser.parse_args()
    oldest = os.stat(arguments.since).st_mtime if arguments.since else 0
    totals = [0, 0, 0]
    for folder, _, files in os.walk(os.path.realpath(arguments.testlogs)):
        for name in files:
            path = os.path.join(folder, name)
            if name == 'test.xml' and os.stat(path).st_mtime >= oldest:
                totals = [a + b for a, b in zip(totals, count(path))]
    print('%d passed, %d failed, %d skipped' % tuple(totals))
    sys.exit(1 if totals[1] else 0)


if __name__ == '__main__':
    main()
