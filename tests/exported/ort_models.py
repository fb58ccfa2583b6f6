"""Models that ONNX Runtime's own programs rewrite: what torch's exporters write, optimized or quantized."""
import exporters
import language_models
import torch_attention
import torch_layers
import values

MODULES = {'torch_layers': torch_layers, 'torch_attention': torch_attention, 'language_models': language_models}


def exported(build, opset, how='dynamo', **arguments):
    """(model, inputs) of a builder of torch's."""
    module, function = build.split('.')
    source = getattr(MODULES[module], function)(**arguments)
    if how == 'dynamo':
        kind = {'dynamo': True, 'dynamic_shapes': exporters.shapes_of(source)}
    else:
        kind = {'dynamo': False, 'dynamic_axes': source.dynamic}
    return exporters.export_torch(source, opset_version=opset, **kind)


def perceptron(opset=17):
    import torch
    from torch import nn
    module = nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.LayerNorm(96), nn.Linear(96, 32))
    source = exporters.Source(torch_layers.settle(module), {'input': values.normal('perceptron', 4, 64)},
                              dynamic={'input': {0: 'batch'}})
    return exporters.export_torch(source, dynamo=False, opset_version=opset, dynamic_axes=source.dynamic)


def classifier(opset=17):
    return exported('torch_layers.conv_net', opset, 'older')
