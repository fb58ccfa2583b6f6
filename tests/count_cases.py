#!/usr/bin/env python3
"""Counts the test cases of Bazel test targets: "N passed, N failed, N skipped".

  count_cases.py EVENTS CODE [passed|failed|skipped]… < LABELS

EVENTS is what `bazel test --build_event_json_file=EVENTS` wrote: it says which logs are of
that run, where older ones lie beside them. CODE is how Bazel ended: where it says a failure that no
log does (a package that cannot be read, what is no test and did not build), that is one
failed. LABELS, one a line, are the targets that were to
run. A target that wrote no cases of its own (a script) counts as one; a target without a log
(it did not build) as one failed, as does one that failed with no failed case. Names the cases
that were skipped, with what they say. The words behind CODE are results of cases that ran
elsewhere.
"""
import collections
import json
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree

# Statuses of a test that passed, the latter in a later attempt.
PASSED = ('PASSED', 'FLAKY')
# Bazel's code where no test was among the targets.
NO_TESTS = 4


def results_of(path):
    """By label, what each shard and run of the target said last: (status, its XML log)."""
    results = collections.defaultdict(dict)
    with open(path, encoding='utf-8', errors='replace') as events:
        for line in events:
            try:
                event = json.loads(line)
            except ValueError:  # Bazel died in the middle of it
                break
            place = event.get('id', {}).get('testResult')
            result = event.get('testResult')
            if place is None or result is None:
                continue
            logs = [urllib.parse.unquote(urllib.parse.urlparse(output['uri']).path)
                    for output in result.get('testActionOutput', [])
                    if output['name'] == 'test.xml']
            # Attempts come in their order.
            results[place['label']][place.get('run', 0), place.get('shard', 0)] = (
                result.get('status'), logs[0] if logs else None)
    return results


def count(label, status, path, totals):
    """Adds the cases of one log to the totals."""
    try:
        cases = list(ElementTree.parse(path).getroot().iter('testcase')) if path else []
    except (OSError, ElementTree.ParseError):
        cases = []
    has_failed = False
    for case in cases:
        skipped = case.find('skipped')
        if case.find('failure') is not None or case.find('error') is not None:
            has_failed = True
            totals['failed'] += 1
        elif skipped is not None or case.get('status') == 'notrun' or case.get('result') == 'skipped':
            totals['skipped'] += 1
            # GoogleTest begins with a line that says where.
            why = '' if skipped is None else skipped.get('message') or skipped.text or ''
            why = ' '.join(why.strip().splitlines()[1:] or why.split('\n'))
            print(f"skipped {label} {case.get('classname')}.{case.get('name')}: {why or 'it says no reason'}")
        else:
            totals['passed'] += 1
    if not has_failed and (not cases or status not in PASSED):
        print(f'{label} says {status}, and no case of its log failed', file=sys.stderr)
        totals['failed'] += 1


def main():
    words = ('passed', 'failed', 'skipped')
    if len(sys.argv) < 3 or not sys.argv[2].isdigit() or any(word not in words for word in sys.argv[3:]):
        sys.exit(__doc__)
    results = results_of(sys.argv[1])
    totals = collections.Counter()
    for label in sys.stdin.read().split():
        if label not in results:
            print(f'no log of {label}: it was not built or not run', file=sys.stderr)
            totals['failed'] += 1
        for _, (status, path) in sorted(results[label].items()):
            count(label, status, path, totals)
    if not totals['failed'] and int(sys.argv[2]) not in (0, NO_TESTS):
        print(f'Bazel ended with {sys.argv[2]}, and no test failed: something was not built or not run', file=sys.stderr)
        totals['failed'] += 1
    totals.update(sys.argv[3:])
    print(', '.join(f'{totals[word]} {word}' for word in words))
    sys.exit(1 if totals['failed'] else 0)


if __name__ == '__main__':
    main()
