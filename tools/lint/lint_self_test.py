#!/usr/bin/env python3
"""What the checks find in a small tree that breaks each of them."""
import os
import subprocess
import sys
import tempfile
import unittest

LINT = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lint.py')

GROUPS = {
    'ir_users': 'ir opt backends cache tools tests',
    'opt_users': 'opt backends cache tools tests',
    'runtime_users': 'runtime backends cache tools tests',
    'backends_users': 'backends cache tools tests',
    'cache_users': 'cache tools tests',
    'tools_users': 'tools tests',
}


class LintTest(unittest.TestCase):

    def findings(self, check, files, groups=GROUPS, cache=None):
        with tempfile.TemporaryDirectory() as root:
            build = ''.join(
                'package_group(\n    name = "%s",\n    packages = [%s],\n)\n' %
                (name, ', '.join('"//%s/..."' % layer for layer in layers.split()))
                for name, layers in groups.items())
            for path, text in {**files, 'BUILD.bazel': build}.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                    file.write(text)
            kept = ['--cache', cache] if cache else []
            result = subprocess.run([sys.executable, LINT, '--check', check, *kept, root], capture_output=True, text=True)
            self.assertEqual(result.returncode, 1 if result.stdout else 0, result.stderr)
            return result.stdout.splitlines()

    def test_layers(self):
        self.assertEqual(self.findings('layers', {'cache/a.cc': '#include "encore/ir/graph/graph.h"\n'}), [])
        self.assertEqual(self.findings('layers', {'ir/a.cc': '#include "encore/opt/b.h"\n'}),
                         ['ir/a.cc:1: ir may not include opt/b.h'])
        self.assertEqual(self.findings('layers', {'runtime/a.h': '#include "encore/ir/types/dim.h"\n#include "encore/ir/ops/op.h"\n'}),
                         ['runtime/a.h:2: runtime may not include ir/ops/op.h'])
        wide = {**GROUPS, 'opt_users': 'ir opt backends cache tools tests'}
        self.assertIn('opt_users is', self.findings('layers', {}, wide)[0])

    def test_includes(self):
        files = {'ir/a.h': '', 'ir/a.cc': '#include <map>\n#include "encore/ir/a.h"\n'}
        self.assertEqual(self.findings('includes', files),
                         ['ir/a.cc:1: encore/ir/a.h is not the first include; move it up'])
        self.assertEqual(self.findings('includes', {'ir/a.h': '', 'ir/a.cc': '#include <map>\n'}),
                         ['ir/a.cc:1: does not include encore/ir/a.h; include it first'])

    def test_standard(self):
        files = {'ir/a.h': '#include <vector>\n', 'ir/a.cc': '#include "encore/ir/a.h"\nstd::vector<int> a;\n'}
        self.assertEqual(self.findings('standard', files), [])
        self.assertEqual(self.findings('standard', {'ir/a.cc': '#include "absl/x.h"\n// std::map\nstd::string a = "std::deque";\n'
                                                               'auto b = static_cast<ptrdiff_t>(1);\nstd::string c;\n'}),
                         ['ir/a.cc:3: string is used without <string>; include it',
                          'ir/a.cc:4: ptrdiff_t is used without <cstddef>; include it'])
        self.assertEqual(self.findings('standard', {'ir/b_test.cc': '#include "gtest/gtest.h"\nTEST(A, B) {}\n',
                                                    'tools/c.h': '#include "CLI/CLI.hpp"\n',
                                                    'tools/c.cc': '#include "encore/tools/c.h"\nCLI::App app;\n',
                                                    'ir/d_test.cc': '\nTEST_F(A, B) {}\n'}),
                         ['ir/d_test.cc:2: what gtest/gtest.h declares is used; include it'])

    def test_headers_of_gtest(self):
        for use in ('EXPECT_EQ(1, 1);', 'ASSERT_TRUE(true);', 'testing::Test a;', '::testing::TempDir();', 'ADD_FAILURE();',
                    'SCOPED_TRACE(1);', 'INSTANTIATE_TEST_SUITE_P(A, B, C());', 'TYPED_TEST(A, B) {}'):
            self.assertEqual(self.findings('standard', {'ir/a.cc': use + '\n'}),
                             ['ir/a.cc:1: what gtest/gtest.h declares is used; include it'], use)
            for header in ('gtest/gtest.h', 'gmock/gmock.h'):
                self.assertEqual(self.findings('standard', {'ir/a.cc': f'#include "{header}"\n{use}\n'}), [], use)
        for use in ('EXPECT_THAT(1, 1);', 'EXPECT_CALL(a, B());'):
            self.assertIn('ir/a.cc:2: what gmock/gmock.h declares is used; include it',
                          self.findings('standard', {'ir/a.cc': f'#include "gtest/gtest.h"\n{use}\n'}), use)
        # Names of others.
        self.assertEqual(self.findings('standard', {'ir/a.cc': 'encore::testing::Seed();\nEXPECTED(1);\nx.FAILED();\n'}), [])

    def test_budgets(self):
        self.assertEqual(len(self.findings('budgets', {'ir/a.h': '//\n' * 251})), 1)
        self.assertEqual(len(self.findings('budgets', {'ir/a.cc': '//\n' * 501})), 1)

    def test_folders(self):
        files = {f'ir/f{i}{end}': '' for i in range(25)
                 for end in ('.h', '.cc', '_test.cc', '_benchmark.cc', '_fuzz.cc', '_test.txt')}
        files.update({'ir/BUILD': '', 'ir/of/g.cc': '', 'ir/testdata/a.h': '', 'ir/only_test.cc': ''})
        self.assertEqual(self.findings('folders', files), [])
        for name in ('ir/g.h', 'ir/g.cc', 'ir/f0_part.cc', 'ir/g_test.h'):
            self.assertEqual(self.findings('folders', {**files, name: ''}),
                             ['ir:1: 26 header and source pairs, at most 25; give its themes folders'])

    def test_functions(self):
        cases = {
            'F': ('', 'void F() {\n', '}\n'),
            'Method': ('struct A {\n  int a;\n', '  void Method() {\n', '  }\n', '  int b;\n};\n'),
            'operator==': ('struct A {\n', '  bool operator==(const A& a) const {\n', '    return true;\n  }\n', '};\n'),
            'A': ('struct A {\n  A();\n  int a, b;\n};\n', 'A::A()\n    : a([] { return 1; }()),\n      b{2} {\n', '}\n'),
            'Inner': ('struct A {\n  struct B {\n', '    void Inner() {\n', '    }\n', '  };\n};\n'),
            'Later': ('struct A {\n  template <class T>\n  void Later(T t);\n};\n',
                      'template <class T>\nvoid A::Later(T t) {\n  t.anything(t);\n', '}\n'),
            'Constant': ('', 'constexpr int Constant() {\n', '  return 1;\n}\n'),
            'Deduced': ('', 'auto Deduced() {\n', '  return 1;\n}\n'),
            'Tried': ('', 'void Tried() try {\n', '} catch (...) {\n}\n'),
            'Linked': ('', 'extern "C" void Linked() {\n', '}\n'),
            'Friend': ('struct A {\n', '  friend void Friend(A a) {\n', '  }\n', '};\n'),
            'Spaced': ('namespace n {\n', 'void Spaced() {\n', '}\n', '}\n'),
            'Macros': ('#define OPEN {\n#define CLOSE }\n#define NAME(n) void n()\n', 'NAME(Macros) OPEN\n', 'CLOSE\n'),
            'Passed': ('#define MAKE(n, ...) void n() __VA_ARGS__\n', 'MAKE(Passed, {\n', '})\n'),
        }
        for lines in (60, 61):
            files, wanted = {}, []
            for name, parts in cases.items():
                outside, before, after, rest = (*parts, '')[:4]
                body = '  ;\n' * (lines - before.count('\n') - after.count('\n'))
                path = f'ir/{name.replace("=", "")}.cc'
                files[path] = outside + before + body + after + rest
                wanted.append(f'{path}:{outside.count(chr(10)) + 1}: {name} has 61 lines, at most 60; give its parts names')
            self.assertEqual(self.findings('functions', files), sorted(wanted) if lines == 61 else [])

    def test_functions_within_functions(self):
        body = '    x();\n' * 59
        both = self.findings('functions', {'ir/a.cc': f'void x();\nvoid F() {{\n  auto f = [] {{\n{body}  }};\n}}\n'})
        self.assertEqual(both, ['ir/a.cc:2: F has 63 lines, at most 60; give its parts names',
                                'ir/a.cc:3: lambda has 61 lines, at most 60; give its parts names'])
        at_scope = self.findings('functions', {'ir/a.h': f'void x();\nauto f = [] {{\n{body}  x(); }};\n'})
        self.assertEqual(at_scope, ['ir/a.h:2: lambda has 61 lines, at most 60; give its parts names'])
        local = f'void x();\nvoid F() {{\n  struct A {{\n    void M() {{\n{body}    }}\n  }};\n}}\n'
        self.assertIn('ir/a.cc:4: M has 61 lines, at most 60; give its parts names',
                      self.findings('functions', {'ir/a.cc': local}))

    def test_functions_of_tables_and_tests(self):
        row = '#define ROW(x) x,\n#include "encore/ir/a.def"\n#undef ROW\n'
        table = {'ir/a.def': 'ROW(1)\n' * 100, 'ir/a.cc': 'void F() {\n  int a[] = {\n' + row + '  };\n}\n'}
        self.assertEqual(self.findings('functions', table), [])
        test = '#include "gtest/gtest.h"\nTEST(Suite, Name) {\n' + '  FAIL();\n' * 59 + '}\nTEST(Suite, Other) {}\n'
        self.assertEqual(self.findings('functions', {'ir/a_test.cc': test}),
                         ['ir/a_test.cc:2: TestBody has 61 lines, at most 60; give its parts names'])
        main = 'int main() {\n' + '  main();\n' * 148 + '}\n'
        self.assertEqual(self.findings('functions', {'ir/a.cc': main}), [])
        self.assertEqual(len(self.findings('functions', {'ir/a.cc': main.replace('{\n', '{\n\n')})), 1)

    def test_functions_that_clang_may_not_see(self):
        macro = '#define M \\\n' + '  x(); \\\n' * 60 + '\nint x;\n'
        self.assertEqual(len(self.findings('functions', {'ir/a.cc': macro})), 1)
        branch = '#ifdef _WIN32\n' + 'int x();\n' * 61 + '#endif\n'
        self.assertEqual(len(self.findings('functions', {'ir/a.cc': branch})), 1)
        guard = '#ifndef ENCORE_A_H_\n#define ENCORE_A_H_\n' + 'int x();\n' * 61 + '#endif  // ENCORE_A_H_\n'
        self.assertEqual(self.findings('functions', {'ir/a.h': guard}), [])
        self.assertEqual(self.findings('functions', {'ir/a.cc': 'struct A {\n', 'ir/b.cc': 'Unknown x;\n'}),
                         ["ir/a.cc:1: clang does not parse a.cc: expected '}'",
                          "ir/b.cc:1: clang does not parse b.cc: unknown type name 'Unknown'"])

    def test_functions_of_many_files(self):
        """What is parsed on a prelude, with names in it that are at odds, and what is kept of it."""
        files = {f'ir/f{i}.h': f'int F{i}();\n' for i in range(30)}
        files.update({f'ir/f{i}.cc': f'#include "encore/ir/f{i}.h"\nint F{i}() {{\n  return 1;\n}}\n' for i in range(30)})
        files['ir/f1.h'] += 'using Odd = int;\n'
        files['ir/f2.h'] += 'struct Odd {};\n'
        files['ir/f3.cc'] += 'void Odd() {}\n' + 'int Long() {\n' + '\n' * 58 + '  return 1;\n}\n'
        files['ir/f4.h'] += 'inline int Wide() {\n' + '\n' * 58 + '  return 1;\n}\n'
        with tempfile.TemporaryDirectory() as cache:
            for _ in range(2):
                self.assertEqual(self.findings('functions', files, cache=cache),
                                 ['ir/f3.cc:6: Long has 61 lines, at most 60; give its parts names',
                                  'ir/f4.h:2: Wide has 61 lines, at most 60; give its parts names'])

    def test_headers(self):
        interface = ('struct Base {\n  virtual ~Base() = default;\n  virtual void Pure() = 0;\n};\n'
                     'inline int Inline() { return 1; }\ntemplate <class T>\nvoid Template(T t) {}\n'
                     'struct Made {\n  int n = 0;\n  int Twice() const { return 2 * n; }\n  Made(const Made&) = delete;\n};\n')
        self.assertEqual(self.findings('headers', {'ir/a.h': interface}), [])
        declared = ('void F();\n', 'struct A {\n  A(int a);\n  int a;\n};\n', 'struct A {\n  virtual void M() const;\n};\n',
                    'struct A {\n  static int count;\n};\n', 'extern int table[2];\n',
                    'struct A {};\nbool operator==(A a, A b);\n', 'struct A {\n  friend void G(A a);\n};\n')
        defined = ('void F() {\n}\n', 'A::A(int a)\n    : a(a) {}\n', 'void A::M() const {}\n', 'int A::count = 0;\n',
                   'int table[2] = {};\n', 'bool operator==(A a, A b) { return true; }\n', 'void G(A a) {}\n')
        for place, own in (('ir/a{}.cc', True), ('ir/a{}_part.cc', True), ('ir/b{}.cc', False), ('opt/a{}.cc', False)):
            files, wanted = {}, []
            for number, (header, source) in enumerate(zip(declared, defined)):
                path = place.format(number)
                files[f'ir/a{number}.h'] = header
                files[path] = f'#include "encore/ir/a{number}.h"\n{source}'
                wanted.append((f'ir/a{number}.h', path))
            found = self.findings('headers', files)
            self.assertEqual([(line.split(':')[0], line.split(' is defined in ')[-1].split(';')[0]) for line in found],
                             [] if own else wanted)

    def test_headers_without_findings(self):
        """A friend that another header declares, a function that a test of its own replaces, one of nowhere."""
        files = {'ir/a.h': '#include "encore/ir/b.h"\nstruct A {\n  friend B* Make();\n};\n',
                 'ir/b.h': '#pragma once\nstruct B {};\nB* Make();\nvoid Nowhere();\n',
                 'ir/b.cc': '#include "encore/ir/b.h"\nB* Make() { return nullptr; }\n',
                 'ir/other.cc': '#include "encore/ir/b.h"\nB* Make() { return nullptr; }\n'}
        self.assertEqual(self.findings('headers', files), [])

    def test_headers_that_are_interfaces(self):
        """Free functions with a file each; not where a file has two of them, or where a class is among them."""
        rows = {'ir/rows.h': 'void A();\nvoid B();\n',
                'ir/a.cc': '#include "encore/ir/rows.h"\nvoid A() {}\n',
                'ir/b.cc': '#include "encore/ir/rows.h"\nvoid B() {}\n'}
        self.assertEqual(self.findings('headers', rows), [])

        def lines(changed):
            return [finding.split(' is defined')[0] for finding in self.findings('headers', {**rows, **changed})]
        third = {'ir/rows.h': rows['ir/rows.h'] + 'void C();\n'}
        both = ['ir/rows.h:1: A', 'ir/rows.h:2: B']
        self.assertEqual(lines({**third, 'ir/b.cc': rows['ir/b.cc'] + 'void C() {}\n'}), both + ['ir/rows.h:3: C'])
        self.assertEqual(lines({**third, 'ir/rows.cc': '#include "encore/ir/rows.h"\nvoid C() {}\n'}), both)
        self.assertEqual(lines({'ir/rows.h': 'struct S {\n  void M();\n};\n' + rows['ir/rows.h'],
                                'ir/c.cc': '#include "encore/ir/rows.h"\nvoid S::M() {}\n'}),
                         ['ir/rows.h:2: M', 'ir/rows.h:4: A', 'ir/rows.h:5: B'])
        one = {'ir/rows.h': 'void A();\n', 'ir/b.cc': ''}
        self.assertEqual(lines(one), both[:1])

    def test_headers_that_expand_tables(self):
        """What rows of a .def declare is the table's."""
        files = {'ir/rows.def': 'ROW(A)\nROW(B)\n',
                 'ir/rows.h': '#define ROW(x) void x();\n#include "encore/ir/rows.def"\n#undef ROW\nvoid C();\n',
                 'ir/a.cc': '#include "encore/ir/rows.h"\nvoid A() {}\nvoid B() {}\nvoid C() {}\n'}
        self.assertEqual([finding.split(' is defined')[0] for finding in self.findings('headers', files)],
                         ['ir/rows.h:4: C'])

    def test_output(self):
        for text in ('std::printf("x");', '  std::fputs(x, stderr);', 'out = &std::cout;', 'fwrite(a, 1, n, stdout);'):
            files = {'tools/a/b.cc': text + '\n', 'tools/terminal.cc': text + '\n', 'ir/a.cc': text + '\n'}
            self.assertEqual(self.findings('output', files),
                             ['tools/a/b.cc:1: writes text as it is; use tools/terminal.h'])
        self.assertEqual(self.findings('output', {'tools/a.cc': 'Printf("x");  // as std::printf(\n'
                                                                'std::snprintf(a, n, "x");\n'}), [])

    def test_system(self):
        layer = {'ir/support/system_calls.def': 'ENCORE_SYSTEM_CALL(int, OpenAt, openat, (int f), (f), -1, EIO)\n'
                                                'ENCORE_SYSTEM_CALL(void*, MMap, mmap,\n    (int f), (f), nullptr)\n'}
        wrong = {'openat': 'int fd = openat(1);', 'mmap': 'return ::mmap(1);', 'getcwd': 'if (std::getcwd(a)) {}',
                 'absolute': 'fs::absolute(p);', 'exists': 'std::filesystem::exists(p);', 'ifstream': 'std::ifstream file(p);',
                 'steady_clock': 'std::chrono::steady_clock::now();', 'read': 'read(fd, a, 1);'}
        for name, line in wrong.items():
            for path in ('cache/store/a.cc', 'ir/import/onnx/a.h', 'ir/support/a.cc', 'backends/cpu/elf/a.cc', 'backends/a.cc', 'tools/a.cc'):
                self.assertEqual(self.findings('system', {**layer, path: '\n' + line + '\n'}),
                                 [f'{path}:2: {name} is no call of ir/support/system_calls.h; make it by sys::'])
        right = ('sys::OpenAt(1);', '// openat(1)', 'f("mmap(1)");', 'file.read(1);', 'file->read(1);', 'own::read(1);',
                 'const auto read = [](int) {};\nread(1);', 'void F(const Reader& read) { read(1); }', 'fs::path p = q.parent_path();',
                 'Status read(int a) {\n}\nread(1);', 'bool mmapped(1);', 'std::chrono::seconds(1);')
        for line in right:
            self.assertEqual(self.findings('system', {**layer, 'cache/a.cc': line + '\n'}), [], line)
        # Elsewhere, and where it is named with its reason.
        for path in ('opt/a.cc', 'tools/a_test.cc', 'cache/a_test.cc', 'cache/testing/a.cc', 'ir/support/system_calls.cc',
                     'backends/lowering/a.cc'):
            self.assertEqual(self.findings('system', {**layer, path: 'openat(1);\n'}), [])
        self.assertEqual(self.findings('system', {**layer, 'cache/session/session.cc': 'std::chrono::steady_clock::now();\n'}), [])
        self.assertEqual(len(self.findings('system', {**layer, 'cache/session/session.cc': 'openat(1);\n'})), 1)

    def test_format(self):
        self.assertEqual(self.findings('format', {'ir/a.cc': 'int  x;\n'}),
                         ['ir/a.cc:1:4: not formatted; run clang-format-19 -i on the file'])


if __name__ == '__main__':
    unittest.main()
