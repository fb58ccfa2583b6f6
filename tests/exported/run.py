"""Runs models that exporters wrote in Encore, and compares with ONNX Runtime without optimizations.

    tests/exported/run [NAME…] [--page FILE.md]     those of cases.py
    tests/exported/run --wheels [WHEEL…]            trained ones, of the wheels in wheels.txt

Each model is written where it is missing (write.py, wheels.py), compiled, recalled from the cache, and compared both
times. One line a model, and a table of how many agree by exporter. Exits with 1 where one differs,
could not be written or is refused; one whose row says that it is refused must be.
"""
import argparse
import collections
import dataclasses
import json
import os
import subprocess
import sys
import tempfile

import cases
import wheels
import write

TOOL = os.path.join(os.path.dirname(write.TESTS), 'bazel-bin', 'tools', 'encore')
LIMIT_SECONDS = 600


@dataclasses.dataclass
class Result:
    row: object
    verdict: str = 'agrees'  # or why not, in a line
    error: float = 0.0  # the largest absolute one
    compile_ms: float = 0.0
    slack: float = 0.0  # what rounding to integers may move outputs by
    warnings: list = dataclasses.field(default_factory=list)

    def agrees(self):
        return self.verdict == 'agrees'

    def as_said(self):
        """Whether it agrees, or is refused as its row says."""
        return self.row.refused in self.verdict if self.row.refused else self.agrees()

    def line(self):
        text = '%s: %s' % (self.row.name, self.verdict)
        if self.agrees():
            text += ', error %.1e, compiled in %.0f ms' % (self.error, self.compile_ms)
            if self.slack > self.row.atol:
                text += ' (rounding moves it by %.1e)' % self.slack
        return '\n'.join([text] + ['    ' + warning for warning in self.warnings])


def slack(folder):
    path = os.path.join(folder, write.SLACK)
    if not os.path.exists(path):
        return 0.0
    with open(path) as file:
        return float(file.read())


def command(tool, row, folder, cache):
    path = lambda name: os.path.join(folder, name)
    if os.path.exists(path('data')):
        given = ['--data', path('data')]
    else:
        given = ['--input', path(write.INPUTS), '--expect', path(write.EXPECTED)]
    return [tool, 'run', path(write.MODEL), *given, '--rtol', str(row.rtol), '--atol',
            str(row.atol + 2 * slack(folder)),
            '--cache', cache, '--json', '-']


def first_words(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else 'no message'


def run_once(result, tool, folder, cache, wanted):
    """One process; `wanted`: what its report must say of the cache."""
    try:
        done = subprocess.run(command(tool, result.row, folder, cache), capture_output=True, text=True,
                              timeout=LIMIT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        result.verdict = 'not done after %d s' % LIMIT_SECONDS
        return None
    result.warnings = [line for line in done.stderr.splitlines() if 'warning' in line]
    if done.returncode not in (0, 1) or not done.stdout.startswith('{'):
        result.verdict = 'exit code %d: %s' % (done.returncode, first_words(done.stderr))
        return None
    report = json.loads(done.stdout)
    result.error = max([result.error] + [output['max_abs_err'] or 0.0 for output in report['outputs']])
    wrong = [output['name'] for output in report['outputs'] if not output['ok']]
    if wrong:
        result.verdict = 'differs by %.2g: %s' % (result.error, ', '.join(wrong[:4]))
    elif done.returncode:
        result.verdict = 'exit code %d: %s' % (done.returncode, first_words(done.stderr))
    elif report['cache'] != wanted:
        result.verdict = 'the cache says %s, not %s' % (report['cache'], wanted)
    return report


def run_row(row, tool, out):
    """Compiled, then recalled."""
    result = Result(row)
    with tempfile.TemporaryDirectory() as cache:
        folder = os.path.join(out, row.name)
        result.slack = slack(folder)
        report = run_once(result, tool, folder, cache, 'miss')
        if report:
            result.compile_ms = report['compile_ms']
        if result.agrees():
            run_once(result, tool, folder, cache, 'hit')
    return result


def table(results):
    """Counts by exporter, in Markdown."""
    written, agreeing = collections.Counter(), collections.Counter()
    opsets = collections.defaultdict(set)
    for result in results:
        key = result.row.exporter
        written[key] += 1
        agreeing[key] += result.agrees()
        opsets[key].add(result.row.opset)
    lines = ['| exporter | opsets | models | agree |', '|---|---|---|---|']
    for key in written:
        lines.append('| %s | %d to %d | %d | %d |' % (key, min(opsets[key]), max(opsets[key]), written[key],
                                                      agreeing[key]))
    lines.append('| all | | %d | %d |' % (len(results), sum(agreeing.values())))
    return '\n'.join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('names', nargs='*', metavar='NAME')
    parser.add_argument('--wheels', action='store_true')
    parser.add_argument('--tool', default=TOOL, help='the program encore')
    parser.add_argument('--out', default=write.OUT, help='where models are written')
    parser.add_argument('--page', help='writes lines and table there, too')
    arguments = parser.parse_args()
    source = wheels if arguments.wheels else write
    rows = source.matching(arguments.names)
    missing = source.write_missing(rows, arguments.out)
    results = []
    for row in rows:
        results.append(Result(row, 'could not be written') if row.name in missing
                       else run_row(row, arguments.tool, arguments.out))
        print(results[-1].line(), flush=True)
    print('\n' + table(results))
    if arguments.page:
        with open(arguments.page, 'w') as file:
            file.write('\n'.join(['* ' + result.line() for result in results] + ['', table(results), '']))
    sys.exit(not all(result.as_said() for result in results))


if __name__ == '__main__':
    main()
