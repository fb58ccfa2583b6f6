"""Makes the models of table.py.

    make.py [NAME…] [--out DIR]

makes DIR/NAME/{model.onnx, inputs.npz, expected.npz}, where they are not there or another row or builder made them. Weights that are not
trained are random with fixed seeds and scaled so that activations stay of order one; expected outputs come
from ONNX Runtime without optimizations. What a row needs is installed next to this interpreter's packages
by tests/benchmarks/peers.
"""
import argparse
import hashlib
import importlib
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime

import table
import trained

PEERS = os.path.join(os.path.dirname(trained.HERE), 'peers')
OUT = os.path.join(trained.HOME, 'zoo')
FILES = ('model.onnx', 'inputs.npz', 'expected.npz')
STAMP = 'made_from.txt'


def reference(path, inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 1  # ranges that are measured at run time are those of a thread's rows
    session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, inputs)))


def check(name, outputs):
    """Outputs that are not finite, or all alike, say nothing about a program."""
    for output, value in outputs.items():
        if not np.isfinite(value).all() or (value.size > 1 and value.std() == 0):
            raise SystemExit('%s: output %s has no content to compare' % (name, output))


def build(row, folder):
    module, function = row.build.split('.')
    model, inputs = getattr(importlib.import_module(module), function)(**row.arguments)
    path = os.path.join(folder, FILES[0])
    onnx.save(model, path)
    np.savez(os.path.join(folder, FILES[1]), **inputs)
    outputs = reference(path, inputs)
    check(row.name, outputs)
    np.savez(os.path.join(folder, FILES[2]), **outputs)
    with open(os.path.join(folder, STAMP), 'w') as file:
        file.write(stamp(row))


def stamp(row):
    """What the model was made from: the row and the module that it names."""
    with open(os.path.join(trained.HERE, row.build.split('.')[0] + '.py'), 'rb') as file:
        return hashlib.sha256(repr(row).encode() + file.read()).hexdigest()


def is_made(row, folder):
    try:
        with open(os.path.join(folder, STAMP)) as file:
            return file.read() == stamp(row)
    except FileNotFoundError:
        return False


def make(name, out=OUT):
    """The model's folder, made in a process of its own where it is not there: exporters keep much memory."""
    folder, row = os.path.join(out, name), table.BY_NAME[name]
    if not is_made(row, folder):
        if row.needs:
            subprocess.run([PEERS, *row.needs], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([sys.executable, os.path.abspath(__file__), name, '--out', out, '--here'], check=True,
                       stdout=sys.stderr)
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('names', nargs='*', default=list(table.BY_NAME), metavar='NAME')
    parser.add_argument('--out', default=OUT)
    parser.add_argument('--here', action='store_true', help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in table.BY_NAME]
    if unknown:
        parser.error('no model %s; there are %s' % (unknown[0], ', '.join(table.BY_NAME)))
    for name in arguments.names:
        folder = os.path.join(arguments.out, name)
        if arguments.here:
            os.makedirs(folder, exist_ok=True)
            build(table.BY_NAME[name], folder)
            continue
        make(name, arguments.out)
        outputs = np.load(os.path.join(folder, FILES[2]))
        print(folder, *('%s %s std %.3g' % (key, outputs[key].shape, outputs[key].std())
                        for key in outputs.files[:2]))


if __name__ == '__main__':
    main()
