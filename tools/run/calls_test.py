#!/usr/bin/env python3
"""Several calls with carried state through the built program: run, record, replay, profile. The calls are of
trained voice detectors, an LSTM behind Ifs; examples/make.py made them, and what ONNX Runtime gives."""
import json
import os
import subprocess
import sys
import unittest

import files
from commands import CommandTest

TOOL = os.path.abspath(sys.argv.pop(1))
HERE = os.path.dirname(os.path.abspath(__file__))

MODELS = os.path.join(os.environ['ENCORE_DEPS'], 'models', 'silero-vad==6.2.3', 'silero_vad', 'data')
VAD, HALF = os.path.join(MODELS, 'silero_vad.onnx'), os.path.join(MODELS, 'silero_vad_half.onnx')
SPEECH = os.path.join(HERE, 'examples', 'silero_vad', 'speech.npz')


class CallsTest(CommandTest):
    def tool(self, *arguments):
        return subprocess.run([TOOL, *arguments], capture_output=True, text=True, check=False,
                              env={**os.environ, 'ENCORE_CACHE': self.path('cache')})

    def report(self, *arguments):
        result = self.tool(*arguments, '--json', '-')
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return json.loads(result.stdout)

    def run_calls(self, model, name):
        return self.report('run', model, '--calls', os.path.join(HERE, 'testdata', name), '--atol', '5e-4')

    def test_a_recording_of_a_hundred_calls(self):
        recording = self.path('speech.encore')
        report = self.report('run', VAD, '--calls', SPEECH, '--atol', '5e-4', '--record', recording)
        self.assertEqual([output['ok'] for output in report['outputs']], [True, True])
        replayed = self.report('replay', 'run', recording)
        self.assertTrue(replayed['ok'])
        self.assertEqual(len(replayed['calls']), 100)
        self.assertEqual(self.tool('replay', 'verify', recording).returncode, 0)
        profile = self.report('replay', 'profile', recording, '--repeat', '3')
        self.assertEqual(profile['replays'], 3)
        self.assertTrue(any('If_0' in origin for step in profile['steps'] for origin in step['origins']))
        # Recorded without a replay to measure: what is carried is the same.
        again = self.path('again.encore')
        self.report('run', VAD, '--calls', SPEECH, '--repeat', '0', '--record', again)
        with open(recording, 'rb') as a, open(again, 'rb') as b:
            self.assertEqual(a.read(), b.read())

    def test_both_rates_from_one_entry(self):
        report = self.run_calls(VAD, 'silero_rates.npz')
        self.assertEqual([output['ok'] for output in report['outputs']], [True, True])
        self.assertEqual(self.run_calls(VAD, 'silero_rates.npz')['cache'], 'hit')
        status = json.loads(self.tool('cache', 'status', '--json', '-').stdout)
        self.assertEqual(status['kinds']['graph']['entries'], 1, status)

    def test_half_precision(self):
        report = self.run_calls(HALF, 'silero_half.npz')
        self.assertEqual([output['ok'] for output in report['outputs']], [True, True])

    # Frames of 36 ms at 16 kHz: the other rate's branch does not take them.
    def test_a_branch_for_other_extents_is_refused_when_taken(self):
        calls = self.path('calls.npz')
        with open(calls, 'wb') as file:
            file.write(files.npz({'in/input': files.npy([0.0] * 576, [1, 576]),
                                  'in/state': files.npy([0.0] * 256, [2, 1, 128]),
                                  'each/in/sr': files.npy([16000, 8000], [2], files.INT32)}))
        result = self.tool('run', VAD, '--calls', calls)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn('not for the shapes given', result.stderr)
        self.assertIn('decoder/rnn/LSTM', result.stderr)

    def test_bad_calls(self):
        for tensors, text in (({'input': ([0.0], [1])}, 'names neither an input'),
                              ({'carry/state': ([0.0], [1])}, 'carry/INPUT=OUTPUT'),
                              ({'each/in/a': ([0.0], []), 'each/in/b': ([0.0] * 2, [2])}, 'one part per call'),
                              ({'each/in/a': ([0.0], [1]), 'each/in/b': ([0.0] * 2, [2])}, 'one part per call')):
            path = self.path('bad.npz')
            with open(path, 'wb') as file:
                file.write(files.npz({name: files.npy(*tensor) for name, tensor in tensors.items()}))
            result = self.tool('run', VAD, '--calls', path)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(text, result.stderr)
        result = self.tool('run', VAD, '--calls', SPEECH, '--data', self.folder)
        self.assertEqual(result.returncode, 2)


if __name__ == '__main__':
    unittest.main()
