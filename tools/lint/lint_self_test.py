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

    def findings(self, check, files, groups=GROUPS):
        with tempfile.TemporaryDirectory() as root:
            build = ''.join(
                'package_group(\n    name = "%s",\n    packages = [%s],\n)\n' %
                (name, ', '.join('"//%s/..."' % layer for layer in layers.split()))
                for name, layers in groups.items())
            for path, text in {**files, 'BUILD.bazel': build}.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                    file.write(text)
            result = subprocess.run([sys.executable, LINT, '--check', check, root], capture_output=True, text=True)
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

    def test_budgets(self):
        self.assertEqual(len(self.findings('budgets', {'ir/a.h': '//\n' * 251})), 1)
        self.assertEqual(len(self.findings('budgets', {'ir/a.cc': '//\n' * 501})), 1)
        body = 'void F() {\n' + '  x();\n' * 59 + '}\n'
        self.assertEqual(len(self.findings('budgets', {'ir/a.cc': body})), 1)
        self.assertEqual(self.findings('budgets', {'ir/a.cc': body.replace('  x();\n', '', 1)}), [])

    def test_output(self):
        for text in ('std::printf("x");', '  std::fputs(x, stderr);', 'out = &std::cout;', 'fwrite(a, 1, n, stdout);'):
            files = {'tools/a/b.cc': text + '\n', 'tools/terminal.cc': text + '\n', 'ir/a.cc': text + '\n'}
            self.assertEqual(self.findings('output', files),
                             ['tools/a/b.cc:1: writes text as it is; use tools/terminal.h'])
        self.assertEqual(self.findings('output', {'tools/a.cc': 'Printf("x");  // as std::printf(\n'
                                                                'std::snprintf(a, n, "x");\n'}), [])

    def test_format(self):
        self.assertEqual(self.findings('format', {'ir/a.cc': 'int  x;\n'}),
                         ['ir/a.cc:1:4: not formatted; run clang-format-19 -i on the file'])


if __name__ == '__main__':
    unittest.main()
