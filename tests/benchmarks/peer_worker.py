"""One model in a peer, for models.py: a process that stays and answers a line with a line.

    peer_worker.py onnxruntime|openvino MODEL INPUTS.npz THREADS FOLDER

Commands and answers are those of model_worker.cc. FOLDER is where a peer may keep what it makes of a model; the
first line says how long it took to make it ("load_ms"), until the first call can be made, and in a second process with
the same folder to use it; and what memory the process had taken before ("base_mib"). One call is made before the first
that is timed; its outputs' memory is then every call's.
"""
import json
import os
import sys
import time

import numpy as np


class OnnxRuntime:
    def __init__(self):
        import onnxruntime
        self.version = onnxruntime.__version__

    def load(self, model, inputs, threads, folder):
        import onnxruntime
        kept = os.path.join(folder, 'optimized.onnx')
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3
        if os.path.exists(kept):
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        else:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
            if folder:
                options.optimized_model_filepath = kept
        self.session = onnxruntime.InferenceSession(kept if os.path.exists(kept) else model, options,
                                                    providers=['CPUExecutionProvider'])
        self.names = [output.name for output in self.session.get_outputs()]
        self.binding = self.session.io_binding()
        for name, value in inputs.items():
            self.binding.bind_cpu_input(name, value)
        for name in self.names:
            self.binding.bind_output(name)

    def first_call(self):
        self.call()
        values = self.binding.get_outputs()
        self.binding.clear_binding_outputs()
        for name, value in zip(self.names, values):
            self.binding.bind_ortvalue_output(name, value)

    def call(self):
        self.session.run_with_iobinding(self.binding)

    def outputs(self):
        return dict(zip(self.names, self.binding.copy_outputs_to_cpu()))


class OpenVino:
    def __init__(self):
        import openvino
        self.version = openvino.__version__.split('-')[0]

    def load(self, model, inputs, threads, folder):
        import openvino
        core = openvino.Core()
        settings = {'PERFORMANCE_HINT': 'LATENCY', 'INFERENCE_PRECISION_HINT': 'f32',
                    'INFERENCE_NUM_THREADS': threads, 'NUM_STREAMS': 1}
        if folder:
            settings['CACHE_DIR'] = folder
        compiled = core.compile_model(model, 'CPU', settings)
        self.names = [output.get_any_name() for output in compiled.outputs]
        self.request = compiled.create_infer_request()
        for name, value in inputs.items():
            self.request.set_tensor(name, openvino.Tensor(value))

    def first_call(self):
        self.call()

    def call(self):
        self.request.infer()

    def outputs(self):
        return {name: self.request.get_output_tensor(i).data.copy() for i, name in enumerate(self.names)}


def peak_mib():
    with open('/proc/self/status') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('VmHWM')) / 1024


def main():
    program, model, inputs, threads, folder = sys.argv[1:]
    peer, given = {'onnxruntime': OnnxRuntime, 'openvino': OpenVino}[program](), dict(np.load(inputs))
    base = peak_mib()
    begin = time.perf_counter()
    peer.load(model, given, int(threads), folder)
    load_ms = (time.perf_counter() - begin) * 1e3
    print(json.dumps({'load_ms': load_ms, 'base_mib': base, 'version': peer.version}), flush=True)
    called = False
    for line in sys.stdin:
        if not called:
            peer.first_call()
            called = True
        verb, argument = line.split(maxsplit=1)
        answer = {}
        if verb == 'time':
            answer['us'] = []
            for _ in range(int(argument)):
                begin = time.perf_counter()
                peer.call()
                answer['us'].append((time.perf_counter() - begin) * 1e6)
        else:
            np.savez(argument.strip(), **peer.outputs())
        print(json.dumps(answer), flush=True)


if __name__ == '__main__':
    main()
