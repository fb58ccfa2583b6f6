"""torchvision's classifiers, and a perceptron."""
import torch
import torchvision

import values
from export import export, settle


def classifier(name, constructor, shape, calibrate, options):
    torch.manual_seed(values.seed(name))
    module = getattr(torchvision.models, constructor)(weights=None, **options)
    if hasattr(module, 'transform_input'):
        module.transform_input = False
    calibration = torch.tensor(values.smooth(name + '/calibration', 4, *shape[1:])) if calibrate else None
    return export(settle(module, calibration), {'x': values.smooth(name, *shape)}, ['y'])


def mlp():
    torch.manual_seed(values.seed('mlp'))
    module = torch.nn.Sequential(torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512),
                                 torch.nn.ReLU(), torch.nn.Linear(512, 10))
    return export(module, {'x': values.normal('mlp', 64, 784)}, ['y'])
