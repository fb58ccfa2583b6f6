"""Processes that the benchmarks measure: workers that stay, and starts from exec to exit."""
import json
import os
import resource
import shutil
import subprocess
import time


class Failed(Exception):
    pass


class Worker:
    """A process that has one model loaded in one program and answers a line with a line, as model_worker.cc and
    peer_worker.py do. Failed where the program cannot run the model."""

    def __init__(self, command, title):
        self.title = title
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.end()
            raise Failed('%s: ended with %s' % (self.title, self.process.returncode))
        return json.loads(line)

    def ask(self, text):
        try:
            self.process.stdin.write(text + '\n')
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # no answer will come
        return self.answer()

    def times(self, calls):
        """Microseconds of each of so many calls, host to host."""
        return self.ask('time %d' % calls)['us']

    def peak_mib(self):
        with open('/proc/%d/status' % self.process.pid) as file:
            return next(int(line.split()[1]) for line in file if line.startswith('VmHWM')) / 1024

    def end(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # what was not sent is of no use
        self.process.stdout.close()
        self.process.wait()


def spawn(command, environment, stderr=None):
    """(milliseconds, exit status) of a process from exec to exit."""
    files = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    if stderr:
        files.append((os.POSIX_SPAWN_OPEN, 2, stderr, os.O_WRONLY, 0))
    begin = time.perf_counter()
    process = os.posix_spawn(command[0], command, environment, file_actions=files)
    _, status = os.waitpid(process, 0)
    return (time.perf_counter() - begin) * 1e3, status


class Starts:
    """Starts of `TOOL run MODEL --repeat 0`, everything cached under `cache`. The inputs are given where the tool does not
    start without."""

    def __init__(self, tool, model, inputs, threads, cache):
        self.command = [os.path.abspath(tool), 'run', model, '--repeat', '0', '--threads', str(threads)]
        self.environment = {**os.environ, 'ENCORE_CACHE': cache}
        os.makedirs(cache, mode=0o700, exist_ok=True)
        if inputs and os.path.exists(inputs) and spawn(self.command, self.environment, os.devnull)[1]:
            self.command += ['--input', inputs]
        self.milliseconds()

    def milliseconds(self):
        took, status = spawn(self.command, self.environment)
        if status:
            raise Failed('%s failed' % ' '.join(self.command))
        return took


class ColdStarts(Starts):
    """Starts with an empty cache, in milliseconds of CPU of all their threads."""

    def milliseconds(self):
        shutil.rmtree(self.environment['ENCORE_CACHE'])
        os.makedirs(self.environment['ENCORE_CACHE'], mode=0o700)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        super().milliseconds()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return 1e3 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def let_files_age():
    """Files younger than two seconds are not remembered by their stamps."""
    time.sleep(2.1)
