#!/usr/bin/env python3
"""Runs the example models as `encore run` does and reads the answers."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

TOOL = sys.argv.pop(1)


class ExamplesTest(unittest.TestCase):
    def test_answers(self):
        with tempfile.TemporaryDirectory() as folder:
            reports = os.path.join(folder, 'reports')
            command = [TOOL, 'run', '--repeat', '2', '--json', reports]
            runs = [subprocess.run(command, capture_output=True, text=True, check=False,
                                   env={**os.environ, 'ENCORE_CACHE': os.path.join(folder, 'cache')})
                    for _ in range(2)]
            for run in runs:
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            with open(reports) as file:
                second = [json.loads(line) for line in file]
        self.assertEqual([report['model'] for report in second],
                         ['magika', 'basic_pitch', 'ppocrv4_det', 'ppocrv4_rec', 'ppocrv4_cls', 'silero_vad'])
        self.assertEqual({report['cache'] for report in second}, {'hit'})
        self.assertTrue(all(output['ok'] for report in second for output in report['outputs']))
        for text in ('BUILD.bazel: bazel (100 %)', 'make.py: python', 'command.h: c', 'setup: shell',
                     '5 notes: C4 (0.10', 'D4 (', 'E4 (', 'F4 (', 'G4 (', '10 boxes of text',
                     '"Compile once, replay"', '"Step 42: 3.14 us"', 'turned: 180 degrees', 'upright: 0 degrees',
                     'speech: speech from 0.58 to 1.63 s (97 %), from 2.08 to 2.94 s (98 %)'):
            self.assertIn(text, runs[1].stdout)


if __name__ == '__main__':
    unittest.main()
