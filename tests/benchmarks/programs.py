#!/usr/bin/env python3
"""How far small programs as people write them are from the same programs as an expert writes them.

  programs.py TOOL [PATTERN…] [--seconds S] [--limit R] [--compile FLAG]…

The pairs are tests/programs/*/*.txt: both programs are compiled with the same flags, at the sizes of the file's `bind`,
and replayed in turns (`encore replay bench --baseline`). Prints for each the fastest call of both in microseconds, the
ratio (written by expert's) of medians with its 95 % interval; then how many are above the limit, and the geometric mean.
Ends with 1 where one is above the limit, its interval included, that tests/programs/exceptions.list does not list as one that
takes more `time`, with a reason. That it is estimated at more (`cost`) is none; what is listed and is not above is said.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent.parent / 'programs'
EXCEPTIONS = FOLDER / 'exceptions.list'


def split(path):
    """(the flags of its sizes, the program as written, as an expert writes it)."""
    written, expert = path.read_text().split('// ----\n')
    flags = []
    for line in written.splitlines():
        if line.startswith('// bind: '):
            for size in line.removeprefix('// bind: ').split(','):
                flags += ['--bind', size.strip()]
    return flags, written, expert


def exceptions(kind, text):
    """Reasons by pair, of the lines of one kind: `time` of those that are known to take more, `cost` of those that are
    estimated at more."""
    reasons = {}
    for line in text.splitlines():
        words = line.split(' ', 2)
        if words[0] != kind:
            continue
        if len(words) < 3 or not words[2].strip():
            raise SystemExit(f'{EXCEPTIONS}: {line}: there is no reason')
        reasons[words[1]] = words[2]
    return reasons


def judge(ratios, known, limit):
    """What is to be said of ratios by pair, and whether one that is not known is above the limit: by its interval, or by
    its median where there were too few replays for one."""
    lines, failed = [], False
    for name, ratio in ratios.items():
        low = ratio['median'] if ratio['low'] is None else ratio['low']
        high = ratio['median'] if ratio['high'] is None else ratio['high']
        if low > limit:
            failed |= name not in known
            lines.append(f'{name}: {known.get(name, f"above the limit, and {EXCEPTIONS.name} does not say that it takes more time")}')
        elif name in known and high <= limit:
            lines.append(f'{name}: not above the limit, though {EXCEPTIONS.name} says so: {known[name]}')
    return lines, failed


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f'{" ".join(map(str, command))}\nended with {done.returncode}: {done.stderr.strip()}')
    return done.stdout


def compare(tool, path, arguments, work):
    flags, *programs = split(path)
    packages = []
    for name, text in zip(('written', 'expert'), programs):
        source = work / f'{path.stem}.{name}.txt'
        source.write_text(text)
        packages.append(source.with_suffix('.encore'))
        run([tool, 'compile', source, '-o', packages[-1], *flags, *arguments.compile])
    return json.loads(run([tool, 'replay', 'bench', packages[0], '--baseline', packages[1],
                           '--seconds', str(arguments.seconds), '--json']))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('tool', help='the program encore')
    parser.add_argument('patterns', nargs='*', help='only programs whose theme/name has one of these in it')
    parser.add_argument('--seconds', type=float, default=1, help='of replays a pair (default 1)')
    parser.add_argument('--limit', type=float, default=1.15, help='of the ratio (default 1.15)')
    parser.add_argument('--compile', action='append', default=[], metavar='FLAG',
                        help='a flag of `encore compile` for both programs, such as --compile=--threads=1')
    arguments = parser.parse_args()

    paths = [path for path in sorted(FOLDER.glob('*/*.txt'))
             if not arguments.patterns or any(p in f'{path.parent.name}/{path.stem}' for p in arguments.patterns)]
    if not paths:
        raise SystemExit(f'no program of {FOLDER} has {" or ".join(arguments.patterns)} in its name')
    ratios, known = {}, exceptions('time', EXCEPTIONS.read_text())
    print(f'{"program":60} {"written":>10} {"expert":>10} {"ratio":>8}  95 %')
    with tempfile.TemporaryDirectory() as work:
        for path in paths:
            found = compare(arguments.tool, path, arguments, pathlib.Path(work))
            baseline = found['baseline']
            ratio = baseline['ratio']
            name = f'{path.parent.name}/{path.stem}'
            ratios[name] = ratio
            ends = '' if ratio['low'] is None else f'{ratio["low"]:.2f} to {ratio["high"]:.2f}'
            print(f'{name:60} {found["latency_us"]["min"]:10.1f} '
                  f'{baseline["latency_us"]["min"]:10.1f} {ratio["median"]:8.2f}  {ends}', flush=True)
    medians = [ratio['median'] for ratio in ratios.values()]
    mean = math.exp(sum(map(math.log, medians)) / len(medians))
    count = sum(median > arguments.limit for median in medians)
    print(f'{count} of {len(medians)} above {arguments.limit}; geometric mean of all {mean:.2f}')
    lines, failed = judge(ratios, known, arguments.limit)
    for line in lines:
        print(line)
    return int(failed)


if __name__ == '__main__':
    sys.exit(main())
