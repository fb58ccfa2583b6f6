"""What writes the models: each function takes a row of cases.py and what its builder returned, and returns
(model, inputs)."""
import dataclasses
import inspect
import os
import tempfile
import typing
import warnings

import onnx


@dataclasses.dataclass
class Source:
    """A module of torch, the arguments that it is exported with by name, in order, and those that the model is then
    run with, where other sizes are to be seen; `dynamic`: names of axes by argument and axis."""
    module: typing.Any
    example: dict
    inputs: dict = None
    dynamic: dict = None
    outputs: list = None

    def run_inputs(self):
        return self.inputs if self.inputs is not None else self.example


def export_torch(source, **options):
    import torch
    arguments = tuple(torch.tensor(value) for value in source.example.values())
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter('ignore')
        path = os.path.join(folder, 'model.onnx')
        torch.onnx.export(source.module.eval(), arguments, path, input_names=list(source.example),
                          output_names=source.outputs, verbose=False, external_data=False, **options)
        return onnx.load(path), source.run_inputs()


def shapes_of(source):
    """Dynamic shapes as torch.export wants them; axes without a name are static."""
    if not source.dynamic:
        return None
    shapes = tuple(source.dynamic.get(name) for name in source.example)
    parameters = inspect.signature(source.module.forward).parameters.values()
    return (shapes,) if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters) else shapes


def dynamo(row, source):
    return export_torch(source, dynamo=True, opset_version=row.opset, dynamic_shapes=shapes_of(source), **row.options)


def older(row, source):
    import torch
    torch.backends.mha.set_fastpath_enabled(False)  # whose operators the exporter does not know
    return export_torch(source, dynamo=False, opset_version=row.opset, dynamic_axes=source.dynamic, **row.options)


def skl2onnx(row, source):
    import make_ml_cases
    from skl2onnx import to_onnx
    from skl2onnx.common import data_types
    make_ml_cases.accept_booleans()
    model, inputs = source
    options = row.options.get('classifier') and {id(model): {'zipmap': row.options.get('maps', False)}}
    types = [(name, make_ml_cases.sklearn_type(value)) for name, value in inputs.items()]
    exported = to_onnx(model, initial_types=types, options=options,
                       target_opset={'': row.opset, 'ai.onnx.ml': row.options.get('ml', 3)})
    return (exported, {name: value.astype(object) if value.dtype.kind == 'U' else value for name,
                       value in inputs.items()})


def jax2onnx(row, source):
    from jax2onnx import to_onnx
    import jax
    function, shapes, inputs = source
    types = [jax.ShapeDtypeStruct(shape, value.dtype) if all(isinstance(size, int) for size in shape) else shape
             for shape, value in zip(shapes, inputs.values())]
    model = to_onnx(function, types, opset=row.opset, input_names=list(inputs))
    return model, inputs


def tf2onnx(row, source):
    import tensorflow as tf
    import tf2onnx as exporter
    function, inputs = source
    types = [tf.TensorSpec([None, *value.shape[1:]], value.dtype, name) for name, value in inputs.items()]
    model, _ = exporter.convert.from_function(tf.function(function, input_signature=types), input_signature=types,
                                              opset=row.opset)
    return model, inputs


def optimizer(row, source):
    """ONNX Runtime's optimizer of transformers: patterns become operators of com.microsoft."""
    from onnxruntime.transformers import optimizer as fuse
    model, inputs = source
    fused = fuse.optimize_model(model, opt_level=0, **row.options)
    return fused.model, inputs


def session(row, source):
    """What a session of ONNX Runtime optimizes a model to."""
    import onnxruntime
    model, inputs = source
    with tempfile.TemporaryDirectory() as folder:
        given, path = os.path.join(folder, 'given.onnx'), os.path.join(folder, 'model.onnx')
        onnx.save(model, given)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, row.options['level'])
        options.optimized_model_filepath = path
        options.log_severity_level = 3
        onnxruntime.InferenceSession(given, options, providers=['CPUExecutionProvider'])
        return onnx.load(path), inputs


class Calibration:
    """Inputs of a model, scaled a few ways, for the quantizer's ranges."""

    def __init__(self, inputs):
        self.calls = iter([{name: (value * scale).astype(value.dtype) if value.dtype.kind == 'f' else value for name,
                            value in inputs.items()}
                           for scale in (1.0, -0.7, 0.4)])

    def get_next(self):
        return next(self.calls, None)


def quantizer(row, source):
    """ONNX Runtime's quantizer; options['how'] is dynamic, static or bits."""
    from onnxruntime import quantization
    model, inputs = source
    options = {key: getattr(quantization.QuantType, value) if key.endswith('_type') else value for key,
               value in row.options.items() if key != 'how'}
    how = row.options['how']
    if how == 'bits':
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
        options['quant_format'] = getattr(quantization.QuantFormat, options.get('quant_format', 'QOperator'))
        quantizer_ = MatMulNBitsQuantizer(model, **options)
        quantizer_.process()
        return quantizer_.model.model, inputs
    with tempfile.TemporaryDirectory() as folder:
        given, path = os.path.join(folder, 'given.onnx'), os.path.join(folder, 'model.onnx')
        onnx.save(model, given)
        if how == 'dynamic':
            quantization.quantize_dynamic(given, path, **options)
        else:
            options['quant_format'] = getattr(quantization.QuantFormat, options.get('quant_format', 'QDQ'))
            prepared = os.path.join(folder, 'prepared.onnx')
            quantization.quant_pre_process(given, prepared, skip_symbolic_shape=True)
            quantization.quantize_static(prepared, path, Calibration(inputs), **options)
        return onnx.load(path), inputs
