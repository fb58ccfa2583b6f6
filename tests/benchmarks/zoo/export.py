"""Modules of torch as ONNX models with weights that keep activations of order one."""
import math
import os
import tempfile

import onnx
import torch

OPSET = 18


def settle(module, calibration=None):
    """Makes an untrained module compute something: matrices of zeros and tiny layer scales are drawn anew,
    vectors (biases, gains) jittered, and the statistics of batch norms measured on `calibration`."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if not parameter.is_floating_point():
                continue
            if name.endswith('layer_scale'):
                parameter.normal_(0.2, 0.02)
            elif parameter.ndim == 1:
                parameter.add_(0.05 * torch.randn_like(parameter))
            elif parameter.numel() > 1 and parameter.abs().max() < 1e-4:
                parameter.normal_(0, 0.02)
        if calibration is not None:
            measure_batch_norms(module, calibration)
    return module.eval()


def measure_batch_norms(module, calibration):
    module.train()
    for child in module.modules():
        if isinstance(child, torch.nn.modules.batchnorm._BatchNorm):
            child.reset_running_stats()
            child.momentum = None  # the plain average
        elif isinstance(child, torch.nn.Dropout):
            child.eval()
    module(calibration)


WEIGHTED = (torch.nn.Linear, torch.nn.modules.conv._ConvNd)


def scale(module, gain=2 ** 0.5):
    """Draws the weights of layers without a norm behind them anew, so that each multiplies its input's deviation by `gain`:
    that of ReLU (He et al., https://arxiv.org/abs/1502.01852) keeps it."""
    with torch.no_grad():
        for child in module.modules():
            if not isinstance(child, WEIGHTED):
                continue
            fan = child.weight[0].numel()
            if isinstance(child, torch.nn.modules.conv._ConvTransposeNd):
                fan = child.weight[:, 0].numel() // child.groups / math.prod(child.stride)
            child.weight.normal_(0, gain * fan ** -0.5)
    return module


class Function(torch.nn.Module):
    """`call` over a module: what is exported is what `call` returns."""

    def __init__(self, module, call):
        super().__init__()
        self.module, self.call = module, call

    def forward(self, *arguments):
        return self.call(self.module, *arguments)


def export(module, inputs, outputs):
    """(model, inputs); `inputs` by name in the order of the arguments."""
    arguments = tuple(torch.tensor(value) for value in inputs.values())
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'model.onnx')
        torch.onnx.export(module.eval(), arguments, input_names=list(inputs), output_names=outputs,
                          opset_version=OPSET, dynamo=True, verbose=False, external_data=False
                          ).save(path, external_data=False)
        return onnx.load(path), inputs
