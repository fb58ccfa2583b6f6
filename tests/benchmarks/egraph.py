#!/usr/bin/env python3
"""Compares `encore egraph` with egglog and egg on the math microbenchmark, in one run.

    python3 tests/benchmarks/egraph.py --venv ~/egglog-venv --encore bazel-bin/tools/encore

makes the virtual environment (outside the repository) where it is missing. All sides parse the program and run it on
one thread, in turns; minimum and median of --rounds are printed as rows of tests/benchmarks/results/egraph.md.
egglog's figure is of the call that parses and runs the program in an interpreter that is up already. Beside it stands
the same of encore: `cpu_seconds` of --stats, from before the file is read until the program has run. egg is measured as
a whole process, where its program was built (`cargo build --release` in tests/benchmarks/egg) and named by --egg; beside
it stands the whole process of encore, its start and end included.
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

# Times one run; `parse_and_run_program` in older releases, two calls in this one.
PEER = """
import json, sys, time
from egglog.bindings import EGraph
text = open(sys.argv[1]).read()
graph = EGraph()
wall, cpu = time.perf_counter(), time.process_time()
if hasattr(graph, "parse_and_run_program"):
    graph.parse_and_run_program(text)
else:
    graph.run_program(*graph.parse_program(text))
print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu]))
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venv", required=True, help="virtual environment with egglog; made where missing")
    parser.add_argument("--encore", default="bazel-bin/tools/encore")
    parser.add_argument("--egg", help="egg's program: tests/benchmarks/egg/target/release/math")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    python = os.path.join(options.venv, "bin", "python")
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", options.venv], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", EGGLOG], check=True)
    version = subprocess.run(
        [python, "-c", "import importlib.metadata as m; print(m.version('egglog'))"],
        check=True, capture_output=True, text=True).stdout.strip()
    print(f"egglog {version}; minimum / median of {options.rounds} rounds in turns, ms of CPU time, both with parsing\n")
    columns = ["iterations", "egglog, call", "encore, call", "ratio"]
    columns += ["egg, process"] * bool(options.egg) + ["encore, process"] + ["ratio"] * bool(options.egg)
    columns += ["egglog, call / encore, process", "bytes per e-node, peak"]
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    with tempfile.TemporaryDirectory() as folder:
        egg_file = os.path.join(folder, "math.egg_rules")
        with open(egg_file, "w") as file:
            file.write(egg_program())
        for iterations in ITERATIONS:
            path = os.path.join(folder, f"math{iterations}.egg")
            with open(path, "w") as file:
                file.write(PROGRAM.replace("{iterations}", str(iterations)))
            theirs, calls, ours, eggs = [], [], [], []
            for _ in range(options.rounds):
                cpu, output = cpu_seconds([options.encore, "egraph", path, "--stats"])
                ours.append(cpu)
                stats = json.loads(output.strip().splitlines()[-1])["stats"]
                calls.append(stats["cpu_seconds"])
                if (stats["enodes"], stats["classes"]) != COUNTS[iterations]:
                    sys.exit(f"wrong counts after {iterations} iterations: {stats}")
                peer = subprocess.run([python, "-c", PEER, path], check=True, capture_output=True, text=True).stdout
                theirs.append(json.loads(peer)[1])
                if options.egg:
                    cpu, output = cpu_seconds([options.egg, egg_file, str(iterations)])
                    eggs.append(cpu)
                    if tuple(map(int, output.split())) != COUNTS[iterations]:
                        sys.exit(f"wrong counts of egg after {iterations} iterations: {output}")
            cells = [str(iterations), milliseconds(theirs), milliseconds(calls), ratio(theirs, calls)]
            cells += ([milliseconds(eggs)] if options.egg else []) + [milliseconds(ours)]
            cells += ([ratio(eggs, ours)] if options.egg else []) + [ratio(theirs, ours)]
            cells += [f"{stats['peak_bytes'] / stats['enodes']:.1f}"]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
