#!/usr/bin/env python3
"""Drives `encore compile` and `encore cache` as a user does."""
import json
import os
import subprocess
import sys
import unittest

import files
from commands import CommandTest

TOOL = sys.argv.pop()

MODEL = '''
symbols N in [1, 16]
graph norm(%x: f32[N,4], %w: param f32[4] = f32[4] [1, 2, 3, 4]) -> f32[N,4] {
  %s = softmax(%x) {axis = 1} @"head/softmax"
  %c = broadcast(%w) {shape = [N,4], axes = [1]}
  %y = mul(%s, %c)
  return %y
}
'''


def read(path, mode='r'):
    with open(path, mode) as file:
        return file.read()


class CompileTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.cache = self.path('cache')
        self.model = self.write('model.txt', MODEL)
        self.output = self.path('out')

    def encore(self, *arguments):
        return subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=120)

    def compile(self, *arguments, model=None, code=0):
        done = self.encore('compile', model or self.model, '-o', self.output, '--cache', self.cache,
                           '--target', 'ref', *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def verb(self, name, *arguments, code=0):
        done = self.encore('cache', name, '--cache', self.cache, *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_the_clock_ends_rewriting_of_a_graph_too(self):
        model = self.write('signs.txt', """
graph signs(%x: f32[64,64], %z: f32[64,64]) -> f32[64,64] {
  %0 = neg(%z)
  %1 = add(%x, %0)
  %y = div(%1, %z)
  return %y
}
""")
        graphs = {}
        for name, flags in {'none': ['--rewrites', 'none'], 'default': [],
                            'late': ['--max-seconds', '1e-9']}.items():
            done = self.compile('--stop-after', 'rewrite', *flags, model=model)
            graphs[name] = read(self.output)
            self.assertEqual('--max-seconds' in done.stderr, name == 'late', done.stderr)
        self.assertNotEqual(graphs['default'], graphs['none'])
        self.assertEqual(graphs['late'], graphs['none'])

    def test_stops_where_it_is_told(self):
        self.compile('--stop-after', 'import')
        self.assertIn('softmax', read(self.output))
        self.compile('--stop-after', 'optimize')
        optimized = read(self.output)
        self.assertNotIn('softmax(', optimized)
        self.assertIn('head/softmax', optimized)
        self.compile('--stop-after', 'lower', '--bind', 'N=3')
        info = self.encore('replay', 'info', self.output, '--json')
        self.assertEqual(json.loads(info.stdout)['kind'], 'entry')
        self.compile('--stop-after', 'lower', '--emit', 'text', '--bind', 'N=3')
        self.assertRegex(read(self.output), r'(?m)^  \d+ launch .*  // ref:')

    def test_the_graph_is_that_of_the_rules_that_are_allowed(self):
        model = self.path('signs.txt')
        with open(model, 'w') as file:
            file.write('graph signs(%x: f32[64,64], %z: f32[64,64]) -> f32[64,64] {\n'
                       '  %0 = neg(%z)\n  %1 = add(%x, %0)\n  %y = div(%1, %z)\n  return %y\n}\n')
        for flags, operator in (((), 'sub('), (('--rewrites', 'none'), 'neg(')):
            self.compile('--stop-after', 'optimize', *flags, model=model)
            self.assertIn(operator, read(self.output))
            self.assertIn(operator, self.compile('--print-after', 'rewrite', *flags, model=model).stderr)

    def test_graphs_come_back(self):
        self.compile('--stop-after', 'import', '--emit', 'text')
        text = read(self.output)
        self.compile('--stop-after', 'import', '--emit', 'proto')
        proto = self.path('model.pb')
        os.rename(self.output, proto)
        self.compile('--stop-after', 'import', model=proto)
        self.assertEqual(read(self.output), text)
        done = self.encore('compile', self.model, '-o', '-', '--stop-after', 'import', '--no-cache')
        self.assertEqual(done.stdout, text)

    def test_the_second_time_is_a_hit_and_misses_are_explained(self):
        bound = ['--bind', 'N=2', '--json', '--explain']
        first = json.loads(self.compile(*bound).stdout)
        self.assertEqual(first['cache'], 'miss')
        second = json.loads(self.compile(*bound).stdout)
        self.assertEqual((second['cache'], second['explanation']), ('hit', None))
        self.assertEqual(second['key'], first['key'])
        other = json.loads(self.compile('--bind', 'N=3', '--json', '--explain').stdout)
        self.assertIn('graph', other['explanation'])
        deterministic = json.loads(self.compile(*bound, '--deterministic').stdout)
        self.assertIn('option.deterministic', deterministic['explanation'])
        for flags in (['--bind', 'N=5', '--explain'], ['--bind', 'N=6']):
            self.assertRegex(self.compile(*flags).stdout, r'(?m)^  cache miss: graph: ')
        self.assertNotIn('cache miss', self.compile('--bind', 'N=6').stdout)

    def test_explains_fusion(self):
        text = self.compile('--bind', 'N=2', '--explain-fusion').stderr
        self.assertRegex(text, r'(?m)^the graph: \d+ kernels, ')
        self.assertRegex(text, r'(?m)^kernel 0 on ref, .*head/softmax')
        self.compile('--bind', 'N=2', '--explain-fusion', '--stop-after', 'decompose', code=2)

    def test_names_add_no_lines_to_explanations(self):
        model = self.write('hostile.txt', MODEL.replace('head/softmax', 'head\\n\\x1bkernel 99 on ref, 0 us: nothing'))
        text = self.compile('--bind', 'N=2', '--explain-fusion', model=model).stderr
        self.assertIn(r'head\x0a\x1bkernel 99', text)
        self.assertNotRegex(text, r'(?m)^\W*kernel 99')

    def test_packages_are_the_same_whatever_the_heap_holds(self):
        """Weights of Winograd's convolutions are packed with padding."""
        attributes = '{strides = [1,1], padding_low = [1,1], padding_high = [1,1], lhs_dilation = [1,1], ' \
                     'rhs_dilation = [1,1]}'
        model = self.write('convolution.txt', 'graph g(%x: f32[1,32,28,28], %w: param f32[32,32,3,3] = f32[32,32,3,3] '
                           f'1) -> f32[1,32,28,28] {{ %y = convolution(%x, %w) {attributes} return %y }}')
        packages = set()
        for filled in ('1', '90', '200'):
            subprocess.run([TOOL, 'compile', model, '-o', self.output, '--no-cache', '--target', 'cpu'], check=True,
                           capture_output=True, timeout=120, env={**os.environ, 'MALLOC_PERTURB_': filled})
            packages.add(read(self.output, 'rb'))
        self.assertEqual(len(packages), 1)

    def test_recordings_replay(self):
        self.compile('--bind', 'N=2', '--emit', 'recording')
        done = self.encore('replay', 'run', self.output, '--cache', self.cache)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('as expected', done.stdout)

    def write_profile(self, architecture):
        return self.write('device.json', json.dumps({
            'name': 'drawn', 'architecture': architecture, 'multiprocessors': 10, 'memory_bytes': 1 << 30,
            'l2_bytes': 1 << 20, 'shared_bytes': 100000, 'clock_khz': 1000000, 'memory_khz': 1000000,
            'bus_bits': 256, 'lanes': 128}))

    def test_packages_for_devices_that_are_not_here(self):
        environment = dict(os.environ, ENCORE_CUDA_DRIVER='/nowhere/libcuda.so.1')

        def encore(*arguments, code=0):
            done = subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=120, env=environment)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            return done

        profile = self.write_profile('sm_100a')
        given = ('compile', self.model, '--no-cache', '--bind', 'N=2')
        for target, architectures in (('cuda:sm_90', ['sm_80', 'sm_90']), ('cuda:a100', ['sm_80']),
                                      ('cuda:' + profile, ['sm_100a', 'sm_80'])):
            report = json.loads(encore(*given, '-o', self.output, '--target', target, '--json').stdout)
            self.assertIn('no CUDA driver can be loaded', report['elsewhere'])
            info = json.loads(encore('replay', 'info', self.output, '--json').stdout)
            code = info['plan']['device_code']
            self.assertEqual([row['architecture'] for row in code if row['kind'] == 'cubin'], architectures)
            self.assertEqual([row['architecture'] for row in code if row['kind'] == 'ptx'], ['sm_80'])
            self.assertEqual({row['least_driver'] for row in code}, {'13.0'})
            self.assertIn('code       cuda sm_80: ', encore('replay', 'info', self.output).stdout)
            # Where no device is, nothing is run in its place.
            for trust in ((), ('--trust',)):
                replayed = encore('replay', 'run', self.output, '--cache', self.cache, *trust, code=2)
                self.assertIn('no CUDA driver can be loaded', replayed.stderr)
        encore(*given, '-o', self.output, '--target', 'cuda', '--emit', 'recording', code=2)
        text = encore(*given, '-o', '-', '--target', 'cuda:h100', '--emit', 'text').stdout
        self.assertRegex(text, r'(?m)^  \d+ launch ')

    # A cache knows them by what is in them.
    def test_profiles_that_change(self):
        for target in (('--target', 'cuda:%s'), ('--target', 'cpu', '--placement', 'head/softmax=cuda:%s')):
            for architecture in ('sm_100a', 'sm_90', 'sm_100a'):
                path = self.write_profile(architecture)
                done = self.encore('compile', self.model, '--cache', self.cache, '--bind', 'N=2', '-o', self.output,
                                   *(word.replace('%s', path) for word in target))
                self.assertEqual(done.returncode, 0, done.stderr)
                code = json.loads(self.encore('replay', 'info', self.output, '--json').stdout)['plan']['device_code']
                self.assertIn(architecture, [row['architecture'] for row in code])
                self.assertEqual(len({row['architecture'] for row in code}), 2)

    def test_targets_that_are_none(self):
        wrong = self.write('wrong.json', '{"name": "x"}')
        for target, message in (('cuda:sm_91', 'sm_91'), ('cuda:h1', 'FILE.json'), ('cuda:' + wrong, 'architecture'),
                                ('cuda:/nowhere.json', '/nowhere.json'), ('cpu,', 'joined by commas'),
                                ('cuda:h100,cuda:a100', 'one kind of device')):
            done = self.encore('compile', self.model, '-o', self.output, '--no-cache', '--target', target,
                               '--bind', 'N=2')
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)

    def test_one_package_for_several_targets(self):
        for target in ('cpu,cuda:emulated', 'cpu'):
            done = self.encore('compile', self.model, '-o', self.output, '--no-cache', '--target', target,
                               '--placement', 'head/softmax=cuda:emulated', '--bind', 'N=2', '--emit', 'recording')
            self.assertEqual(done.returncode, 0, done.stderr)
            info = json.loads(self.encore('replay', 'info', self.output, '--json').stdout)
            self.assertEqual(set(info['plan']['kernel_binaries']['by_backend']), {'cpu', 'cuda_emulated'})
            self.assertGreater(info['plan']['run']['copy'], 0)
            done = self.encore('replay', 'run', self.output, '--cache', self.cache)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn('as expected', done.stdout)

    def test_sizes_and_inputs_come_from_data(self):
        x = [1.0, 2.0, 3.0, -4.0, 0.5, 2.0]
        model = self.write('affine.onnx', files.affine(rows='N'))
        os.mkdir(self.path('data'))
        self.write('data/input_0.pb', files.tensor(x, [2, 3]))
        named = self.write('x.npy', files.npy(x, [2, 3]))
        both = self.write('x.npz', files.npz({'x': files.npy(x, [2, 3])}))
        expected = self.write('y.npz', files.npz({'y': files.npy(files.affine_of(x), [2, 2])}))
        for given in (['--data', self.path('data')], ['--input', 'x=' + named], ['--input', both],
                      ['--data', self.path('data'), '--bind', 'N=2']):
            self.compile(*given, '--emit', 'recording', model=model)
            info = json.loads(self.encore('replay', 'info', self.output, '--json').stdout)
            self.assertEqual(info['inputs'][0]['shape'], [2, 3])
            # The recorded call is of these inputs.
            saved = self.path('saved.npz')
            done = self.encore('replay', 'run', self.output, '--cache', self.cache, '--save', saved)
            self.assertEqual(done.returncode, 0, done.stderr)
            for value, right in zip(files.read_npz(saved)['y'][1], files.read_npz(expected)['y'][1]):
                self.assertAlmostEqual(value, right, places=4)
            self.compile(*given, model=model)
            self.compile(*given, '--stop-after', 'import', model=model)
            self.assertIn('f32[2,3]', read(self.output))
        os.remove(self.output)
        self.assertIn('bound to 4', self.compile('--data', self.path('data'), '--bind', 'N=4', model=model,
                                                 code=2).stderr)
        for name, content in (('flat', files.tensor(x, [6])), ('wide', files.tensor(x, [1, 6])),
                              ('whole', files.tensor([1] * 6, [2, 3], files.INT32)), ('bad', b'\xff' * 9)):
            os.mkdir(self.path(name))
            self.write(name + '/input_0.pb', content)
            done = self.compile('--data', self.path(name), '--emit', 'recording', model=model, code=2)
            self.assertIn('input_0.pb' if name == 'bad' else 'x', done.stderr)
        self.assertIn('no input_0.pb', self.compile('--data', self.folder, model=model, code=2).stderr)
        self.assertIn('"z"', self.compile('--input', 'z=' + named, '--bind', 'N=2', model=model, code=2).stderr)
        self.write('data/input_1.pb', files.tensor(x, [2, 3]))
        self.assertIn('input_1.pb', self.compile('--data', self.path('data'), model=model, code=2).stderr)
        self.assertFalse(os.path.exists(self.output))

    def start(self, *arguments):
        return subprocess.Popen([TOOL, *arguments, '--cache', self.cache],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_processes_at_once_compile_a_key_once(self):
        running = [self.start('compile', self.model, '-o', self.path('out%d' % i), '--target', 'ref',
                              '--bind', 'N=4', '--json') for i in range(4)]
        found = []
        for process in running:
            out, err = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0, err)
            found.append(json.loads(out)['cache'])
        self.assertEqual(sorted(found), ['hit', 'hit', 'hit', 'miss'])
        self.verb('verify')

    def test_processes_at_once_do_each_other_no_harm(self):
        running = [self.start('compile', self.model, '-o', self.path('out%d' % i), '--target', 'ref',
                              '--emit', 'recording', '--bind', 'N=%d' % (1 + i % 2))
                   for i in range(6)]
        running += [self.start('cache', verb) for verb in ('clear', 'list', 'clear', 'status')]
        for process in running:
            _, err = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0, err)
        self.verb('verify')
        for i in range(6):
            done = self.encore('replay', 'verify', self.path('out%d' % i), '--cache', self.cache)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_bad_input_is_refused(self):
        unbound = self.encore('compile', self.model, '-o', self.output, '--no-cache')
        self.assertEqual(unbound.returncode, 2, unbound.stderr)
        self.assertIn('--bind', unbound.stderr)
        self.compile('--bind', 'N=99', code=2)
        self.compile('--bind', 'M=1', code=2)
        self.compile('--bind', 'N', code=2)
        self.compile('--emit', 'nothing', code=2)
        self.compile('--emit', 'package', '--stop-after', 'import', code=2)
        self.compile('--emit', 'proto', code=2)
        self.compile('--target', 'tpu', '--bind', 'N=2', code=2)
        self.compile('--target', 'cpu:sse9', '--bind', 'N=2', code=2)
        self.compile(model=self.path('none.onnx'), code=2)
        self.compile(model=self.folder, code=2)
        self.compile(model=self.write('bad.onnx', 'no model'), code=2)
        self.compile(model=self.write('bad.txt', 'graph g('), code=2)
        self.assertFalse(os.path.exists(self.output))
        self.output = self.path('no folder/out')
        self.compile('--bind', 'N=2', code=2)
        self.compile('--stop-after', 'import', code=2)
        self.output = self.cache
        self.compile('--bind', 'N=2', code=2)

    def test_names_in_messages(self):
        """Whatever bytes a file has for a name, a terminal gets text, and not without end."""
        node = b'\x0a\x01x' + b'\x12\x01y' + b'\x22\x07\x1b[3\xff\xc3\xa9m' + b'\x1a\x90\x4e' + b'n' * 10000
        size = bytes([len(node) & 127 | 128, len(node) >> 7])
        graph = b'\x0a' + size + node + b'\x62\x03\x0a\x01y'
        size = bytes([len(graph) & 127 | 128, len(graph) >> 7])
        model = b'\x08\x08' + b'\x42\x02\x10\x11' + b'\x3a' + size + graph
        path = self.path('names.onnx')
        with open(path, 'wb') as file:
            file.write(model)
        text = self.compile(model=path, code=2).stderr
        self.assertIn('nnn', text)
        self.assertLess(len(text), 5000)
        node = node.replace(b'n' * 10000, b'n').replace(b'\x1a\x90\x4e', b'\x1a\x01')
        for broken, text in ((b'\xff', 'node "n": field 4: a string that is no UTF-8'), (b'!', 'node "n" (\\x1b[3!ém)')):
            graph = b'\x0a' + bytes([len(node)]) + node.replace(b'\xff', broken) + b'\x62\x03\x0a\x01y'
            with open(path, 'wb') as file:
                file.write(b'\x08\x08' + b'\x42\x02\x10\x11' + b'\x3a' + bytes([len(graph)]) + graph)
            self.assertIn(text, self.compile(model=path, code=2).stderr)

    def test_cache_verbs(self):
        empty = json.loads(self.verb('status', '--json').stdout)
        self.assertEqual((empty['exists'], empty['entries']), (False, 0))
        self.assertFalse(os.path.exists(self.cache))
        self.compile('--bind', 'N=2')
        self.compile('--bind', 'N=3')
        status = json.loads(self.verb('status', '--json').stdout)
        self.assertEqual(status['kinds']['graph']['entries'], 2)
        self.assertEqual(status['kinds']['graph']['hits'], 0)
        self.assertRegex(self.verb('status').stdout, r'graph +2 entries +\d+ bytes +0 hits +compiled graphs')
        entries = [json.loads(line) for line in self.verb('list', '--json').stdout.splitlines()]
        self.assertEqual(len(entries), status['entries'])
        self.assertEqual(sum(entry['bytes'] for entry in entries), status['bytes'])
        graphs = [entry for entry in entries if entry['kind'] == 'graph']
        self.verb('explain', graphs[0]['key'][:12], graphs[0]['path'])
        different = self.verb('explain', graphs[0]['key'], graphs[1]['key'], code=1)
        self.assertIn('graph', different.stdout)
        self.verb('explain', 'ffff', graphs[0]['key'], code=2)
        self.verb('verify')
        with open(graphs[0]['path'], 'r+b') as file:
            content = bytearray(file.read())
            content[content.rindex(b'graph/') - 64] ^= 1  # of the section before the last, which is the address
            file.seek(0)
            file.write(content)
        report = json.loads(self.verb('verify', '--json', code=1).stdout)
        self.assertEqual([entry['key'] for entry in report['damaged']], [graphs[0]['key']])
        self.assertIn('compiled graph', report['damaged'][0]['problems'][0])
        self.assertIn('compiled graph', self.verb('verify', code=1).stdout)
        cleared = json.loads(self.verb('clear', '--json').stdout)
        self.assertEqual(cleared['removed'], len(entries))
        self.assertIn('removed 0 entries', self.verb('clear').stdout)
        self.assertEqual(json.loads(self.verb('status', '--json').stdout)['entries'], 0)

    def test_a_cache_that_is_none(self):
        self.cache = self.write('file', 'x')
        self.verb('status', code=2)
        self.assertEqual(self.encore('cache', 'nothing').returncode, 2)
        self.assertEqual(self.encore('cache', 'status', '--help').returncode, 0)


if __name__ == '__main__':
    unittest.main()
