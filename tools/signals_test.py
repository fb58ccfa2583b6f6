#!/usr/bin/env python3
"""Interrupts `encore` as a user does: nothing half-written stays, the cache is whole, the terminal's line is wiped."""
import json
import os
import pty
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

from commands import CommandTest

TOOL = os.path.abspath(sys.argv.pop())

# Its package, its output and its weights as they are prepared take 64 MiB each: writing them takes a while.
LARGE = '''
graph large(%x: f32[8192], %w: param f32[2048,8192] = f32[2048,8192] 1) -> f32[2048,8192] {
  %n = neg(%w)
  %b = broadcast(%x) {shape = [2048,8192], axes = [1]}
  %y = mul(%n, %b)
  return %y
}
'''
SMALL = 'graph small(%x: f32[4]) -> f32[4] { %y = neg(%x) return %y }'


def products(count):
    """A model of so many kernels that differ, each of which is compiled by itself."""
    weights = ', '.join(f'%w{i}: param f32[{i},{i + 1}] = f32[{i},{i + 1}] 1' for i in range(5, 5 + count))
    steps = '\n'.join(f'  %x{i + 1} = dot_general(%x{i}, %w{i}) {{contract = [1]x[0]}}' for i in range(5, 5 + count))
    return f'graph products(%x5: f32[4,5], {weights}) -> f32[4,{5 + count}] {{\n{steps}\n  return %x{5 + count}\n}}\n'


class SignalsTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.cache = self.path('cache')
        # A sanitizer would take the processor's signals and end otherwise.
        options = os.environ.get('ASAN_OPTIONS', '') + ':handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0'
        self.environment = {**os.environ, 'ENCORE_CACHE': self.cache, 'ASAN_OPTIONS': options}

    def run_tool(self, *arguments):
        done = subprocess.run([TOOL, *arguments], env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def staged(self):
        return [os.path.join(parent, name) for parent, _, names in os.walk(self.folder)
                for name in names if name.endswith('.tmp')]

    def interrupt_while_writing(self, number, *arguments):
        """Sends the signal as soon as a staging file is there; where this test got no time while it was, once more."""
        for _ in range(100):
            shutil.rmtree(self.cache, ignore_errors=True)
            out = self.path('out')
            with open(out, 'wb') as file:
                file.write(b'as before')
            if not self.interrupted_while_writing(number, *arguments):
                continue
            with open(out, 'rb') as file:
                if file.read(20) == b'as before':
                    return
            self.run_tool('replay', 'info', out)  # all of it was written
        self.fail('it always ended before it was interrupted')

    def interrupted_while_writing(self, number, *arguments):
        """False where it ended before the signal."""
        process = subprocess.Popen([TOOL, *arguments], env=self.environment, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        end = time.monotonic() + 60
        while not self.staged() and process.poll() is None:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.0005)
        process.send_signal(number)
        _, error = process.communicate(timeout=60)
        self.assertIn(process.returncode, (0, -number), error)
        self.assertEqual(self.staged(), [])
        return process.returncode != 0

    def test_what_is_half_written_goes(self):
        model = self.write('large.txt', LARGE)
        out = self.path('out')
        flags = ('--target', 'cpu')
        self.interrupt_while_writing(signal.SIGTERM, 'compile', model, '-o', out, *flags, '--no-cache')
        self.interrupt_while_writing(signal.SIGHUP, 'run', model, *flags, '--no-cache', '--save', out)
        # In the cache: the plan, or prepared weights.
        self.interrupt_while_writing(signal.SIGINT, 'run', model, *flags, '--repeat', '0')
        self.run_tool('cache', 'verify')
        self.run_tool('run', model, *flags, '--repeat', '0')
        report = json.loads(self.run_tool('run', model, *flags, '--repeat', '0', '--json', '-'))
        self.assertEqual(report['cache'], 'hit')
        self.run_tool('cache', 'verify')

    def test_signals_while_compiling_leave_nothing(self):
        model = self.write('products.txt', products(16))
        temporary = self.path('temporary')
        os.mkdir(temporary)
        self.environment['TMPDIR'] = temporary
        flags = ('--target', 'cpu', '--repeat', '0', '--cache', self.cache)
        begin = time.monotonic()
        self.run_tool('run', model, *flags)
        whole = time.monotonic() - begin
        chance = random.Random(1)
        codes = set()
        for _ in range(40):
            shutil.rmtree(self.cache)
            number = chance.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
                                    signal.SIGALRM, signal.SIGXCPU, signal.SIGABRT, signal.SIGFPE, signal.SIGILL))
            process = subprocess.Popen([TOOL, 'run', model, *flags], env=self.environment, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True)
            time.sleep(chance.uniform(0.05, 1) * whole)
            process.send_signal(number)
            _, error = process.communicate(timeout=60)
            codes.add(process.returncode)
            if process.returncode == 3:
                self.assertIn(f'ended by signal {number:d} from process {os.getpid()}', error)
            else:  # it had ended, or was not in main yet
                self.assertIn(process.returncode, (0, -number), error)
            self.assertEqual(self.staged(), [])
            self.assertEqual(os.listdir(temporary), [])
            os.makedirs(self.cache, exist_ok=True)
        self.assertIn(3, codes)

    def test_an_abort_from_outside(self):
        """Also while code is generated, and after that."""
        model = self.write('products.txt', products(16))
        for delay in (0, 0.02, 3):
            process = subprocess.Popen([TOOL, 'run', model, '--target', 'cpu', '--seconds', '60', '--no-cache'],
                                       env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            end = time.monotonic() + 60
            loaded = False
            while not loaded:
                self.assertLess(time.monotonic(), end)
                with open(f'/proc/{process.pid}/maps') as file:
                    loaded = 'libencore_cpu_codegen.so' in file.read()
            time.sleep(delay)
            process.send_signal(signal.SIGABRT)
            _, error = process.communicate(timeout=60)
            self.assertEqual((process.returncode, error),
                             (3, f'encore: ended by signal {signal.SIGABRT:d} from process {os.getpid()}\n'))

    def test_a_signal_that_is_ignored_stays_so(self):
        model = self.write('small.txt', SMALL)
        process = subprocess.Popen(['/bin/sh', '-c', 'trap "" HUP; exec "$@"', 'sh', TOOL, 'run', model, '--target',
                                    'ref', '--seconds', '1'], env=self.environment, stdout=subprocess.DEVNULL)
        time.sleep(0.3)
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.wait(timeout=60), 0)

    def test_the_terminal_is_left_clean(self):
        package = self.path('small.encore')
        self.run_tool('compile', self.write('small.txt', SMALL), '-o', package)
        for verb in (('run', self.path('small.txt')), ('replay', 'bench', package, '--trust')):
            child, terminal = pty.fork()
            if child == 0:
                os.execve(TOOL, [TOOL, *verb, '--seconds', '60'], self.environment)
            text = b''
            while b' s\x1b[K' not in text:
                text += os.read(terminal, 4096)
            os.write(terminal, b'\x03')  # Ctrl-C
            try:
                while True:
                    text += os.read(terminal, 4096)
            except OSError:  # the other side is closed
                pass
            os.close(terminal)
            _, status = os.waitpid(child, 0)
            self.assertEqual(os.waitstatus_to_exitcode(status), -signal.SIGINT)
            self.assertTrue(text.endswith(b'\r\x1b[K'), text[-80:])

    def test_a_file_that_becomes_shorter(self):
        model = self.path('large.pb')
        self.run_tool('compile', self.write('large.txt', LARGE), '--stop-after', 'import', '--emit', 'proto', '-o', model)
        process = subprocess.Popen([TOOL, 'run', model, '--no-cache', '--repeat', '1000000'], env=self.environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 60
        mapped = False
        while not mapped:
            self.assertLess(time.monotonic(), end)
            with open(f'/proc/{process.pid}/maps') as file:
                mapped = model in file.read()
        os.truncate(model, 4096)
        _, text = process.communicate(timeout=60)
        self.assertEqual((process.returncode, text), (2, 'encore: a file became shorter while it was read\n'))


if __name__ == '__main__':
    unittest.main()
