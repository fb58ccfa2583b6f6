#include "encore/tools/opt/egraph_command.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::tools {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::StartsWith;

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

std::string WriteProgram(const std::string& text) {
  const std::string path = testing::TempDir() + "/program.egg";
  std::ofstream(path) << text;
  return path;
}

Outcome RunEgraph(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "egraph");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = EgraphMain(static_cast<int>(argv.size()), argv.data());
  return {code, testing::internal::GetCapturedStdout(),
          testing::internal::GetCapturedStderr()};
}

constexpr char kGrowing[] =
    "(datatype N (Z) (S N)) (S (Z)) (rule ((= x (S y))) ((S x)))\n";

TEST(EgraphCommandTest, ExitCodesAndStreams) {
  Outcome run =
      RunEgraph({WriteProgram("(datatype M (Num i64)) (extract (Num 1))")});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out, "(Num 1)\n");
  EXPECT_THAT(run.err, IsEmpty());
  run = RunEgraph({WriteProgram("(extract 1)\n(check (= 1 2))")});
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.out, "1\n");
  EXPECT_THAT(run.err, HasSubstr("program.egg:2:1: check"));
  run = RunEgraph({WriteProgram("(extract 1) (check (= 1 2.0))")});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.out, IsEmpty());
  run = RunEgraph({WriteProgram("(function f () i64 :no-merge)")});
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.err, HasSubstr("function"));
  EXPECT_EQ(RunEgraph({"/nowhere.egg"}).code, 2);
  EXPECT_EQ(RunEgraph({"--frob"}).code, 2);
}

TEST(EgraphCommandTest, WhatHasNoEndIsRefused) {
  const Outcome run = RunEgraph({"/dev/zero"});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("/dev/zero: more than 268435456 bytes"));
  EXPECT_THAT(run.err, HasSubstr("cannot read /dev/zero"));
}

TEST(EgraphCommandTest, DagCostCountsWhatIsSharedOnce) {
  const std::string path = WriteProgram(
      "(datatype M (X) (Y) (F M :cost 5) (Add M M))\n"
      "(let $fx (F (X)))\n"
      "(union (Add $fx $fx) (Add (Y) (Add (Y) (Add (Y) (Add (Y) (Y))))))\n"
      "(extract (Add $fx $fx))\n");
  EXPECT_EQ(RunEgraph({path}).out,
            "(Add (Y) (Add (Y) (Add (Y) (Add (Y) (Y)))))\n");
  EXPECT_EQ(RunEgraph({path, "--dag"}).out,
            "(Add (Y) (Add (Y) (Add (Y) (Add (Y) (Y)))))\n");
  const std::string shared = WriteProgram(
      "(datatype M (X) (Y) (F M :cost 5) (Add M M))\n"
      "(let $fx (F (X)))\n"
      "(union (Add $fx $fx) (Add (Y) (Add (Y) (Add (F (Y)) (Y)))))\n"
      "(extract (Add $fx $fx))\n");
  EXPECT_EQ(RunEgraph({shared}).out, "(Add (Y) (Add (Y) (Add (F (Y)) (Y))))\n");
  const Outcome dag = RunEgraph({shared, "--dag", "--work", "1000"});
  EXPECT_EQ(dag.out, "(let $1 (F (X)))\n(Add $1 $1)\n");
  EXPECT_EQ(dag.code, 0);
  EXPECT_EQ(RunEgraph({shared, "--work", "1000"}).code, 2);
}

TEST(EgraphCommandTest, StatsAreTheLastLine) {
  const Outcome run =
      RunEgraph({WriteProgram(std::string(kGrowing) + "(let $a (S (Z))) (run 3)"
                                                      "(print-size S)"),
                 "--stats"});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out,
              MatchesRegex("4\n\\{\"stats\": \\{\"enodes\": 5, \"classes\": 5, "
                           "\"iterations\": 3, \"seconds\": [0-9.e-]+, "
                           "\"peak_bytes\": [1-9][0-9]*, \"stop\": \"end\", "
                           "\"cpu_seconds\": [0-9.e-]+\\}\\}\n"));
}

TEST(EgraphCommandTest, LimitsStopRunsAndAreNamed) {
  const std::string path =
      WriteProgram(std::string(kGrowing) + "(run-schedule (saturate (run)))");
  EXPECT_THAT(RunEgraph({path, "--stats", "--max-nodes", "100"}).out,
              HasSubstr("\"stop\": \"nodes\""));
  EXPECT_THAT(RunEgraph({path, "--stats", "--max-seconds", "0.02"}).out,
              HasSubstr("\"stop\": \"time\""));
  for (const char* limit :
       {"--max-nodes=-1", "--max-nodes=18446744073709551616", "--max-nodes=1e3",
        "--max-seconds=nan", "--max-seconds=-1", "--max-seconds=inf"}) {
    EXPECT_EQ(RunEgraph({path, limit}).code, 2) << limit;
  }
}

TEST(EgraphCommandTest, AnInterruptEndsTheRunNotTheProgram) {
  const std::string path = WriteProgram(
      std::string(kGrowing) + "(run-schedule (saturate (run))) (extract (Z))");
  std::signal(SIGINT, SIG_IGN);  // until it is handled
  Outcome run;
  {
    const std::jthread sender([](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        std::raise(SIGINT);
      }
    });
    run = RunEgraph({path, "--stats"});
  }
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, StartsWith("(Z)\n"));
  EXPECT_THAT(run.out, HasSubstr("\"stop\": \"interrupted\""));
  EXPECT_THAT(
      RunEgraph({WriteProgram(std::string(kGrowing) + "(run 3)"), "--stats"})
          .out,
      HasSubstr("\"iterations\": 3"));
}

TEST(EgraphCommandTest, RowsOfRelationsCountAgainstTheNodeLimit) {
  std::string text =
      "(relation edge (i64 i64)) (relation path (i64 i64))\n"
      "(rule ((edge x y)) ((path x y)))\n"
      "(rule ((path x y) (edge y z)) ((path x z)))\n";
  for (int i = 0; i < 50; ++i) {
    text += "(edge " + std::to_string(i) + " " + std::to_string(i + 1) + ")\n";
  }
  text += "(run 1000) (print-size path)\n";
  const std::string path = WriteProgram(text);
  EXPECT_EQ(RunEgraph({path}).out, "1275\n");
  const Outcome run = RunEgraph({path, "--stats", "--max-nodes", "500"});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, StartsWith("451\n"));  // and 50 edges: one over
  EXPECT_THAT(run.out, HasSubstr("\"stop\": \"nodes\""));
}

// Exponentially long, and no more than two shared subterms differ.
TEST(EgraphCommandTest, EndlessExplanationsAreRefused) {
  std::string text =
      "(datatype M (X) (Y) (F M M)) (let $x0 (X)) (let $y0 (Y))\n";
  for (int i = 0; i < 17; ++i) {
    for (const char* name : {"$x", "$y"}) {
      const std::string part = name + std::to_string(i);
      text += "(let " + (name + std::to_string(i + 1)) + " (F " + part + " " +
              part + "))\n";
    }
  }
  text += "(union $x0 $y0) (explain $x17 $y17)\n";
  const Outcome run = RunEgraph({WriteProgram(text)});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("explain: the explanation has more than"));
}

}  // namespace
}  // namespace encore::tools
