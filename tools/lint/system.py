"""Whether what is on the way through files reaches the operating system by ir/support/system_calls.h alone, so that
tests/torture can let each call fail. What does not is named below, with its reason.

Calls are those of system_calls.def and their like of POSIX, of <filesystem>, <fstream> and clocks. The parts of a path
that std::filesystem takes apart as text are not.
"""
import os
import re

# Folders and files on the way: what is kept, read and mapped.
PATHS = ('backends/cpu/', 'cache/', 'ir/host/', 'ir/import/', 'ir/support/', 'ir/types/', 'runtime/', 'tools/')
# Parts of them, by path, that are for tests or measure machines, not models.
BESIDE = re.compile(r'(_test|_fuzz|_benchmark)\.cc$|_test_fixture\.h$|/testing/|^backends/cpu/(fit|measure)/')

# Sources that may reach the system otherwise: which names, and why.
MAY_CALL = {
    'ir/support/system_calls.cc': ({'*'}, 'the layer itself'),
    'backends/compile.cc': ({'steady_clock'}, 'the time that --max-seconds leaves'),
    'backends/plan_tuner.h': ({'steady_clock'}, 'what plans take, and the time that --tune leaves'),
    'backends/cpu/codegen/compiler.cc': ({'directory_iterator', 'exists', 'read_symlink'}, 'where the shared library with LLVM lies'),
    'ir/support/library_places.cc': ({'exists', 'read_symlink'}, 'where shared libraries lie'),
    'cache/session/compiled_graphs.cc': ({'steady_clock'}, 'statistics'),
    'cache/session/session.cc': ({'steady_clock'}, 'statistics'),
    'runtime/device/device.cc': ({'madvise'}, 'memory that no file is behind'),
    'runtime/device/thread_pool.cc': ({'steady_clock', 'syscall'}, 'how long helpers stay awake, and what they wait for (futex)'),
    'runtime/replay/profiler.cc': ({'steady_clock'}, 'what a profiler measures'),
    'runtime/replay/profiler.h': ({'steady_clock'}, 'what a profiler measures'),
    'tools/compile/compile_model.cc': ({'steady_clock'}, 'how long a compile takes'),
    'tools/json_output.cc': ({'file_size', 'ifstream', 'is_regular_file'}, 'a report that is printed into a file: no part of a model'),
    'tools/json_output.h': ({'ofstream'}, 'likewise'),
    'tools/latency.h': ({'steady_clock'}, 'how long calls take'),
    'tools/opt/egraph_command.cc': ({'clock', 'ifstream'}, 'programs of e-graphs, which are read once, and how long they take'),
    'tools/opt/extract_command.cc': ({'steady_clock'}, 'how long extraction takes'),
    'tools/opt/opt_command.cc': ({'steady_clock'}, 'how long passes take'),
    'tools/pass_report.h': ({'steady_clock'}, 'how long passes take'),
    'tools/progress.cc': ({'steady_clock', 'write'}, 'what a terminal shows, and how long it stands'),
    'tools/progress.h': ({'steady_clock'}, 'likewise'),
    'tools/replay/bench.cc': ({'steady_clock'}, 'how long replays take'),
    'tools/replay/run.cc': ({'steady_clock'}, 'how long replays take'),
    'tools/rules/rules_command.cc': ({'steady_clock'}, 'how long checks take'),
    'tools/run/examples.cc': ({'directory_iterator', 'exists', 'ifstream', 'is_directory', 'read_symlink'},
                              'where the examples and their models lie'),
    'tools/run/run_model.cc': ({'steady_clock'}, 'how long a start takes'),
    'tools/signals.cc': ({'write'}, 'what is said of a signal, on a terminal'),
    'tools/terminal.cc': ({'fwrite'}, 'what is printed'),
    'backends/cpu/vendor/small_blocks.cc': ({'mprotect'}, "tables of the vendor's library, which it maps itself"),
}

POSIX = '''chdir chmod chown clock close_range copy_file_range creat dup dup2 dup3 fchmod fchown fcntl fdatasync fdopen fopen
    fread fsync fsyncat ftruncate futimens fwrite getcwd gettimeofday getentropy glob lchown link linkat lockf lseek lstat
    madvise memfd_create mkdirat mkdtemp mkostemp mkstemp mremap msync nftw open pipe pipe2 posix_fadvise posix_fallocate
    preadv pwrite pwritev read readv remove renameat renameat2 rmdir scandir sendfile shm_open stat statx symlink symlinkat
    syncfs syscall time timespec_get truncate unlinkat utime utimes writev'''.split()
FILESYSTEM = '''absolute canonical copy copy_file create_directories create_directory create_hard_link create_symlink
    current_path directory_iterator equivalent exists file_size hard_link_count is_directory is_empty is_regular_file
    is_symlink last_write_time permissions proximate read_symlink recursive_directory_iterator relative remove remove_all
    rename resize_file space status symlink_status temp_directory_path weakly_canonical'''.split()
STREAMS = 'basic_filebuf filebuf fstream ifstream ofstream random_device'.split()
CLOCKS = 'file_clock high_resolution_clock steady_clock system_clock utc_clock'.split()

COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
ROW = re.compile(r'^ENCORE_SYSTEM_CALL\([^,]+,\s*\w+,\s*(\w+),', re.M)


def pattern(root):
    with open(os.path.join(root, 'ir/support/system_calls.def'), encoding='utf-8') as file:
        functions = ROW.findall(file.read()) + POSIX
    return re.compile(
        # Of the C library: of no object, and of no namespace but std or the outermost.
        r'(?<![\w.>:])(?:std\s*::|::)?(?P<function>%s)\s*\(|'
        r'\b(?:fs|filesystem)\s*::\s*(?P<filesystem>%s)\b|\bstd\s*::\s*(?P<stream>%s)\b|\b(?P<clock>%s)\b' %
        tuple('|'.join(sorted(set(names))) for names in (functions, FILESYSTEM, STREAMS, CLOCKS)))


def is_local(name, text):
    """Whether the file declares something of that name: a lambda, a function, a member."""
    return re.search(r'(?<!return)[\w>&*]\s*[&* ]%s\s*(?:[=,{;)]|\([^;{}]*\)\s*(?:const\s*)?[{;])' % re.escape(name), text)


def check(root, paths):
    calls = pattern(root)
    for path in paths:
        name = os.path.relpath(path, root)
        of_path = name.startswith(PATHS) or re.fullmatch(r'backends/\w+\.(cc|h)', name)
        allowed = MAY_CALL.get(name, ((), ''))[0]
        if not of_path or BESIDE.search(name) or '*' in allowed:
            continue
        with open(path, encoding='utf-8') as file:
            text = COMMENT_OR_STRING.sub(lambda found: '\n' * found.group().count('\n'), file.read())
        for found in calls.finditer(text):
            call = next(group for group in found.groups() if group)
            if call in allowed or (found.group('function') and is_local(call, text)):
                continue
            line = text[:found.start()].count('\n') + 1
            yield f'{path}:{line}: {call} is no call of ir/support/system_calls.h; make it by sys::'
