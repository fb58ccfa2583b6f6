#!/usr/bin/env python3
"""Checks what the compiler does not: format, size budgets, includes, layers and what writes to a terminal.

  lint.py --check budgets|folders|format|functions|headers|includes|layers|output|standard|system [--cache DIR] ROOT

headers: what x.h declares is defined in x.cc or x_<part>.cc beside it; a header of free functions with a file each is an
interface and needs no source (headers.py). standard: names of the standard library have their headers (standard.py). system: what is
on the way through files calls the operating system by one layer (system.py).

Sources are the C++ files below ROOT's layers; generated trees do not count. Prints one
line a finding, FILE:LINE: text, with the remedy last; exits with 1 where there are any.
What clang says of a file is kept below DIR, until something that the file includes changes.
"""
import argparse
import os
import re
import subprocess
import sys

import functions
import headers
import standard
import syntax
import system

LAYERS = ('ir', 'opt', 'runtime', 'backends', 'cache', 'tools', 'tests')

# Lines, at most. Tables (.def) have no budget: they are as long as what they list.
FILE_LINES = 500
HEADER_LINES = 250
FOLDER_PAIRS = 25


def sources(root):
    for layer in LAYERS:
        for folder, folders, files in os.walk(os.path.join(root, layer)):
            folders[:] = sorted(f for f in folders if not f.startswith(('bazel-', '.')) and f != 'testdata')
            for name in sorted(files):
                if name.endswith(('.h', '.cc')):
                    yield os.path.join(folder, name)


def check_format(root):
    files = list(sources(root))
    for begin in range(0, len(files), 50):
        result = subprocess.run(
            ['clang-format-19', '--dry-run', '--Werror', '--ferror-limit=1'] + files[begin:begin + 50],
            capture_output=True, text=True, cwd=root)
        for line in result.stderr.splitlines():
            if ': error: ' in line:
                yield line.split(': error: ')[0] + ': not formatted; run clang-format-19 -i on the file'


def check_budgets(root):
    for path in sources(root):
        with open(path, encoding='utf-8') as file:
            lines = file.read().split('\n')
        count = len(lines) - 1
        budget = HEADER_LINES if path.endswith('.h') else FILE_LINES
        if count > budget:
            yield f'{path}:1: {count} lines, at most {budget}; look at what it does that another file should'


def check_folders(root):
    """A folder holds so many pairs of a header and its source; tests, benchmarks and fuzzers lie beside them."""
    pairs = {}
    for path in sources(root):
        folder, name = os.path.split(path)
        stem = os.path.splitext(name)[0]
        if not (name.endswith('.cc') and stem.endswith(('_test', '_benchmark', '_fuzz'))):
            pairs.setdefault(folder, set()).add(stem)
    for folder, stems in sorted(pairs.items()):
        if len(stems) > FOLDER_PAIRS:
            yield f'{folder}:1: {len(stems)} header and source pairs, at most {FOLDER_PAIRS}; give its themes folders'


def check_includes(root):
    """A source includes its own header first, so that each header stands alone. (Headers without a source of
    their name are compiled alone by encore_cc_library.)"""
    for path in sources(root):
        if not path.endswith('.cc'):
            continue
        header = re.sub(r'(_test)?\.cc$', '.h', path)
        if not os.path.exists(header):
            continue
        with open(path, encoding='utf-8') as file:
            text = file.read()
        found = re.search(r'^#include [<"]([^>"]+)[>"]', text, re.M)
        own = 'encore/' + os.path.relpath(header, root)
        if f'#include "{own}"' not in text:
            if not path.endswith('_test.cc'):
                yield f'{path}:1: does not include {own}; include it first'
        elif found.group(1) != own:
            line = text[:found.start()].count('\n') + 1
            yield f'{path}:{line}: {own} is not the first include; move it up'


# What each layer may use beside itself. runtime sees of ir only the support and the types.
MAY_USE = {
    'ir': set(),
    'opt': {'ir'},
    'runtime': set(),
    'backends': {'ir', 'opt', 'runtime'},
    'cache': {'ir', 'opt', 'runtime', 'backends'},
    'tools': {'ir', 'opt', 'runtime', 'backends', 'cache'},
    'tests': {'ir', 'opt', 'runtime', 'backends', 'cache', 'tools'},
}
IR_LEAVES = re.compile(r'ir/(support|types)/')
# Groups of the root BUILD file whose packages are a layer and those to its right.
GROUPS = {'ir_users': 'ir', 'opt_users': 'opt', 'runtime_users': 'runtime', 'backends_users': 'backends',
          'cache_users': 'cache', 'tools_users': 'tools'}


def may_include(layer, header):
    target = header.split('/')[0]
    return target == layer or target in MAY_USE[layer] or (layer == 'runtime' and IR_LEAVES.match(header))


def check_standard(root):
    return standard.check(root, list(sources(root)))


def check_system(root):
    return system.check(root, list(sources(root)))


def check_layers(root):
    """Includes go one way; the package groups, which the build enforces, say the same; and no target is visible
    to everyone but what is meant to be (the tool, and targets that name it with a reason)."""
    for path in sources(root):
        layer = os.path.relpath(path, root).split(os.sep)[0]
        with open(path, encoding='utf-8') as file:
            for number, line in enumerate(file, 1):
                found = re.match(r'#include "encore/([^"]+)"', line)
                if found and not may_include(layer, found.group(1)):
                    yield f'{path}:{number}: {layer} may not include {found.group(1)}'
    with open(os.path.join(root, 'BUILD.bazel'), encoding='utf-8') as file:
        text = file.read()
    for group, layer in GROUPS.items():
        found = re.search(r'name = "%s",\s*packages = \[(.*?)\]' % group, text, re.S)
        users = set(re.findall(r'"//([\w/]+)/\.\.\."', found.group(1))) if found else set()
        wanted = {user for user, uses in MAY_USE.items() if user == layer or layer in uses}
        if users != wanted:
            yield f'BUILD.bazel:1: {group} is {sorted(users)}, but the layers say {sorted(wanted)}'


# Writes text as it is, which names of files may be part of.
RAW_OUTPUT = re.compile(r'\bstd::(cout|cerr|clog)\b|\b(v?f?printf|f?puts|f?putc|putchar|fwrite)\(')
MAY_WRITE = ('tools/terminal.cc', 'tools/progress.cc', 'tools/testing/forge_package.cc')


def check_output(root):
    """The tools say what they say through tools/terminal.h, which lets nothing through that a terminal obeys."""
    for path in sources(root):
        name = os.path.relpath(path, root)
        if not name.startswith('tools/') or name in MAY_WRITE or name.endswith('_test.cc'):
            continue
        with open(path, encoding='utf-8') as file:
            for number, line in enumerate(file, 1):
                if RAW_OUTPUT.search(line.split('//')[0]):
                    yield f'{path}:{number}: writes text as it is; use tools/terminal.h'


CHECKS = {'format': check_format, 'budgets': check_budgets, 'folders': check_folders, 'includes': check_includes,
          'layers': check_layers, 'output': check_output, 'standard': check_standard,
          'system': check_system}
# These are asked of the parsed tree.
SYNTAX_CHECKS = {'functions': functions.check, 'headers': headers.check}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--check', required=True, choices=sorted({**CHECKS, **SYNTAX_CHECKS}))
    parser.add_argument('--cache', metavar='DIR')
    parser.add_argument('root')
    arguments = parser.parse_args()
    root = os.path.realpath(arguments.root)
    if arguments.check in CHECKS:
        findings = list(CHECKS[arguments.check](root))
    else:
        tree = syntax.Tree(root, list(sources(root)), functions.FUNCTION_LINES, arguments.cache)
        findings = sorted(SYNTAX_CHECKS[arguments.check](tree))
    for finding in findings:
        print(finding.removeprefix(root + '/'))
    sys.exit(1 if findings else 0)


if __name__ == '__main__':
    main()
