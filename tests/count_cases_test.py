#!/usr/bin/env python3
"""Tests of count_cases.py, on events and logs as Bazel and GoogleTest write them."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / 'count_cases.py'

PASSED = '<testcase name="A" status="run" result="completed" classname="Suite" />'
FAILED = '<testcase name="B" status="run" classname="Suite"><failure message="x" /></testcase>'
SKIPPED = ('<testcase name="C" status="run" result="skipped" classname="Suite">'
           '<skipped message="a_test.cc:7&#x0A;the system refuses namespaces (unshare)" /></testcase>')
DISABLED = '<testcase name="D" status="notrun" result="suppressed" classname="Suite" />'


class CountCases(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='logs of ')  # a name that an URI has escapes for
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.events = []
        self.said = []

    def log(self, name, *cases):
        path = self.folder / name / 'test.xml'
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('<testsuites><testsuite name="Suite">' + ''.join(cases) + '</testsuite></testsuites>')
        return path

    def ran(self, label, path, status='PASSED', **place):
        outputs = [{'name': 'test.log', 'uri': 'file:///none'}, {'name': 'test.xml', 'uri': path.as_uri()}]
        self.events.append({'id': {'testResult': dict({'label': label, 'run': 1, 'attempt': 1}, **place)},
                            'testResult': {'status': status, 'testActionOutput': outputs}})

    def count(self, labels, *also, cut='', code=0):
        events = self.folder / 'events'
        events.write_text(''.join(json.dumps(event) + '\n' for event in self.events) + cut)
        done = subprocess.run([sys.executable, SCRIPT, events, str(code), *also], input='\n'.join(labels),
                              capture_output=True, text=True, check=False)
        self.said = done.stdout.splitlines()[:-1]
        self.assertEqual(done.returncode, 0 if ' 0 failed' in done.stdout.splitlines()[-1] else 1, done)
        return done.stdout.splitlines()[-1]

    def test_cases_of_all_shards(self):
        self.ran('//a:t', self.log('a/1', PASSED, PASSED), shard=1)
        self.ran('//a:t', self.log('a/2', PASSED, FAILED, DISABLED), status='FAILED', shard=2)
        self.ran('//b:t', self.log('b', PASSED))
        self.assertEqual(self.count(['//a:t', '//b:t']), '4 passed, 1 failed, 1 skipped')

    def test_a_log_of_an_earlier_run_does_not_count(self):
        self.log('a', PASSED)
        self.log('b/shard_3_of_3', PASSED)
        self.events.append({'id': {'targetCompleted': {'label': '//a:t'}}, 'completed': {}})
        self.ran('//b:t', self.log('b/shard_1_of_2', PASSED), shard=1)
        self.ran('//b:t', self.log('b/shard_2_of_2', PASSED), shard=2)
        self.assertEqual(self.count(['//a:t', '//b:t']), '2 passed, 1 failed, 0 skipped')

    def test_the_last_attempt_counts(self):
        self.ran('//a:t', self.log('a/1', FAILED), status='FAILED', attempt=1)
        self.ran('//a:t', self.log('a/2', PASSED), attempt=2)
        self.assertEqual(self.count(['//a:t']), '1 passed, 0 failed, 0 skipped')

    def test_a_failure_of_no_case_is_one(self):
        self.ran('//a:t', self.log('a', PASSED), status='FAILED')
        self.ran('//b:t', self.folder / 'none')
        self.ran('//c:t', self.log('c', PASSED), status='TIMEOUT')
        self.assertEqual(self.count(['//a:t', '//b:t', '//c:t']), '2 passed, 3 failed, 0 skipped')

    def test_events_that_end_in_the_middle(self):
        self.ran('//a:t', self.log('a', PASSED))
        self.assertEqual(self.count(['//a:t', '//b:t'], cut='{"id": {"testRes'), '1 passed, 1 failed, 0 skipped')

    def test_what_is_skipped_is_said_by_name(self):
        self.ran('//a:t', self.log('a', SKIPPED, DISABLED))
        self.assertEqual(self.count(['//a:t']), '0 passed, 0 failed, 2 skipped')
        self.assertEqual(self.said, ['skipped //a:t Suite.C: the system refuses namespaces (unshare)',
                                     'skipped //a:t Suite.D: it says no reason'])

    def test_a_failure_of_no_test_is_one(self):
        self.ran('//a:t', self.log('a', PASSED))
        self.assertEqual(self.count(['//a:t'], code=1), '1 passed, 1 failed, 0 skipped')
        self.assertEqual(self.count(['//a:t'], 'failed', code=1), '1 passed, 2 failed, 0 skipped')
        self.assertEqual(self.count(['//a:t', '//b:t'], code=1), '1 passed, 1 failed, 0 skipped')
        self.assertEqual(self.count([], code=4), '0 passed, 0 failed, 0 skipped')

    def test_events_that_end_in_a_letter(self):
        self.ran('//a:t', self.log('a', PASSED))
        events = self.folder / 'events'
        events.write_bytes(json.dumps(self.events[0]).encode() + b'\n{"id": "\xc3')
        done = subprocess.run([sys.executable, SCRIPT, events, '0'], input='//a:t', capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, '1 passed, 0 failed, 0 skipped\n')

    def test_what_ran_elsewhere(self):
        self.ran('//a:t', self.log('a', PASSED))
        self.assertEqual(self.count(['//a:t'], 'passed', 'failed'), '2 passed, 1 failed, 0 skipped')
        self.assertEqual(self.count(['//a:t'], 'passed', 'skipped'), '2 passed, 0 failed, 1 skipped')


if __name__ == '__main__':
    unittest.main()
