#!/usr/bin/env python3
"""That the comparison with PyTorch says what is wrong or absent, how it takes its samples, and what it writes."""
import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
import unittest.mock

from commands import CommandTest

PROGRAM = sys.argv.pop()
WRONG_ARGUMENTS, NO_DEVICE = 2, 77


def load():
    spec = importlib.util.spec_from_file_location('pytorch', PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class PyTorchTest(CommandTest):
    def run_program(self, *arguments, code):
        done = subprocess.run([sys.executable, PROGRAM, *arguments], capture_output=True, text=True, timeout=100, check=False,
                              env=dict(os.environ, CUDA_VISIBLE_DEVICES=''))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_arguments_that_are_none(self):
        self.assertIn('--encore says where', self.run_program(code=WRONG_ARGUMENTS).stderr)
        wrong = self.run_program('--kernels', '--models', 'mlp,alexnet', code=WRONG_ARGUMENTS)
        self.assertIn('no model called alexnet; there are mlp, resnet50', wrong.stderr)

    # Neither PyTorch nor a GPU is among what tests need.
    def test_without_a_device_nothing_is_measured(self):
        done = self.run_program('--kernels', code=NO_DEVICE)
        self.assertIn('nothing was measured', done.stderr)
        self.assertEqual(done.stdout, '')

    def test_all_ways_are_measured_in_turns(self):
        program, order, waits = load(), [], []
        ways = {name: program.turns_of(lambda name=name: order.append(name), lambda: waits.append(1)) for name in 'ab'}
        ways['Encore'] = lambda seconds: order.append('E') or [seconds]
        medians, failed = program.medians_in_turns(ways, 0.0)
        self.assertEqual(''.join(order), 'aabbE' * program.ROUNDS)
        self.assertEqual(len(waits), 4 * program.ROUNDS)
        self.assertEqual(sorted(medians), ['Encore', 'a', 'b'])
        self.assertTrue(all(seconds >= 0 for seconds in medians.values()))
        self.assertEqual(failed, {})

    def test_what_fails_in_a_turn_has_no_median(self):
        program, turns = load(), []

        def fail(seconds):
            turns.append(seconds)
            if len(turns) == 2:
                raise RuntimeError('no memory')
            return [1.0]
        medians, failed = program.medians_in_turns({'a': fail, 'b': lambda seconds: [1.0, 3.0, seconds]}, 10.0)
        self.assertEqual((medians, failed), ({'b': 2.0}, {'a': 'no memory'}))
        self.assertEqual(turns, [10.0 / program.ROUNDS] * 2)

    def test_a_kernel_that_fails_is_a_row(self):
        program, out = load(), io.StringIO()
        with contextlib.redirect_stdout(out):
            program.print_kernels({'one': {'us': 2.0, 'tflops': 1.0}, 'two': {'absent': 'no memory'}}, 'a GPU')
        self.assertEqual(out.getvalue().splitlines()[2:], ['| one | 2.0 | 1.000 |', '| two | no memory | |'])

    # The process that a turn is writes its report and ends, or says why it cannot.
    def test_turns_of_encore(self):
        program, folder = load(), self.enterContext(tempfile.TemporaryDirectory())
        report, stand_in = os.path.join(folder, 'report.json'), os.path.join(folder, 'encore.py')
        with open(stand_in, 'w', encoding='utf-8') as file:
            file.write('import sys\nat = sys.argv.index\n'
                       'if "--fail" in sys.argv: sys.exit("first line\\nno device")\n'
                       'latency = float(sys.argv[at("--seconds") + 1]) * 1000\n'
                       'open(sys.argv[at("--json") + 1], "w").write(\'{"latency_us": {"median": %f}}\' % latency)\n')
        self.assertEqual(program.encore_turns([sys.executable, stand_in], report)(2.0), [2000 * 1e-6])
        with self.assertRaisesRegex(RuntimeError, '^no device$'):
            program.encore_turns([sys.executable, stand_in, '--fail'], report)(2.0)

    # Models are prepared by processes side by side; none is measured before all are, nor beside another.
    def test_models_are_measured_alone(self):
        program, order = load(), []
        ready, turn = threading.Barrier(3), threading.Lock()
        program.SideBySide.begin(ready, turn)

        def measure(number):
            order.append('prepared')
            with type('OfAProcess', (program.SideBySide,), {}).alone():
                order.append('begun %d' % number)
                time.sleep(0.01)
                order.append('done %d' % number)
        threads = [threading.Thread(target=measure, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(order[:3], ['prepared'] * 3)
        self.assertEqual([entry.split()[0] for entry in order[3:]], ['begun', 'done'] * 3)

    # With PyTorch and models that only say that they are there.
    def test_json_says_what_was_measured(self):
        program, folder = load(), self.enterContext(tempfile.TemporaryDirectory())
        space = types.SimpleNamespace
        torch = space(__version__='9.9', backends=space(cuda=space(matmul=space()), cudnn=space()),
                      cuda=space(is_available=lambda: True, get_device_name=lambda: 'a GPU'))
        program.Comparison.model = lambda self, name: {'Encore': {'us': 2.0, 'error': 0.5}, 'PyTorch eager': {'absent': 'why'}}
        program.Comparison.kernels = lambda self: {'a product': {'us': 2.0, 'tflops': 1.0}}
        path = os.path.join(folder, 'out.json')

        def results(*arguments):
            with unittest.mock.patch.dict(sys.modules, torch=torch), contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(program.main([*arguments, '--seconds', '3', '--json', path]), 0)
            with open(path, encoding='utf-8') as file:
                return json.load(file)
        models = results('--encore', 'encore', '--models', 'mlp', '--cuda-kernels', 'all', '--precision', 'tf32')
        self.assertEqual(models, {'device': 'a GPU', 'torch': '9.9', 'precision': 'tf32', 'seconds': 3.0, 'cuda_kernels': 'all',
                                  'target': 'cuda',
                                  'models': {'mlp': {'Encore': {'us': 2.0, 'error': 0.5}, 'PyTorch eager': {'absent': 'why'}}}})
        self.assertNotIn('cuda_kernels', results('--kernels'))


if __name__ == '__main__':
    unittest.main()
