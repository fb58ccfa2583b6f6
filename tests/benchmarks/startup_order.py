#!/usr/bin/env python3
"""The functions of a warm start, in the order in which the linker is to place them.

    ./encore build //tools:encore
    tests/benchmarks/startup_order.py bazel-bin/tools/encore MODEL… > tools/startup_order.txt

runs `TOOL run MODEL --repeat 0` on each model twice, with a cache of its own, and lists what the second run, which finds
everything there, calls. Functions that are called together then lie in the same pages, of which the system has to map
fewer (`getrusage`: ru_minflt). Names that the linker does not know any more it passes over, and
the longest, instances of templates by templates, are left out. A MODEL is a path to an ONNX
file beside which lies an inputs.npz. Needs valgrind, in whose callgrind the program runs.
"""
import os
import re
import subprocess
import sys
import tempfile


LONGEST = 160


def called(tool, model, folder):
    """Mangled names of the C++ functions that a warm start on the model calls."""
    profile = os.path.join(folder, 'profile')
    inputs = os.path.join(os.path.dirname(os.path.abspath(model)), 'inputs.npz')
    command = ['valgrind', '-q', '--tool=callgrind', '--demangle=no', '--callgrind-out-file=' + profile,
               tool, 'run', model, '--input', inputs, '--repeat', '0', '--cache', os.path.join(folder, 'cache')]
    for _ in range(2):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with open(profile, encoding='utf-8') as file:
        return set(re.findall(r'fn=\(\d+\) (_Z\w+)', file.read()))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    tool, *models = sys.argv[1:]
    names = set()
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            names |= called(tool, model, folder)
    print('\n'.join(sorted(name for name in names if len(name) <= LONGEST)))


if __name__ == '__main__':
    main()
