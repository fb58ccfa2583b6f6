"""How far programs that compute in f32 are from the same graph computed in f64.

    ./encore bench precision [NAME…] [--zoo DIR]

The models are those that zoo/make.py made. ONNX Runtime computes each graph in f64; where it has an operator for f32 alone,
such as Conv, ONNX's own evaluator in NumPy does. A model that neither computes is named and left out. For Encore, for Encore without rewrites and for ONNX Runtime in f32: the largest and the mean square difference,
as fractions of the output's largest and of its mean square value, and how many elements are further away than
1e-4 + 1e-3 of their size, which is what `./encore bench models` calls agreement.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import AttributeProto, TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.join(os.path.dirname(os.path.dirname(HERE)), 'bazel-bin', 'tools', 'encore')
sys.path.insert(0, os.path.join(HERE, 'zoo'))

import make  # noqa: E402 (zoo/)


def widen(tensor):
    if tensor.data_type == TensorProto.FLOAT:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))


def in_f64(model):
    graph = model.graph
    for tensor in graph.initializer:
        widen(tensor)
    for value in [*graph.input, *graph.output]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    del graph.value_info[:]
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                widen(attribute.t)
            elif node.op_type == 'Cast' and attribute.name == 'to' and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
    return model


def run(path, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, inputs)))


def compute_f64(model, inputs, scratch):
    """The outputs, or an error of the last program that was tried."""
    path = os.path.join(scratch, 'f64.onnx')
    onnx.save(model, path)
    try:
        return run(path, inputs)
    except Exception:  # pylint: disable=broad-except; its errors have no class of their own
        evaluator = ReferenceEvaluator(model)
        return dict(zip(evaluator.output_names, evaluator.run(None, inputs)))


def encore(path, inputs, scratch, *flags):
    out = os.path.join(scratch, 'out.npz')
    subprocess.run([TOOL, 'run', path, '--input', inputs, '--repeat', '1', '--save', out, *flags], check=True,
                   stdout=subprocess.DEVNULL)
    return dict(np.load(out))


def row(name, program, outputs, truth):
    outside = size = 0
    largest = square = 0.0
    for output, want in truth.items():
        difference = np.abs(outputs[output].astype(np.float64).reshape(want.shape) - want)
        outside += int((difference > 1e-4 + 1e-3 * np.abs(want)).sum())
        size += want.size
        largest = max(largest, difference.max() / max(np.abs(want).max(), 1e-30))
        square = max(square, np.sqrt(np.mean(difference**2) / max(np.mean(want**2), 1e-60)))
    return '| %s | %s | %.1e | %.1e | %d of %d |' % (name, program, largest, square, outside, size)


def measure(name, folder, scratch):
    """The model's rows, or why it has none."""
    model, given = (os.path.join(folder, file) for file in make.FILES[:2])
    inputs = dict(np.load(given))
    wide = {key: value.astype(np.float64) if value.dtype == np.float32 else value for key, value in inputs.items()}
    try:
        truth = compute_f64(in_f64(onnx.load(model)), wide, scratch)
    except Exception as error:  # pylint: disable=broad-except; neither program's errors have a class of their own
        return ['%s: not in f64: %s' % (name, str(error).splitlines()[0][:150])]
    truth = {key: value for key, value in truth.items() if value.dtype == np.float64}
    return [row(name, 'encore', encore(model, given, scratch), truth),
            row(name, 'encore --rewrites none', encore(model, given, scratch, '--rewrites', 'none'), truth),
            row(name, 'onnxruntime', run(model, inputs), truth)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('names', nargs='*', metavar='NAME')
    parser.add_argument('--zoo', default=make.OUT, metavar='DIR')
    given = parser.parse_args()
    print('| model | program | largest | mean square | outside |\n|---|---|---|---|---|')
    left_out = []
    for name in given.names or sorted(os.listdir(given.zoo)):
        folder = os.path.join(given.zoo, name)
        if not os.path.exists(os.path.join(folder, make.FILES[0])):
            sys.exit('%s has no model; ./encore bench models makes it' % folder)
        with tempfile.TemporaryDirectory() as scratch:
            lines = measure(name, folder, scratch)
        if len(lines) == 1:
            left_out += lines
        else:
            print('\n'.join(lines), flush=True)
    print('\n'.join(left_out), file=sys.stderr)


if __name__ == '__main__':
    main()
