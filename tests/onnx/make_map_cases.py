#!/usr/bin/env python3
"""Writes tests/onnx/ml/maps: models whose values are maps, and what ONNX Runtime gives for them.

    make_map_cases.py tests/onnx/ml         (needs what make_ml_cases.py needs, which calls this too)

ZipMap, DictVectorizer and CastMap alone, and in what skl2onnx exports of scikit-learn's models. Left out are the forms that
ONNX Runtime cannot be given from Python, maps from integers to strings, and strings of numbers, which it writes as "1.500000".
"""
import pathlib
import sys
import warnings

import numpy as np
from onnx import TensorProto, helper

INT, STRING, FLOAT, DOUBLE = TensorProto.INT64, TensorProto.STRING, TensorProto.FLOAT, TensorProto.DOUBLE


def map_info(name, key, value, sequence=False):
    kind = helper.make_map_type_proto(key, helper.make_tensor_type_proto(value, []))
    return helper.make_value_info(name, helper.make_sequence_type_proto(kind) if sequence else kind)


def write_node(root, ml, name, op, attributes, x, y, value):
    """A model of one node; x, y: ValueInfoProtos of its input and its output."""
    node = helper.make_node(op, ['x'], ['y'], domain='ai.onnx.ml', **attributes)
    imports = [helper.make_opsetid('', 17), helper.make_opsetid('ai.onnx.ml', ml.ML_OPSET)]
    model = helper.make_model(helper.make_graph([node], 'g', [x], [y]), opset_imports=imports, ir_version=8)
    ml.write_case(root / 'maps' / name, model, {'x': value})


def write_nodes(root, ml):
    rows = np.array([[0.5, -1.0, 2.0], [0.25, 8.0, np.inf]], np.float32)
    for name, key, labels in (('integers', INT, {'classlabels_int64s': [1, 5, 9]}),
                              ('integers_unsorted', INT, {'classlabels_int64s': [7, -3, 0]}),
                              ('strings', STRING, {'classlabels_strings': ['ant', 'bee', 'cat']}),
                              ('strings_unsorted', STRING, {'classlabels_strings': ['z', '', 'b']})):
        y = map_info('y', key, FLOAT, sequence=True)
        x = helper.make_tensor_value_info('x', FLOAT, ['N', 3])
        write_node(root, ml, f'zip_map_{name}', 'ZipMap', labels, x, y, rows)
    x = helper.make_tensor_value_info('x', FLOAT, [3])
    write_node(root, ml, 'zip_map_vector', 'ZipMap', {'classlabels_int64s': [1, 2, 3]}, x,
               map_info('y', INT, FLOAT, sequence=True), rows[0])
    words = {'string_vocabulary': ['ant', 'bee', 'cat', 'dog']}
    numbers = {'int64_vocabulary': [5, 3, -4]}
    repeated = {'string_vocabulary': ['ant', 'cat', 'bee', 'ant']}
    for name, key, value, vocabulary, given in (
            ('strings', STRING, FLOAT, words, {'cat': 1.5, 'ant': -2.0}),
            ('all', STRING, FLOAT, words, {'dog': 4.0, 'cat': 3.0, 'bee': 2.0, 'ant': 1.0}),
            ('unknown', STRING, FLOAT, words, {'elk': 7.0, 'bee': 2.0}),
            ('none', STRING, FLOAT, words, {'elk': 7.0}),
            ('repeated', STRING, FLOAT, repeated, {'ant': 4.0, 'cat': 8.0}),
            ('integers', INT, FLOAT, numbers, {3: 0.5, 5: np.nan})):
        x, y = map_info('x', key, value), helper.make_tensor_value_info('y', value, None)
        write_node(root, ml, f'dict_vectorizer_{name}', 'DictVectorizer', vocabulary, x, y, given)
    for cast, kind in (('FLOAT', FLOAT), ('INT64', INT)):
        for form in ('DENSE', 'SPARSE'):
            x, y = map_info('x', INT, FLOAT), helper.make_tensor_value_info('y', kind, None)
            write_node(root, ml, f'cast_map_{form.lower()}_{cast.lower()}', 'CastMap',
                       {'cast_to': f'TO_{cast}', 'map_form': form, 'max_map': 6}, x, y, {3: 1.5, 0: -2.75, 4: 1e10})
    x, y = map_info('x', INT, FLOAT), helper.make_tensor_value_info('y', FLOAT, None)
    write_node(root, ml, 'cast_map_defaults', 'CastMap', {}, x, y, {-3: 1.5, 9: -2.75, 4: 2.0})


def write_sklearn(root, ml):
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import DictionaryType, FloatTensorType, StringTensorType
    from sklearn import datasets, ensemble, feature_extraction, linear_model, pipeline, preprocessing
    ml.accept_booleans()
    opsets = {'': 18, 'ai.onnx.ml': ml.ML_OPSET}
    x, y = datasets.make_classification(80, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=ml.SEED)
    x = x.astype(np.float32)
    words = np.array(['ant', 'bee', 'cat'])[y]
    forest = ensemble.RandomForestClassifier(n_estimators=4, max_depth=3, random_state=ml.SEED)
    for name, model, labels in (('logistic_regression', linear_model.LogisticRegression(), y),
                                ('logistic_regression_binary', linear_model.LogisticRegression(), y > 1),
                                ('logistic_regression_strings', linear_model.LogisticRegression(), words),
                                ('random_forest_strings', forest, words)):
        labels = labels.astype(np.int64) if labels.dtype == bool else labels
        exported = to_onnx(model.fit(x, labels), initial_types=[('X', FloatTensorType([None, 5]))], target_opset=opsets)
        ml.write_case(root / 'maps' / name, exported, {'X': x[:ml.ROWS]})
    rows = [{'amount': 1.0, 'city=A': 1.0}, {'amount': 2.5, 'city=B': 1.0}, {'city=A': 1.0}, {'amount': -1.0}] * 3
    kinds = np.array(['low', 'high', 'low', 'none'] * 3)
    given = [('X', DictionaryType(StringTensorType([1]), FloatTensorType([1])))]
    for name, steps in (('dict_vectorizer', []),
                        ('pipeline_dict_scaler', [preprocessing.StandardScaler()]),
                        ('pipeline_dict_regression', [linear_model.LogisticRegression()])):
        model = pipeline.make_pipeline(feature_extraction.DictVectorizer(sparse=False), *steps).fit(rows, kinds)
        exported = to_onnx(model, initial_types=given, target_opset=opsets)
        ml.write_case(root / 'maps' / name, exported, {'X': {'city=B': 1.0, 'amount': 0.5}})


def write_maps(root, ml):
    write_nodes(root, ml)
    write_sklearn(root, ml)


def main():
    import make_ml_cases
    warnings.filterwarnings('ignore')
    write_maps(pathlib.Path(sys.argv[1]), make_ml_cases)


if __name__ == '__main__':
    main()
