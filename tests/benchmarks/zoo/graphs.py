"""Graphs written node by node: those of the superoptimizers' papers (TASO's examples, rebuilt from
https://github.com/jiazhihao/TASO), and small ones that measure overhead.

`Net` computes each node as it is added, so that a weight can be scaled to give its product unit variance.
"""
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import values

OPSET, IR = 18, 9
KINDS = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64}


class Net:
    """A model under construction."""

    def __init__(self, name):
        self.name, self.random = name, values.random(name)
        self.nodes, self.weights, self.inputs, self.known = [], {}, {}, {}

    def input(self, name, value):
        self.inputs[name] = self.known[name] = value
        return name

    def weight(self, value):
        name = 'w%d' % len(self.weights)
        self.weights[name] = self.known[name] = value
        return name

    def normal(self, *dims):
        return self.weight(self.random.standard_normal(dims).astype(np.float32))

    def shape(self, name):
        return self.known[name].shape

    def op(self, kind, *reads, scaled=None, **attributes):
        """A node of one output; the weight `scaled` is divided by the output's standard deviation."""
        name = '%s_%d' % (kind.lower(), len(self.nodes))
        node = helper.make_node(kind, list(reads), [name], name=name, **attributes)
        self.nodes.append(node)
        value = self.compute(node)
        if scaled:
            factor = np.float32(1 / max(value.std(), 1e-6))
            self.weights[scaled] = self.known[scaled] = self.known[scaled] * factor
            value = value * factor
        self.known[name] = value
        return name

    def compute(self, node):
        reads = {name: self.known[name] for name in node.input}
        graph = helper.make_graph(
            [node], 'node', [helper.make_tensor_value_info(name, KINDS[value.dtype], value.shape)
                             for name, value in reads.items()],
            [helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', OPSET)], ir_version=IR)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=['CPUExecutionProvider'])
        return session.run(None, reads)[0]

    def build(self, *outputs):
        def described(name, value):
            return helper.make_tensor_value_info(name, KINDS[value.dtype], value.shape)

        graph = helper.make_graph(
            self.nodes, self.name, [described(name, value) for name, value in self.inputs.items()],
            [described(name, self.known[name]) for name in outputs],
            [numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in self.weights.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', OPSET)], ir_version=IR)
        return model, self.inputs

    def relu(self, x):
        return self.op('Relu', x)

    def dense(self, x, outs):
        weight = self.normal(self.shape(x)[-1], outs)
        return self.op('MatMul', x, weight, scaled=weight)

    def conv(self, x, outs, kernel, stride=1, groups=1):
        weight = self.normal(outs, self.shape(x)[1] // groups, kernel, kernel)
        return self.op('Conv', x, weight, scaled=weight, kernel_shape=[kernel, kernel], strides=[stride, stride],
                       pads=[(kernel - 1) // 2] * 4, group=groups)

    def conv_relu(self, *arguments, **options):
        return self.relu(self.conv(*arguments, **options))

    def pool(self, kind, x, stride):
        return self.op(kind + 'Pool', x, kernel_shape=[3, 3], strides=[stride, stride], pads=[1] * 4)

    def stem(self, name):
        """What the picture networks begin with: 224x224 to 64 channels of 56x56."""
        return self.pool('Max', self.conv_relu(self.input('x', values.smooth(name, 1, 3, 224, 224)), 64, 7, 2), 2)


def nasrnn(hidden=512, steps=5):
    net = Net('nasrnn')
    inputs = [net.input('x%d' % i, values.normal('nasrnn/%d' % i, 1, hidden)) for i in range(steps)]
    state = net.normal(1, hidden)

    def pair(kind, a, b):
        return lambda x, y: net.op(kind, net.op(a, x), net.op(b, y))

    for x in inputs:
        t = [net.op('Add', net.dense(state, hidden), net.dense(x, hidden)) for _ in range(8)]
        first = [pair('Add', 'Relu', 'Sigmoid')(t[0], t[3]), pair('Add', 'Sigmoid', 'Tanh')(t[1], t[2]),
                 pair('Mul', 'Sigmoid', 'Tanh')(t[4], t[5]), pair('Mul', 'Sigmoid', 'Relu')(t[6], t[7])]
        second = [pair('Add', 'Sigmoid', 'Tanh')(first[1], first[2]), pair('Mul', 'Tanh', 'Tanh')(first[0], first[3])]
        state = net.op('Tanh', pair('Mul', 'Tanh', 'Tanh')(*second))
    return net.build(state)


def bert_taso(batch=16, tokens=64, width=1024, heads=16, layers=8):
    """Attention without softmax. The last product of a layer reads the attention's output: TASO's file has it read
    the layer's input, which leaves the attention dead."""
    net = Net('bert_taso')
    x = net.relu(net.input('x', values.normal('bert_taso', batch * tokens, width)))

    def reshape(y, *dims):
        return net.op('Reshape', y, net.weight(np.array(dims, np.int64)))

    for _ in range(layers):
        query, key, value = (net.op('Transpose', reshape(net.dense(x, width), batch, tokens, heads, width // heads),
                                    perm=[0, 2, 1, 3]) for _ in range(3))
        mixed = net.op('MatMul', net.op('MatMul', query, key), value)
        x = net.dense(reshape(net.op('Transpose', mixed, perm=[0, 2, 1, 3]), batch * tokens, width), width)
    return net.build(x)


def resnext50_taso():
    net = Net('resnext50_taso')
    x = net.stem('resnext50_taso')
    for blocks, width, first_stride in ((3, 128, 1), (4, 256, 2), (6, 512, 2), (3, 1024, 2)):
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            y = net.conv_relu(net.conv_relu(x, width, 1), width, 3, stride, groups=32)
            y = net.conv(y, 2 * width, 1)
            if block == 0:
                x = net.conv_relu(x, 2 * width, 1, stride)
            x = net.relu(net.op('Add', x, y))
    return net.build(x)


def nasnet_a():
    net = Net('nasnet_a')

    def squeeze(x, width):
        return net.conv_relu(x, width, 1)

    def fit(like, x):
        _, width, height, _ = net.shape(like)
        return squeeze(x, width) if net.shape(x)[2] == height else net.conv_relu(x, width, 3, 2)

    def separable(x, kernel, stride=1):
        width = net.shape(x)[1]
        return net.conv(net.conv(x, width, kernel, stride, groups=width), width, 1)

    def average(x, stride=1):
        return net.pool('Average', x, stride)

    def join(*pairs):
        return net.op('Concat', *[net.op('Add', *pair) for pair in pairs], axis=1)

    def normal_cell(a, b):
        return join((separable(a, 3), a), (separable(b, 3), separable(a, 3)), (average(a), b),
                    (average(b), average(b)), (separable(b, 3), separable(b, 3)))

    def reduction_cell(a, b):
        first = net.op('Add', separable(b, 7, 2), separable(a, 5, 2))
        second = net.op('Add', net.pool('Max', a, 2), separable(b, 7, 2))
        third = net.op('Add', average(a, 2), separable(b, 5, 2))
        fourth = net.op('Add', net.pool('Max', a, 2), separable(first, 3))
        # TASO's stride of 2 in this pool would not fit the sum.
        fifth = net.op('Add', average(first), second)
        return net.op('Concat', first, second, third, fourth, fifth, axis=1)

    x, width = net.stem('nasnet_a'), 128
    for _ in range(3):
        before = now = x
        for _ in range(5):
            a = squeeze(now, width)
            before, now = now, normal_cell(a, fit(a, before))
        width *= 2
        a = squeeze(now, width)
        x = reduction_cell(a, fit(a, before))
    return net.build(x)


def one_add():
    net = Net('add')
    return net.build(net.op('Add', net.input('x', values.normal('add/x', 4)), net.input('y', values.normal('add/y', 4))))


def chain(length=1000, size=16):
    net = Net('chain')
    x = net.input('x', values.normal('chain', size))
    for i in range(length):
        if i % 3 == 2:
            x = net.relu(x)
        elif i % 3 == 1:
            x = net.op('Mul', x, net.weight(net.random.uniform(0.9, 1.1, size).astype(np.float32)))
        else:
            x = net.op('Add', x, net.weight(net.random.uniform(-0.1, 0.12, size).astype(np.float32)))
    return net.build(x)


def matmuls(count=200, size=64):
    net = Net('matmuls')
    x = net.input('x', values.normal('matmuls', size, size))
    for _ in range(count):
        x = net.relu(net.dense(x, size))
    return net.build(x)
