"""What is expected of models that round: exact products, and how far rounding carries a last bit.

`unsigned` gives the same model for ONNX Runtime's exact kernels. Its kernels for products of unsigned and signed
8-bit integers add pairs of products in 16 bits, which saturate, on CPUs without VNNI; those for two unsigned factors
are exact. So signed weights become unsigned ones, with a zero point that is larger by 128: the sums of products of
what is above the zero points are the same numbers.

`slack`: numbers that are rounded to integers in the middle of a model may fall on either side where f32's last bits
differ, and the step is far larger than these. So the same program computes models whose floating weights are off by a
few of their last bits: what the outputs move by then is no error of another program.
"""
import numpy as np
from onnx import TensorProto, numpy_helper

# Where operators have weights and the zero points of these.
WEIGHTS = {'MatMulInteger': [(1, 3)], 'ConvInteger': [(1, 3)], 'QLinearMatMul': [(3, 5)], 'QLinearConv': [(3, 5)],
           'QGemm': [(3, 5)], 'DynamicQuantizeMatMul': [(1, 3)], 'MatMulIntegerToFloat': [(1, 5)],
           'QAttention': [(1, 7)],
           'DynamicQuantizeLSTM': [(1, 9), (2, 11)]}


def raised(tensor):
    return numpy_helper.from_array((numpy_helper.to_array(tensor).astype(np.int16) + 128).astype(np.uint8),
                                   tensor.name + '/raised')


def raise_weights(graph, node, place, zero_place, tensors):
    """Whether the node's weights are constants, and were raised."""
    weight = tensors.get(node.input[place]) if place < len(node.input) else None
    if weight is None or weight.data_type != TensorProto.INT8:
        return False
    name = node.input[zero_place] if zero_place < len(node.input) else ''
    if name and name not in tensors:
        return False
    zero = tensors[name] if name else numpy_helper.from_array(np.zeros((), np.int8), weight.name + '/zero')
    node.input.extend([''] * (zero_place + 1 - len(node.input)))
    for at, tensor in ((place, weight), (zero_place, zero)):
        new = raised(tensor)
        if new.name not in tensors:
            tensors[new.name] = new
            graph.initializer.append(new)
        node.input[at] = new.name
    return True


def constants(graph):
    found = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == 'Constant' and attribute.name == 'value':
                tensor = TensorProto()
                tensor.CopyFrom(attribute.t)
                tensor.name = node.output[0]
                found[tensor.name] = tensor
    return found


def unsigned(model):
    """Rewrites the model in place; whether there was anything to do."""
    tensors, changed = constants(model.graph), False
    for node in model.graph.node:
        for place, zero_place in WEIGHTS.get(node.op_type, ()):
            changed |= raise_weights(model.graph, node, place, zero_place, tensors)
    return changed


ROUNDING = {'QuantizeLinear', 'DynamicQuantizeLinear', 'DynamicQuantizeLSTM', 'DynamicQuantizeMatMul', 'QAttention',
            'QLinearMatMul',
            'QLinearConv', 'QLinearAdd', 'QLinearSigmoid', 'QLinearConcat', 'QGemm'}
TRIALS, RELATIVE = 4, 2.0**-21


def rounds(model):
    return any(node.op_type in ROUNDING for node in model.graph.node)


def jittered(model, trial):
    """A copy whose floating weights are off by up to RELATIVE of their size."""
    copy = type(model)()
    copy.CopyFrom(model)
    generator = np.random.default_rng(trial)
    for tensor in copy.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            value = numpy_helper.to_array(tensor)
            moved = value * (1 + RELATIVE * generator.uniform(-1, 1, value.shape))
            tensor.CopyFrom(numpy_helper.from_array(moved.astype(np.float32), tensor.name))
    return copy


def slack(model, compute, outputs):
    """The largest distance from `outputs`, which compute(model) gave, of what it gives for jittered models."""
    worst = 0.0
    for trial in range(TRIALS):
        for name, value in compute(jittered(model, trial)).items():
            if value.dtype.kind == 'f' and value.size:
                worst = max(worst, float(np.abs(value.astype(np.float64) - outputs[name]).max()))
    return worst
