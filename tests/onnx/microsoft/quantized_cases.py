"""Quantized tensors, and products by quantized weights."""
import itertools

import numpy as np

from case_inputs import Case, Input, codes, floats, ints, positive, random, scalar

# How far two roundings may be apart: a step. Scales are such that there are few ties.
STEP = (1, 0)
QUANTIZED = (np.uint8, np.int8)


def zero_point(dtype, given=True):
    return ints('', 100, 140, dtype=np.uint8) if given and dtype == np.uint8 else (
        ints('', -20, 20, dtype=np.int8) if given else None)


def quantized(names, dtype, *shape, zero=True, scale=0.0517):
    return [codes(names, dtype, *shape), scalar(scale), zero_point(dtype, zero)]


def q_linear_binary():
    for dtype in QUANTIZED:
        yield Case([*quantized('B', dtype, 3, 8), *quantized('B', dtype, 3, 8, scale=0.0313), scalar(0.1033),
                    zero_point(dtype)], tolerance=STEP)
        yield Case([*quantized('B', dtype, 3, 8), *quantized('', dtype, 8, scale=0.0313), scalar(0.1033),
                    zero_point(dtype)], tolerance=STEP)
        yield Case([*quantized('', dtype), *quantized('BC', dtype, 2, 5), scalar(0.1033)], tolerance=STEP)
        yield Case([*quantized('', dtype, 2, 1, 5), *quantized('', dtype, 3, 1), scalar(0.2077), zero_point(dtype)],
                   tolerance=STEP)


def q_linear_where():
    for dtype in QUANTIZED:
        for shape in ((3, 8), (8,), (1,)):
            yield Case([Input(random.integers(0, 2, (3, 8)).astype(bool), 'B'),
                        *quantized('B' if len(shape) == 2 else '', dtype, *shape),
                        *quantized('B', dtype, 3, 8, scale=0.0313), scalar(0.0617), zero_point(dtype)], tolerance=STEP)


def q_linear_sigmoid():
    for dtype in QUANTIZED:
        yield Case([*quantized('B', dtype, 3, 8), scalar(1 / 256), zero_point(dtype)], tolerance=STEP)
        yield Case([*quantized('BC', dtype, 2, 3, 4, zero=False), scalar(1 / 200), None], tolerance=STEP)
        yield Case([*quantized('', dtype, 16, zero=False, scale=0.01), scalar(1 / 64), zero_point(dtype)],
                   tolerance=STEP)


def q_linear_leaky_relu():
    for dtype in QUANTIZED:
        for alpha in ({}, {'alpha': 0.2}, {'alpha': 0.5}):
            yield Case([*quantized('B', dtype, 3, 8), scalar(0.0617), zero_point(dtype)], alpha, tolerance=STEP)
        yield Case([*quantized('B', dtype, 3, 8, zero=False), scalar(0.0411), None], {'alpha': 0.1}, tolerance=STEP)


def q_linear_softmax():
    for dtype in QUANTIZED:
        for shape, attributes in (((3, 8), {'opset': 13}), ((2, 3, 4), {'opset': 13, 'axis': 1}),
                                  ((2, 3, 4), {'opset': 12, 'axis': 1}), ((2, 3, 4), {'opset': 11, 'axis': 2})):
            yield Case([*quantized('B', dtype, *shape, scale=0.02), scalar(1 / 256), zero_point(dtype)], attributes,
                       tolerance=STEP)


def q_linear_global_average_pool():
    for dtype, last in itertools.product(QUANTIZED, (0, 1)):
        for shape in ((2, 3, 4, 5), (1, 8, 6)):
            yield Case([*quantized('B', dtype, *shape), scalar(0.0213), zero_point(dtype)], {'channels_last': last},
                       tolerance=STEP)


def q_linear_average_pool():
    for dtype in QUANTIZED:
        for attributes in ({'kernel_shape': [2, 2]}, {'kernel_shape': [3, 3], 'pads': [1, 1, 1, 1]},
                           {'kernel_shape': [3, 3], 'pads': [1, 0, 1, 1], 'count_include_pad': 1},
                           {'kernel_shape': [2, 2], 'strides': [2, 2], 'ceil_mode': 1},
                           {'kernel_shape': [3, 2], 'auto_pad': 'SAME_UPPER', 'strides': [2, 1]}):
            yield Case([*quantized('B', dtype, 1, 2, 5, 5), scalar(0.0411), zero_point(dtype)], attributes,
                       tolerance=STEP)
        yield Case([*quantized('B', dtype, 1, 5, 5, 2), scalar(0.0411), zero_point(dtype)],
                   {'kernel_shape': [3, 3], 'pads': [1, 1, 1, 1], 'channels_last': 1}, tolerance=STEP)
    yield Case([*quantized('', np.uint8, 1, 2, 6), scalar(0.0411), zero_point(np.uint8)], {'kernel_shape': [3]}, tolerance=STEP)


def q_linear_conv():
    for last, attributes in ((0, {}), (1, {}), (1, {'strides': [2, 2], 'pads': [1, 1, 1, 1]}), (0, {'group': 2}),
                             (1, {'dilations': [2, 2]}), (1, {'auto_pad': 'SAME_LOWER'})):
        x = quantized('B', np.uint8, *((1, 5, 5, 2) if last else (1, 2, 5, 5)))
        w = [weights('', np.int8, 4, 2 // attributes.get('group', 1), 2, 2), scalar(0.02), scalar(0, np.int8)]
        yield Case([*x, *w, scalar(0.2077), zero_point(np.uint8), ints('', -99, 99, 4)],
                   {'channels_last': last, **attributes}, tolerance=STEP)


def q_linear_concat():
    for dtype in QUANTIZED:
        for axis, shapes in ((0, ((2, 3), (1, 3))), (1, ((2, 3), (2, 1), (2, 2))), (-1, ((2, 2, 2), (2, 2, 3)))):
            parts = [quantized('', dtype, *shape, scale=scale) for shape, scale in zip(shapes, (0.0517, 0.0313, 0.0817))]
            yield Case([scalar(0.0617), zero_point(dtype), *sum(parts, [])], {'axis': axis}, tolerance=STEP)


def quantize_linear():
    for dtype in (np.uint8, np.int8, np.uint16, np.int16):
        yield Case([floats('B', 3, 8), scalar(0.02), ints('', 0, 9, dtype=dtype)], tolerance=STEP)
    yield Case([floats('B', 3, 8), scalar(0.02)], tolerance=STEP)
    yield Case([floats('', 3, 8), positive('', 8), ints('', 0, 9, 8, dtype=np.uint8)], {'axis': 1}, tolerance=STEP)
    yield Case([floats('', 3, 4, 2), positive('', 3), ints('', -9, 9, 3, dtype=np.int8)], {'axis': 0}, tolerance=STEP)
    yield Case([floats('B', 3, 8, dtype=np.float16), scalar(0.0625, np.float16), ints('', -9, 9, dtype=np.int8)],
               tolerance=STEP)


def dequantize_linear():
    for dtype in (np.uint8, np.int8, np.uint16, np.int16):
        yield Case([codes('B', dtype, 3, 8), scalar(0.02), ints('', 0, 9, dtype=dtype)])
    yield Case([codes('B', np.int32, 3, 8), scalar(0.02)])
    yield Case([codes('', np.uint8, 3, 8), positive('', 8), ints('', 0, 9, 8, dtype=np.uint8)], {'axis': 1})
    yield Case([codes('', np.int8, 3, 4, 2), positive('', 3), ints('', -9, 9, 3, dtype=np.int8)], {'axis': -3})
    yield Case([codes('B', np.int8, 3, 8), scalar(0.0625, np.float16), ints('', -9, 9, dtype=np.int8)])


# Products by quantized weights.


def weights(names, dtype, *shape):
    """Of 7 bits where they are signed: ONNX Runtime's sums of two products of u8 and i8 saturate on some processors."""
    return ints(names, -64, 64, *shape, dtype=dtype) if dtype == np.int8 else codes(names, dtype, *shape)


def dynamic_quantize_mat_mul():
    for dtype, bias in itertools.product(QUANTIZED, (True, False)):
        yield Case([floats('B', 3, 6), weights('', dtype, 6, 5), scalar(0.02), zero_point(dtype),
                    floats('', 5) if bias else None])
        yield Case([floats('BS', 2, 3, 6), weights('', dtype, 6, 5), positive('', 5),
                    ints('', 0, 20, 5, dtype=dtype) if bias else None, floats('', 5)])
    yield Case([floats('B', 2, 3, 4), weights('B', np.int8, 2, 4, 3), scalar(0.02)])


def mat_mul_integer_to_float():
    for left, right in itertools.product(QUANTIZED, QUANTIZED):
        if (left, right) == (np.int8, np.uint8):
            continue
        yield Case([codes('B', left, 3, 6), weights('', right, 6, 5), scalar(0.02), scalar(0.03), zero_point(left),
                    zero_point(right), floats('', 5)])
        yield Case([codes('BS', left, 2, 3, 6), weights('', right, 6, 5), scalar(0.02), positive('', 5), zero_point(left),
                    ints('', 0, 20, 5, dtype=right)])
    yield Case([codes('B', np.uint8, 3, 6), weights('', np.int8, 6, 5), scalar(0.02), scalar(0.03)])


def q_gemm():
    for (left, right), a, b in zip(((np.uint8, np.int8), (np.int8, np.int8), (np.uint8, np.uint8), (np.uint8, np.int8)),
                                   (0, 1, 0, 1), (0, 0, 1, 1)):
        matrices = [codes('', left, *((6, 3) if a else (3, 6))), scalar(0.02), zero_point(left),
                    weights('', right, *((5, 6) if b else (6, 5))), positive('', 5), ints('', 0, 1, 5, dtype=right),
                    ints('', -99, 99, 5)]
        attributes = {'transA': a, 'transB': b, 'alpha': 0.5}
        yield Case(matrices, attributes)
        yield Case([*matrices, scalar(0.5), zero_point(left)], attributes, tolerance=STEP)


def dynamic_quantize_lstm():
    for directions, scales, dtype, attributes in (
        (1, (1,), np.int8, {}), (1, (1, 8), np.int8, {'direction': 'reverse'}),
        (2, (2,), np.uint8, {'direction': 'bidirectional'}), (1, (1,), np.uint8, {'clip': 0.5}),
        (1, (1, 8), np.int8, {'input_forget': 1}), (2, (2, 8), np.int8, {'direction': 'bidirectional'}),
        (1, (1,), np.int8, {'activations': ['HardSigmoid', 'Tanh', 'Relu'], 'activation_alpha': [0.3],
                            'activation_beta': [0.4]})):
        zero = Input(np.full(scales, 128 if dtype == np.uint8 else 0, dtype))
        scale = [Input((random.integers(1, 9, scales) / 512).astype(np.float32)) for _ in range(2)]
        full = 'clip' not in attributes
        initial = [floats('.B', directions, 2, 2) if full else None for _ in range(2)]
        peepholes = floats('', directions, 6) if full and directions == 1 else None
        yield Case([floats('TB', 4, 2, 3), weights('', dtype, directions, 3, 8), weights('', dtype, directions, 2, 8),
                    floats('', directions, 16), None, *initial, peepholes, scale[0], zero, scale[1], zero],
                   {'hidden_size': 2, **attributes}, [1, 1, 1], tolerance=(1e-4, 1e-4))
