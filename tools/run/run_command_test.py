#!/usr/bin/env python3
"""Drives `encore run` as a user does: every flag, bad inputs, exit codes."""
import json
import os
import stat
import subprocess
import sys
import unittest

import files
from commands import CommandTest

TOOL = os.path.abspath(sys.argv.pop(1))

X = [1.0, 2.0, 3.0, -4.0, 0.5, 2.0]
FIELDS = ['model', 'target', 'cache', 'import_ms', 'passes_ms', 'optimize_ms', 'compile_ms', 'why', 'kernels',
          'rewrites', 'weight_parts', 'load_ms', 'runs', 'latency_us', 'steps', 'arena_bytes', 'peak_rss_bytes', 'host_kernels',
          'device_kernels', 'outputs']
OUTPUT_FIELDS = ['name', 'dtype', 'shape', 'max_abs_err', 'max_rel_err', 'ok']


class RunTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.write('affine.onnx', files.affine())
        self.x = self.write('x.npy', files.npy(X, [2, 3]))
        self.y = self.write('y.npz', files.npz({'y': files.npy(files.affine_of(X), [2, 2])}))

    def run_tool(self, *arguments, target='ref', **environment):
        return subprocess.run(
            [TOOL, 'run', *(['--target', target] if target else []), *arguments], capture_output=True, text=True,
            env={**os.environ, 'ENCORE_CACHE': self.path('cache'), **environment}, check=False)

    def report(self, *arguments, **options):
        """The object that a run which ends well writes."""
        result = self.run_tool(*arguments, '--json', '-', **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def assert_refused(self, *arguments, text, code=2, **options):
        result = self.run_tool(*arguments, **options)
        self.assertEqual(result.returncode, code, (arguments, result.stdout, result.stderr))
        self.assertIn(text, result.stderr)

    # What is reported.

    def test_help_names_flags_and_exit_codes(self):
        result = self.run_tool('--help', target=None)
        self.assertEqual(result.returncode, 0)
        for flag in ('input data expect rtol atol bind seed target threads precision rewrites repeat seconds '
                     'warmup save json trace explain-fusion record tune deterministic trust verify cache cache-size no-cache '
                     'check-cache').split():
            self.assertIn('--' + flag, result.stdout)
        for text in ('Exit codes', '0 ok', '1 ', '2 ', '3 '):
            self.assertIn(text, result.stdout)

    def test_json_has_the_fields_in_order(self):
        for target in ('ref', 'cpu'):
            report = self.report(self.model, '--input', 'x=' + self.x, '--expect', self.y, target=target)
            self.assertEqual(list(report), FIELDS)
            self.assertEqual((report['model'], report['target'], report['cache'], report['runs']),
                             (self.model, target, 'miss', 1))
            self.assertEqual(report['device_kernels'], 0)  # there is none but the host
            self.assertGreater(report['optimize_ms'], 0)
            self.assertLess(report['optimize_ms'], report['compile_ms'])
            self.assertGreater(report['host_kernels'], 0)
            self.assertGreaterEqual(report['steps'], report['host_kernels'])
            self.assertGreater(report['peak_rss_bytes'], 1 << 20)
            self.assertGreater(report['compile_ms'], 0)
            self.assertGreaterEqual(report['load_ms'], report['compile_ms'])
            latency = report['latency_us']
            self.assertEqual(list(latency), ['min', 'median', 'p90', 'p99'])
            self.assertLessEqual(latency['min'], latency['p99'])
            output, = report['outputs']
            self.assertEqual(list(output), OUTPUT_FIELDS)
            self.assertEqual((output['name'], output['dtype'], output['shape'], output['ok']),
                             ('y', 'f32', [2, 2], True))

    def test_what_does_not_apply_is_null(self):
        self.report(self.model)
        report = self.report(self.model, '--repeat', '0')
        self.assertEqual((report['cache'], report['runs']), ('hit', 0))
        self.assertIsNone(report['latency_us'])
        self.assertIsNone(report['compile_ms'])
        self.assertEqual(report['outputs'][0]['shape'], [2, 2])
        self.assertIsNone(report['outputs'][0]['ok'])

    def test_one_line_of_json_per_model(self):
        other = self.write('other.onnx', files.affine(rows=4))
        result = self.run_tool(self.model, other, '--json', self.path('out.json'))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(other, result.stdout)
        with open(self.path('out.json')) as file:
            self.assertEqual([json.loads(line)['model'] for line in file], [self.model, other])

    # Inputs and expectations.

    def test_inputs_and_expected_outputs(self):
        both = self.write('x.npz', files.npz({'x': files.npy(X, [2, 3])}))
        proto = self.write('x.pb', files.tensor(X, [2, 3]))
        for given in ('x=' + self.x, both, 'x=' + proto):
            self.report(self.model, '--input', given, '--expect', self.y)
        wrong = self.write('wrong.npz', files.npz({'y': files.npy([0, 1e9, 0, 0], [2, 2])}))
        self.assert_wrong(self.run_tool(self.model, '--input', both, '--expect', wrong), 'element 0')
        tensors = files.affine_of(X)
        near = self.write('near.npz', files.npz({'y': files.npy([v + 1e-2 for v in tensors], [2, 2])}))
        self.assert_wrong(self.run_tool(self.model, '--input', both, '--expect', near), 'element')
        self.report(self.model, '--input', both, '--expect', near, '--atol', '0.1')
        self.report(self.model, '--input', both, '--expect', near, '--atol', '0.02', '--rtol', '0.1')
        flat = self.write('flat.npz', files.npz({'y': files.npy(tensors, [4])}))
        self.assert_wrong(self.run_tool(self.model, '--input', both, '--expect', flat), 'f32[4]')

    def assert_wrong(self, result, text):
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn('WRONG', result.stdout)
        self.assertIn(text, result.stdout)

    def test_data_folder(self):
        os.mkdir(self.path('data'))
        self.write('data/input_0.pb', files.tensor(X, [2, 3]))
        self.write('data/output_0.pb', files.tensor(files.affine_of(X), [2, 2]))
        named = self.write('named.onnx', files.affine(rows='N'))
        for model in (self.model, named):
            self.assertTrue(self.report(model, '--data', self.path('data'))['outputs'][0]['ok'])
        self.write('data/output_0.pb', files.tensor([7, 7, 7, 7], [2, 2]))
        self.assert_wrong(self.run_tool(self.model, '--data', self.path('data')), 'expected 7')
        self.assert_refused(self.model, '--data', self.path('none'), text='no input_0.pb')
        self.write('data/input_0.pb', b'\xff' * 40)
        self.assert_refused(self.model, '--data', self.path('data'), text='input_0.pb')

    def test_maps(self):
        model = self.write('map.onnx', files.map_cast())
        os.mkdir(self.path('maps'))
        given = self.write('maps/input_0.pb', files.int_map({7: 0.5, 2: -1.0}))
        self.write('maps/output_0.pb', files.tensor([-1.0, 0.5], [1, 2]))
        self.assertTrue(self.report(model, '--data', self.path('maps'))['outputs'][0]['ok'])
        keys = self.write('keys.npy', files.npy([7, 2], [2], files.INT64))
        values = self.write('values.npy', files.npy([0.5, -1.0], [2]))
        y = self.write('map.npz', files.npz({'y': files.npy([-1.0, 0.5], [1, 2])}))
        for flags in (['--input', 'x=' + given], ['--input', 'x.keys=' + keys, '--input', 'x.values=' + values]):
            self.assertTrue(self.report(model, *flags, '--expect', y)['outputs'][0]['ok'])
        self.write('maps/input_0.pb', files.int_map({}) + files.int_map({7: 0.5})[:-1])
        self.assert_refused(model, '--data', self.path('maps'), text='input_0.pb')
        self.assert_refused(model, '--input', 'x=' + self.write('x.pb', files.tensor(X, [2, 3])), text='x.pb')
        self.assert_refused(model, '--input', 'x.keys=' + keys, '--input', 'x.values=' + self.x, text='"x.values"')

    def test_bindings(self):
        named = self.write('named.onnx', files.affine(rows='N'))
        self.assert_refused(named, text='--bind')
        self.assertEqual(self.report(named, '--bind', 'N=5')['outputs'][0]['shape'], [5, 2])
        self.assertEqual(self.report(named, '--input', 'x=' + self.x)['outputs'][0]['shape'], [2, 2])
        self.assert_refused(named, '--bind', 'N=5', '--input', 'x=' + self.x, text='bound to 5')
        self.assert_refused(named, '--bind', 'M=5', text='no symbolic dim "M"; it has N')
        for bad in ('N', 'N=', 'N=x', 'N=-1'):
            self.assert_refused(named, '--bind', bad, text='expected NAME=VALUE')
        self.report(named, '--bind', 'N=5', '--bind', 'N=5')
        self.assert_refused(named, '--bind', 'N=5', '--bind', 'N=6', text='N is bound to 5')

    def test_seeds(self):
        def values(*arguments):
            self.report(self.model, '--save', self.path('out.npz'), *arguments)
            return files.read_npz(self.path('out.npz'))['y'][1]
        self.assertEqual(values('--seed', '7'), values('--seed', '7'))
        self.assertNotEqual(values('--seed', '7'), values('--seed', '8'))

    def test_saved_outputs(self):
        out = self.path('out.npz')
        self.report(self.model, '--input', 'x=' + self.x, '--save', out)
        dims, values = files.read_npz(out)['y']
        self.assertEqual(dims, [2, 2])
        for value, expected in zip(values, files.affine_of(X)):
            self.assertAlmostEqual(value, expected, places=4)
        self.report(self.model, '--input', 'x=' + self.x, '--expect', out, '--rtol', '0', '--atol', '0')
        # As ONNX's own test data: a folder, or the only output as a file.
        os.mkdir(self.path('own'))
        self.report(self.model, '--input', 'x=' + self.x, '--save', self.path('own/'))
        self.report(self.model, '--input', 'x=' + self.x, '--save', self.path('y.pb'))
        with open(self.path('own/output_0.pb'), 'rb') as folder, open(self.path('y.pb'), 'rb') as file:
            self.assertEqual(folder.read(), file.read())
        self.assertTrue(self.report(self.model, '--input', 'x=' + self.x, '--data',
                                    self.path('own'))['outputs'][0]['ok'])

    def test_bad_inputs(self):
        for bad, text in (('x=' + self.path('none.npy'), 'none.npy'), (self.path('none.npz'), 'none.npz'),
                          ('z=' + self.x, '"z"'), ('x', 'NAME=FILE'), ('x=' + self.model, 'affine.onnx'),
                          ('x=' + self.write('i.npy', files.npy([1] * 6, [2, 3], files.INT32)), 'i32[2,3]'),
                          ('x=' + self.write('s.npy', files.npy(X, [3, 2])), 'x'),
                          ('x=' + self.write('r.npy', files.npy(X, [6])), 'x'),
                          ('x=' + self.write('t.npy', files.npy(X, [2, 3])[:-1]), 't.npy'),
                          (self.write('t.npz', b'PK\x03\x04 no archive'), 't.npz')):
            self.assert_refused(self.model, '--input', bad, text=text)
        unknown = self.write('unknown.npz', files.npz({'z': files.npy(X, [2, 3])}))
        self.assert_refused(self.model, '--expect', unknown, text='no output "z"')
        self.assert_refused(self.model, '--expect', self.path('none.npz'), text='none.npz: No such file')

    def test_bad_models(self):
        self.assert_refused(self.path('none.onnx'), text='none.onnx')
        self.assert_refused(self.write('model.bin', b''), text='.onnx')
        self.assert_refused(self.write('model.txt', b''), text='model.txt: 1:1')
        self.assert_refused(self.folder + '/', text='extension')
        model = files.affine()
        for length in (0, 1, 40, len(model) // 2, len(model) - 1):
            self.assert_refused(self.write('cut.onnx', model[:length]), text='cut.onnx')
        strange = files.model([('Frobnicate', ['x'], ['y'])], [('x', [2], files.FLOAT)], [('y', [2], files.FLOAT)])
        self.assert_refused(self.write('strange.onnx', strange), text='Frobnicate')

    def test_numbers_for_strings(self):
        model = self.write('strings.txt', 'graph g(%x: string[2]) -> string[2] { return %x }')
        calls = {name: self.write(name + '.npz', files.npz({entry: files.npy([1, 2], [2])}))
                 for name, entry in (('in', 'in/x'), ('out', 'out/x'))}
        self.assert_refused(model, '--calls', calls['in'], text='"x" is string[2], the tensor given is f32[2]')
        self.assert_wrong(self.run_tool(model, '--calls', calls['out']), 'is string[2], expected f32[2]')

    def test_one_bad_model_does_not_hide_the_others(self):
        result = self.run_tool(self.path('none.onnx'), self.model, '--json', '-')
        self.assertEqual(result.returncode, 2)
        self.assertIn('none.onnx', result.stderr)
        self.assertEqual(json.loads(result.stdout)['model'], self.model)

    def test_names_that_are_no_words(self):
        model = files.model([('Relu', ['x'], ['NAME'])], [('x', [2], files.FLOAT)], [('NAME', [2], files.FLOAT)])
        self.assert_refused(self.write('strange.onnx', model.replace(b'NAME', b'a\xff\n"')), text='no UTF-8')
        strange = self.write('strange.onnx', model.replace(b'NAME', b'\xc3\xa9\n"'))
        self.assertEqual(self.report(strange)['outputs'][0]['name'], 'é\n"')
        self.report(strange, '--trace', self.path('trace.json'))
        with open(self.path('trace.json')) as file:
            json.load(file)

    def test_what_does_not_fit_the_memory(self):
        for size in (10 ** 12, 2 ** 60, 2 ** 62, 2 ** 63 - 1):
            self.assert_refused(self.write('big.onnx', files.affine(rows='N')), '--bind', 'N=%d' % size, text='')

    def test_a_fault_at_run_time_names_the_node(self):
        model = self.write('range.onnx', files.model(
            [('Neg', ['a'], ['limit']), ('Range', ['start', 'limit', 'delta'], ['y'])],
            [(name, [], files.FLOAT) for name in ('start', 'a', 'delta')], [('y', ['n'], files.FLOAT)]))
        inputs = []
        for name, value in (('start', 0.0), ('a', -5.0), ('delta', 0.0)):
            path = self.write(name + '.npy', files.npy([value], []))
            inputs += ['--input', '%s=%s' % (name, path)]
        for flags in ([], ['--repeat', '0', '--trace', self.path('trace')],
                      ['--repeat', '0', '--record', self.path('r.encore')]):
            for target in ('ref', 'cpu'):
                result = self.run_tool(model, *inputs, *flags, target=target)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertRegex(result.stderr, '^encore run: node "[^:]*"range_1"')
                self.assertEqual(result.stderr.count('"range_1"'), 1)

    # Measuring.

    def test_how_much_is_measured(self):
        self.assertEqual(self.report(self.model, '--repeat', '5', '--warmup', '2')['runs'], 5)
        report = self.report(self.model, '--seconds', '0.05')
        self.assertGreater(report['runs'], 1)
        self.assertGreaterEqual(report['latency_us']['p99'], report['latency_us']['median'])

    def test_explains_fusion(self):
        model = self.write('join.txt', '''
graph join(%x: f32[4,8], %z: f32[4,8]) -> f32[4,16] {
  %0 = concat(%x, %z) {axis = 1} @"head/join"
  %y = neg(%0) @"head/turn"
  return %y
}
''')
        said = [self.run_tool(model, '--explain-fusion', '--rewrites', 'none', target='cpu') for _ in range(2)]
        self.assertEqual([result.returncode for result in said], [0, 0])
        # The same where the cache has it.
        text = said[0].stderr
        self.assertEqual(said[1].stderr, text)
        self.assertRegex(text, r'(?m)^the graph: 2 kernels, \S+ us estimated, greedily \S+ us, no choice below')
        self.assertRegex(text, r'(?m)^kernel 1 on cpu, \S+ us: neg head/turn$')
        self.assertRegex(text, r'(?m)^  with 0, which makes concat head/join: not one kernel, as concat ends its kernel')
        self.assertNotIn('kernel', self.run_tool(model, '--rewrites', 'none', target='cpu').stderr)

    def test_trace(self):
        trace = self.path('trace.json')
        self.report(self.model, '--trace', trace)
        with open(trace) as file:
            events = json.load(file)['traceEvents']
        self.assertIn('relu', json.dumps(events))
        self.assertTrue(any(event.get('dur', -1) >= 0 for event in events))
        self.assert_refused(self.model, '--trace', self.folder, text='a folder')

    # The cache.

    def test_second_run_hits_and_options_make_another_key(self):
        self.assertEqual(self.report(self.model)['cache'], 'miss')
        self.assertEqual(self.report(self.model)['cache'], 'hit')
        for flags, target in ((['--deterministic'], 'ref'), (['--placement', 'y=cpu'], 'ref'),
                              (['--ports', 'device'], 'ref'), (['--rewrites', 'exact'], 'ref'), ([], 'cpu'), (['--cpu-kernels', 'generated'], 'cpu'),
                              (['--threads', '3'], 'cpu')):
            self.assertEqual(self.report(self.model, *flags, target=target)['cache'], 'miss', flags)
            self.assertEqual(self.report(self.model, *flags, target=target)['cache'], 'hit', flags)
        # What changes nothing makes no other key, and says so.
        result = self.run_tool(self.model, '--cpu-kernels', 'generated', '--json', '-')
        self.assertEqual(json.loads(result.stdout)['cache'], 'hit')
        self.assertIn('option cpu_kernels: nothing depends on it', result.stderr)
        for flags in (['--precision', 'f32'], ['--rewrites', 'reassociate']):
            self.assertEqual(self.report(self.model, *flags)['cache'], 'hit', flags)
        self.assertEqual(self.report(self.model, '--cache', self.path('other'))['cache'], 'miss')
        self.assertEqual(self.report(self.model, '--no-cache')['cache'], 'off')
        self.assertEqual(self.report(self.model, ENCORE_CACHE='off')['cache'], 'off')
        for flags in (['--check-cache'], ['--verify'], ['--check-cache', '--verify']):
            self.assertEqual(self.report(self.model, *flags)['cache'], 'hit')

    def test_a_miss_says_why(self):
        first = self.report(self.model, target='cpu')
        self.assertIsNone(first['why'])
        self.assertEqual(first['kernels']['found'], 0)
        self.assertGreater(first['kernels']['made'], 0)
        self.assertIn('cache has no other entry', self.run_tool(self.model, '--cache', self.path('other')).stdout)
        # Another key, the same kernels.
        other = self.report(self.model, '--deterministic', target='cpu')
        self.assertIn('deterministic', other['why'])
        self.assertEqual(other['kernels'], {'found': first['kernels']['made'], 'made': 0})
        text = self.run_tool(self.model, '--rewrites', 'none', target='cpu').stdout
        self.assertRegex(text, r'compiled: the nearest entry and this differ in .*rewrites.*; kernels \d+ found')
        self.assertIsNone(self.report(self.model, target='cpu')['why'])

    def test_a_miss_knows_the_models_before_it(self):
        models = [self.write(f'exp_{size}.txt', f'graph g(%x: f32[{size}]) -> f32[{size}] {{\n  %y = exp(%x)\n  return %y\n}}\n')
                  for size in range(2, 8)]
        text = self.run_tool(*models).stdout
        self.assertEqual(text.count('cache has no other entry'), 1, text)
        self.assertEqual(text.count('the nearest entry and this differ in'), len(models) - 1, text)

    def test_a_miss_says_which_ingredient_differs(self):
        rules = self.write('own.rules', '// --x = x\nrule own exact { neg(neg(%x)) -> %x }\n')
        other = self.write('other.onnx', files.conv_norm(0))
        self.report(self.model, '--threads', '2', target='cpu')
        for cause, flags in (
                ('target.threads', ['--threads', '3']), ('option.rewrites', ['--rewrites', 'exact']),
                ('option.optimizer', ['--optimizer', 'greedy']), ('option.expect_calls', ['--expect-calls', '7']),
                ('option.memory', ['--memory', '5']), ('option.cpu_kernels', ['--cpu-kernels', 'generated']),
                ('option.user_rules', ['--rules-file', rules]), ('option.deterministic', ['--deterministic'])):
            flags = [*(['--threads', '2'] if '--threads' not in flags else []), *flags]
            report = self.report(self.model, *flags, target='cpu')
            self.assertEqual(report['cache'], 'miss', cause)
            self.assertIn(cause, report['why'])
            self.assertIn(cause, report['why'].split(':')[0], report['why'])
        # Another graph under the options of the first.
        why = self.report(other, '--threads', '2', target='cpu')['why']
        self.assertTrue(why.startswith('graph: '), why)

    def test_other_weights_share_what_was_compiled(self):
        self.report(self.model)
        other = self.write('other.onnx', files.affine().replace(b'\x00\x00\x20\xc1', b'\x00\x00\x21\xc1'))
        self.assertEqual(self.report(other, '--input', 'x=' + self.x)['cache'], 'hit')
        self.assert_wrong(self.run_tool(other, '--input', 'x=' + self.x, '--expect', self.y), 'element')

    def test_convolution_and_batch_norm_share_what_was_compiled(self):
        x = [((5 * i) % 11) / 4 - 1 for i in range(50)]
        given = 'x=' + self.write('image.npy', files.npy(x, [1, 2, 5, 5]))
        for target in ('ref', 'cpu'):
            for salt, cache in ((0, 'miss'), (9, 'hit'), (0, 'hit')):
                values = files.conv_norm_of(x, salt)
                self.assertGreater(max(values), 0.5)
                expected = self.write('norm.npz', files.npz({'y': files.npy(values, [1, 3, 3, 3])}))
                model = self.write('norm%d.onnx' % salt, files.conv_norm(salt))
                report = self.report(model, '--input', given, '--expect', expected, target=target)
                self.assertEqual((report['cache'], report['outputs'][0]['ok']), (cache, True), (target, salt))
        self.assertNotEqual(files.conv_norm_of(x, 0), files.conv_norm_of(x, 9))
        with open(self.path('wrong.npz'), 'wb') as file:
            file.write(files.npz({'y': files.npy(files.conv_norm_of(x, 9), [1, 3, 3, 3])}))
        self.assert_wrong(self.run_tool(self.path('norm0.onnx'), '--input', given, '--expect', self.path('wrong.npz')),
                          'element')

    def test_damaged_entries_are_made_again(self):
        self.report(self.model)
        for parent, _, names in os.walk(self.path('cache/v1/graph')):
            for name in names:
                with open(os.path.join(parent, name), 'r+b') as file:
                    file.seek(os.path.getsize(file.name) // 2)
                    byte = file.read(1)[0]
                    file.seek(-1, os.SEEK_CUR)
                    file.write(bytes([byte ^ 1]))
        report = self.report(self.model, '--input', 'x=' + self.x, '--expect', self.y)
        self.assertEqual(report['cache'], 'miss')
        self.assertEqual(self.report(self.model)['cache'], 'hit')

    def test_a_cache_that_cannot_be_used_breaks_nothing(self):
        result = self.run_tool(self.model, '--cache', self.model, '--input', 'x=' + self.x, '--expect', self.y)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('nothing is kept on disk', result.stderr)

    def test_the_cache_stays_within_its_size(self):
        for rows in range(2, 6):
            model = self.write('rows.onnx', files.affine(rows=rows))
            self.report(model, '--cache-size', '4096')
        size = sum(os.path.getsize(os.path.join(parent, name))
                   for parent, _, names in os.walk(self.path('cache/v1/graph')) for name in names)
        self.assertLessEqual(size, 3 * 4096)
        self.assert_refused(self.model, '--cache-size', 'much', text='bytes')

    # Packages.

    def test_recordings_run(self):
        recording = self.path('affine.encore')
        self.report(self.model, '--input', 'x=' + self.x, '--record', recording)
        for flags in ([], ['--trust'], ['--target', 'cpu']):
            report = self.report(recording, *flags, target=None if '--target' in flags else 'ref')
            output, = report['outputs']
            self.assertEqual((output['name'], output['ok']), ('y', True))
        # Its own code runs: the cache has nothing to do with it, and gets nothing.
        self.assertEqual(self.report(recording, '--trust', '--cache', self.path('fresh'))['cache'], 'off')
        self.assertEqual([name for _, _, names in os.walk(self.path('fresh')) for name in names], [])
        self.assertEqual(self.report(recording, '--cache', self.path('fresher'))['cache'], 'miss')
        self.report(recording, '--input', 'x=' + self.x, '--expect', self.y)
        with open(recording, 'rb') as file:
            content = bytearray(file.read())
        content[len(content) * 3 // 4] ^= 1
        self.assert_refused(self.write('bad.encore', bytes(content)), text='bad.encore')
        self.assert_refused(self.write('cut.encore', bytes(content[:-9])), text='cut.encore')
        self.assert_refused(self.model, '--record', self.path('none/x.encore'), text='none/x.encore', code=2)

    # Arguments.

    def test_what_a_target_would_ignore_is_refused(self):
        for target in ('ref', 'cpu', 'cpu:avx2'):
            for flag, value, accepted in (('--precision', 'bf16', 'f32'), ('--precision', 'tf32', 'f32')):
                self.assert_refused(self.model, flag, value, target=target, text='%s %s: target %s would ignore it; '
                                    'it accepts %s' % (flag, value, target, accepted))

    def test_bad_arguments(self):
        self.assert_refused(self.model, '--target', 'tpu', target=None, text='tpu')
        for flags, text in ((['--frobnicate'], '--frobnicate'),
                            (['--precision', 'f12'], 'f12'), (['--rewrites', 'all'], 'all'),
                            (['--threads', '-3'], '--threads'), (['--repeat', '-1'], '--repeat'),
                            (['--repeat', 'x'], '--repeat'), (['--seconds', '-1'], '--seconds'),
                            (['--repeat', '9' * 20], '--repeat: expected a whole number of at least 0'),
                            (['--seconds', 'nan'], '--seconds'), (['--seconds', 'inf'], '--seconds'),
                            (['--warmup', '-1'], '--warmup'), (['--seed', '-1'], '--seed'),
                            (['--rtol', 'nan'], '--rtol'), (['--atol', '-1'], '--atol'),
                            (['--tune', '-1'], '--tune'), (['--json', self.path('none/x')], 'none/x'),
                            (['--save', self.path('none/x.npz')], 'none/x.npz'),
                            (['--save', self.path('x.npz'), '--repeat', '0'], '--save')):
            self.assert_refused(self.model, *flags, text=text)
        self.assert_refused(self.model, self.model, '--trace', self.path('t'), text='exactly one model')
        self.assert_refused('--input', 'x=' + self.x, text='need a model')

    def test_json_replaces_nothing_but_json(self):
        with open(self.model, 'rb') as file:
            before = file.read()
        self.assert_refused('--json', self.model, text='stays as it is')
        with open(self.model, 'rb') as file:
            self.assertEqual(file.read(), before)
        for _ in range(2):
            self.run_tool(self.model, '--json', self.path('out.json'))
        with open(self.path('out.json')) as file:
            json.load(file)

    def test_devices_stay_what_they_are(self):
        for flag in ('--save', '--trace', '--record'):
            link = self.path('link')
            os.symlink('target', link)
            self.report(self.model, flag, link)
            self.assertTrue(os.path.islink(link))
            self.assertGreater(os.path.getsize(self.path('target')), 0)
            os.remove(link)
            os.remove(self.path('target'))
        pipe = self.path('pipe')
        os.mkfifo(pipe)
        # Open on both sides, so that nobody waits for the other.
        reader = os.open(pipe, os.O_RDWR)
        self.addCleanup(os.close, reader)
        for flag in ('--trace', '--record'):
            self.report(self.model, flag, pipe)
            self.assertGreater(len(os.read(reader, 1 << 16)), 100)
        self.run_tool(self.model, '--save', pipe)
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))

    def test_a_full_disk(self):
        self.assert_refused(self.model, '--json', '/dev/full', text='/dev/full')
        for flag in ('--save', '--trace', '--record'):
            result = subprocess.run(['/bin/sh', '-c', 'ulimit -f 0; trap "" XFSZ; exec "$@"', 'sh', TOOL, 'run',
                                     '--no-cache', '--target', 'ref', self.model, flag, self.path('out.x')],
                                    capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 2, (flag, result.stdout, result.stderr))
            self.assertIn('out.x', result.stderr)
            self.assertEqual([name for name in os.listdir(self.folder) if 'out.x' in name], [])

    def test_tuning_says_what_it_does(self):
        self.assertIn('tune_seconds: nothing depends on it', self.run_tool(self.model, '--tune', '0.1').stderr)
        result = self.run_tool(self.model, '--tune', '0.1', target='cpu')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r'tune: \d+ kernels measured')

    def test_threads(self):
        for threads in ('0', '1', '3'):
            self.report(self.model, '--threads', threads, '--input', 'x=' + self.x, '--expect', self.y)

    def test_examples_say_when_they_are_not_there(self):
        self.assert_refused('--repeat', '0', text='./encore setup', ENCORE_DEPS=self.path('none'))
        self.assert_refused('--record', self.path('x'), text='exactly one model')


if __name__ == '__main__':
    unittest.main()
