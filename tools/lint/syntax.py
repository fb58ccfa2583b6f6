"""The declarations of a source tree, as clang parses them.

Each file is parsed with function bodies skipped, on top of a precompiled prelude: first the headers of libraries, then
those of the tree. That costs some 30 ms a file, and tells where each function begins; the next declaration says where
it ends at the latest. Only a file in which that leaves a function over the limit is parsed with its bodies. A file that
does not parse on the prelude (a name of another header is in its way) is parsed without it; what does not parse then
either is a finding. Results are kept by the digests of all that a file includes.
"""
import contextlib
import fcntl
import functools
import glob
import hashlib
import json
import multiprocessing
import os
import re
import subprocess
import tempfile

import libclang as clang

FORMAT = 3  # of what is kept.
# A prelude costs what some twenty files cost without one.
WORTH_A_PRELUDE = 20

INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*(["<][^">\n]+[">])', re.M)
# Below the folder of fetched libraries.
LIBRARY_FOLDERS = ('onednn/onednn-devel-*/*/data/include', 'highs/*/*/purelib/highsbox/highs_dist/include/highs')
SYSTEM_FOLDERS = ('/usr/lib/llvm-19/include',)
LANGUAGE = ['-std=c++20', '-DNDEBUG', '-w', '-ferror-limit=20']
WHOLE = clang.INCOMPLETE
SKIPPING = WHOLE | clang.SKIP_FUNCTION_BODIES

NAMESPACES = (clang.NAMESPACE, clang.LINKAGE_SPECIFICATION, clang.UNEXPOSED_DECLARATION, clang.FRIEND)
TEMPLATES = (clang.CLASS_TEMPLATE, clang.CLASS_TEMPLATE_PARTIAL)
CLASSES = (clang.STRUCT, clang.UNION, clang.CLASS) + TEMPLATES
FUNCTIONS = (clang.FUNCTION, clang.METHOD, clang.CONSTRUCTOR, clang.DESTRUCTOR, clang.CONVERSION)


class Reader:
    """Collects from one unit, of each file asked for:

    functions   [first line, last line, name]; where bodies were skipped, those that may be longer than the limit, with
                the last line that they may have
    declares    [line, name, identifier, whether by a friend declaration, whether a function of no class]: functions and
                variables with external linkage, neither inline nor pure, that are not defined here
    defines     their identifiers, where the file defines them
    """

    def __init__(self, unit, texts, bodies, limit):
        self._unit = unit
        self._lines = {path: text.split('\n') for path, text in texts.items()}
        self._bodies = bodies
        self._limit = limit
        self.found = {path: {'functions': [], 'declares': [], 'defines': []} for path in texts}

    def read(self):
        tops = {}
        for cursor in clang.children(self._unit.top()):
            path = self._unit.extent(cursor)[0]
            if path in self.found:
                tops.setdefault(path, []).append(cursor)
        for path, cursors in tops.items():
            self._scope(path, cursors, len(self._lines[path]) + 1, False, False)
        return self.found

    def _scope(self, path, cursors, scope_end, in_template, by_friend):
        extents = [(cursor, *self._unit.extent(cursor)) for cursor in cursors]
        begins = sorted({begin for _, file, begin, _ in extents if file == path})
        after = dict(zip(begins, begins[1:] + [scope_end]))
        for cursor, file, begin, end in extents:
            if file != path:
                continue
            if cursor.kind in NAMESPACES:
                by = by_friend or cursor.kind == clang.FRIEND
                # Where a body was skipped, what wraps a function ends before it too.
                ends = end if cursor.kind == clang.NAMESPACE else max(end, after[begin])
                self._scope(path, clang.children(cursor), ends, in_template, by)
            elif cursor.kind in CLASSES:
                self._scope(path, clang.children(cursor), end, in_template or cursor.kind in TEMPLATES, False)
            elif cursor.kind in FUNCTIONS or cursor.kind == clang.FUNCTION_TEMPLATE:
                self._function(path, cursor, begin, end, after[begin])
                if cursor.kind != clang.FUNCTION_TEMPLATE and not in_template:
                    self._entity(path, cursor, by_friend)
            else:
                if cursor.kind == clang.VARIABLE and not in_template:
                    self._entity(path, cursor, False)
                if end - begin >= self._limit:
                    self._inside(path, cursor)

    def _function(self, path, cursor, begin, end, next_begin):
        if not self._bodies:  # Nor does a declaration tell then whether it is a definition.
            end = max(end, self._last_line(path, begin, next_begin))
        if end - begin >= self._limit:
            self._add(path, begin, end, clang.spelling(cursor))
            self._inside(path, cursor)

    def _last_line(self, path, begin, next_begin):
        """The last line with text before the line that begins the next declaration or ends the scope; that line
        itself, where it may end the function too."""
        lines = self._lines[path]
        if next_begin <= len(lines):
            braces = lines[next_begin - 1].count('}')
            if braces > (1 if lines[next_begin - 1].startswith('}') else 0):
                return next_begin
        last = next_begin - 1
        while last > begin and not lines[last - 1].strip():
            last -= 1
        return max(last, begin)

    def _inside(self, path, cursor):
        """Lambdas and local classes' functions."""
        for child in clang.children(cursor):
            file, begin, end = self._unit.extent(child)
            if file != path or end - begin < self._limit:
                continue
            if child.kind == clang.LAMBDA:
                self._add(path, begin, end, 'lambda')
            elif child.kind in FUNCTIONS or child.kind == clang.FUNCTION_TEMPLATE:
                self._add(path, begin, end, clang.spelling(child))
            self._inside(path, child)

    def _add(self, path, begin, end, name):
        if [begin, end, name] not in self.found[path]['functions']:
            self.found[path]['functions'].append([begin, end, name])

    def _entity(self, path, cursor, by_friend):
        if not clang.is_external(cursor):
            return
        if clang.is_definition(cursor) or cursor.kind != clang.VARIABLE and self._begins_body(path, cursor):
            self.found[path]['defines'].append(clang.usr(cursor))
        elif not (clang.is_pure(cursor) or clang.is_inline(cursor)):
            line = self._unit.location(cursor)[1]
            free = cursor.kind == clang.FUNCTION
            self.found[path]['declares'].append([line, clang.spelling(cursor), clang.usr(cursor), by_friend, free])

    def _begins_body(self, path, cursor):
        """Whether a function whose body was skipped has one. A member declared outside of its class is defined."""
        if clang.is_out_of_line(cursor):
            return True
        file, line, column = self._unit.end(cursor)
        if file != path:
            return False
        rest = [self._lines[path][line - 1][column - 1:], *self._lines[path][line:line + 8]]
        following = re.search(r'[;{=]', '\n'.join(rest))
        return bool(following) and following.group() == '{'


class Flags:
    """How files of a tree are compiled; `generated` is a folder of this run's own."""

    def __init__(self, root, generated):
        self._root = root
        deps = os.environ.get('ENCORE_DEPS', os.path.expanduser('~/.cache/encore/deps'))
        folders = [folder for pattern in LIBRARY_FOLDERS for folder in sorted(glob.glob(os.path.join(deps, pattern)))]
        os.symlink(root, os.path.join(generated, 'encore'))
        os.mkdir(os.path.join(generated, 'proto'))
        self._folders = [generated, os.path.join(generated, 'proto'), *folders, *SYSTEM_FOLDERS]

    def of(self, path):
        """The arguments for a file; a workspace below the tree includes from its own folder too."""
        folders = list(self._folders)
        folder = os.path.dirname(path)
        while folder != self._root and len(folder) > 1:
            if os.path.exists(os.path.join(folder, 'WORKSPACE')):
                folders.append(folder)
            folder = os.path.dirname(folder)
        language = 'c++-header' if path.endswith('.h') else 'c++'
        return ['-x', language, *LANGUAGE, *('-I' + folder for folder in folders)]


class Tree:
    """The parsed files of a tree: `files` maps each path to what Reader collects, `errors` to the message of what does
    not parse."""

    def __init__(self, root, paths, limit, cache):
        self.root = root
        self._limit = limit
        self._texts = {}
        self._included = {}
        for path in paths:
            self._read(path)
        self.files, self.errors = {}, {}
        keys = {path: self._key(path) for path in paths}
        with _locked(cache):
            store = cache and os.path.join(cache, hashlib.sha256(root.encode()).hexdigest()[:16] + '.json')
            kept = _load(store)
            self.files = {path: kept[key] for path, key in keys.items() if key in kept}
            missing = [path for path in paths if path not in self.files]
            if missing:
                self._parse(missing)
                _keep(store, {keys[path]: found for path, found in self.files.items()})

    def text(self, path):
        return self._texts[path].decode()

    def _read(self, path):
        if path in self._texts:
            return
        with open(path, 'rb') as file:
            text = file.read()
        self._texts[path] = text
        self._included[path] = []
        for name in INCLUDE.findall(text):
            own = os.path.join(self.root, name[1:-1].decode().removeprefix('encore/'))
            own = re.sub(r'\.pb\.h$', '.proto', own)
            if name.startswith(b'"encore/') and os.path.isfile(own):
                self._included[path].append(own)
                self._read(own)

    def _reach(self, path):
        """The files of the tree that a file includes, itself among them."""
        reached, left = {path}, [path]
        while left:
            for included in self._included[left.pop()]:
                if included not in reached:
                    reached.add(included)
                    left.append(included)
        return reached

    @functools.cached_property
    def _digests(self):
        return {path: hashlib.sha256(text).hexdigest() for path, text in self._texts.items()}

    def _key(self, path):
        parts = [str(FORMAT), str(self._limit), clang.version(), *LANGUAGE, os.path.relpath(path, self.root)]
        parts += sorted(self._digests[reached] for reached in self._reach(path))
        return hashlib.sha256('\n'.join(parts).encode()).hexdigest()

    def _parse(self, missing):
        with tempfile.TemporaryDirectory(prefix='encore-lint-') as folder:
            self._flags = Flags(self.root, folder)
            self._generate(os.path.join(folder, 'proto'))
            self._preludes = []
            if len(missing) >= WORTH_A_PRELUDE:
                self._make_preludes(folder, missing)
            left = [path for path in missing if not self._is_settled(path)]
            with multiprocessing.get_context('fork').Pool(len(os.sched_getaffinity(0))) as pool:
                for path, found, error in pool.imap_unordered(self._parse_one, left, chunksize=4):
                    if error:
                        self.errors[path] = error
                    else:
                        self.files[path] = found
        for path in self.errors:
            self.files.pop(path, None)

    def _generate(self, folder):
        """Headers that protoc makes."""
        names = {name[1:-1].decode() for text in self._texts.values() for name in INCLUDE.findall(text)
                 if name.endswith(b'.pb.h"')}
        for name in sorted(names):
            proto = name.replace('.pb.h', '.proto')
            if proto.startswith('encore/'):
                os.makedirs(os.path.join(folder, 'encore'), exist_ok=True)
                command = ['-I', self.root, '--cpp_out', os.path.join(folder, 'encore'), proto.removeprefix('encore/')]
            elif os.path.exists(os.path.join('/usr/include', proto)):
                command = ['-I', '/usr/include', '--cpp_out', folder, proto]
            else:
                continue
            subprocess.run(['protoc', *command], check=True, cwd=self.root)

    def _make_preludes(self, folder, missing):
        """Precompiles the libraries' headers, then the tree's, which are read on the way."""
        libraries = sorted({name.decode() for path in self._texts if path.endswith(('.h', '.cc'))
                            for name in INCLUDE.findall(self._texts[path]) if not name.startswith(b'"encore/')})
        source = os.path.join(folder, 'libraries.h')
        with open(source, 'w', encoding='utf-8') as file:
            for name in libraries:
                file.write(f'#if __has_include({name})\n#include {name}\n#endif\n')
        unit = clang.Unit(source, self._flags.of(source), SKIPPING | clang.FOR_SERIALIZATION)
        saved = not any(unit.errors()) and unit.save(source + '.pch')
        unit.close()
        if saved:
            self._preludes.append(source + '.pch')
            self._make_own_prelude(folder, missing)

    def _make_own_prelude(self, folder, missing):
        """The tree's headers in one unit. Those that cannot be with the others, and what includes them, stay out."""
        usual = self._flags.of(os.path.join(self.root, 'x.h'))
        headers = [path for path in sorted(self._texts) if path.endswith('.h') and self._flags.of(path) == usual]
        source = os.path.join(folder, 'headers.h')
        out = set()
        while True:
            inside = [path for path in headers if not out & self._reach(path)]
            with open(source, 'w', encoding='utf-8') as file:
                for path in inside:
                    file.write(f'#include "encore/{os.path.relpath(path, self.root)}"\n')
            unit = clang.Unit(source, self._on(source, self._preludes[0]), SKIPPING | clang.FOR_SERIALIZATION)
            wrong = {path for path, _, _ in unit.errors()}
            if not wrong:
                break
            unit.close()
            if not wrong & set(inside):
                return
            out |= wrong
        if not unit.save(source + '.pch'):
            return
        self._preludes.insert(0, source + '.pch')
        wanted = {path: self.text(path) for path in inside if path in missing}
        self.files.update(Reader(unit, wanted, False, self._limit).read())
        unit.close()

    def _is_settled(self, path):
        return path in self.files and not self.files[path]['functions']

    def _on(self, path, prelude):
        return self._flags.of(path) + (['-include-pch', prelude] if prelude else [])

    def _parse_one(self, path):
        """(path, what it holds, none), or (path, none, why it does not parse)."""
        found = self.files.get(path)
        error = None
        if not found:
            found, error = self._parse_with(path, SKIPPING, False)
        if found and found['functions']:
            found, error = self._parse_with(path, WHOLE, True)
        return path, found, error

    def _parse_with(self, path, flags, bodies):
        # A header that the prelude holds would be empty behind it.
        header = path.endswith('.h')
        preludes = self._preludes[1:] if header else self._preludes
        error = None
        for prelude in (*preludes, None):
            unit = clang.Unit(path, self._on(path, prelude), flags)
            error = next(unit.errors(), None)
            found = None
            if not error:
                found = Reader(unit, {path: self.text(path)}, bodies, self._limit).read()[path]
            unit.close()
            if not error:
                return found, None
        file, line, message = error
        return None, f'{file}:{line}: clang does not parse {os.path.basename(path)}: {message}'


@contextlib.contextmanager
def _locked(cache):
    """Checks that run at once parse once."""
    if not cache:
        yield
        return
    os.makedirs(cache, exist_ok=True)
    with open(os.path.join(cache, 'lock'), 'w', encoding='utf-8') as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _load(store):
    try:
        with open(store, encoding='utf-8') as file:
            return json.load(file)
    except (OSError, TypeError, ValueError):
        return {}


def _keep(store, found):
    if store:
        with open(store + '.new', 'w', encoding='utf-8') as file:
            json.dump(found, file)
        os.replace(store + '.new', store)
