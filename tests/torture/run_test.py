#!/usr/bin/env python3
"""Tests of run, with fuzz targets and a Bazel that only say that they ran."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

RUN = pathlib.Path(__file__).resolve().parent / "run"

# Runs the script as it is, but not at a priority at which it would wait for whatever else the machine does.
NOT_NICE = """
import os, runpy, sys
os.nice = lambda _: 0
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

# As libFuzzer: folders, statistics, an input that found something, an end by SIGINT.
FUZZER = """#!/usr/bin/env python3
import pathlib, signal, sys, time
flags = dict(word[1:].split("=") for word in sys.argv[1:] if word.startswith("-"))
folders = [word for word in sys.argv[1:] if not word.startswith("-")]
def end(code):
    print("stat::number_of_executed_units: 7", flush=True)
    sys.exit(code)
signal.signal(signal.SIGINT, lambda *_: end(72))
print("folders", *folders, flush=True)
if KIND == "crash":
    pathlib.Path(flags["artifact_prefix"] + "crash-1").write_text("x")
    end(77)
if KIND == "broken":
    sys.exit(1)
while KIND == "slow" and time.process_time() < 1.2:
    pass
time.sleep(60 if KIND == "endless" else 0.1)
end(0)
"""

BAZEL = """#!/usr/bin/env python3
import pathlib, sys
if sys.argv[1] == "info":
    print(pathlib.Path(__file__).resolve().parents[1] / "built")
if sys.argv[1] != "test":
    sys.exit(0)
print(" ".join(sys.argv[1:]))
if VERDICT == "FAILED TO BUILD":
    print("ERROR: Build did NOT complete successfully")
    print("//tests/torture:a_test    NO STATUS")
    print("//tests/torture:b_test    FAILED TO BUILD")
    sys.exit(1)
if VERDICT == "BROKEN":
    print("ERROR: error loading package 'tests/torture'")
    sys.exit(7)
print("//tests/torture:a_test    PASSED in 1.5s")
print("//tests/torture:b_test   ", VERDICT, "in 1 out of 4 in 2.0s")
sys.exit(VERDICT != "PASSED")
"""


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.script = self.root / "tests/torture/run"
        self.script.parent.mkdir(parents=True)
        shutil.copy(RUN, self.script)
        for package in ("a/b", "c"):
            self.write(f"{package}/BUILD.bazel", 'encore_cc_fuzz(\n    name = "parser_fuzz",\n)\n')
        self.write("c/testdata/parser_fuzz/seed", "seed")

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def write_fuzzer(self, name, kind="quick"):
        self.write(f"built/{name}", FUZZER.replace("KIND", repr(kind)))

    def write_bazel(self, verdict):
        self.write("bin/bazel", BAZEL.replace("VERDICT", repr(verdict)))

    def start(self, *arguments, **variables):
        environment = dict(os.environ, PATH=f"{self.root / 'bin'}:{os.environ['PATH']}", **variables)
        return subprocess.Popen([sys.executable, "-c", NOT_NICE, self.script, "--state", self.root / "state", *arguments], env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run_built(self, *arguments):
        process = self.start("--built", self.root / "built", "--slice", "1", *arguments)
        output = process.communicate(timeout=200)[0]
        return process.returncode, output

    def interrupt_once(self, process, condition):
        """Ends it once its sums are as is said, however long that takes; its exit code and output."""
        path = self.root / "state/sums.json"
        while not path.exists() or not condition(self.sums()):
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=200)[0]
        return process.returncode, output

    def sums(self):
        return json.loads((self.root / "state/sums.json").read_text())

    def test_targets_of_one_name_have_their_own_sums_and_folders(self):
        self.write_fuzzer("a_b_parser_fuzz")
        self.write_fuzzer("c/parser_fuzz")
        logs = {}

        def is_done(sums):
            for log in (self.root / "state").glob("*.log"):
                lines = log.read_text().splitlines()
                logs.update({log.name: lines[0]} if lines else {})
            return len(sums) == 2 and len(logs) == 2 and all(row["runs"] for row in sums.values())
        process = self.start("--built", self.root / "built", "--slice", "1", "--minutes", "10", "--seed", "1")
        code, output = self.interrupt_once(process, is_done)
        self.assertEqual(code, 0, output)
        sums = self.sums()
        self.assertEqual(set(sums), {"//a/b:parser_fuzz", "//c:parser_fuzz"})
        for row in sums.values():
            self.assertGreater(row["runs"], 0)
            # The one that was interrupted may not have come to them.
            self.assertIn(row["trials"], (7 * row["runs"], 7 * row["runs"] - 7))
        state = self.root / "state"
        self.assertEqual({path.name for path in (state / "corpus").iterdir()}, {"a_b_parser_fuzz", "c_parser_fuzz"})
        self.assertEqual(logs["a_b_parser_fuzz.log"], f"folders {state}/corpus/a_b_parser_fuzz")
        self.assertEqual(logs["c_parser_fuzz.log"],
                         f"folders {state}/corpus/c_parser_fuzz {self.root}/c/testdata/parser_fuzz")
        self.assertRegex(output, r"\| //c:parser_fuzz \| \d+ \| \d+ \|")

    def test_a_finding_is_counted_once_and_fails(self):
        self.write_fuzzer("c_parser_fuzz", "crash")
        code, output = self.run_built("--minutes", "0.03")
        self.assertEqual(code, 1, output)
        self.assertIn(f"FOUND {self.root}/state/findings/c_parser_fuzz/crash-1", output)

    def test_only_one(self):
        self.write_fuzzer("a_b_parser_fuzz")
        self.write_fuzzer("c_parser_fuzz")
        code, output = self.run_built("--minutes", "0.03", "--only", "//c:parser_fuzz")
        self.assertEqual(code, 0, output)
        self.assertEqual(set(self.sums()), {"//c:parser_fuzz"})
        code, output = self.run_built("--only", "lexer_fuzz")
        self.assertEqual(code, 1)
        self.assertIn("no fuzz target lexer_fuzz; there are //a/b:parser_fuzz, //c:parser_fuzz", output)

    def test_a_signal_ends_it_with_its_sums(self):
        self.write_fuzzer("c_parser_fuzz", "endless")
        for number, runs in ((signal.SIGINT, 1), (signal.SIGTERM, 2)):
            log = self.root / "state/c_parser_fuzz.log"
            log.unlink(missing_ok=True)
            process = self.start("--built", self.root / "built", "--minutes", "1")
            while not log.exists() or "folders" not in log.read_text():
                time.sleep(0.01)
            process.send_signal(number)
            output = process.communicate(timeout=30)[0]
            self.assertEqual(process.returncode, 0, output)
            self.assertIn("interrupted", output)
            row = self.sums()["//c:parser_fuzz"]
            self.assertEqual((row["runs"], row["trials"], row["findings"]), (runs, 7 * runs, 0))

    def test_the_tests_alone(self):
        for verdict, found in (("PASSED", 0), ("FAILED", 1)):
            self.write_bazel(verdict)
            process = self.start("--minutes", "0", "--rounds", "5", "--jobs", "1")
            output = process.communicate(timeout=200)[0]
            self.assertEqual(process.returncode, found, output)
            self.assertEqual(self.sums()["//tests/torture:b_test"]["findings"], found)
        self.assertIn("test --jobs=1", (self.root / "state/tests.log").read_text())
        self.assertTrue(re.search(r"ENCORE_TORTURE_ROUNDS=5", output))

    def test_tests_and_fuzz_targets_take_turns(self):
        """Each has its time, the tests with a seed of their own in each round, and a round's seed can be given back."""
        self.write_bazel("PASSED")
        self.write_fuzzer("c/parser_fuzz")
        process = self.start("--minutes", "10", "--slice", "1", "--seed", "70")
        code, output = self.interrupt_once(process, lambda sums: sums.get("//c:parser_fuzz", {"runs": 0})["runs"] > 1)
        self.assertEqual(code, 0, output)
        seeds = [int(seed) for seed in re.findall(r"^seed (\d+): .*--test_env=ENCORE_TORTURE_SEED=\1 ", output, re.M)]
        self.assertEqual(seeds[0], 70)
        self.assertEqual(seeds, list(range(70, 70 + len(seeds))))
        sums = self.sums()
        self.assertEqual(sums["//tests/torture:a_test"]["trials"], len(seeds))
        self.assertGreater(sums["//c:parser_fuzz"]["runs"], 1)

    def test_more_tests_where_they_had_less_time(self):
        self.write_bazel("PASSED")
        self.write_fuzzer("c/parser_fuzz")
        row = {"runs": 1, "trials": 1, "cpu_seconds": 10.0, "findings": 0}
        self.write("state/sums.json", json.dumps({"//c:parser_fuzz": row}))
        process = self.start("--minutes", "10", ENCORE_TORTURE_SEED="5")
        code, output = self.interrupt_once(process, lambda sums: sums["//c:parser_fuzz"]["runs"] > 2)
        self.assertEqual(code, 0, output)
        # 3.5 s a round, as the fake has it: three rounds to 10.5.
        self.assertEqual(re.findall(r"^seed (\d+): ", output, re.M), ["5", "6", "7"])
        self.assertGreater(self.sums()["//c:parser_fuzz"]["runs"], 1)

    def test_tests_that_do_not_build_take_a_slice_each(self):
        """And those that fail before Bazel knows of any test; each round is counted."""
        self.write_fuzzer("c/parser_fuzz")
        for verdict, rows in (("FAILED TO BUILD", ["//tests/torture:a_test", "//tests/torture:b_test"]),
                              ("BROKEN", ["//tests/torture/..."])):
            shutil.rmtree(self.root / "state", ignore_errors=True)
            self.write_bazel(verdict)
            process = self.start("--minutes", "10", "--slice", "1", "--seed", "1")
            code, output = self.interrupt_once(process, lambda sums: sums.get("//c:parser_fuzz", {"runs": 0})["runs"] > 2)
            self.assertEqual(code, 1, output)
            rounds = len(re.findall(r"^seed \d+: ", output, re.M))
            self.assertGreater(rounds, 0)
            sums = self.sums()
            # A turn of the fuzz target takes some tenths of a second here, one of these tests counts for a second.
            self.assertLessEqual(rounds, 1 + sums["//c:parser_fuzz"]["runs"])
            self.assertEqual(set(sums), {"//c:parser_fuzz", *rows})
            for row in rows:
                self.assertEqual((sums[row]["findings"], sums[row]["trials"]), (rounds, 0))
                self.assertIn(f"FAILED {row}: Bazel ended with exit code", output)

    def test_what_ends_at_once_leaves_the_rest_its_time(self):
        """A fuzz target that fails in each of its turns has no more of them than one that goes on."""
        self.write_fuzzer("a_b_parser_fuzz", "broken")
        self.write_fuzzer("c_parser_fuzz", "slow")
        process = self.start("--built", self.root / "built", "--minutes", "10", "--slice", "1", "--seed", "1")
        code, output = self.interrupt_once(process, lambda sums: sums.get("//c:parser_fuzz", {"runs": 0})["runs"] > 3)
        self.assertEqual(code, 1, output)
        sums = self.sums()
        broken = sums["//a/b:parser_fuzz"]
        self.assertGreater(broken["findings"], 0)
        # The one that was interrupted is none.
        self.assertIn(broken["runs"] - broken["findings"], (0, 1))
        self.assertLessEqual(broken["runs"], sums["//c:parser_fuzz"]["runs"] + 1)

    def test_a_seed_that_is_none(self):
        for seed in ("-1", str(2**63), "x"):
            for arguments, variables in ((["--seed", seed], {}), ([], {"ENCORE_TORTURE_SEED": seed})):
                process = self.start("--minutes", "0", *arguments, **variables)
                output = process.communicate(timeout=200)[0]
                self.assertEqual(process.returncode, 2, output)


if __name__ == "__main__":
    unittest.main()
