#!/usr/bin/env python3
"""Writes the values of tools/io/testdata as the onnx package has them; onnx_value_test.cc knows what is in them.

    tools/io/make_values.py tools/io/testdata       (needs onnx)
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def sparse(values, indices, dims):
    tensor = numpy_helper.from_array
    return helper.make_sparse_tensor(tensor(np.array(values, np.float32)), tensor(np.array(indices, np.int64)), dims)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    rows = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    arrays = [rows, rows[0], np.array(7, np.float32)]
    words = np.array(['ant', 'bee'], object)
    of_words = numpy_helper.from_dict({1: np.float32(0.5), 0: np.float32(-2)}, 'm')
    of_words.ClearField('keys')
    of_words.key_type = TensorProto.STRING
    of_words.string_keys.extend([b'b', b'a'])
    tensor, one = numpy_helper.from_array(rows, 'x'), sparse([5, 6], [1, 4], [2, 3])
    empty = onnx.OptionalProto(name='x', elem_type=onnx.OptionalProto.TENSOR)
    values = {
        'tensor': tensor,
        'strings': numpy_helper.from_array(words, 'x'),
        'sparse': one,
        'sparse_by_row': sparse([5, 6], [[0, 1], [1, 1]], [2, 3]),
        'sequence': numpy_helper.from_list(arrays, 's'),
        'sequence_of_none': numpy_helper.from_list([], 's', TensorProto.FLOAT),
        'sequence_of_sparse': onnx.SequenceProto(elem_type=onnx.SequenceProto.SPARSE_TENSOR, sparse_tensor_values=[one]),
        'sequence_of_sequences': numpy_helper.from_list([arrays, arrays], 's'),
        'sequence_of_optionals': onnx.SequenceProto(elem_type=onnx.SequenceProto.OPTIONAL, optional_values=[empty]),
        'optional': numpy_helper.from_optional(rows, 'o'),
        'optional_of_none': empty,
        'optional_of_sequence': numpy_helper.from_optional(arrays, 'o'),
        'optional_of_sparse': onnx.OptionalProto(elem_type=onnx.OptionalProto.SPARSE_TENSOR, sparse_tensor_value=one),
        'optional_of_map': numpy_helper.from_optional({1: np.float32(0.5)}, 'o'),
        'optional_of_optional': onnx.OptionalProto(elem_type=onnx.OptionalProto.OPTIONAL, optional_value=empty),
        'map': numpy_helper.from_dict({9: np.float32(0.5), -1: np.float32(2)}, 'm'),
        'map_of_strings': of_words,
        'maps': numpy_helper.from_list([{1: np.float32(1), 0: np.float32(2)}, {0: np.float32(3), 1: np.float32(4)}], 's'),
        'maps_of_other_keys': numpy_helper.from_list([{1: np.float32(1)}, {0: np.float32(3)}], 's'),
        'complex64': numpy_helper.from_array(rows.astype(np.complex64), 'x'),
        'complex128': numpy_helper.from_array(rows.astype(np.complex128), 'x'),
    }
    for name, value in values.items():
        (folder / f'{name}.pb').write_bytes(value.SerializeToString())


if __name__ == '__main__':
    main()
