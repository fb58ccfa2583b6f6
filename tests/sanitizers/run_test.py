#!/usr/bin/env python3
"""Tests of run and of the gate (.ci/run), with a Bazel and an ./encore that only say what they are told to."""
import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).absolute().parents[2]

# `query` gives the labels that it is asked for; those with `kernel` in their names are linked with kernels' compiler. `test` reads what it is to do from the file `plan`, a line a call:
# an exit code, then verdicts by label; others passed. WAIT is to go on until a signal comes, then as said; SILENT, to say nothing.
BAZEL = r"""#!/usr/bin/env python3
import os, pathlib, re, signal, sys, time
root = pathlib.Path(__file__).resolve().parents[1]
if sys.argv[1] == "query":
    while (root / "slow_query").exists():
        (root / "querying").touch()
        time.sleep(0.01)
    tests, which, _ = re.split(r"( intersect rdeps| except rdeps|$)", sys.argv[-1], maxsplit=1)
    for label in re.findall(r"//[\w/:.]+", tests):
        if not which or ("kernel" in label) == which.startswith(" intersect"):
            print(label)
    sys.exit(int((root / "query_code").read_text()) if (root / "query_code").exists() else 0)
labels = sys.argv[sys.argv.index("--") + 1:]
config = next(word.split("=")[1] for word in sys.argv if word.startswith("--platform_suffix="))
with open(root / "calls", "a") as calls:
    print(config, *labels, file=calls)
plan = (root / "plan").read_text().splitlines() if (root / "plan").exists() else []
number = len((root / "calls").read_text().splitlines()) - 1
code, *verdicts = plan[number].split(";") if number < len(plan) else ["0"]
verdicts = dict(verdict.split("=") for verdict in verdicts)
if verdicts.pop("WAIT", None):
    got = []
    signal.signal(signal.SIGINT, lambda *_: got.append(1))
    (root / "waiting").touch()
    while not got:
        time.sleep(0.01)
for label in [] if verdicts.pop("SILENT", None) else labels:
    print(f"{label}    {verdicts.get(label, 'PASSED in 0.1s')}")
sys.exit(int(code))
"""

ENCORE = """#!/usr/bin/env bash
echo "a line"
echo "7 passed, 0 failed, 0 skipped"
exit "$(cat "$(dirname "$0")/encore_code" 2>/dev/null || echo 0)"
"""

# The gate's time is up as soon as something waits for it; tells the command and what it has started, as timeout does.
TIMEOUT = """#!/usr/bin/env python3
import os, pathlib, signal, subprocess, sys, time
assert sys.argv[1:3] == ["--signal=INT", "--preserve-status"], sys.argv
process = subprocess.Popen(sys.argv[4:], start_new_session=True)
while not (pathlib.Path(__file__).resolve().parents[1] / "waiting").exists():
    time.sleep(0.01)
process.send_signal(signal.SIGINT)
os.killpg(process.pid, signal.SIGINT)
sys.exit(process.wait())
"""


class Tree(unittest.TestCase):
    """A copy of the scripts, with three paragraphs of tests for one sanitizer and two for the other."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.write('tests/sanitizers/address.txt', '# What they are.\n//a:one\n//a:two\n\n//b:one\n\n# And these.\n//c:one\n')
        self.write('tests/sanitizers/thread.txt', '//t:one\n\n//t:two\n')
        self.write('bin/bazel', BAZEL)
        self.write('encore', ENCORE)
        for script in ('tests/sanitizers/run', '.ci/run'):
            (self.root / script).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / script, self.root / script)

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def plan(self, *lines):
        (self.root / 'calls').unlink(missing_ok=True)
        self.write('plan', '\n'.join(lines) + '\n')

    def calls(self):
        return (self.root / 'calls').read_text().splitlines()

    def start(self, script, *arguments):
        environment = dict(os.environ, PATH=f'{self.root / "bin"}:{os.environ["PATH"]}')
        return subprocess.Popen([self.root / script, *arguments], env=environment, text=True, start_new_session=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run_script(self, script, *arguments):
        process = self.start(script, *arguments)
        output = process.communicate(timeout=200)[0]
        return process.returncode, output

    def interrupt(self, process, file, number=signal.SIGINT, group=True):
        """Sends a signal, as a terminal does, to all that the script has started, or to it alone, once the file is there."""
        while not (self.root / file).exists():
            time.sleep(0.01)
        (self.root / 'slow_query').unlink(missing_ok=True)
        (os.killpg if group else os.kill)(process.pid, number)
        output = process.communicate(timeout=200)[0]
        return process.returncode, output

    @staticmethod
    def not_run(output):
        return re.findall(r'^not run under sanitizers: (\S+)$', output, re.M)


class SanitizersTest(Tree):
    SCRIPT = 'tests/sanitizers/run'

    def test_the_first_paragraph_of_each_comes_first(self):
        self.assertEqual(self.run_script(self.SCRIPT)[0], 0)
        self.assertEqual(self.calls(), ['address //a:one //a:two', 'thread //t:one', 'address //b:one', 'thread //t:two',
                                        'address //c:one'])

    def test_a_failure_is_final(self):
        """Of a test, of one that took too long, of a build, of Bazel itself; whatever comes after it."""
        for line, wanted in (('3;//a:two=FAILED in 1.0s', 3), ('3;//a:one=TIMEOUT in 60.0s', 3), ('1;//a:one=FAILED TO BUILD', 1),
                             ('37', 37), ('4', 4), ('8;//a:one=FAILED in 0.1s;//a:two=NO STATUS', 3)):
            for later in ([], ['0', '8'], ['8;//t:one=NO STATUS'], ['0', '7']):
                with self.subTest(line=line, later=later):
                    self.plan(line, *later)
                    self.assertEqual(self.run_script(self.SCRIPT)[0], wanted)
        # In the last call as well.
        self.plan('0', '0', '0', '0', '3;//c:one=FAILED in 1.0s')
        self.assertEqual(self.run_script(self.SCRIPT)[0], 3)

    def test_an_interruption_names_what_was_not_run(self):
        self.plan('0', '8;//t:one=NO STATUS')
        code, output = self.run_script(self.SCRIPT)
        self.assertEqual(code, 124, output)
        self.assertEqual(self.not_run(output), ['//t:one', '//b:one', '//t:two', '//c:one'])
        self.assertEqual(len(self.calls()), 2)

    def test_a_signal_names_what_was_not_run(self):
        for failed, code in (('', 124), (';//a:one=FAILED in 1.0s', 3)):
            for file in ('waiting', 'calls'):
                (self.root / file).unlink(missing_ok=True)
            self.plan('8;WAIT=1;//a:two=NO STATUS' + failed)
            got, output = self.interrupt(self.start(self.SCRIPT), 'waiting')
            self.assertEqual(got, code, output)
            self.assertEqual(self.not_run(output), ['//a:two', '//t:one', '//b:one', '//t:two', '//c:one'])
            self.assertEqual(len(self.calls()), 1)

    def test_a_signal_before_bazel_knows_its_tests(self):
        self.plan('8;WAIT=1;SILENT=1')
        code, output = self.interrupt(self.start(self.SCRIPT), 'waiting')
        self.assertEqual(code, 124, output)
        self.assertEqual(self.not_run(output), ['//a:one', '//a:two', '//t:one', '//b:one', '//t:two', '//c:one'])

    def test_a_paragraph_of_comments_is_none(self):
        self.write('tests/sanitizers/address.txt', '# What these are.\n\n# One in 4 of these,\n# one in 4.\n//a:one\n\n//b:one\n')
        self.assertEqual(self.run_script(self.SCRIPT)[0], 0)
        self.assertEqual(self.calls(), ['thread //t:one', 'address //a:one', 'thread //t:two', 'address //b:one'])

    def test_a_signal_while_it_draws(self):
        """What the text would have drawn is not known: all of it may be missing."""
        (self.root / 'slow_query').touch()
        self.write('query_code', '8')
        code, output = self.interrupt(self.start(self.SCRIPT, '--draw', self.text_for(1)), 'querying')
        self.assertEqual(code, 124, output)
        self.assertEqual(self.not_run(output), ['//a:one', '//a:two', '//b:one', '//c:one'])
        self.assertFalse((self.root / 'calls').exists())

    def test_what_cannot_be_drawn_from_fails(self):
        self.write('query_code', '7')
        code, output = self.run_script(self.SCRIPT, '--draw', 'x')
        self.assertEqual(code, 7, output)
        self.assertIn('bazel query', output)

    @staticmethod
    def part_of(text):
        """Which a text draws: threads (0), what is linked with kernels' compiler (1), or the others (2)."""
        return int(hashlib.sha256(f'{text}\n'.encode()).hexdigest()[:8], 16) % 3

    def text_for(self, part):
        return next(text for text in map(str, range(100)) if self.part_of(text) == part)

    def drawn(self, text):
        (self.root / 'calls').unlink(missing_ok=True)
        code, output = self.run_script(self.SCRIPT, '--draw', text)
        self.assertEqual(code, 0, output)
        labels = {label for call in self.calls() for label in call.split()[1:]} if (self.root / 'calls').exists() else set()
        self.assertEqual(set(re.findall(r'^(//\S+)$', output, re.M)), labels)
        return labels

    def test_a_third_is_drawn_and_by_the_text_alone(self):
        """One build a draw: all of a list, or that half of it which needs more or less built."""
        kernels = {f'//p{number}:kernel_test' for number in range(10)}
        others = {f'//p{number}:test' for number in range(10)}
        self.write('tests/sanitizers/address.txt', '\n'.join(sorted(kernels | others)) + '\n')
        parts = [{'//t:one', '//t:two'}, kernels, others]
        draws = [self.drawn(f'commit {number}') for number in range(60)]
        self.assertEqual({frozenset(draw) for draw in draws}, set(map(frozenset, parts)))
        for part in parts:  # of 60 draws 20, with a deviation of 3.7
            self.assertLess(abs(draws.count(part) - 20), 15)
        for number, part in enumerate(parts):
            self.assertEqual(self.drawn(self.text_for(number)), part)

    def test_of_a_paragraph_that_says_so_one_in_so_many(self):
        labels = [f'//p{number}:test' for number in range(40)]
        self.write('tests/sanitizers/address.txt', '//a:one\n\n# These take hours: one in 4 of a draw.\n' + '\n'.join(labels) + '\n')
        texts = [text for text in map(str, range(100)) if self.part_of(text) == 2][:12]
        draws = [self.drawn(text) for text in texts]
        self.assertTrue(all('//a:one' in draw for draw in draws))
        self.assertLess(abs(sum(map(len, draws)) / len(draws) - 11), 3)
        self.assertEqual(len(set(map(frozenset, draws))), len(draws))
        self.assertEqual(self.drawn(texts[0]), draws[0])
        # A label's draw is its own: others that come or go change nothing.
        gone = next(iter(draws[0] - {'//a:one'}))
        self.write('tests/sanitizers/address.txt',
                   '//a:one\n\n# These take hours: one in 4 of a draw.\n' + '\n'.join(label for label in labels if label != gone) + '\n')
        self.assertEqual(self.drawn(texts[0]), draws[0] - {gone})
        # Without a draw, all of them.
        (self.root / 'calls').unlink()
        self.assertEqual(self.run_script(self.SCRIPT)[0], 0)
        self.assertEqual(len([word for call in self.calls() for word in call.split()]), 4 + 1 + 2 + len(labels) - 1)

    def test_arguments(self):
        for arguments in (['--drawn'], ['--draw', ''], ['--draw']):
            code, output = self.run_script(self.SCRIPT, *arguments)
            self.assertNotEqual(code, 0)
            self.assertIn('--draw TEXT', output)


class GateTest(Tree):
    SCRIPT = '.ci/run'

    def setUp(self):
        super().setUp()
        # All of them, so that what is asked for does not depend on a commit.
        run = self.root / 'tests/sanitizers/run'
        text = run.read_text()
        text, changes = re.subn(r'only=\w+( which=".*")? ;;', 'only= ;;', text)
        self.assertEqual(changes, 3)
        run.write_text(text)

    def test_a_failure_is_final(self):
        failed = '3;//a:two=FAILED in 1.0s'
        for encore, plan, wanted in ((0, '0', 0), (1, '0', 1), (0, failed, 3), (4, failed, 4), (1, '8;//a:two=NO STATUS', 1)):
            with self.subTest(encore=encore, plan=plan):
                self.write('encore_code', str(encore))
                self.plan(plan)
                code, output = self.run_script(self.SCRIPT)
                self.assertEqual(code, wanted, output)
                # The sanitizers' part is run all the same; the last line is of the plain run.
                self.assertGreater(len(self.calls()), 0)
                self.assertEqual(output.splitlines()[-1], '7 passed, 0 failed, 0 skipped')

    def test_when_time_is_up(self):
        """No failure, and what was not run is said by name; after a failure, that one."""
        self.write('bin/timeout', TIMEOUT)
        for first, wanted in (('0', 0), ('3;//a:two=FAILED in 1.0s', 3)):
            (self.root / 'waiting').unlink(missing_ok=True)
            self.plan(first, '8;WAIT=1;//t:one=NO STATUS')
            code, output = self.run_script(self.SCRIPT)
            self.assertEqual(code, wanted, output)
            self.assertEqual(self.not_run(output), ['//t:one', '//b:one', '//t:two', '//c:one'])
            self.assertEqual('no time was left' in output, wanted == 0)
            self.assertEqual(output.splitlines()[-1], '7 passed, 0 failed, 0 skipped')

    def test_a_signal_reaches_what_runs(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            (self.root / 'waiting').unlink(missing_ok=True)
            self.plan('0', '8;WAIT=1;//t:one=NO STATUS')
            code, output = self.interrupt(self.start(self.SCRIPT), 'waiting', number)
            self.assertEqual(code, 130, output)
            self.assertEqual(self.not_run(output), ['//t:one', '//b:one', '//t:two', '//c:one'])

    def test_a_signal_reaches_the_plain_run(self):
        self.write('encore', """#!/usr/bin/env bash
trap 'echo ended; exit 8' TERM
touch waiting
while :; do sleep 0.01; done
""")
        for number in (signal.SIGINT, signal.SIGTERM):
            (self.root / 'waiting').unlink(missing_ok=True)
            code, output = self.interrupt(self.start(self.SCRIPT), 'waiting', number, group=False)
            self.assertEqual(code, 130, output)
            self.assertEqual(output, 'ended\n')
            self.assertFalse((self.root / 'calls').exists())

    def test_it_draws_by_the_commit(self):
        environment = dict(os.environ, GIT_AUTHOR_NAME='a', GIT_AUTHOR_EMAIL='a@a', GIT_COMMITTER_NAME='a', GIT_COMMITTER_EMAIL='a@a',
                           GIT_CONFIG_GLOBAL='/dev/null', GIT_CONFIG_SYSTEM='/dev/null')
        for arguments in (['init', '-q'], ['commit', '-q', '--allow-empty', '-m', 'a']):
            subprocess.run(['git', *arguments], cwd=self.root, env=environment, check=True)
        commit = subprocess.run(['git', 'rev-parse', 'HEAD'], cwd=self.root, env=environment, check=True, text=True,
                                stdout=subprocess.PIPE).stdout.strip()
        self.write('tests/sanitizers/run', '#!/usr/bin/env bash\necho "asked for $*"\n')
        self.assertIn(f'asked for --draw {commit}\n', self.run_script(self.SCRIPT)[1])


if __name__ == '__main__':
    unittest.main()
