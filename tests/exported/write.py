"""Writes the models of cases.py.

    write.py [NAME…] [--out DIR]

makes DIR/NAME/{model.onnx, inputs.npz, expected.npz}, where they are not there or were made from other rows or
builders; expected outputs come from ONNX Runtime without optimizations, of integer products that do not saturate
(exact.py); slack.txt has by how much rounding may move them. A name that ends in / stands for all that begin so. What
a case with strings or maps is given and gives are ONNX's files data/input_0.pb… and data/output_0.pb…, for NumPy's have
no strings that Encore reads, and no maps.
"""
import argparse
import functools
import hashlib
import importlib
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[1:1] = [os.path.join(TESTS, 'benchmarks', 'zoo'), os.path.join(TESTS, 'onnx')]

import cases  # noqa: E402
import exact  # noqa: E402
import make  # noqa: E402 (zoo/)
import make_ml_cases  # noqa: E402 (tests/onnx)
import trained  # noqa: E402 (zoo/)
import values  # noqa: E402 (zoo/)

OUT = os.path.join(trained.HOME, 'exported')
MODEL, INPUTS, EXPECTED, STAMP = (*make.FILES, make.STAMP)
SLACK = 'slack.txt'


def are_maps(value):
    """Whether it is what ZipMap gives: a list of maps."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def is_plain(value):
    """Whether NumPy's files can have it."""
    return not are_maps(value) and np.asarray(value).dtype.kind not in 'OUS'


def numbers(outputs):
    """The outputs that are of numbers; of maps their values."""
    arrays = {name: np.array([list(row.values()) for row in value]) if are_maps(value) else value
              for name, value in outputs.items()}
    return {name: value for name, value in arrays.items() if is_plain(value)}


def write_values(folder, kind, values, declared):
    for i, (value, info) in enumerate(zip(values.values(), declared)):
        with open(os.path.join(folder, '%s_%d.pb' % (kind, i)), 'wb') as file:
            given = value if are_maps(value) else np.asarray(value)
            file.write(make_ml_cases.as_value(given, info.type).SerializeToString())


def expected(model, inputs):
    """(outputs by name, by how much rounding to integers may move them)"""
    raised = type(model)()
    raised.CopyFrom(model)
    changed = exact.unsigned(raised)
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, MODEL)

        def compute(given):
            onnx.save(given, path)
            return make.reference(path, inputs)
        try:
            outputs = compute(raised)
        except make.onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
            if not changed:
                raise
            raised = model  # signed times unsigned is not there, and signed times signed does not saturate
            outputs = compute(raised)
        return outputs, exact.slack(raised, compute, outputs) if exact.rounds(raised) else 0.0


def write_case(name, folder, model, inputs, alike=()):
    """The files of a case, but for the stamp. Outputs that say nothing end the program, but for those in `alike`."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, MODEL)
    onnx.save(model, path)
    outputs, slack = expected(model, inputs)
    make.check(name, {key: value for key, value in numbers(outputs).items() if key not in alike})
    if not all(map(is_plain, (*inputs.values(), *outputs.values()))):
        data = os.path.join(folder, 'data')
        os.makedirs(data, exist_ok=True)
        write_values(data, 'input', inputs, model.graph.input)
        write_values(data, 'output', outputs, model.graph.output)
        return
    with open(os.path.join(folder, SLACK), 'w') as file:
        file.write('%g' % slack)
    np.savez(os.path.join(folder, INPUTS), **inputs)
    np.savez(os.path.join(folder, EXPECTED), **outputs)


def build(row):
    """(model, inputs) of a row."""
    module, function = row.build.split('.')
    seed(row.name)
    source = getattr(importlib.import_module(module), function)(**row.arguments)
    return getattr(importlib.import_module('exporters'), row.exporter)(row, source)


def seed(name):
    np.random.seed(values.seed(name) % 2**32)
    if 'torch' in sys.modules or importlib.util.find_spec('torch'):
        import torch
        torch.manual_seed(values.seed(name))


@functools.cache
def code(module):
    with open(os.path.join(HERE, module + '.py'), 'rb') as file:
        return file.read()


def stamp(row):
    """What the model was made from: the row, its builder and the exporters."""
    sources = (row.build.split('.')[0], 'exporters', 'exact')
    return hashlib.sha256(repr(row).encode() + b''.join(map(code, sources))).hexdigest()


def is_made(row, folder):
    try:
        with open(os.path.join(folder, STAMP)) as file:
            return file.read() == stamp(row)
    except FileNotFoundError:
        return False


def write(row, out):
    folder = os.path.join(out, row.name)
    write_case(row.name, folder, *build(row))
    with open(os.path.join(folder, STAMP), 'w') as file:
        file.write(stamp(row))


def matching(names):
    """The rows that the names stand for; all without any."""
    unknown = [name for name in names if not any(matches(name, row) for row in cases.ROWS)]
    if unknown:
        sys.exit('no model %s; there are %s' % (unknown[0], ', '.join(cases.BY_NAME)))
    return [row for row in cases.ROWS if not names or any(matches(name, row) for name in names)]


def matches(name, row):
    return row.name.startswith(name) if name.endswith('/') else row.name == name


def write_missing(rows, out=OUT):
    """Writes what is not there, a process for each builder's module, since exporters keep much memory. Returns the
    names of those that could not be written."""
    missing = [row for row in rows if not is_made(row, os.path.join(out, row.name))]
    if missing:
        needs = sorted({need for row in missing for need in cases.NEEDS[row.exporter]})
        subprocess.run([make.PEERS, *needs], check=True, stdout=subprocess.DEVNULL)
    for module in sorted({row.build.split('.')[0] for row in missing}):
        names = [row.name for row in missing if row.build.split('.')[0] == module]
        subprocess.run([sys.executable, os.path.abspath(__file__), *names, '--out', out, '--here'], check=False,
                       stdout=sys.stderr)
    return [row.name for row in missing if not is_made(row, os.path.join(out, row.name))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('names', nargs='*', metavar='NAME')
    parser.add_argument('--out', default=OUT)
    parser.add_argument('--here', action='store_true', help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    rows = matching(arguments.names)
    if not arguments.here:
        failed = write_missing(rows, arguments.out)
        for name in failed:
            print('%s: not written' % name)
        sys.exit(bool(failed))
    for row in rows:
        try:
            write(row, arguments.out)
        except (Exception,
                SystemExit) as error:  # pylint: disable=broad-except; exporters' errors have no class of their own
            while error.__cause__ is not None:
                error = error.__cause__
            print('%s: %s: %s' % (row.name, type(error).__name__, str(error).strip().split('\n')[0][:300]),
                  file=sys.stderr)


if __name__ == '__main__':
    main()
