#!/usr/bin/env python3
"""Models on a GPU beside PyTorch: eager, compiled, and as CUDA graphs; and the products and convolutions of gpu_benchmark as
cuBLAS and cuDNN compute them for PyTorch.

    tests/gpu/pytorch.py --encore PROGRAM [--models NAME,…] [--precision f32|tf32|bf16|f16] [--seconds S] [--json FILE]
    tests/gpu/pytorch.py --kernels

Needs torch, torchvision and onnxscript (tests/benchmarks/peers has them), and for models `encore`. Weights are drawn from seeds.
Models are exported and compiled side by side, a process for each, and measured one after the other, when all are ready.
Each way gets inputs that lie on the device, waits for each call, and is measured for S seconds in turns with the others, Encore
by a process in each of its turns, which recalls what the first compiled; the median counts, of Encore's that of its turns.
Outputs are compared with those of PyTorch in f64 on the host. What cannot run here is a row that says why.
`--device cpu` is for trying this program out where no GPU is: CUDA graphs are then left out, and the tables say `cpu`.
"""
import argparse
import concurrent.futures
import contextlib
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time

MODELS = {
    'mlp': (64, 784),
    'resnet50': (1, 3, 224, 224),
    'mobilenet_v2': (1, 3, 224, 224),
    'vit_b_16': (1, 3, 224, 224),
    'encoder': (8, 128, 512),
}
PRODUCTS = [(8192, 8192, 8192), (32, 8192, 8192)]
CONVOLUTION = (32, 256, 14)  # samples, channels, side: 3 x 3, padded
NO_DEVICE = 77
ROUNDS = 5


def module_of(name, torch):
    torch.manual_seed(1)
    if name == 'mlp':
        linear = torch.nn.Linear
        return torch.nn.Sequential(linear(784, 512), torch.nn.ReLU(), linear(512, 512), torch.nn.ReLU(), linear(512, 10))
    if name == 'encoder':
        layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, 0.0, 'gelu', batch_first=True, norm_first=True)
        return torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
    import torchvision
    return getattr(torchvision.models, name)(weights=None)


def medians_in_turns(ways, seconds):
    """Median seconds of a call by name. A way gives the seconds of its calls in a turn of so many seconds; all have a turn in
    each round, and what has none in one round (RuntimeError) has no more."""
    samples, failed = {name: [] for name in ways}, {}
    for _ in range(ROUNDS):
        for name, turn in ways.items():
            if name in failed:
                continue
            try:
                samples[name] += turn(seconds / ROUNDS)
            except RuntimeError as problem:
                failed[name] = str(problem)
    return {name: statistics.median(values) for name, values in samples.items() if name not in failed}, failed


def turns_of(call, wait):
    """The seconds of each call of a turn; the first is left out."""
    def turn(seconds):
        call()
        wait()
        samples, end = [], time.perf_counter() + seconds
        while True:
            begin = time.perf_counter()
            call()
            wait()
            now = time.perf_counter()
            samples.append(now - begin)
            if now >= end:
                return samples
    return turn


def encore_turns(command, report):
    """A turn is a process that reports the median of its calls."""
    def turn(seconds):
        done = subprocess.run(command + ['--json', report, '--seconds', str(seconds)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'exit code %d' % done.returncode)
        with open(report, encoding='utf-8') as file:
            return [json.load(file)['latency_us']['median'] * 1e-6]
    return turn


def captured(torch, call):
    """The call as a CUDA graph, as PyTorch's documentation has it: warmed up in a stream beside, then captured."""
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


class Comparison:
    def __init__(self, torch, arguments):
        self.torch = torch
        self.arguments = arguments
        self.device = arguments.device
        tf32 = arguments.precision != 'f32'
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = tf32
        torch.backends.cudnn.benchmark = True

    def wait(self):
        if self.device == 'cuda':
            self.torch.cuda.synchronize()

    def in_precision(self, module, x):
        """A call of the module under the precision; of f16 and bf16 by autocast."""
        dtype = {'f16': self.torch.float16, 'bf16': self.torch.bfloat16}.get(self.arguments.precision)
        if dtype is None:
            return lambda: module(x)

        def call():
            with self.torch.autocast(self.device, dtype=dtype):
                return module(x)
        return call

    def ways(self, module, x):
        """Calls by name; what cannot be had is its reason."""
        calls, absent = {'PyTorch eager': self.in_precision(module, x)}, {}
        try:
            compiled = self.in_precision(self.torch.compile(module), x)
            compiled()
            calls['PyTorch compiled'] = compiled
        except Exception as error:  # whatever the compiler of PyTorch lacks here
            absent['PyTorch compiled'] = '%s: %s' % (type(error).__name__, str(error).splitlines()[0] if str(error) else '')
        if self.device == 'cuda':
            calls['PyTorch CUDA graph'] = captured(self.torch, calls['PyTorch eager'])
        else:
            absent['PyTorch CUDA graph'] = 'the device is no GPU'
        return calls, absent

    def encore(self, folder, module, x):
        """A way that runs `encore run` in each turn; the path of the outputs."""
        import numpy
        path = os.path.join(folder, 'model.onnx')
        self.torch.onnx.export(module, (x.cpu(),), input_names=['x'], output_names=['y'], opset_version=18, dynamo=True,
                               verbose=False, external_data=False).save(path, external_data=False)
        inputs, outputs = os.path.join(folder, 'inputs.npz'), os.path.join(folder, 'outputs.npz')
        numpy.savez(inputs, x=x.cpu().numpy())
        target = self.arguments.target if self.device == 'cuda' else 'cpu'
        command = [self.arguments.encore, 'run', path, '--target', target, '--input', inputs, '--save', outputs,
                   '--warmup', '3', '--cache', os.path.join(folder, 'cache')]
        if self.device == 'cuda':
            command += ['--ports', 'device', '--precision', self.arguments.precision, '--cuda-kernels',
                        self.arguments.cuda_kernels]
        return encore_turns(command, os.path.join(folder, 'report.json')), outputs

    def model(self, name, alone=contextlib.nullcontext):
        """Rows by way; `alone` is entered when all is ready to be measured."""
        import numpy
        torch = self.torch
        module = module_of(name, torch).eval()
        x = torch.randn(MODELS[name], generator=torch.Generator().manual_seed(2))
        with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
            expected = module.double()(x.double()).numpy()
            module.float()
            ways, unexported, outputs = {}, {}, None
            if self.arguments.encore:
                try:
                    ways['Encore'], outputs = self.encore(folder, module, x)
                except RuntimeError as problem:  # of the export
                    unexported['Encore'] = str(problem)
            module.to(self.device)
            calls, absent = self.ways(module, x.to(self.device))
            errors = {way: error_of(call().float().cpu().numpy(), expected)
                      for way, call in calls.items() if way != 'PyTorch CUDA graph'}
            ways.update({way: turns_of(call, self.wait) for way, call in calls.items()})
            with alone():
                medians, failed = medians_in_turns(ways, self.arguments.seconds)
            if 'Encore' in medians:
                errors['Encore'] = error_of(numpy.load(outputs)['y'], expected)
        rows = {way: {'us': seconds * 1e6, **({'error': errors[way]} if way in errors else {})}
                for way, seconds in medians.items()}
        rows.update({way: {'absent': why} for way, why in {**unexported, **failed, **absent}.items()})
        return rows

    def kernels(self):
        """Of products by cuBLAS, of a convolution by cuDNN, in NCHW and NHWC."""
        torch, scale = self.torch, 1 if self.device == 'cuda' else 64
        rows = {}
        with torch.no_grad():
            for m, n, k in PRODUCTS:
                for dtype in (torch.float32, torch.float16, torch.bfloat16):
                    sizes = [max(size // scale, 16) for size in (m, n, k)]
                    a, b = (torch.randn(shape, device=self.device, dtype=dtype)
                            for shape in ((sizes[0], sizes[2]), (sizes[2], sizes[1])))
                    name = '%d x %d x %d, %s' % (*sizes, str(dtype).split('.')[1])
                    rows[name] = (lambda a=a, b=b: a @ b, 2.0 * sizes[0] * sizes[1] * sizes[2])
            samples, channels, side = CONVOLUTION
            samples = max(samples // scale, 1)
            flops = 2.0 * samples * side * side * channels * channels * 9
            for form in ('contiguous_format', 'channels_last'):
                x, w = (torch.randn(shape, device=self.device, dtype=torch.float16 if scale == 1 else torch.float32).to(
                    memory_format=getattr(torch, form))
                        for shape in ((samples, channels, side, side), (channels, channels, 3, 3)))
                rows['convolution of %d channels, %d x %d, %s' % (channels, side, side, form)] = (
                    lambda x=x, w=w: torch.nn.functional.conv2d(x, w, padding=1), flops)
            seconds, failed = medians_in_turns({name: turns_of(call, self.wait) for name, (call, _) in rows.items()},
                                               self.arguments.seconds)
        return {name: {'absent': failed[name]} if name in failed else
                {'us': seconds[name] * 1e6, 'tflops': flops / seconds[name] * 1e-12} for name, (_, flops) in rows.items()}


class SideBySide:
    """Models that are prepared at once, in processes of their own, and measured one at a time, when all are prepared."""
    barrier = lock = None
    prepared = False

    @classmethod
    def begin(cls, barrier, lock):
        cls.barrier, cls.lock = barrier, lock

    @classmethod
    def wait_for_others(cls):
        if not cls.prepared:
            cls.prepared = True
            cls.barrier.wait()

    @classmethod
    @contextlib.contextmanager
    def alone(cls):
        cls.wait_for_others()
        with cls.lock:
            yield

    @classmethod
    def model(cls, arguments, name):
        """Rows of a model, in its process. What cannot be prepared does not keep the others waiting."""
        import torch
        try:
            return Comparison(torch, arguments).model(name, cls.alone)
        except Exception as problem:  # whatever the model's libraries lack here
            cls.wait_for_others()
            return {'all': {'absent': '%s: %s' % (type(problem).__name__, problem)}}

    @classmethod
    def models(cls, arguments):
        spawn = multiprocessing.get_context('spawn')
        count = len(arguments.models)
        with concurrent.futures.ProcessPoolExecutor(count, spawn, cls.begin, (spawn.Barrier(count), spawn.Lock())) as pool:
            rows = [pool.submit(cls.model, arguments, name) for name in arguments.models]
            return {name: row.result() for name, row in zip(arguments.models, rows)}


def error_of(output, expected):
    return float(abs(output - expected).max() / abs(expected).max())


def print_models(results, device):
    print('| model | way, on %s | us | of Encore | largest error |\n|---|---|---|---|---|' % device)
    for name, rows in results.items():
        own = rows.get('Encore', {}).get('us')
        for way, row in rows.items():
            if 'absent' in row:
                print('| %s | %s | %s | | |' % (name, way, row['absent']))
                continue
            print('| %s | %s | %.1f | %s | %s |' % (name, way, row['us'], '%.2f' % (row['us'] / own) if own else '',
                                                     '%.1e' % row['error'] if 'error' in row else ''))


def print_kernels(rows, device):
    print('| kernel by PyTorch, on %s | us | Tflop/s |\n|---|---|---|' % device)
    for name, row in rows.items():
        print('| %s | %s | |' % (name, row['absent']) if 'absent' in row else
              '| %s | %.1f | %.3f |' % (name, row['us'], row['tflops']))


def arguments_of(parser, argv):
    parser.add_argument('--encore', help='the program `encore`')
    parser.add_argument('--models', default=','.join(MODELS))
    parser.add_argument('--kernels', action='store_true')
    parser.add_argument('--precision', default='f32', choices=('f32', 'tf32', 'bf16', 'f16'))
    parser.add_argument('--cuda-kernels', default='generated', choices=('generated', 'library', 'all'))
    parser.add_argument('--target', default='cuda', help="of Encore: cuda, or with the device's name, as in cuda:h100")
    parser.add_argument('--seconds', type=float, default=2.0)
    parser.add_argument('--device', default='cuda', choices=('cuda', 'cpu'))
    parser.add_argument('--json')
    arguments = parser.parse_args(argv)
    arguments.models = arguments.models.split(',')
    unknown = [name for name in arguments.models if name not in MODELS]
    if unknown:
        parser.error('no model called %s; there are %s' % (', '.join(unknown), ', '.join(MODELS)))
    if not arguments.kernels and not arguments.encore:
        parser.error('--encore says where the program is; or --kernels')
    return arguments


def settings_of(arguments):
    """What was measured, beside the figures."""
    settings = {'precision': arguments.precision, 'seconds': arguments.seconds}
    if not arguments.kernels and arguments.device == 'cuda':
        settings['cuda_kernels'] = arguments.cuda_kernels
        settings['target'] = arguments.target
    return settings


def main(argv):
    arguments = arguments_of(argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter), argv)
    try:
        import torch
    except ImportError as error:
        print('pytorch.py: nothing was measured: %s' % error, file=sys.stderr)
        return NO_DEVICE
    if arguments.device == 'cuda' and not torch.cuda.is_available():
        print('pytorch.py: nothing was measured: PyTorch finds no CUDA device', file=sys.stderr)
        return NO_DEVICE
    comparison = Comparison(torch, arguments)
    name = torch.cuda.get_device_name() if arguments.device == 'cuda' else 'cpu'
    results = {'device': name, 'torch': torch.__version__, **settings_of(arguments)}
    if arguments.kernels:
        results['kernels'] = comparison.kernels()
        print_kernels(results['kernels'], name)
    else:
        results['models'] = ({name: comparison.model(name) for name in arguments.models} if len(arguments.models) == 1 else
                             SideBySide.models(arguments))
        print_models(results['models'], name)
    if arguments.json:
        with open(arguments.json, 'w', encoding='utf-8') as file:
            json.dump(results, file, indent=1)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
