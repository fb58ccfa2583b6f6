"""Trained models of the wheels that `./encore setup` unpacks."""
import glob
import os

import numpy as np
import onnx
from onnx import helper

import values

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
EXAMPLES = os.path.join(ROOT, 'tools', 'run', 'examples')
HOME = os.environ.get('ENCORE_HOME') or os.path.join(
    os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'encore')
DEPS = os.environ.get('ENCORE_DEPS') or os.path.join(HOME, 'deps')


def load(path):
    found = sorted(glob.glob(os.path.join(DEPS, 'models', path)))
    if not found:
        raise SystemExit('%s is not in %s; ./encore setup unpacks it' % (path, DEPS))
    return onnx.load(found[-1])


def example(name, path):
    """The model with the sizes of the first call of `encore run`'s example."""
    model = load(path)
    call = np.load(sorted(glob.glob(os.path.join(EXAMPLES, name, '*.npz')))[0])
    inputs = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        given = call['in/' + value.name]
        inputs[value.name] = given.astype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
        for dim, size in zip(tensor.shape.dim, given.shape):
            dim.ClearField('dim_param')
            dim.dim_value = size
    for value in model.graph.output:
        value.type.tensor_type.ClearField('shape')
    return model, inputs


def silero_vad(path):
    """Half a second of hum; the state of a call in the middle of a stream."""
    at = np.arange(576) / 16000
    hum = sum(0.2 / k * np.sin(2 * np.pi * 140 * k * at) for k in range(1, 6))
    return load(path), {'input': (hum + 0.01 * values.normal('silero_vad', 576)).astype(np.float32)[None],
                        'state': 0.1 * values.normal('silero_state', 2, 1, 128),
                        'sr': np.array(16000, np.int64)}
