"""Files for tests of the tools, written and read with Python's own library alone: ONNX models, TensorProto,
.npy and .npz."""
import ast
import io
import struct
import zipfile

FLOAT, INT32, INT64 = 1, 6, 7
_NPY = {FLOAT: '<f4', INT32: '<i4', INT64: '<i8'}
_FORMAT = {FLOAT: 'f', INT32: 'i', INT64: 'q'}


def _varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def _field(number, value):
    """A field of a protocol-buffer message: an integer, or bytes or text."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, str):
        value = value.encode()
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _size(dims):
    size = 1
    for dim in dims:
        size *= dim
    return size


def tensor(values, dims, dtype=FLOAT, name=''):
    """A TensorProto."""
    assert len(values) == _size(dims)
    return (b''.join(_field(1, dim) for dim in dims) + _field(2, dtype) + (_field(8, name) if name else b'') +
            _field(9, struct.pack('<%d%s' % (len(values), _FORMAT[dtype]), *values)))


def external_tensor(location, dims, dtype=FLOAT, name='', offset=0):
    """A TensorProto whose data lie in the file `location` beside the model."""
    def entry(key, value):
        return _field(13, _field(1, key) + _field(2, value))
    return (b''.join(_field(1, dim) for dim in dims) + _field(2, dtype) + _field(8, name) +
            entry('location', location) + entry('offset', str(offset)) + entry('length', str(4 * _size(dims))) +
            _field(14, 1))


def _value(name, dims, dtype):
    shape = b''.join(_field(1, _field(1, dim) if isinstance(dim, int) else _field(2, dim)) for dim in dims)
    return _field(1, name) + _field(2, _field(1, _field(1, dtype) + _field(2, shape)))


def model(nodes, inputs, outputs, initializers=(), opset=17):
    """A ModelProto. nodes: (operator, inputs, outputs); inputs and outputs: (name, dims, dtype), a dim being
    a number or a name; initializers: TensorProto."""
    graph = b''
    for i, (operator, reads, writes) in enumerate(nodes):
        graph += _field(1, b''.join(_field(1, name) for name in reads) +
                        b''.join(_field(2, name) for name in writes) +
                        _field(3, '%s_%d' % (operator.lower(), i)) + _field(4, operator))
    graph += _field(2, 'g') + b''.join(_field(5, initializer) for initializer in initializers)
    graph += b''.join(_field(11, _value(*each)) for each in inputs)
    graph += b''.join(_field(12, _value(*each)) for each in outputs)
    return _field(1, 8) + _field(7, graph) + _field(8, _field(2, opset))


def map_cast():
    """y = the values of x, a map from int64 to float, in the order of its keys, as an ONNX model."""
    node = (_field(1, 'x') + _field(2, 'y') + _field(3, 'cast_map') + _field(4, 'CastMap') + _field(7, 'ai.onnx.ml'))
    of_floats = _field(1, _field(1, FLOAT))
    x = _field(1, 'x') + _field(2, _field(5, _field(1, INT64) + _field(2, of_floats)))
    graph = _field(1, node) + _field(2, 'g') + _field(11, x) + _field(12, _field(1, 'y') + _field(2, of_floats))
    opsets = _field(8, _field(2, 17)) + _field(8, _field(1, 'ai.onnx.ml') + _field(2, 3))
    return _field(1, 8) + _field(7, graph) + opsets


def int_map(items):
    """A MapProto from int64 to float."""
    values = b''.join(_field(3, tensor([value], [])) for value in items.values())
    return _field(2, INT64) + b''.join(_field(3, key) for key in items) + _field(5, _field(2, 1) + values)


def affine(rows=2):
    """y = relu(x * w + b) with x f32[rows, 3], w 3 x 2 and b of 2; what `affine_of` computes."""
    return model([('MatMul', ['x', 'w'], ['p']), ('Add', ['p', 'b'], ['s']), ('Relu', ['s'], ['y'])],
                 [('x', [rows, 3], FLOAT)], [('y', [rows, 2], FLOAT)],
                 [tensor([1, 2, 3, 4, 5, 6], [3, 2], name='w'), tensor([-10, 1], [2], name='b')])


# What affine_outside has beside it: w, then b, at no multiple of their elements' size.
AFFINE_WEIGHTS = b'\0' + struct.pack('<8f', 1, 2, 3, 4, 5, 6, -10, 1)


def affine_outside(location):
    """affine(), its weights in the file `location` beside it."""
    return model([('MatMul', ['x', 'w'], ['p']), ('Add', ['p', 'b'], ['s']), ('Relu', ['s'], ['y'])],
                 [('x', [2, 3], FLOAT)], [('y', [2, 2], FLOAT)],
                 [external_tensor(location, [3, 2], name='w', offset=1),
                  external_tensor(location, [2], name='b', offset=25)])


def affine_of(x):
    return [max(0.0, sum(x[3 * row + k] * (1 + 2 * k + column) for k in range(3)) + (-10, 1)[column])
            for row in range(len(x) // 3) for column in range(2)]


def _conv_norm_weights(salt):
    """Of conv_norm: kernel, and per channel bias, scale, shift, mean, variance."""
    def draw(count, first):
        return [((first + salt + 7 * i) % 17) / 8 - 1 for i in range(count)]
    return (draw(54, 1), *(draw(3, first) for first in (2, 3, 4, 5)), [0.5 + (salt + i) % 4 for i in range(3)])


def conv_norm(salt):
    """y = relu(BatchNormalization(Conv(x))) with x f32[1,2,5,5], three channels out, windows of 3 x 3, and weights by
    `salt`; what `conv_norm_of` computes."""
    dims = ([3, 2, 3, 3], [3], [3], [3], [3], [3])
    names = ('w', 'bias', 'scale', 'shift', 'mean', 'variance')
    return model([('Conv', ['x', 'w', 'bias'], ['c']),
                  ('BatchNormalization', ['c', 'scale', 'shift', 'mean', 'variance'], ['n']), ('Relu', ['n'], ['y'])],
                 [('x', [1, 2, 5, 5], FLOAT)], [('y', [1, 3, 3, 3], FLOAT)],
                 [tensor(values, dim, name=name)
                  for values, dim, name in zip(_conv_norm_weights(salt), dims, names)])


def conv_norm_of(x, salt):
    kernel, bias, scale, shift, mean, variance = _conv_norm_weights(salt)
    out = []
    for channel in range(3):
        for row in range(3):
            for column in range(3):
                total = bias[channel] + sum(
                    x[25 * c + 5 * (row + i) + column + j] * kernel[18 * channel + 9 * c + 3 * i + j]
                    for c in range(2) for i in range(3) for j in range(3))
                norm = (total - mean[channel]) / (variance[channel] + 1e-5) ** 0.5
                out.append(max(0.0, norm * scale[channel] + shift[channel]))
    return out


def npy(values, dims, dtype=FLOAT):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (
        _NPY[dtype], ''.join('%d, ' % dim for dim in dims))
    header += ' ' * (-(10 + len(header) + 1) % 64) + '\n'
    return (b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode() +
            struct.pack('<%d%s' % (len(values), _FORMAT[dtype]), *values))


def npz(arrays):
    """arrays: bytes of .npy by name."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, 'w') as archive:
        for name, array in arrays.items():
            archive.writestr(name + '.npy', array)
    return out.getvalue()


def read_npz(path):
    """(dims, values) by name; of f32 and i32."""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for entry in archive.namelist():
            content = archive.read(entry)
            length = struct.unpack('<H', content[8:10])[0]
            header = ast.literal_eval(content[10:10 + length].decode())
            kind = {'<f4': 'f', '<i4': 'i'}[header['descr']]
            values = struct.unpack('<%d%s' % (_size(header['shape']), kind), content[10 + length:])
            arrays[entry[:-len('.npy')]] = (list(header['shape']), list(values))
    return arrays
