#!/usr/bin/env python3
"""Writes index_goldens.txt: what gathers and scatters give for indices in range, negative ones among them, and which
indices are errors.

    make_index_goldens.py > ir/import/onnx/testdata/index_goldens.txt      (needs onnx and onnxruntime)

Values are those of ONNX Runtime, and onnx.reference's have to be equal (of scatters: those that set or add). An error is what ONNX Runtime refuses.

    case OPERATOR INDEX-DTYPE ATTRIBUTE=VALUE...
    data EXTENTS : VALUES        likewise indices, and updates of scatters
    expect EXTENTS : VALUES      or: error
"""
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi import onnxruntime_pybind11_state as state

INDEX_TYPES = {'i32': TensorProto.INT32, 'i64': TensorProto.INT64}
NUMPY_TYPES = {'i32': np.int32, 'i64': np.int64}
SEED = 7


def make_model(case):
    tensors = [('data', TensorProto.FLOAT, case['data']), ('indices', INDEX_TYPES[case['dtype']], case['indices'])]
    if 'updates' in case:
        tensors.append(('updates', TensorProto.FLOAT, case['updates']))
    node = helper.make_node(case['op'], [name for name, _, _ in tensors], ['y'], **case['attributes'])
    inputs = [helper.make_tensor_value_info(name, dtype, value.shape) for name, dtype, value in tensors]
    output = helper.make_tensor_value_info('y', TensorProto.FLOAT, None)
    graph = helper.make_graph([node], 'g', inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 18)], ir_version=8)
    return model, {name: value for name, _, value in tensors}


def expected(case):
    """The value, or nothing where it is an error."""
    model, feeds = make_model(case)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=['CPUExecutionProvider'])
    try:
        value = session.run(None, feeds)[0]
    except (state.InvalidArgument, state.Fail, state.RuntimeException):
        return None
    # The reference has faults in the other reductions.
    if case['attributes'].get('reduction', 'none') in ('none', 'add'):
        assert np.array_equal(value, ReferenceEvaluator(model).run(None, feeds)[0]), case
    return value


def numbers(random, shape):
    return random.integers(-8, 8, shape).astype(np.float32)


def draw(random, op, extent_of):
    """A case with indices in range; extent_of says, for each entry of the indices, how many there are."""
    rank = int(random.integers(1, 4))
    shape = [int(n) for n in random.integers(2, 4, rank)]
    axis = int(random.integers(-rank, rank))
    attributes = {}
    data = numbers(random, shape)
    case = {'op': op, 'dtype': 'i64', 'data': data, 'attributes': attributes}
    if op == 'Gather':
        attributes['axis'] = axis
        wanted = [int(n) for n in random.integers(1, 4, int(random.integers(0, 3)))]
        bounds = np.full(wanted, shape[axis])
    elif op in ('GatherElements', 'ScatterElements'):
        attributes['axis'] = axis
        wanted = [int(random.integers(1, n + 1)) for n in shape]
        if op == 'GatherElements':  # of which the reference knows no other forms
            attributes['axis'] = axis % rank
            wanted = list(shape)
            wanted[axis] = int(random.integers(1, 6))
        bounds = np.full(wanted, shape[axis])
    else:
        batch = 0
        depth = int(random.integers(1, rank + 1))
        if op == 'GatherND' and depth < rank and random.integers(2):
            batch = 1
            attributes['batch_dims'] = 1
        wanted = [int(n) for n in random.integers(1, 4, int(random.integers(1, 3)))]
        if batch:
            depth = min(depth, rank - 1)
            wanted = [shape[0]] + wanted
        bounds = np.broadcast_to(np.array(shape[batch:batch + depth]), wanted + [depth])
        wanted = wanted + [depth]
    if op not in ('GatherND', 'ScatterND'):
        case['dtype'] = str(random.choice(['i32', 'i64']))
    indices = np.array(random.integers(-bounds, bounds), NUMPY_TYPES[case['dtype']])
    case['indices'] = indices.reshape(wanted)
    if op.startswith('Scatter'):
        reduction = str(random.choice(['none', 'add', 'mul', 'max', 'min']))
        attributes['reduction'] = reduction
        size = wanted if op == 'ScatterElements' else wanted[:-1] + shape[wanted[-1]:]
        case['updates'] = numbers(random, size)
        if reduction == 'none':
            make_distinct(case)
    extent_of.append(bounds)
    return case


def make_distinct(case):
    """Updates are equal, so that it does not matter which one is last."""
    case['updates'] = np.full_like(case['updates'], 5)


def text(name, array):
    values = ' '.join(str(value.item()) for value in array.reshape(-1))
    return f'{name} {" ".join(map(str, array.shape))} : {values}'.replace('  ', ' ')


def write(case, value):
    attributes = ''.join(f' {name}={given}' for name, given in sorted(case['attributes'].items()))
    print(f'case {case["op"]} {case["dtype"]}{attributes}')
    for name in ('data', 'indices', 'updates'):
        if name in case:
            print(text(name, case[name]))
    print('error' if value is None else text('expect', value))


def main():
    random = np.random.default_rng(SEED)
    print(f'# make_index_goldens.py: onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}')
    for op in ('Gather', 'GatherElements', 'GatherND', 'ScatterElements', 'ScatterND'):
        for _ in range(12):
            bounds = []
            case = draw(random, op, bounds)
            value = expected(case)
            assert value is not None, case
            write(case, value)
            # One entry beyond either end, by one and by much.
            flat = case['indices'].reshape(-1)
            extents = bounds[0].reshape(-1)
            at = int(random.integers(len(flat)))
            limits = np.iinfo(flat.dtype)
            for wrong in (extents[at], -extents[at] - 1, limits.max, limits.min):
                bad = dict(case, indices=flat.copy())
                bad['indices'][at] = wrong
                bad['indices'] = bad['indices'].reshape(case['indices'].shape)
                assert expected(bad) is None, bad
                write(bad, None)


if __name__ == '__main__':
    main()
