#!/usr/bin/env python3
"""Compares `encore egraph` with egglog and egg on the math microbenchmark, in one run.

    ./encore bench egraph [--egg tests/benchmarks/egg/target/release/math] [--rounds 5]

All sides read and parse the program and run it on one thread, each round in processes of their own, in turns whose order
changes; rounds in which the machine was disturbed are dropped for all (rounds.py), and the table says how many. CPU time,
minimum / median. Two things are compared, each with the same ends on both sides: the call, from before the file is read until
the program has run and its graph is gone, which egglog makes in an interpreter that is up already and encore reports as
`cpu_seconds` of --stats; and the whole process, of egg where its program was built (`cargo build --release` in
tests/benchmarks/egg) and of encore. Versions are those that the programs say they have.
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile

import device
import rounds

EGGLOG = "egglog==13.2.0"
ITERATIONS = (8, 10, 11)
COUNTS = {8: (8113, 3576), 10: (136446, 58464), 11: (1047896, 443832)}

PROGRAM = """
(datatype Math (Diff Math Math) (Integral Math Math) (Add Math Math) (Sub Math Math) (Mul Math Math)
  (Div Math Math) (Pow Math Math) (Ln Math) (Sqrt Math) (Sin Math) (Cos Math) (Const i64) (Var String))
(rewrite (Add a b) (Add b a))
(rewrite (Mul a b) (Mul b a))
(rewrite (Add a (Add b c)) (Add (Add a b) c))
(rewrite (Mul a (Mul b c)) (Mul (Mul a b) c))
(rewrite (Sub a b) (Add a (Mul (Const -1) b)))
(rewrite (Add a (Const 0)) a)
(rewrite (Mul a (Const 0)) (Const 0))
(rewrite (Mul a (Const 1)) a)
(rewrite (Sub a a) (Const 0))
(rewrite (Mul a (Add b c)) (Add (Mul a b) (Mul a c)))
(rewrite (Add (Mul a b) (Mul a c)) (Mul a (Add b c)))
(rewrite (Mul (Pow a b) (Pow a c)) (Pow a (Add b c)))
(rewrite (Pow x (Const 1)) x)
(rewrite (Pow x (Const 2)) (Mul x x))
(rewrite (Diff x (Add a b)) (Add (Diff x a) (Diff x b)))
(rewrite (Diff x (Mul a b)) (Add (Mul a (Diff x b)) (Mul b (Diff x a))))
(rewrite (Diff x (Sin x)) (Cos x))
(rewrite (Diff x (Cos x)) (Mul (Const -1) (Sin x)))
(rewrite (Integral (Const 1) x) x)
(rewrite (Integral (Cos x) x) (Sin x))
(rewrite (Integral (Sin x) x) (Mul (Const -1) (Cos x)))
(rewrite (Integral (Add f g) x) (Add (Integral f x) (Integral g x)))
(rewrite (Integral (Sub f g) x) (Sub (Integral f x) (Integral g x)))
(rewrite (Integral (Mul a b) x) (Sub (Mul a (Integral b x)) (Integral (Mul (Diff x a) (Integral b x)) x)))
(Integral (Ln (Var "x")) (Var "x"))
(Integral (Add (Var "x") (Cos (Var "x"))) (Var "x"))
(Integral (Mul (Cos (Var "x")) (Var "x")) (Var "x"))
(Diff (Var "x") (Add (Const 1) (Mul (Const 2) (Var "x"))))
(Diff (Var "x") (Sub (Pow (Var "x") (Const 3)) (Mul (Const 7) (Pow (Var "x") (Const 2)))))
(Add (Mul (Var "y") (Add (Var "x") (Var "y"))) (Sub (Add (Var "x") (Const 2)) (Add (Var "x") (Var "x"))))
(Div (Const 1) (Sub (Div (Add (Const 1) (Sqrt (Var "five"))) (Const 2))
                    (Div (Sub (Const 1) (Sqrt (Var "five"))) (Const 2))))
(run {iterations})
"""

# `parse_and_run_program` in older releases, two calls in this one.
PEER = """
import json, sys, time
from egglog.bindings import EGraph
cpu = time.process_time()
graph = EGraph()
text = open(sys.argv[1]).read()
if hasattr(graph, "parse_and_run_program"):
    graph.parse_and_run_program(text)
else:
    graph.run_program(*graph.parse_program(text))
del graph
print(json.dumps(time.process_time() - cpu))
"""


def cpu_seconds(command):
    """CPU seconds of a whole process, and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, output


def milliseconds(seconds):
    return f"{1e3 * min(seconds):.1f} / {1e3 * statistics.median(seconds):.1f}"


def ratio(theirs, ours):
    return f"{min(theirs) / min(ours):.1f}"


def egg_program():
    """PROGRAM's rules and terms as egg reads them, a line each."""
    lines = []
    for line in re.sub(r"\n +", " ", PROGRAM).strip().splitlines():
        line = re.sub(r'\((?:Const|Var) "?([^)"]+)"?\)', r"\1", line)
        if rule := re.fullmatch(r"\(rewrite (\(.*\)) (\S+|\(.*\))\)", line):
            balanced = next(i for i in range(len(line)) if line[9:i].count("(") == line[9:i].count(")") > 0)
            left, right = line[9:balanced], line[balanced + 1:-1]
            lines.append(re.sub(r"\b([a-z])\b", r"?\1", f"{left} => {right}"))
        elif not line.startswith(("(datatype", "(run")):
            lines.append(line)
    return "\n".join(lines) + "\n"


def egglog_python(venv):
    """The interpreter of the environment that has egglog, made where it is missing, and egglog's version."""
    python = os.path.join(venv, "bin", "python")
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    find = [python, "-c", "import importlib.metadata as m; print(m.version('egglog'))"]
    found = subprocess.run(find, capture_output=True, text=True).stdout.strip()
    if found != EGGLOG.split("==")[1]:
        subprocess.run([python, "-m", "pip", "install", "-q", EGGLOG], check=True)
        found = subprocess.run(find, check=True, capture_output=True, text=True).stdout.strip()
    return python, found


class Sides:
    """One turn of each program on one file. encore's gives (CPU seconds of the process, of the call, its statistics)."""

    def __init__(self, encore, python, egg, path, egg_path, iterations):
        self.encore, self.python, self.egg = encore, python, egg
        self.path, self.egg_path, self.iterations = path, egg_path, iterations

    def check(self, program, counts):
        if tuple(counts) != COUNTS[self.iterations]:
            sys.exit(f"wrong counts of {program} after {self.iterations} iterations: {counts}")

    def run_encore(self):
        cpu, output = cpu_seconds([self.encore, "egraph", self.path, "--stats"])
        stats = json.loads(output.strip().splitlines()[-1])["stats"]
        self.check("encore", (stats["enodes"], stats["classes"]))
        return cpu, stats["cpu_seconds"], stats

    def run_egglog(self):
        return float(subprocess.run([self.python, "-c", PEER, self.path], check=True, capture_output=True,
                                    text=True).stdout)

    def run_egg(self):
        cpu, output = cpu_seconds([self.egg, self.egg_path, str(self.iterations)])
        self.check("egg", map(int, output.split()))
        return cpu

    def turns(self):
        return {"encore": self.run_encore, "egglog": self.run_egglog, **({"egg": self.run_egg} if self.egg else {})}


def row(iterations, settled, egg):
    processes, calls, stats = zip(*settled.of("encore"))
    egglog, eggs = settled.of("egglog"), settled.of("egg") if egg else []
    cells = [str(iterations), milliseconds(egglog), milliseconds(calls), ratio(egglog, calls)]
    cells += [milliseconds(eggs)] * egg + [milliseconds(processes)] + ([ratio(eggs, processes)] if egg else [])
    cells += [ratio(egglog, processes), f"{stats[-1]['peak_bytes'] / stats[-1]['enodes']:.1f}", str(len(settled.rounds)),
              rounds.reasons(settled.dropped) + " (all)" * settled.disturbed]
    return "| " + " | ".join(cells) + " |"


def table(options, python, egg):
    columns = ["iterations", "egglog, call", "encore, call", "ratio"]
    columns += ["egg, process"] * egg + ["encore, process"] + ["ratio"] * egg
    columns += ["egglog, call / encore, process", "bytes per e-node, peak", "rounds", "dropped rounds"]
    yield "| " + " | ".join(columns) + " |"
    yield "|---" * len(columns) + "|"
    measured, machine = [], rounds.Machine()
    with tempfile.TemporaryDirectory() as folder:
        egg_path = os.path.join(folder, "math.egg_rules")
        with open(egg_path, "w") as file:
            file.write(egg_program())
        for iterations in ITERATIONS:
            path = os.path.join(folder, f"math{iterations}.egg")
            with open(path, "w") as file:
                file.write(PROGRAM.replace("{iterations}", str(iterations)))
            sides = Sides(options.encore, python, options.egg, path, egg_path, iterations)
            measured.append((iterations, rounds.Rounds(sides.turns(), machine)))
            measured[-1][1].run_until(options.rounds, 3 * options.rounds)
    for iterations, taken in measured:
        yield row(iterations, taken.settle(), egg)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venv", required=True, help="virtual environment with egglog; made where missing")
    parser.add_argument("--encore", default="bazel-bin/tools/encore")
    parser.add_argument("--egg", help="egg's program: tests/benchmarks/egg/target/release/math")
    parser.add_argument("--rounds", type=int, default=5, help="undisturbed ones; at most three times as many are taken")
    options = parser.parse_args()
    python, version = egglog_python(options.venv)
    said = [f"egglog {version}"]
    if options.egg:
        said.append("egg " + subprocess.run([options.egg, "--version"], check=True, capture_output=True,
                                            text=True).stdout.strip())
    print(f"{' and '.join(said)} on {device.name()}; minimum / median of rounds in turns, ms of CPU time; ratios are of "
          "minima\n")
    for text in table(options, python, bool(options.egg)):
        print(text, flush=True)


if __name__ == "__main__":
    main()
