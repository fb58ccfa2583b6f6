"""Draws kernels that models have and tables do not, each as an ONNX model of its own.

`kernel(seed, number)` is the same for the same two numbers. Extents are drawn over all magnitudes: half of them powers of two
or rows of whole pages, which caches hold badly, the others multiples of 8 or any. A drawn kernel takes at most MOST_FLOPS
and MOST_BYTES, and by what a usual machine does at least LEAST_US three times out of four.
"""
import dataclasses
import random
import typing
import zlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET, IR = 18, 9
MOST_FLOPS, MOST_BYTES = 4e9, 256e6
LEAST_US, SHARE_OF_LONG = 50, 0.75
# Of a usual machine: FLOP/s, and bytes per second of what does not stay in a core's caches.
USUAL_FLOPS, USUAL_BYTES = 400e9, 100e9
PAGE_FLOATS = 1024


class Net:
    """A model under construction; values are normal, weights scaled by `fan`, all by the kernel's name."""

    def __init__(self, name):
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.nodes, self.weights, self.inputs = [], {}, {}

    def input(self, *dims):
        name = 'x%d' % len(self.inputs)
        self.inputs[name] = self.random.standard_normal(dims, dtype=np.float32)
        return name

    def weight(self, *dims, fan=1):
        return self.constant(self.random.standard_normal(dims, dtype=np.float32) / np.float32(fan)**np.float32(0.5))

    def constant(self, value):
        name = 'w%d' % len(self.weights)
        self.weights[name] = np.asarray(value)
        return name

    def op(self, kind, *reads, **attributes):
        name = '%s_%d' % (kind.lower(), len(self.nodes))
        self.nodes.append(helper.make_node(kind, list(reads), [name], name=name, **attributes))
        return name

    def model(self, result):
        graph = helper.make_graph(
            self.nodes, 'kernel',
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in self.inputs.items()],
            [helper.make_tensor_value_info(result, TensorProto.FLOAT, None)],
            [numpy_helper.from_array(value, name) for name, value in self.weights.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid('', OPSET)], ir_version=IR)


@dataclasses.dataclass
class Kernel:
    family: str
    text: str
    flops: float
    bytes: float  # that are read and written at least
    build: typing.Callable  # of a Net: the name of the result

    def usual_us(self):
        return 1e6 * max(self.flops / USUAL_FLOPS, self.bytes / USUAL_BYTES)


def count(*dims):
    return float(np.prod([float(dim) for dim in dims]))


def words(*parts):
    return ' '.join(str(part) for part in parts if part)


def dims_text(dims):
    return 'x'.join(map(str, dims))


def extent(draw, most, least=1):
    """An extent from `least` to `most`, of any magnitude alike."""
    value = int(round(least * (most / least)**draw.random()))
    kind = draw.random()
    if kind < 0.4:
        value = 1 << max(value.bit_length() - 1, 0)
    elif kind < 0.5:
        value = max(value // PAGE_FLOATS, 1) * PAGE_FLOATS
    elif kind < 0.7:
        value = max(value // 8, 1) * 8
    return min(max(value, least), most)


def shape(draw, rank, most):
    """Dims of at most so many elements."""
    dims = []
    for _ in range(rank):
        dims.append(extent(draw, max(1, min(4096, int(most / count(*dims))))))
    draw.shuffle(dims)
    return dims


def epilogue(draw, net_ops):
    """What is fused behind a product: (text, function of a net, a value and the channels' axis and number)."""
    kind = draw.choice(['', 'relu', 'bias', 'bias relu', 'bias sigmoid', 'residual'][:net_ops])
    if kind == '':
        return kind, lambda net, y, dims, axis: y

    def add(net, y, dims, axis):
        if kind == 'residual':
            return net.op('Add', y, net.input(*dims))
        if 'bias' in kind:
            y = net.op('Add', y, net.weight(dims[axis], *[1] * (len(dims) - 1 - axis % len(dims))))
        return net.op('Relu', y) if 'relu' in kind else net.op('Sigmoid', y) if 'sigmoid' in kind else y

    return kind, add


def product(draw):
    m, k, n = (extent(draw, 4096) for _ in range(3))
    batch = draw.choice([[], [], [], [extent(draw, 32)], [extent(draw, 8), extent(draw, 16)]])
    kind = draw.choice(['weight', 'weight', 'values', 'broadcast'])
    ta, tb = draw.random() < 0.3, draw.random() < 0.4
    what, after = epilogue(draw, 6)
    own = batch if kind == 'values' else []
    result = batch + [m, n]

    def build(net):
        x, w = batch + ([k, m] if ta else [m, k]), own + ([n, k] if tb else [k, n])
        a = net.input(*x)
        b = net.weight(*w, fan=k) if kind == 'weight' else net.input(*w)
        order = list(range(len(batch)))
        if ta:
            a = net.op('Transpose', a, perm=order + [len(batch) + 1, len(batch)])
        if tb:
            b = net.op('Transpose', b, perm=list(range(len(own))) + [len(own) + 1, len(own)])
        return after(net, net.op('MatMul', a, b), result, -1)

    return Kernel('product', words('product', kind, dims_text(batch + [m, k, n]), 'At' if ta else '', 'Bt' if tb else '', what),
                  2 * count(*batch, m, k, n), 4 * (count(*batch, m, k) + count(*own, k, n) + count(*result)), build)


def windows(draw, rank):
    return [draw.choice([1, 1, 2, 3, 3, 3, 4, 5, 5, 7, 9, 11]) for _ in range(rank)]


def convolution(draw):
    rank = draw.choice([1, 2, 2, 2, 2, 2, 3])
    batch = draw.choice([1, 1, 1, 2, 3, 8, 16, 32])
    window = windows(draw, rank)
    if rank == 2 and draw.random() < 0.7:
        window = [window[0]] * 2
    stride = [draw.choice([1, 1, 1, 2, 2, 3])] * rank
    dilation = [draw.choice([1, 1, 1, 1, 2, 3])] * rank
    size = [extent(draw, [0, 8192, 256, 32][rank], [0, 64, 5, 4][rank]) for _ in range(rank)]
    kind = draw.choice(['dense', 'dense', 'dense', 'depthwise', 'grouped'])
    outs = extent(draw, 1024)
    channels, groups = extent(draw, 1024), 1
    if kind == 'depthwise':
        groups = outs = channels
    elif kind == 'grouped':
        groups = draw.choice([2, 3, 4, 8, 16, 32])
        channels, outs = (groups * extent(draw, 64) for _ in range(2))
    low = [(w - 1) * d // 2 for w, d in zip(window, dilation)]
    high = [(w - 1) * d - p for w, d, p in zip(window, dilation, low)]
    result = [batch, outs] + [(s - 1) // t + 1 for s, t in zip(size, stride)]
    what, after = epilogue(draw, 6)
    taps = count(channels // groups, *window)

    def build(net):
        y = net.op('Conv', net.input(batch, channels, *size), net.weight(outs, channels // groups, *window, fan=taps),
                   pads=low + high, strides=stride, dilations=dilation, group=groups)
        return after(net, y, result, 1)

    return Kernel(kind, words(kind, dims_text([batch, channels] + size), 'to', outs, 'window', dims_text(window),
                              'stride %d' % stride[0] if stride[0] > 1 else '', 'dilation %d' % dilation[0] if dilation[0] > 1 else '',
                              'groups %d' % groups if kind == 'grouped' else '', what),
                  2 * count(*result) * taps, 4 * (count(batch, channels, *size) + taps * outs + count(*result)), build)


def reduction(draw):
    dims = shape(draw, draw.choice([1, 2, 2, 3, 3, 4, 5]), 3e7)
    axes = sorted(draw.sample(range(len(dims)), draw.randint(1, len(dims))))
    kind = draw.choice(['ReduceSum', 'ReduceMean', 'ReduceMax', 'ReduceL2'])
    keep = draw.randint(0, 1)

    def build(net):
        return net.op(kind, net.input(*dims), net.constant(np.array(axes, np.int64)), keepdims=keep)

    left = count(*[dim for axis, dim in enumerate(dims) if axis not in axes])
    return Kernel('reduction', words(kind, dims_text(dims), 'over', axes), count(*dims), 4 * (count(*dims) + left), build)


def transpose(draw):
    dims = shape(draw, draw.choice([2, 3, 3, 4, 4, 5]), 1.5e7)
    order = list(range(len(dims)))
    while order == sorted(order):
        draw.shuffle(order)

    def build(net):
        return net.op('Transpose', net.input(*dims), perm=order)

    return Kernel('transpose', words('transpose', dims_text(dims), 'by', order), 0, 8 * count(*dims), build)


def concatenation(draw):
    dims = shape(draw, draw.choice([2, 3, 4]), 5e6)
    axis = draw.randrange(len(dims))
    parts = [extent(draw, max(1, dims[axis] * 2)) for _ in range(draw.randint(2, 4))]
    what = draw.choice(['', '', 'relu'])

    def build(net):
        y = net.op('Concat', *[net.input(*dims[:axis], part, *dims[axis + 1:]) for part in parts], axis=axis)
        return net.op('Relu', y) if what else y

    size = count(*dims) / dims[axis] * sum(parts)
    return Kernel('concat', words('concat', dims_text(dims[:axis] + [str(parts)] + dims[axis + 1:]), what), 0, 8 * size, build)


def resize(draw):
    batch, channels = draw.choice([1, 1, 2, 8]), extent(draw, 256)
    size = [extent(draw, 256, 4) for _ in range(2)]
    scale = draw.choice([2, 2, 2, 3, 4, 1.5, 0.5])
    mode = draw.choice(['nearest', 'linear'])
    place = draw.choice(['asymmetric', 'half_pixel']) if mode == 'linear' else 'asymmetric'
    result = [batch, channels] + [int(dim * scale) for dim in size]

    def build(net):
        return net.op('Resize', net.input(batch, channels, *size), '', net.constant(np.array([1, 1, scale, scale], np.float32)),
                      mode=mode, coordinate_transformation_mode=place, nearest_mode='floor')

    return Kernel('resize', words('resize', mode, place, dims_text([batch, channels] + size), 'by', scale),
                  (7 if mode == 'linear' else 0) * count(*result), 4 * (count(batch, channels, *size) + count(*result)), build)


def gather(draw):
    dims = shape(draw, draw.choice([1, 2, 2, 3]), 4e6)
    axis, number = draw.randrange(len(dims)), extent(draw, 4096)
    result = dims[:axis] + [number] + dims[axis + 1:]

    def build(net):
        index = net.constant(net.random.integers(0, dims[axis], number, dtype=np.int64))
        return net.op('Gather', net.input(*dims), index, axis=axis)

    return Kernel('gather', words('gather', number, 'of', dims_text(dims), 'along', axis), 0, 8 * count(*result), build)


def rows(draw):
    """(number of rows, their length)"""
    length = extent(draw, 32768, 2)
    return extent(draw, max(1, int(2e7 / length))), length


def softmax(draw):
    number, length = rows(draw)
    inner = draw.choice([1, 1, 1, extent(draw, 64)])
    dims = [max(1, number // inner), length] + ([inner] if inner > 1 else [])
    what = draw.choice(['Softmax', 'Softmax', 'LogSoftmax'])

    def build(net):
        return net.op(what, net.input(*dims), axis=1)

    return Kernel('softmax', words(what, dims_text(dims), 'along 1'), 15 * count(*dims), 8 * count(*dims), build)


def norm(draw):
    number, length = rows(draw)
    kind = draw.choice(['layer', 'layer', 'rms', 'instance'])

    def build(net):
        x = net.input(1, number, length)
        if kind == 'layer':
            return net.op('LayerNormalization', x, net.weight(length), net.weight(length), axis=-1)
        if kind == 'instance':
            return net.op('InstanceNormalization', x, net.weight(number), net.weight(number))
        axes = net.constant(np.array([-1], np.int64))
        mean = net.op('ReduceMean', net.op('Mul', x, x), axes)
        root = net.op('Sqrt', net.op('Add', mean, net.constant(np.float32(1e-6))))
        return net.op('Mul', net.op('Div', x, root), net.weight(length))

    return Kernel('norm', words(kind, 'norm', '%d rows of %d' % (number, length)), 7 * count(number, length),
                  8 * count(number, length), build)


def pooling(draw):
    batch, channels = draw.choice([1, 1, 4, 16]), extent(draw, 512)
    size = [extent(draw, 256, 11) for _ in range(2)]
    window, stride = draw.choice([2, 3, 3, 5, 7]), draw.choice([1, 2, 2, 3])
    kind = draw.choice(['MaxPool', 'AveragePool'])
    result = [batch, channels] + [(dim - window) // stride + 1 for dim in size]

    def build(net):
        return net.op(kind, net.input(batch, channels, *size), kernel_shape=[window] * 2, strides=[stride] * 2)

    return Kernel('pooling', words(kind, dims_text([batch, channels] + size), 'window', window, 'stride', stride),
                  count(*result) * window * window, 4 * (count(batch, channels, *size) + count(*result)), build)


def elementwise(draw):
    dims = shape(draw, draw.choice([1, 2, 3, 4]), 2e7)
    kept = [dim if draw.random() < 0.5 else 1 for dim in dims]
    kind = draw.choice(['Add', 'Mul', 'Div', 'Max'])
    then = draw.choice(['', 'Tanh', 'Exp', 'Sigmoid', 'Erf', 'HardSwish'])

    def build(net):
        y = net.op(kind, net.input(*dims), net.input(*kept))
        return net.op(then, y) if then else y

    return Kernel('elementwise', words(kind, dims_text(dims), 'with', dims_text(kept), then), (20 if then else 1) * count(*dims),
                  4 * (2 * count(*dims) + count(*kept)), build)


FAMILIES = [(product, 6), (convolution, 8), (reduction, 3), (transpose, 3), (concatenation, 2), (resize, 1), (gather, 1),
            (softmax, 2), (norm, 2), (pooling, 1), (elementwise, 2)]


def kernel(seed, number):
    draw = random.Random('%d/%d' % (seed, number))
    family = draw.choices([f for f, _ in FAMILIES], [weight for _, weight in FAMILIES])[0]
    long = draw.random() < SHARE_OF_LONG
    while True:
        drawn = family(draw)
        if drawn.flops <= MOST_FLOPS and drawn.bytes <= MOST_BYTES and (drawn.usual_us() >= LEAST_US or not long):
            return drawn
