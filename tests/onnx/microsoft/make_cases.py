#!/usr/bin/env python3
"""Writes cases/<Operator>.txt: what ONNX Runtime gives for operators of the domain com.microsoft.

    make_cases.py [FOLDER]      (needs onnx, onnxruntime and ml_dtypes)

    case ABSOLUTE RELATIVE           tolerances of the case
    attribute NAME TYPE VALUES
    input DTYPE EXTENTS : VALUES     or: input -, which is left out; an extent may be NAME=NUMBER: a symbolic one
    output DTYPE EXTENTS : VALUES    likewise
"""
import pathlib
import sys

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import microsoft_cases

DTYPES = {
    np.dtype(np.float32): ('f32', TensorProto.FLOAT),
    np.dtype(np.float64): ('f64', TensorProto.DOUBLE),
    np.dtype(np.float16): ('f16', TensorProto.FLOAT16),
    np.dtype(np.uint8): ('u8', TensorProto.UINT8),
    np.dtype(np.int8): ('i8', TensorProto.INT8),
    np.dtype(np.uint16): ('u16', TensorProto.UINT16),
    np.dtype(np.int16): ('i16', TensorProto.INT16),
    np.dtype(np.int32): ('i32', TensorProto.INT32),
    np.dtype(np.int64): ('i64', TensorProto.INT64),
    np.dtype(np.bool_): ('bool', TensorProto.BOOL),
    np.dtype(ml_dtypes.int4): ('i4', TensorProto.INT4),
    np.dtype(ml_dtypes.uint4): ('u4', TensorProto.UINT4),
    np.dtype(ml_dtypes.float8_e4m3fn): ('f8e4m3', TensorProto.FLOAT8E4M3FN),
}
# What numpy arrays cannot be handed over as.
CONSTANTS = (np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.uint4), np.dtype(ml_dtypes.float8_e4m3fn))
DEFAULT_DOMAIN = ('SimplifiedLayerNormalization',)
TOLERANCES = {'f16': (2e-3, 2e-3)}


def make_model(op, case):
    names, inputs, constants, feeds = [], [], [], {}
    for i, given in enumerate(case.inputs):
        names.append('' if given is None else f'i{i}')
        if given is None:
            continue
        if given.array.dtype in CONSTANTS:
            constants.append(onnx.numpy_helper.from_array(given.array, names[-1]))
            continue
        inputs.append(helper.make_tensor_value_info(names[-1], DTYPES[given.array.dtype][1], given.array.shape))
        feeds[names[-1]] = given.array
    outputs = [f'o{i}' if wanted else '' for i, wanted in enumerate(case.outputs)]
    domain = '' if op in DEFAULT_DOMAIN else 'com.microsoft'
    node = helper.make_node(op, names, outputs, domain=domain, **case.attributes)
    infos = [helper.make_empty_tensor_value_info(name) for name in outputs if name]
    graph = helper.make_graph([node], 'g', inputs, infos, constants)
    opsets = [helper.make_opsetid('', 20), helper.make_opsetid('com.microsoft', 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9), feeds


def expected(op, case):
    model, feeds = make_model(op, case)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # What is quantized by its range is so by the range of what one thread has.
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=['CPUExecutionProvider'])
    return session.run(None, feeds)


def number(value):
    if isinstance(value, (float, np.floating)):
        text = f'{float(value):.7g}'
        return text[:-2] if text.endswith('.0') else text
    return str(int(value))


def tensor(array, names=''):
    values = array.astype(np.float64) if array.dtype.kind in 'fV' else array
    extents = [f'{name}={extent}' if name not in ('', '.') else str(extent)
               for name, extent in zip(names.ljust(array.ndim, '.'), array.shape)]
    if array.dtype in CONSTANTS[:2]:
        values = array.astype(np.int32)
    return ' '.join([DTYPES[array.dtype][0], *extents, ':', *(number(value) for value in values.reshape(-1))])


def attribute(name, value):
    kinds = {int: 'int', float: 'float', str: 'string'}
    if isinstance(value, list):
        return f'attribute {name} {kinds[type(value[0])]}s {" ".join(map(str, value))}'
    return f'attribute {name} {kinds[type(value)]} {value}'


def tolerance(case, results):
    if case.tolerance is not None:
        return case.tolerance
    return max([TOLERANCES.get(DTYPES[one.dtype][0], (1e-5, 1e-5)) for one in results] +
               [TOLERANCES.get(DTYPES[one.array.dtype][0], (0, 0)) for one in case.inputs if one is not None])


def text(op, case):
    results = expected(op, case)
    absolute, relative = tolerance(case, results)
    lines = [f'case {absolute:g} {relative:g}']
    lines += [attribute(name, value) for name, value in sorted(case.attributes.items())]
    for given in case.inputs:
        lines.append('input -' if given is None else f'input {tensor(given.array, given.names)}')
    results = iter(results)
    for wanted in case.outputs:
        lines.append(f'output {tensor(next(results))}' if wanted else 'output -')
    return '\n'.join(lines)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / 'cases')
    folder.mkdir(exist_ok=True)
    bodies = {}
    for op, make in sorted(microsoft_cases.OPERATORS.items()):
        cases = list(make())
        bodies[op] = '\n'.join(text(op, case) for case in cases)
        print(op, len(cases))
    # All or none.
    for op, body in bodies.items():
        (folder / f'{op}.txt').write_text(f'# make_cases.py: onnxruntime {onnxruntime.__version__}\n{body}\n')


if __name__ == '__main__':
    main()
