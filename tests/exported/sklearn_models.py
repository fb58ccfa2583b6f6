"""Fitted models and pipelines of scikit-learn."""
import numpy as np

import make_ml_cases  # (tests/onnx)

SEED = make_ml_cases.SEED
WORDS = ('red', 'green', 'blue')
TEXTS = ('the cat sat on the mat', 'a dog ate the cat', 'birds sing', 'the dog and the birds', 'on the mat a dog sat')


def fitted(name):
    """One of those that tests/onnx/ml has for another opset: (model, inputs by name)."""
    for known, model, rows in make_ml_cases.sklearn_models():
        if known == name:
            return model, {'X': rows}
    raise KeyError(name)


def numbers():
    from sklearn import datasets
    x, y = datasets.make_classification(80, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=SEED)
    return x.astype(np.float32), y


def columns():
    """Numbers and words in columns of their own, scaled and one-hot, then trees."""
    from sklearn import compose, ensemble, impute, pipeline, preprocessing
    x, y = numbers()
    size, kind = x[:, :1], np.array(WORDS)[y, None]
    rows = np.empty((len(y), 2), object)
    rows[:, 0], rows[:, 1] = size[:, 0], kind[:, 0]
    import pandas
    frame = pandas.DataFrame({'size': size[:, 0], 'kind': kind[:, 0]})
    model = pipeline.make_pipeline(compose.make_column_transformer(
        (pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler()), ['size']),
        (preprocessing.OneHotEncoder(handle_unknown='ignore'), ['kind'])),
        ensemble.GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=SEED)).fit(frame, y > 0)
    return model, {'size': size[:7], 'kind': kind[:7]}


def texts(kind):
    from sklearn import feature_extraction, linear_model, pipeline
    vectorizer = getattr(feature_extraction.text, kind)(ngram_range=(1, 2),
                                                        lowercase=False)  # ONNX Runtime wants a locale for that
    model = pipeline.make_pipeline(vectorizer, linear_model.LogisticRegression()).fit(list(TEXTS), [0, 1, 2, 1, 0])
    return model, {'X': np.array(TEXTS)[:, None]}


def estimator(path, target='classes', options=None):
    """A model of scikit-learn by its path, 'module.Class', fitted to classes, lines through the features, or nothing."""
    import importlib
    module, name = path.rsplit('.', 1)
    x, y = numbers()
    line = x @ np.arange(1, 6) + np.sin(x[:, 0])
    model = getattr(importlib.import_module('sklearn.' + module), name)(**(options or {}))
    return (model.fit(x, {'classes': y, 'line': line, 'lines': np.stack([line, -x[:, 1]], 1), 'none': None}[target]),
            {'X': x[:7]})


def meta(name):
    """Estimators over estimators."""
    from sklearn import calibration, ensemble, linear_model, multiclass, multioutput, naive_bayes, svm, tree
    x, y = numbers()
    shallow = tree.DecisionTreeClassifier(max_depth=3, random_state=SEED)
    models = {'calibrated': calibration.CalibratedClassifierCV(naive_bayes.GaussianNB(), cv=2),
              'one_vs_rest': multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
              'stacking': ensemble.StackingClassifier([('tree', shallow),
                                                       ('svm', svm.SVC(probability=True, random_state=SEED))],
                                                      linear_model.LogisticRegression(), cv=2)}
    if name in models:
        return models[name].fit(x, y), {'X': x[:7]}
    return multioutput.MultiOutputRegressor(linear_model.Ridge()).fit(x, x[:, :2] * 2 + x[:, 2:4]), {'X': x[:7]}
