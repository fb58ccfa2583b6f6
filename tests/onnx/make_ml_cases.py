#!/usr/bin/env python3
"""Writes the cases of tests/onnx/ml: models with domain ai.onnx.ml, inputs, and what ONNX Runtime gives for them.

    make_ml_cases.py tests/onnx/ml          (needs onnx, onnxruntime, scikit-learn and skl2onnx)

`sklearn` has what skl2onnx exports of scikit-learn's models, `nodes` single nodes with the attributes that these do not
use. Their classifiers are exported without ZipMap; `maps` (make_map_cases.py) has those with it. The data of a case lie
where `RunCase` (case.h) looks for them.
"""
import pathlib
import sys
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import make_map_cases

SEED = 7
ROWS = 6
ML_OPSET = 3
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float64): TensorProto.DOUBLE,
         np.dtype(np.int64): TensorProto.INT64, np.dtype(np.int32): TensorProto.INT32,
         np.dtype(np.float16): TensorProto.FLOAT16}


def element_type(value):
    return TYPES.get(value.dtype, TensorProto.STRING)


def as_tensor(value):
    if element_type(value) != TensorProto.STRING:
        return numpy_helper.from_array(value)
    words = [str(word).encode() for word in value.ravel()]
    return helper.make_tensor('', TensorProto.STRING, value.shape, words)


def as_map(value, kind):
    """A MapProto of a dictionary; `kind` is a TypeProto.Map."""
    of = helper.tensor_dtype_to_np_dtype(kind.value_type.tensor_type.elem_type)
    result = onnx.MapProto(key_type=kind.key_type)
    (result.string_keys if kind.key_type == TensorProto.STRING else result.keys).extend(
        key.encode() if isinstance(key, str) else key for key in value)
    result.values.CopyFrom(numpy_helper.from_list([np.array(one, of) for one in value.values()]))
    return result


def as_value(value, kind):
    """A tensor, a map or a list of maps in ONNX's own form; `kind` is a TypeProto."""
    if kind.HasField('map_type'):
        return as_map(value, kind.map_type)
    if kind.HasField('sequence_type'):
        maps = [as_map(one, kind.sequence_type.elem_type.map_type) for one in value]
        return onnx.SequenceProto(elem_type=onnx.SequenceProto.MAP, map_values=maps)
    return as_tensor(value)


def write_case(folder, model, feeds):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=['CPUExecutionProvider'])
    outputs = session.run(None, feeds)
    data = folder / 'test_data_set_0'
    data.mkdir(parents=True, exist_ok=True)
    del model.metadata_props[:]
    model.doc_string = ''
    (folder / 'model.onnx').write_bytes(model.SerializeToString())
    for i, (value, info) in enumerate(zip(feeds.values(), model.graph.input)):
        (data / f'input_{i}.pb').write_bytes(as_value(value, info.type).SerializeToString())
    for i, (value, info) in enumerate(zip(outputs, model.graph.output)):
        (data / f'output_{i}.pb').write_bytes(as_value(value, info.type).SerializeToString())


def write_node(root, name, op, feeds, attributes, outputs, opset=ML_OPSET):
    """A model of one node; outputs: their element types."""
    names = [f'y{i}' for i in range(len(outputs))]
    node = helper.make_node(op, list(feeds), names, domain='ai.onnx.ml', **attributes)
    inputs = [helper.make_tensor_value_info(key, element_type(value), value.shape) for key, value in feeds.items()]
    results = [helper.make_tensor_value_info(key, kind, None) for key, kind in zip(names, outputs)]
    imports = [helper.make_opsetid('', 17), helper.make_opsetid('ai.onnx.ml', opset)]
    model = helper.make_model(helper.make_graph([node], 'g', inputs, results), opset_imports=imports, ir_version=8)
    write_case(root / 'nodes' / name, model, feeds)


# --- scikit-learn's models.


def sklearn_models():
    """(name, fitted model, rows to predict)"""
    from sklearn import (cluster, compose, datasets, decomposition, discriminant_analysis, ensemble, impute, linear_model,
                         naive_bayes, neighbors, neural_network, pipeline, preprocessing, svm, tree)
    x, y = datasets.make_classification(80, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=SEED)
    x = x.astype(np.float32)
    binary = (y > 0).astype(np.int64)
    words = np.array(['ant', 'bee', 'cat'])[y]
    target = (x @ np.arange(1, 6) + np.sin(x[:, 0])).astype(np.float32)
    both = np.stack([target, -target + x[:, 1]], 1)
    holes = x.copy()
    holes[::3, 1] = np.nan
    holes[1::4, 3] = np.nan
    small = {'n_estimators': 4, 'max_depth': 3, 'random_state': SEED}
    classifiers = {
        'decision_tree_strings': (tree.DecisionTreeClassifier(max_depth=4, random_state=SEED), words),
        'random_forest_binary': (ensemble.RandomForestClassifier(**small), binary),
        'random_forest': (ensemble.RandomForestClassifier(**small), y),
        'extra_trees_strings': (ensemble.ExtraTreesClassifier(**small), words),
        'gradient_boosting_binary': (ensemble.GradientBoostingClassifier(**small), binary),
        'gradient_boosting': (ensemble.GradientBoostingClassifier(**small), y),
        'ada_boost': (ensemble.AdaBoostClassifier(n_estimators=3, random_state=SEED), y),
        'bagging': (ensemble.BaggingClassifier(tree.DecisionTreeClassifier(max_depth=2), 3, random_state=SEED), y),
        'voting': (ensemble.VotingClassifier([('a', linear_model.LogisticRegression()),
                                              ('b', tree.DecisionTreeClassifier(max_depth=2, random_state=SEED))],
                                             voting='soft', flatten_transform=False), y),
        'logistic_regression_binary': (linear_model.LogisticRegression(), binary),
        'logistic_regression': (linear_model.LogisticRegression(), y),
        'logistic_regression_strings': (linear_model.LogisticRegression(), words),
        'sgd_classifier': (linear_model.SGDClassifier(loss='log_loss', random_state=SEED), y),
        'linear_svc': (svm.LinearSVC(random_state=SEED), y),
        'svc_binary': (svm.SVC(), binary),
        'svc_probability_binary': (svm.SVC(probability=True, random_state=SEED), binary),
        'svc_probability': (svm.SVC(probability=True, random_state=SEED), y),
        'svc_probability_strings': (svm.SVC(kernel='poly', degree=2, probability=True, random_state=SEED), words),
        'svc_poly': (svm.SVC(kernel='poly', coef0=0.5), y),
        'svc_linear': (svm.SVC(kernel='linear'), y),
        'nu_svc_sigmoid': (svm.NuSVC(kernel='sigmoid', nu=0.3, gamma=0.1), y),
        'mlp_classifier': (neural_network.MLPClassifier(hidden_layer_sizes=(6,), max_iter=200, random_state=SEED), y),
        'knn_classifier': (neighbors.KNeighborsClassifier(3), y),
        'gaussian_nb': (naive_bayes.GaussianNB(), y),
        'lda': (discriminant_analysis.LinearDiscriminantAnalysis(), y),
    }
    for name, (model, labels) in classifiers.items():
        yield name, model.fit(x, labels), x[:ROWS]
    regressors = {
        'decision_tree_regressor': (tree.DecisionTreeRegressor(max_depth=4, random_state=SEED), target),
        'random_forest_regressor': (ensemble.RandomForestRegressor(**small), target),
        'random_forest_two_targets': (ensemble.RandomForestRegressor(**small), both),
        'gradient_boosting_regressor': (ensemble.GradientBoostingRegressor(**small), target),
        'linear_regression': (linear_model.LinearRegression(), target),
        'ridge_two_targets': (linear_model.Ridge(), both),
        'svr': (svm.SVR(), target),
        'svr_poly': (svm.SVR(kernel='poly', coef0=1), target),
        'mlp_regressor': (neural_network.MLPRegressor(hidden_layer_sizes=(6,), max_iter=300, random_state=SEED), target),
        'knn_regressor': (neighbors.KNeighborsRegressor(3), target),
    }
    for name, (model, values) in regressors.items():
        yield name, model.fit(x, values), x[:ROWS]
    hist = {'max_iter': 4, 'max_leaf_nodes': 7, 'random_state': SEED}
    yield 'hist_gradient_boosting', ensemble.HistGradientBoostingClassifier(**hist).fit(holes, y), holes[:ROWS]
    yield 'hist_gradient_boosting_binary', ensemble.HistGradientBoostingClassifier(**hist).fit(holes, binary), holes[:ROWS]
    yield 'hist_gradient_boosting_regressor', ensemble.HistGradientBoostingRegressor(**hist).fit(holes, target), holes[:ROWS]
    yield 'one_class_svm', svm.OneClassSVM(nu=0.3).fit(x), x[:ROWS]
    yield 'isolation_forest', ensemble.IsolationForest(n_estimators=3, max_samples=16, random_state=SEED).fit(x), x[:ROWS]
    yield 'k_means', cluster.KMeans(3, n_init=2, random_state=SEED).fit(x), x[:ROWS]
    yield 'pca', decomposition.PCA(2).fit(x), x[:ROWS]
    for transformer in (preprocessing.StandardScaler(), preprocessing.MinMaxScaler(), preprocessing.MaxAbsScaler(),
                        preprocessing.RobustScaler(), preprocessing.Normalizer('l1'), preprocessing.Normalizer('l2'),
                        preprocessing.Normalizer('max'), preprocessing.Binarizer(threshold=0.25),
                        preprocessing.PolynomialFeatures(2), preprocessing.KBinsDiscretizer(3, encode='onehot-dense')):
        name = type(transformer).__name__.lower() + getattr(transformer, 'norm', '')
        yield name, transformer.fit(np.abs(x) if name == 'normalizermax' else x), np.abs(x[:ROWS])
    yield 'simple_imputer', impute.SimpleImputer().fit(holes), holes[:ROWS]
    yield 'knn_imputer', impute.KNNImputer(n_neighbors=2).fit(holes[:12]), holes[:ROWS]
    numbers = np.array([[1, 5], [2, 6], [3, 5], [1, 7]], np.int64)
    kinds = np.array([['ant', 'x'], ['bee', 'y'], ['cat', 'x'], ['ant', 'z']])
    yield 'label_encoder', preprocessing.LabelEncoder().fit(kinds[:, 0]), kinds[:, :1]
    yield 'one_hot_integers', preprocessing.OneHotEncoder().fit(numbers), numbers
    yield 'one_hot_strings', preprocessing.OneHotEncoder(handle_unknown='ignore').fit(kinds), kinds[::-1].copy()
    yield 'ordinal_integers', preprocessing.OrdinalEncoder().fit(numbers), numbers
    yield 'ordinal_strings', preprocessing.OrdinalEncoder().fit(kinds), kinds
    yield ('pipeline_scaled_forest', pipeline.make_pipeline(
        impute.SimpleImputer(strategy='median'), preprocessing.StandardScaler(),
        ensemble.RandomForestClassifier(**small)).fit(holes, words), holes[:ROWS])
    yield ('pipeline_svc', pipeline.make_pipeline(
        preprocessing.MinMaxScaler(), svm.SVC(probability=True, random_state=SEED)).fit(x, binary), x[:ROWS])
    yield ('pipeline_columns', pipeline.make_pipeline(
        compose.make_column_transformer((preprocessing.StandardScaler(), [0, 2]), (preprocessing.Normalizer(), [1, 3, 4])),
        linear_model.LogisticRegression()).fit(x, y), x[:ROWS])


def sklearn_type(rows):
    from skl2onnx.common import data_types
    kind = {'f': data_types.FloatTensorType, 'i': data_types.Int64TensorType, 'U': data_types.StringTensorType}
    return kind[rows.dtype.kind]([None, rows.shape[1]])


def accept_booleans():
    """skl2onnx writes lists of booleans where integers are due, which newer versions of onnx refuse."""
    make_attribute = helper.make_attribute

    def of_integers(key, value, *rest, **options):
        if isinstance(value, list):
            value = [int(one) if isinstance(one, (bool, np.bool_, np.integer)) else one for one in value]
        return make_attribute(key, value, *rest, **options)
    helper.make_attribute = of_integers


def write_sklearn(root):
    import sklearn.base
    from skl2onnx import to_onnx
    from sklearn import svm
    accept_booleans()
    refused = []
    for name, model, rows in sklearn_models():
        has_map = sklearn.base.is_classifier(model) and not isinstance(model, svm.LinearSVC)
        options = {'zipmap': False} if has_map else None
        try:
            exported = to_onnx(model, initial_types=[('X', sklearn_type(rows))], options=options,
                               target_opset={'': 18, 'ai.onnx.ml': ML_OPSET})
            feed = rows.astype(object) if rows.dtype.kind == 'U' else rows
            write_case(root / 'sklearn' / name, exported, {'X': feed})
        except Exception as error:  # what cannot be exported is said, and left out
            refused.append(f'{name}: {type(error).__name__} {str(error)[:120]}')
    for line in refused:
        print('not exported:', line)


# --- Nodes.

FLOAT, INT, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


def tree_lists(rng, modes, trees, depth, features, tracks):
    """Complete trees of `depth` levels of nodes."""
    lists = {key: [] for key in ('treeids', 'nodeids', 'featureids', 'modes', 'values', 'truenodeids', 'falsenodeids',
                                 'missing_value_tracks_true', 'hitrates')}
    for one in range(trees):
        inner = 2 ** depth - 1
        for i in range(2 * inner + 1):
            leaf = i >= inner
            mode = 'LEAF' if leaf else modes[rng.integers(len(modes))]
            row = (one, i, int(rng.integers(features)), mode, float(rng.integers(-2, 3)) / 2, 0 if leaf else 2 * i + 1,
                   0 if leaf else 2 * i + 2, int(tracks and rng.integers(2)), 1.0)
            for key, value in zip(lists, row):
                lists[key].append(value)
    return {f'nodes_{key}': value for key, value in lists.items()}


def votes(rng, lists, prefix, targets, each, low):
    """`each` votes of every leaf."""
    out = {key: [] for key in ('treeids', 'nodeids', 'ids', 'weights')}
    for tree, node, mode in zip(lists['nodes_treeids'], lists['nodes_nodeids'], lists['nodes_modes']):
        if mode != 'LEAF':
            continue
        first = int(rng.integers(targets))
        for k in range(each):
            row = (tree, node, (first + k) % targets, float(np.float32(rng.uniform(low, 1))))
            for key, value in zip(out, row):
                out[key].append(value)
    return {f'{prefix}_{key}': value for key, value in out.items()}


COMPARISONS = ['BRANCH_LEQ', 'BRANCH_LT', 'BRANCH_GTE', 'BRANCH_GT', 'BRANCH_EQ', 'BRANCH_NEQ']


def tree_rows(rng, dtype=np.float32, holes=False):
    """Rows that are often equal to a threshold."""
    rows = (rng.integers(-3, 4, (12, 4)) / 2).astype(dtype)
    if holes:
        rows[::3, 1] = np.nan
    return rows


def write_trees(root, rng):
    for mode in COMPARISONS:
        lists = tree_lists(rng, [mode], 3, 2, 4, False)
        lists.update(votes(rng, lists, 'target', 1, 1, -1))
        write_node(root, f'tree_{mode.lower()}', 'TreeEnsembleRegressor', {'X': tree_rows(rng)},
                   {'n_targets': 1, **lists}, [FLOAT])
    for aggregate in ('SUM', 'AVERAGE', 'MIN', 'MAX'):
        lists = tree_lists(rng, COMPARISONS, 4, 3, 4, False)
        # ONNX Runtime leaves out the base of a target without votes, where these are not added up.
        few = votes(rng, lists, 'target', 3, 2, -1)
        every = votes(rng, lists, 'target', 3, 3, -1)
        options = {'n_targets': 3, 'aggregate_function': aggregate, **lists}
        for name, more in (('few', few), ('based', {**every, 'base_values': [0.5, -1.0, 2.0]})):
            write_node(root, f'tree_{aggregate.lower()}_{name}', 'TreeEnsembleRegressor', {'X': tree_rows(rng)},
                       {**options, **more}, [FLOAT])
    # Where a mode alone does not say what becomes of a NaN.
    lists = tree_lists(rng, COMPARISONS[:5], 4, 3, 4, True)
    lists.update(votes(rng, lists, 'target', 1, 1, -1))
    write_node(root, 'tree_missing', 'TreeEnsembleRegressor', {'X': tree_rows(rng, holes=True)},
               {'n_targets': 1, **lists}, [FLOAT])
    # A table with a column for each target would be too large.
    lists = tree_lists(rng, ['BRANCH_LEQ'], 6, 3, 4, False)
    lists.update(votes(rng, lists, 'target', 1500, 1, -1))
    write_node(root, 'tree_many_targets', 'TreeEnsembleRegressor', {'X': tree_rows(rng)[:1]},
               {'n_targets': 1500, **lists}, [FLOAT])
    # Deeper than what is unrolled: a list.
    deep = 20
    chain = {'nodes_treeids': [0] * (2 * deep + 1), 'nodes_nodeids': list(range(2 * deep + 1)),
             'nodes_featureids': [i % 4 for i in range(2 * deep + 1)],
             'nodes_modes': ['BRANCH_LT' if i % 2 == 0 and i < 2 * deep else 'LEAF' for i in range(2 * deep + 1)],
             'nodes_values': [float(i) / 8 for i in range(2 * deep + 1)],
             'nodes_truenodeids': [i + 1 if i % 2 == 0 and i < 2 * deep else 0 for i in range(2 * deep + 1)],
             'nodes_falsenodeids': [i + 2 if i % 2 == 0 and i < 2 * deep else 0 for i in range(2 * deep + 1)]}
    chain.update(votes(rng, chain, 'target', 1, 1, -1))
    rows = np.linspace(-1, 6, 48, dtype=np.float32).reshape(12, 4)
    write_node(root, 'tree_deep', 'TreeEnsembleRegressor', {'X': rows}, {'n_targets': 1, **chain}, [FLOAT])
    doubles = tree_lists(rng, COMPARISONS, 3, 2, 4, False)
    doubles.update(votes(rng, doubles, 'target', 2, 2, -1))
    for key in ('nodes_values', 'target_weights', 'nodes_hitrates'):
        values = np.array(doubles.pop(key), np.float64) + (1e-9 if key == 'nodes_values' else 0)
        doubles[key + '_as_tensor'] = numpy_helper.from_array(values)
    doubles['base_values_as_tensor'] = numpy_helper.from_array(np.array([0.1, 0.2]))
    write_node(root, 'tree_doubles', 'TreeEnsembleRegressor', {'X': tree_rows(rng, np.float64) + 1e-9},
               {'n_targets': 2, **doubles}, [FLOAT])
    write_tree_classifiers(root, rng)


def write_tree_classifiers(root, rng):
    transforms = ('NONE', 'SOFTMAX', 'LOGISTIC', 'SOFTMAX_ZERO', 'PROBIT')
    for transform in transforms:
        lists = tree_lists(rng, ['BRANCH_LEQ'], 3, 2, 4, False)
        low = 0.3 if transform == 'PROBIT' else -1
        lists.update(votes(rng, lists, 'class', 3, 3, low))
        if transform == 'PROBIT':
            lists['class_weights'] = [weight / 4 for weight in lists['class_weights']]
        write_node(root, f'tree_classes_{transform.lower()}', 'TreeEnsembleClassifier', {'X': tree_rows(rng)},
                   {'classlabels_strings': ['a', 'b', 'c'], 'post_transform': transform, **lists}, [STRING, FLOAT])
    # Two classes with one score, of either sign or a probability.
    for sign, low in (('signed', -1), ('positive', 0)):
        for transform in transforms[:4]:
            for at in (0, 1):
                lists = tree_lists(rng, ['BRANCH_LEQ'], 2, 2, 4, False)
                lists.update(votes(rng, lists, 'class', 1, 1, low))
                lists['class_ids'] = [at] * len(lists['class_ids'])
                attributes = {'classlabels_int64s': [7, 9], 'post_transform': transform, **lists}
                if at == 0:
                    attributes['base_values'] = [0.125]
                write_node(root, f'tree_two_{sign}_{transform.lower()}_{at}', 'TreeEnsembleClassifier',
                           {'X': tree_rows(rng)}, attributes, [INT, FLOAT])
    lists = tree_lists(rng, COMPARISONS, 3, 2, 4, False)
    lists.update(votes(rng, lists, 'class', 3, 3, -1))
    attributes = {'classlabels_int64s': [5, 3, 8], 'base_values': [0.25, 0.5, -0.5], **lists}
    for dtype in (np.int64, np.int32, np.float64):
        write_node(root, f'tree_classes_{np.dtype(dtype).name}', 'TreeEnsembleClassifier',
                   {'X': tree_rows(rng).round().astype(dtype)}, attributes, [INT, FLOAT])


def write_tree_ensemble(root, rng):
    """Opset 5, with every mode. ONNX Runtime takes members that are small integers, and has the numbers of SOFTMAX and
    LOGISTIC the wrong way around."""
    for dtype in (np.float32, np.float64):
        for aggregate in range(4):
            inner = 7
            tensor = lambda values, kind=dtype: numpy_helper.from_array(np.array(values, kind))
            modes = [6, 0, 1, 6, 2, 3, 4]
            attributes = {
                'n_targets': 2, 'aggregate_function': aggregate, 'post_transform': aggregate // 2 * 3, 'tree_roots': [0, 3],
                'nodes_featureids': [int(f) for f in rng.integers(0, 4, inner)],
                'nodes_modes': tensor(modes, np.uint8),
                'nodes_splits': tensor(rng.integers(1, 6, inner)),
                'nodes_truenodeids': [1, 0, 2, 4, 4, 6, 7], 'nodes_trueleafs': [0, 1, 1, 0, 1, 1, 1],
                'nodes_falsenodeids': [2, 1, 3, 5, 5, 6, 8], 'nodes_falseleafs': [0, 1, 1, 0, 1, 0, 1],
                'nodes_missing_value_tracks_true': [0, 1, 0, 1, 0, 1, 0],
                'membership_values': tensor([5, 1, 2, np.nan, 3, 6, 1, 4, np.nan]),
                'leaf_targetids': [int(t) for t in rng.integers(0, 2, 9)],
                'leaf_weights': tensor(rng.uniform(-1, 1, 9)),
            }
            write_node(root, f'tree_ensemble_{np.dtype(dtype).name}_{aggregate}', 'TreeEnsemble',
                       {'X': rng.integers(1, 7, (12, 4)).astype(dtype)}, attributes,
                       [TYPES[np.dtype(dtype)]], opset=5)


def write_svms(root, rng):
    rows = rng.uniform(-1, 1, (8, 3)).astype(np.float32)
    vectors = rng.uniform(-1, 1, (5, 3)).astype(np.float32)
    kernel = {'support_vectors': vectors.ravel().tolist(), 'kernel_params': [0.5, 0.25, 2.0]}
    for name in ('LINEAR', 'POLY', 'RBF', 'SIGMOID'):
        attributes = {'kernel_type': name, 'coefficients': [0.5, -0.25, 1.0, -1.0, 0.75], 'rho': [0.125],
                      'n_supports': 5, **kernel}
        write_node(root, f'svm_{name.lower()}', 'SVMRegressor', {'X': rows}, attributes, [FLOAT])
    write_node(root, 'svm_one_class', 'SVMRegressor', {'X': rows}, {**attributes, 'one_class': 1}, [FLOAT])
    write_node(root, 'svm_regressor_no_vectors', 'SVMRegressor', {'X': rows},
               {'coefficients': [1.0, -2.0, 0.5], 'rho': [0.25], 'n_supports': 0, 'kernel_type': 'LINEAR', 'kernel_params': [0.0] * 3},
               [FLOAT])
    kinds = {2: ([2, 3], ['no', 'yes']), 3: ([1, 3, 1], ['a', 'b', 'c']), 4: ([1, 1, 2, 1], ['a', 'b', 'c', 'd'])}
    for classes, (per_class, labels) in kinds.items():
        pairs = classes * (classes - 1) // 2
        attributes = {'kernel_type': 'RBF', 'vectors_per_class': per_class, 'classlabels_strings': labels,
                      'coefficients': rng.uniform(-1, 1, (classes - 1) * 5).astype(np.float32).tolist(),
                      'rho': rng.uniform(-.2, .2, pairs).astype(np.float32).tolist(), **kernel}
        for transform in ('NONE', 'LOGISTIC', 'SOFTMAX', 'SOFTMAX_ZERO'):
            write_node(root, f'svm_classes_{classes}_{transform.lower()}', 'SVMClassifier', {'X': rows},
                       {'post_transform': transform, **attributes}, [STRING, FLOAT])
        probabilities = {'prob_a': rng.uniform(-3, -1, pairs).astype(np.float32).tolist(),
                         'prob_b': rng.uniform(-.5, .5, pairs).astype(np.float32).tolist()}
        for transform in ('NONE', 'PROBIT'):
            write_node(root, f'svm_probabilities_{classes}_{transform.lower()}', 'SVMClassifier', {'X': rows},
                       {'post_transform': transform, **attributes, **probabilities}, [STRING, FLOAT])
    write_node(root, 'svm_classes_no_vectors', 'SVMClassifier', {'X': rows},
               {'classlabels_ints': [4, 5, 6], 'coefficients': rng.uniform(-1, 1, 9).tolist(), 'rho': [0.5],
                'kernel_type': 'LINEAR', 'kernel_params': [0.0] * 3}, [INT, FLOAT])


def write_linear(root, rng):
    rows = rng.uniform(-1, 1, (6, 3)).astype(np.float32)
    three = {'coefficients': rng.uniform(-1, 1, 9).tolist(), 'intercepts': [0.1, -0.2, 0.3]}
    one = {'coefficients': rng.uniform(-1, 1, 3).tolist(), 'intercepts': [0.1]}
    for transform in ('NONE', 'LOGISTIC', 'SOFTMAX', 'SOFTMAX_ZERO'):
        write_node(root, f'linear_classes_{transform.lower()}', 'LinearClassifier', {'X': rows},
                   {'classlabels_strings': ['a', 'b', 'c'], 'post_transform': transform, **three}, [STRING, FLOAT])
        write_node(root, f'linear_two_{transform.lower()}', 'LinearClassifier', {'X': rows},
                   {'classlabels_ints': [7, 9], 'post_transform': transform, **one}, [INT, FLOAT])
        write_node(root, f'linear_targets_{transform.lower()}', 'LinearRegressor', {'X': rows},
                   {'targets': 3, 'post_transform': transform, **three}, [FLOAT])
    small = {'coefficients': [0.5, 0.25, 0.125] * 2, 'intercepts': [0.5, 0.4], 'targets': 2, 'post_transform': 'PROBIT'}
    write_node(root, 'linear_targets_probit', 'LinearRegressor', {'X': rows / 4}, small, [FLOAT])
    for dtype in (np.int64, np.int32, np.float64):
        write_node(root, f'linear_classes_{np.dtype(dtype).name}', 'LinearClassifier', {'X': (4 * rows).astype(dtype)},
                   {'classlabels_ints': [1, 2, 3], 'multi_class': 1, **three}, [INT, FLOAT])


def write_encoders(root):
    words = np.array([['ant', 'bee'], ['', 'cat']], object)
    numbers = np.array([[3, -1], [9, 4]], np.int64)
    floats = np.array([1.5, np.nan, -0.0, 7, np.inf], np.float32)
    cats = {'cats_int64s': [3, 4, -1], 'cats_strings': ['ant', 'cat', '']}
    write_node(root, 'category_mapper_strings', 'CategoryMapper', {'X': words}, {**cats, 'default_int64': 77}, [INT])
    write_node(root, 'category_mapper_integers', 'CategoryMapper', {'X': numbers}, cats, [STRING])
    classes = {'classes_strings': ['ant', 'bee', 'cat', 'dog', 'elk']}
    write_node(root, 'label_encoder_1_strings', 'LabelEncoder', {'X': words}, classes, [INT], opset=1)
    write_node(root, 'label_encoder_1_integers', 'LabelEncoder', {'X': numbers}, {**classes, 'default_string': '?'},
               [STRING], opset=1)
    write_node(root, 'label_encoder_strings_floats', 'LabelEncoder', {'X': words},
               {'keys_strings': ['cat', 'ant'], 'values_floats': [0.5, 1.5], 'default_float': -2.5}, [FLOAT], opset=2)
    write_node(root, 'label_encoder_integers_strings', 'LabelEncoder', {'X': numbers},
               {'keys_int64s': list(range(9, -9, -3)), 'values_strings': list('abcdef')}, [STRING], opset=2)
    write_node(root, 'label_encoder_floats_integers', 'LabelEncoder', {'X': floats},
               {'keys_floats': [7.0, 0.0, float('nan'), float('inf')], 'values_int64s': [1, 2, 3, 4]}, [INT], opset=4)
    tensor = numpy_helper.from_array
    write_node(root, 'label_encoder_doubles', 'LabelEncoder', {'X': floats.astype(np.float64)},
               {'keys_tensor': tensor(np.array([1.5, 7.0])), 'values_tensor': tensor(np.array([0.1, 0.2])),
                'default_tensor': tensor(np.array([0.3]))}, [TensorProto.DOUBLE], opset=4)
    write_node(root, 'one_hot_strings', 'OneHotEncoder', {'X': words}, {'cats_strings': ['cat', 'ant', '']}, [FLOAT])
    write_node(root, 'one_hot_floats', 'OneHotEncoder', {'X': np.array([1.9, -0.5, 4, 3], np.float32)},
               {'cats_int64s': [4, 0, 1]}, [FLOAT])
    write_node(root, 'one_hot_all_known', 'OneHotEncoder', {'X': numbers}, {'cats_int64s': [3, 4, 9, -1], 'zeros': 0},
               [FLOAT])


def write_features(root, rng):
    rows = rng.uniform(-1, 1, (3, 4)).astype(np.float32)
    columns = np.array([[2], [0], [2]], np.int64)
    write_node(root, 'extract_vector', 'ArrayFeatureExtractor', {'X': rows[0], 'Y': columns}, {}, [FLOAT])
    write_node(root, 'extract_strings', 'ArrayFeatureExtractor',
               {'X': np.array([['a', 'b', 'c'], ['d', 'e', 'f']], object), 'Y': columns.ravel()}, {}, [STRING])
    write_node(root, 'extract_cube', 'ArrayFeatureExtractor', {'X': rows.reshape(2, 2, 3), 'Y': columns}, {}, [FLOAT])
    for norm in ('MAX', 'L1', 'L2'):
        write_node(root, f'normalizer_{norm.lower()}', 'Normalizer', {'X': np.concatenate([rows, 0 * rows[:1]])},
                   {'norm': norm}, [FLOAT])
        write_node(root, f'normalizer_{norm.lower()}_int64', 'Normalizer', {'X': np.array([[3, 4, 1]], np.int64)},
                   {'norm': norm}, [FLOAT])
    write_node(root, 'normalizer_vector', 'Normalizer', {'X': rows[0]}, {'norm': 'L2'}, [FLOAT])
    for dtype in (np.float32, np.float64, np.int64, np.int32):
        write_node(root, f'scaler_{np.dtype(dtype).name}', 'Scaler', {'X': (9 * rows).astype(dtype)},
                   {'offset': [1.0, -2.0, 0.5, 0.0], 'scale': [2.0, 0.5, 1.0, -1.0]}, [FLOAT])
    write_node(root, 'scaler_one', 'Scaler', {'X': rows}, {'offset': [1.0], 'scale': [2.0]}, [FLOAT])
    holes = rows.copy()
    holes[0, 1] = holes[2, 2] = np.nan
    write_node(root, 'imputer_nan', 'Imputer', {'X': holes},
               {'imputed_value_floats': [1.0, 2.0, 3.0, 4.0], 'replaced_value_float': float('nan')}, [FLOAT])
    write_node(root, 'imputer_integers', 'Imputer', {'X': np.array([[1, 0, 3], [0, 0, 6]], np.int64)},
               {'imputed_value_int64s': [-7], 'replaced_value_int64': 0}, [INT])
    write_node(root, 'binarizer', 'Binarizer', {'X': rows}, {'threshold': 0.25}, [FLOAT])
    write_node(root, 'feature_vectorizer', 'FeatureVectorizer',
               {'a': rows, 'b': rows[:, :1].copy(), 'c': rows[:, 1:].copy()}, {'inputdimensions': [3, 2, 3]}, [FLOAT])
    write_node(root, 'feature_vectorizer_integers', 'FeatureVectorizer',
               {'a': np.array([1, 2], np.int64), 'b': np.array([3], np.int64)}, {'inputdimensions': [2, 1]}, [FLOAT])


def main():
    warnings.filterwarnings('ignore')
    root = pathlib.Path(sys.argv[1])
    rng = np.random.default_rng(SEED)
    write_trees(root, rng)
    write_tree_ensemble(root, rng)
    write_svms(root, rng)
    write_linear(root, rng)
    write_encoders(root)
    write_features(root, rng)
    write_sklearn(root)
    make_map_cases.write_maps(root, sys.modules[__name__])


if __name__ == '__main__':
    main()
