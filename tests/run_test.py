#!/usr/bin/env python3
"""Tests of run, with a Bazel that only says what it is told to: what the last line counts, whatever ends the run."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).absolute().parent

# `query` gives the file `labels`, its code `query_code`. `test` writes the file `said` as its events and ends with `code`,
# at once or, where the file `slow` is there, with 8 once SIGINT comes.
BAZEL = r"""#!/usr/bin/env python3
import pathlib, signal, sys, time
root = pathlib.Path(__file__).resolve().parents[1]
if sys.argv[1] == "query":
    sys.stdout.write((root / "labels").read_text())
    sys.exit(int((root / "query_code").read_text()) if "--keep_going" in sys.argv else 7)
[events] = [word.split("=")[1] for word in sys.argv if word.startswith("--build_event_json_file=")]
pathlib.Path(events).write_text((root / "said").read_text())
if (root / "slow").exists():
    got = []
    signal.signal(signal.SIGINT, lambda *_: got.append(1))
    (root / "waiting").touch()
    while not got:
        time.sleep(0.01)
    sys.exit(8)
sys.exit(int((root / "code").read_text()))
"""

SCRIPT = """#!/usr/bin/env bash
echo "$0" >> calls
exit "$(cat script_code)"
"""


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        for name in ('run', 'count_cases.py'):
            (self.root / 'tests').mkdir(exist_ok=True)
            shutil.copy(HERE / name, self.root / 'tests' / name)
        self.write('bin/bazel', BAZEL)
        for script in ('tests/consumer/run', 'tests/wrong_include'):
            self.write(script, SCRIPT)
        log = self.write('logs/test.xml', '<testsuites><testsuite><testcase name="A" status="run" classname="S" /></testsuite></testsuites>')
        event = {'id': {'testResult': {'label': '//a:t', 'run': 1}},
                 'testResult': {'status': 'PASSED', 'testActionOutput': [{'name': 'test.xml', 'uri': log.as_uri()}]}}
        self.write('said', json.dumps(event) + '\n')
        self.write('labels', '//a:t\n')
        for name in ('code', 'query_code', 'script_code'):
            self.write(name, '0')

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def start(self, *targets):
        environment = dict(os.environ, PATH=f'{self.root / "bin"}:{os.environ["PATH"]}')
        return subprocess.Popen([self.root / 'tests/run', *targets], env=environment, text=True, start_new_session=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def end(self, process):
        output = process.communicate(timeout=60)[0]
        return process.returncode, output.splitlines()[-1]

    def test_all_of_it_counts_the_scripts(self):
        self.assertEqual(self.end(self.start()), (0, '3 passed, 0 failed, 0 skipped'))
        self.write('script_code', '1')
        self.assertEqual(self.end(self.start()), (1, '1 passed, 2 failed, 0 skipped'))

    def test_targets_run_no_script(self):
        self.assertEqual(self.end(self.start('//a/...')), (0, '1 passed, 0 failed, 0 skipped'))
        self.assertFalse((self.root / 'calls').exists())

    def test_a_package_that_cannot_be_read_is_a_failure_and_hides_no_test(self):
        self.write('code', '1')
        self.write('query_code', '3')
        self.assertEqual(self.end(self.start('//...')), (1, '1 passed, 1 failed, 0 skipped'))

    def test_a_signal_ends_it_and_what_ran_is_counted(self):
        """Sent to the script alone, and as a terminal does, to all that it has started."""
        self.write('labels', '//a:t\n//b:t\n')
        self.write('slow', '')
        for number, kill in ((signal.SIGTERM, os.kill), (signal.SIGINT, os.kill), (signal.SIGINT, os.killpg)):
            (self.root / 'waiting').unlink(missing_ok=True)
            process = self.start()
            while not (self.root / 'waiting').exists():
                time.sleep(0.01)
            kill(process.pid, number)
            self.assertEqual(self.end(process), (8, '1 passed, 1 failed, 0 skipped'))
            self.assertFalse((self.root / 'calls').exists())


if __name__ == '__main__':
    unittest.main()
