#!/usr/bin/env python3
"""Writes goldens.txt: operands and results of ops, computed by NumPy.

    python3 ir/eval/testdata/make_goldens.py > ir/eval/testdata/goldens.txt

A case is a line "case NAME", then a line "in DTYPE DIMS VALUES…" for each operand
and "out DTYPE DIMS VALUES…" for the result; DIMS are joined by commas, "-" for a
scalar.
"""

import numpy as np

rng = np.random.default_rng(7)
NAMES = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64",
         "int8": "i8", "uint8": "u8", "bool": "bool"}


def line(kind, array):
    dims = ",".join(map(str, array.shape)) or "-"
    values = " ".join(repr(v.item()) if v.dtype.kind == "f" else str(int(v))
                      for v in array.reshape(-1))
    print(kind, NAMES[str(array.dtype)], dims, values)


def case(name, result, *operands):
    print("case", name)
    for operand in operands:
        line("in", operand)
    line("out", np.asarray(result))


def f64(*shape):
    return rng.normal(size=shape)


def window_sum(x, size, stride):
    steps = (x.shape[0] - size) // stride + 1
    return np.array([x[i * stride:i * stride + size].sum() for i in range(steps)])


def convolve(x, w):
    out = np.zeros((x.shape[0], w.shape[0], x.shape[2] - w.shape[2] + 1,
                    x.shape[3] - w.shape[3] + 1))
    for i in range(out.shape[2]):
        for j in range(out.shape[3]):
            patch = x[:, :, i:i + w.shape[2], j:j + w.shape[3]]
            out[:, :, i, j] = np.einsum("ncij,ocij->no", patch, w)
    return out


x, y = f64(3, 4), f64(3, 4)
for name in ["exp", "expm1", "sin", "cos", "tan", "tanh", "sinh", "cosh", "floor",
             "ceil", "sign", "abs", "arctan", "arcsinh"]:
    case(name, getattr(np, name)(x), x)
for name in ["log", "log1p", "sqrt"]:
    case(name, getattr(np, name)(np.abs(x)), np.abs(x))
case("round", np.round(np.array([0.5, 1.5, 2.5, -0.5, -1.5])),
     np.array([0.5, 1.5, 2.5, -0.5, -1.5]))
case("atan2", np.arctan2(x, y), x, y)
case("rem", np.fmod(x, y), x, y)
case("pow", np.power(np.abs(x), y), np.abs(x), y)
a8 = np.array([100, -128, 7, -7, 127], np.int8)
b8 = np.array([100, -1, 3, 3, 1], np.int8)
with np.errstate(over="ignore"):
    case("add_i8", a8 + b8, a8, b8)
    case("mul_i8", a8 * b8, a8, b8)
case("transpose", f := np.transpose(z := f64(2, 3, 4), (2, 0, 1)), z)
case("pad", np.pad(x, ((1, 0), (2, 1)), constant_values=0.5), x)
case("reverse", x[:, ::-1], x)
case("slice", x[0:3:2, 1:4:2], x)
indices = np.array([[2, 0], [1, 1]], np.int64)
case("take", np.take(x, indices, axis=1), x, indices)
case("sum", z.sum(axis=(0, 2)), z)
case("product", z.prod(axis=1), z)
case("argmax", np.argmax(z, axis=1), z)
case("cumsum", np.cumsum(x, axis=1), x)
case("matmul", z @ (w := f64(4, 5)), z, w)
case("batch_matmul", z @ (w := f64(2, 4, 5)), z, w)
case("convolution", convolve(i := f64(2, 3, 5, 6), w := f64(4, 3, 2, 3)), i, w)
case("window_sum", window_sum(v := f64(9), 3, 2), v)
e = np.exp(x - x.max(axis=1, keepdims=True))
case("softmax", e / e.sum(axis=1, keepdims=True), x)
scale, bias = f64(4), f64(4)
centred = x - x.mean(axis=1, keepdims=True)
variance = (centred ** 2).mean(axis=1, keepdims=True)
case("layer_norm", centred / np.sqrt(variance + 1e-5) * scale + bias, x, scale, bias)
case("cast_i32", x.astype(np.int32), x)
case("cast_f32", x.astype(np.float32), x)
