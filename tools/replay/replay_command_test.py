#!/usr/bin/env python3
"""Drives `encore compile`, `encore replay` and `replay_only` as a user does."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

REPLAY_ONLY = sys.argv.pop()
TOOL = sys.argv.pop()

MODEL = '''
graph mlp(%x: f32[2,3], %w: param f32[3,4], %b: param f32[4]) -> f32[2,4] {
  %h = dot_general(%x, %w) {contract = [1]x[0]} @"fc/matmul"
  %c = broadcast(%b) {shape = [2,4], axes = [1]} @"fc/bias"
  %s = add(%h, %c) @"fc/add"
  %y = relu(%s) @"fc/relu"
  return %y as scores
}
'''


def read(path, mode='r'):
    with open(path, mode) as file:
        return file.read()


class ReplayTest(unittest.TestCase):
    """One folder for all: compiling once is enough."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.cache = os.path.join(cls.folder, 'cache')
        cls.model = cls.path('model.txt')
        with open(cls.model, 'w') as file:
            file.write(MODEL)
        cls.package = cls.path('package.encore')
        cls.recording = cls.path('recording.encore')
        for emit, path in (('package', cls.package), ('recording', cls.recording)):
            done = cls.encore('compile', cls.model, '-o', path, '--emit', emit, '--cache', cls.cache)
            assert done.returncode == 0, done.stderr

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    @staticmethod
    def run_program(*arguments, **environment):
        return subprocess.run(arguments, capture_output=True, text=True, timeout=120,
                              env={**os.environ, **environment})

    @classmethod
    def encore(cls, *arguments, **environment):
        return cls.run_program(TOOL, *arguments, **environment)

    def replay(self, verb, *arguments, **environment):
        cache = [] if verb in ('info', 'dump') else ['--cache', self.cache]
        return self.encore('replay', verb, *arguments, *cache, **environment)

    def expect(self, code, done):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def json_of(self, done, code=0):
        return json.loads(self.expect(code, done).stdout)

    def damaged(self, change):
        path = self.path('damaged.encore')
        with open(self.recording, 'rb') as file:
            data = bytearray(file.read())
        data = change(data) or data
        with open(path, 'wb') as file:
            file.write(data)
        return path

    # --- Good files.

    def test_info_tells_sections_key_and_plan(self):
        info = self.json_of(self.replay('info', self.recording, '--json'))
        self.assertEqual(info['kind'], 'recording')
        self.assertEqual([port['name'] for port in info['inputs']], ['x'])
        self.assertEqual(info['outputs'][0]['shape'], [2, 4])
        self.assertEqual(info['weight_bytes'], 4 * (12 + 4))
        self.assertEqual(info['calls'], 1)
        self.assertGreater(info['plan']['run']['launch'], 0)
        self.assertEqual(len(info['key']), 64)
        types = [section['type'] for section in info['sections']]
        self.assertEqual(types[0], 'headline')
        self.assertIn('tensor', types)
        text = self.expect(0, self.replay('info', self.package)).stdout
        self.assertIn('package', text)
        self.assertIn(info['key'], text)

    def test_dump_shows_steps_with_their_origin(self):
        text = self.expect(0, self.replay('dump', self.package)).stdout
        self.assertRegex(text, r'(?m)^  \d+ launch .*  // cpu:\S+ .*"fc/')
        steps = self.json_of(self.replay('dump', self.package, '--json'))
        self.assertRegex('\n'.join(sum(steps['plans'], [])), r'(?m)^launch .*  // cpu:\S+ .*"fc/')

    # --- Plans as text.

    def dumped(self, path, name='dumped.plan', change=lambda text: text):
        text = self.expect(0, self.replay('dump', path)).stdout
        changed = change(text)
        target = self.path(name)
        with open(target, 'w') as file:
            file.write(changed)
        return target

    def test_a_dump_is_verified_without_its_blobs(self):
        plan = self.dumped(self.recording)
        self.assertIn('sha256', read(plan))
        self.assertTrue(self.json_of(self.replay('verify', plan, '--json'))['ok'])
        self.assertIn('plan ok', self.expect(0, self.replay('verify', plan)).stdout)
        unsound = self.dumped(self.recording, 'unsound.plan',
                              lambda text: re.sub(r'(?m)^run \d+$', 'run 99', text))
        report = self.json_of(self.replay('verify', unsound, '--json'), 2)
        self.assertEqual(report['ok'], False)
        self.assertRegex(report['plan'], r'^P7: ')
        wrong = self.dumped(self.recording, 'wrong.plan', lambda text: text.replace('\nend', '\nfin'))
        lines = read(wrong).count('\n')
        self.assertIn(f'{wrong}:{lines}:1: expected', self.expect(2, self.replay('verify', wrong)).stderr)
        self.expect(2, self.replay('verify', self.path('none.plan')))

    def test_a_dump_is_assembled_to_what_it_was(self):
        plan = self.dumped(self.recording)
        made = self.path('assembled.encore')
        assemble = ('replay', 'assemble', plan, '--blobs', self.recording, '-o', made)
        report = self.json_of(self.encore(*assemble, '--json'))
        self.assertEqual((report['kind'], report['output']), ('recording', made))
        self.assertEqual(self.expect(0, self.replay('dump', made)).stdout, read(plan))
        self.assertTrue(self.json_of(self.replay('verify', made, '--trust', '--json'))['ok'])
        self.assertIn('as expected', self.expect(0, self.replay('run', made, '--trust')).stdout)
        self.expect(0, self.run_program(REPLAY_ONLY, *assemble[1:]))
        self.expect(0, self.run_program(REPLAY_ONLY, 'run', made, '--trust'))

    def test_an_entry_is_assembled(self):
        entries = self.encore('cache', 'list', '--cache', self.cache, '--json').stdout.splitlines()
        entry = [entry['path'] for entry in map(json.loads, entries) if entry['kind'] == 'graph'][0]
        made = self.path('entry.encore')
        plan = self.dumped(entry, 'entry.plan')
        self.expect(0, self.encore('replay', 'assemble', plan, '--blobs', entry, '-o', made))
        self.assertEqual(self.json_of(self.replay('info', made, '--json'))['kind'], 'entry')
        self.assertEqual(self.expect(0, self.replay('dump', made)).stdout, read(plan))

    def test_what_cannot_be_assembled_leaves_the_output_as_it_was(self):
        made = self.path('kept.encore')
        with open(made, 'w') as file:
            file.write('kept')
        whole = self.dumped(self.package)
        other_digest = self.dumped(
            self.package, 'digest.plan',
            lambda text: re.sub(r'sha256 "[0-9a-f]{64}"', 'sha256 "%s"' % ('ab' * 32), text, count=1))
        unsound = self.dumped(self.package, 'unsound.plan',
                              lambda text: re.sub(r'(?m)^run \d+$', 'run 99', text))
        two_outputs = self.path('other.plan')
        with open(two_outputs, 'w') as file:
            file.write('compiled_graph 1\npool 0\ninputs ()\noutputs ()\nparameters ()\nprepare none\nrun 0\n'
                       'plan 0 {\n}\nend\n')
        for plan, message in ((other_digest, 'abab, '), (unsound, 'P7: '), (two_outputs, 'does not fit'),
                              (self.path('none.plan'), 'none.plan')):
            done = self.expect(2, self.encore('replay', 'assemble', plan, '--blobs', self.package, '-o', made))
            self.assertIn(message, done.stderr)
            self.assertEqual(read(made), 'kept')
        done = self.expect(2, self.encore('replay', 'assemble', other_digest, '--blobs', self.package, '-o', made))
        self.assertRegex(done.stderr, r'digest\.plan:\d+:\d+: blob \d+ .* is not there in .*package\.encore')
        for arguments in (['--blobs', self.package], ['-o', made], ['--blobs', made, '-o', made],
                          ['--blobs', self.package, '-o', self.package], ['--blobs', self.package, '-o', whole],
                          ['--blobs', self.package, '-o', self.path('none/made.encore')],
                          ['--blobs', self.path('none.encore'), '-o', made]):
            self.expect(2, self.encore('replay', 'assemble', whole, *arguments))
        self.assertEqual(read(made), 'kept')
        self.assertEqual(sorted(name for name in os.listdir(self.folder) if name.endswith('.tmp')), [])

    def test_verify_accepts_good_files(self):
        for path in (self.package, self.recording):
            self.assertTrue(self.json_of(self.replay('verify', path, '--json'))['ok'])

    def test_run_needs_no_flags_for_a_recording(self):
        for arguments in ([], ['--trust']):
            report = self.json_of(self.replay('run', self.recording, '--json', '-', *arguments))
            self.assertTrue(report['ok'])
            self.assertEqual(report['source'], 'package' if arguments else 'hit')
            self.assertTrue(report['calls'][0]['outputs'][0]['ok'])
        self.assertIn('as expected', self.expect(0, self.replay('run', self.recording)).stdout)

    def test_run_compares_with_what_was_recorded(self):
        wrong = self.path('wrong.npz')
        self.expect(0, self.replay('run', self.package, '--seed', '7', '--save', wrong))
        self.assertGreater(os.path.getsize(wrong), 0)
        report = self.json_of(self.replay('run', self.package, '--json'))
        self.assertIsNone(report['calls'][0]['outputs'][0]['ok'])

    def test_bench_compares_pairs(self):
        report = self.json_of(self.replay('bench', self.package, '--repeat', '50', '--baseline',
                                          self.recording, '--json'))
        self.assertEqual(report['runs'], 50)
        self.assertLessEqual(report['latency_us']['min'], report['latency_us']['p99'])
        ratio = report['baseline']['ratio']
        self.assertLessEqual(ratio['low'], ratio['median'])
        self.assertLessEqual(ratio['median'], ratio['high'])
        few = ('bench', self.package, '--repeat', '3', '--baseline', self.recording)
        ratio = self.json_of(self.replay(*few, '--json'))['baseline']['ratio']
        self.assertEqual((ratio['low'], ratio['high']), (None, None))
        self.assertIn('too few runs for an interval', self.replay(*few).stdout)

    def test_profile_tells_time_and_origin_of_steps(self):
        trace = self.path('trace.json')
        report = self.json_of(self.replay('profile', self.package, '--repeat', '5', '--trace',
                                          trace, '--json'))
        self.assertEqual(report['replays'], 5)
        self.assertAlmostEqual(sum(step['share'] for step in report['steps']), 1, places=6)
        origins = sum((step['origins'] for step in report['steps']), [])
        self.assertTrue(any(name.startswith('fc/') for name in origins), origins)
        with open(trace) as file:
            self.assertGreater(len(json.load(file)['traceEvents']), 0)

    # On the driver in the place of NVIDIA's a piece of work takes a microsecond, whatever the host's clock says.
    def test_profile_has_the_devices_time(self):
        package = self.path('emulated.encore')
        self.expect(0, self.encore('compile', self.model, '-o', package, '--target', 'cuda:emulated', '--no-cache'))
        flags = ('profile', package, '--repeat', '3', '--trust')
        steps = self.json_of(self.replay(*flags, '--json'))['steps']
        timed = [step for step in steps if step['device_runs'] > 0]
        self.assertTrue(any(step['what'].startswith('launch') for step in timed), steps)
        for step in timed:
            self.assertEqual((step['device_runs'], step['runs']), (3, 3))
            self.assertGreaterEqual(step['device_mean_us'], 1)
            self.assertEqual(step['device_mean_us'], round(step['device_mean_us']))
        table = self.expect(0, self.replay(*flags)).stdout
        self.assertIn('device us', table)
        for step in timed:
            self.assertRegex(table, r'%% .* %.2f +%d:%d ' % (step['device_mean_us'], step['plan'], step['step']))
        column = [step['device_mean_us'] for step in self.json_of(self.replay('profile', self.package, '--json'))['steps']]
        self.assertEqual(set(column), {None})

    # --- Trust, and machines that lack something.

    def test_replay_only_runs_code_from_an_owners_store_only(self):
        refused = self.expect(2, self.run_program(REPLAY_ONLY, 'run', self.recording,
                                                  '--cache', self.cache))
        self.assertIn('--trust', refused.stderr)
        self.expect(0, self.run_program(REPLAY_ONLY, 'run', self.recording, '--trust'))
        store = self.path('store')
        os.mkdir(store, 0o700)
        stored = os.path.join(store, 'recording.encore')
        with open(self.recording, 'rb') as source, open(stored, 'wb') as copy:
            copy.write(source.read())
        os.chmod(stored, 0o600)
        run = [REPLAY_ONLY, 'run', stored, '--cache', store]
        self.expect(0, self.run_program(*run))
        for path, mode in ((stored, 0o604), (store, 0o750)):
            before = os.stat(path).st_mode & 0o777
            os.chmod(path, mode)
            self.assertIn('open to other users', self.expect(2, self.run_program(*run)).stderr)
            os.chmod(path, before)
        self.expect(0, self.run_program(*run))

    def test_replay_only_has_the_other_verbs(self):
        for verb in ('info', 'dump'):
            self.expect(0, self.run_program(REPLAY_ONLY, verb, self.recording))
        for verb in ('verify', 'bench', 'profile'):
            self.expect(0, self.run_program(REPLAY_ONLY, verb, self.recording, '--trust'))
        self.expect(2, self.run_program(REPLAY_ONLY, 'verify', self.recording))

    def test_code_that_does_not_fit_the_machine_is_built_again(self):
        if 'avx2' not in read('/proc/cpuinfo'):
            self.skipTest('nothing is generated below AVX2')
        wide = self.path('wide.encore')
        self.expect(0, self.encore('compile', self.model, '-o', wide, '--target', 'cpu:avx512',
                                   '--cache', self.cache))
        requires = self.json_of(self.replay('info', wide, '--json'))['plan']['kernel_binaries']['requires']
        self.assertIn('avx512f', requires)
        narrow = {'ENCORE_CPU_ISA': 'avx2'}
        report = self.json_of(self.replay('run', wide, '--trust', '--json', **narrow))
        self.assertNotEqual(report['source'], 'package')
        refused = self.expect(2, self.run_program(REPLAY_ONLY, 'run', wide, '--trust', **narrow))
        self.assertIn('avx512', refused.stderr)

    # --- Bad files.

    def test_damage_is_named_by_section(self):
        info = self.json_of(self.replay('info', self.recording, '--json'))
        for section in info['sections']:
            if section['bytes'] == 0:
                continue

            def flip(data, at=section['offset'] + section['bytes'] // 2):
                data[at] ^= 0x10
            path = self.damaged(flip)
            report = self.json_of(self.replay('verify', path, '--json'), 2)
            self.assertFalse(report['ok'])
            self.assertIn(section['type'], report['problems'][0])
            done = self.expect(2, self.replay('run', path))
            self.assertIn(section['type'], done.stderr)

    def test_json_names_what_is_wrong_with_the_header(self):
        def change(data):
            data[20] ^= 0xff
        for path in (self.damaged(change), self.path('none.encore')):
            result = self.expect(2, self.replay('verify', path, '--json'))
            report = json.loads(result.stdout)
            self.assertEqual((report['file'], report['ok'], report['sections']), (path, False, []))
            self.assertIn(path, report['problems'][0])

    def test_what_is_no_package_is_refused(self):
        text = self.path('text.encore')
        with open(text, 'w') as file:
            file.write('no package ' * 100)
        empty = self.path('empty.encore')
        open(empty, 'w').close()
        header = self.damaged(lambda data: data.__setitem__(20, data[20] ^ 1))
        for path in (text, empty, header, self.folder, self.path('none.encore'), '/dev/null'):
            for verb in ('info', 'dump', 'verify', 'run', 'bench', 'profile'):
                self.assertIn(path, self.expect(2, self.replay(verb, path)).stderr)

    def test_truncated_files_are_refused(self):
        size = os.path.getsize(self.recording)
        for cut in (1, 64, size // 2, size - 1):
            path = self.damaged(lambda data, keep=size - cut: data[:keep])
            for verb in ('info', 'verify', 'run'):
                self.expect(2, self.replay(verb, path))

    def test_one_bad_file_does_not_hide_the_others(self):
        done = self.expect(2, self.replay('info', self.path('none.encore'), self.package))
        self.assertIn('package', done.stdout)

    def test_cache_entries_are_looked_into_and_not_run(self):
        entries = self.encore('cache', 'list', '--cache', self.cache, '--json').stdout.splitlines()
        graphs = [entry['path'] for entry in map(json.loads, entries) if entry['kind'] == 'graph']
        self.assertEqual(self.json_of(self.replay('info', graphs[0], '--json'))['kind'], 'entry')
        self.expect(0, self.replay('verify', graphs[0]))
        self.assertIn('without weights', self.expect(2, self.replay('run', graphs[0])).stderr)

    def test_arguments_are_checked(self):
        self.expect(2, self.replay('run'))
        self.expect(2, self.encore('replay'))
        self.assertIn('no verb "nothing"; there are: info', self.expect(
            2, self.encore('replay', 'nothing', self.package)).stderr)
        for flags in (['--repeat', '0'], ['--warmup', '-1'], ['--seconds', 'nan'], ['--seconds', '-1']):
            self.assertIn(flags[0], self.expect(2, self.replay('bench', self.package, *flags)).stderr)
        self.expect(2, self.replay('run', self.package, '--input', 'x'))
        self.expect(2, self.replay('run', self.package, '--input', 'z=' + self.path('none.npy')))
        self.expect(2, self.replay('run', self.package, '--threads', '-1'))
        self.expect(0, self.encore('replay', '--help'))
        self.expect(0, self.encore('replay', 'run', '--help'))

    def test_json_does_not_overwrite_a_package(self):
        before = read(self.package, 'rb')
        self.expect(2, self.replay('info', '--json', self.package, self.recording))
        self.assertEqual(read(self.package, 'rb'), before)


if __name__ == '__main__':
    unittest.main()
