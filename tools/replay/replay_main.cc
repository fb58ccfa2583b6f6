#include "encore/tools/replay/replay_main.h"

#include <algorithm>
#include <utility>

#include "encore/ir/support/strings.h"
#include "encore/tools/command.h"
#include "encore/tools/command_files.h"
#include "encore/tools/replay/replay_context.h"
#include "encore/tools/replay/verbs.h"

namespace encore::tools {
namespace {

// Which flags a verb has beside FILE, --json and --cache.
enum FlagGroups : unsigned {
  kNoFlags = 0,
  kLoads = 1,      // --trust, --threads, --cache
  kInputs = 2,     // --input, --seed
  kCompares = 4,   // --rtol, --atol
  kMeasures = 8,   // --repeat, --warmup
  kSaves = 16,     // --save
  kBaseline = 32,  // --seconds, --baseline
  kTraces = 64,    // --trace
  kMakes = 128,    // --blobs, -o
};

struct Verb {
  const char* name;
  const char* summary;
  StatusOr<int> (*run)(ReplayContext& context, const std::string& path);
  unsigned flags;
  const char* files = ".encore files";
};

constexpr Verb kVerbs[] = {
    {"info", "what is in a file: sections, key, signature, plan in numbers",
     ReplayInfo, kNoFlags},
    {"dump", "the compiled graph as text, which verify and assemble read",
     ReplayDump, kNoFlags},
    {"assemble", "make a file of a text (FILE.plan) and the rest of another",
     ReplayAssemble, kMakes, "the text, as dump writes it"},
    {"verify",
     "check every checksum, the plan, and a recording's outputs; of a text "
     "(FILE.plan) the plan",
     ReplayVerify, kLoads | kCompares, ".encore files, or texts: FILE.plan"},
    {"run", "replay a recording's calls and compare, or a package on inputs",
     ReplayRun, kLoads | kInputs | kCompares | kSaves},
    {"bench", "latencies, in pairs with a baseline's", ReplayBench,
     kLoads | kInputs | kMeasures | kBaseline},
    {"profile", "time per step, with its origin in the model", ReplayProfile,
     kLoads | kInputs | kMeasures | kTraces},
};

void AddRunFlags(CLI::App& app, unsigned groups, ReplayFlags* flags) {
  if (groups & kLoads) {
    app.add_flag("--trust", flags->load.trust,
                 "run the file's own code wherever the file lies");
    AddThreadsFlag(app, &flags->load.machine);
    AddCacheFlag(app, &flags->load.machine);
  }
  if (groups & kInputs) {
    app.add_option("--input", flags->inputs,
                   "an input, NAME=FILE, or FILE.npz with several; missing "
                   "ones are generated");
    app.add_option("--seed", flags->seed, "of generated inputs")
        ->check(WholeNumber())
        ->capture_default_str();
  }
  if (groups & kCompares) {
    app.add_option("--rtol", flags->relative, "relative tolerance")
        ->check(NonNegativeNumber())
        ->capture_default_str();
    app.add_option("--atol", flags->absolute, "absolute tolerance")
        ->check(NonNegativeNumber())
        ->capture_default_str();
  }
  if (groups & kSaves) {
    app.add_option("--save", flags->save,
                   "write the last call's outputs to an .npz");
  }
}

void AddMeasureFlags(CLI::App& app, unsigned groups, ReplayFlags* flags) {
  if (groups & kMeasures) {
    app.add_option("--repeat", flags->repeat, "replays to measure")
        ->check(WholeNumber(1))
        ->capture_default_str();
    app.add_option("--warmup", flags->warmup, "replays before that")
        ->check(WholeNumber())
        ->capture_default_str();
  }
  if (groups & kBaseline) {
    app.add_option("--seconds", flags->seconds,
                   "measure as many replays as fit into this time")
        ->check(NonNegativeNumber());
    app.add_option("--baseline", flags->baseline,
                   "another file, replayed by turns and compared");
  }
  if (groups & kTraces) {
    app.add_option("--trace", flags->trace,
                   "write a trace for Perfetto or chrome://tracing");
  }
}

void AddMakeFlags(CLI::App& app, unsigned groups, ReplayFlags* flags) {
  if ((groups & kMakes) == 0) return;
  app.add_option("--blobs", flags->blobs,
                 "the .encore file that has the text's blobs, and all but the "
                 "compiled graph of what is written")
      ->required();
  app.add_option("-o,--output", flags->output, "the .encore file to write")
      ->required();
}

// What is written must be apart from what is read, and of one file.
Status CheckFiles(const ReplayFlags& flags) {
  for (const auto& [flag, path] :
       {std::pair("--save", &flags.save), std::pair("--trace", &flags.trace),
        std::pair("-o", &flags.output)}) {
    if (path->empty() || flags.files.size() == 1) continue;
    return InvalidArgumentError(StrCat(flag, " takes exactly one file"));
  }
  CommandFiles files;
  files.Writes("--save", flags.save);
  files.Writes("--trace", flags.trace);
  files.Writes("-o", flags.output);
  files.WritesData("--json", flags.json.path());
  for (const std::string& path : flags.files) files.Reads("the file", path);
  for (const std::string& input : flags.inputs) files.ReadsInput(input);
  files.Reads("--baseline", flags.baseline);
  files.Reads("--blobs", flags.blobs);
  return files.CheckApart();
}

// The verb on each file; the exit code is that of the worst.
int RunVerb(const CLI::App& app, const Verb& verb, const ReplayHost& host,
            ReplayFlags& flags) {
  Status ready = CheckFiles(flags);
  if (ready.ok()) ready = flags.json.Open();
  if (!ready.ok()) return Fail(app, ready);
  const StatusOr<int> thread_count = ThreadCount(flags.load.machine);
  if (!thread_count.ok()) return Fail(app, thread_count.status());
  runtime::ThreadPool threads(*thread_count);
  ReplayContext context{host, flags, threads};
  int exit_code = kExitOk;
  for (const std::string& path : flags.files) {
    const StatusOr<int> result = verb.run(context, path);
    exit_code =
        std::max(exit_code, result.ok() ? *result : Fail(app, result.status()));
  }
  const Status written = flags.json.status();
  return written.ok() ? exit_code : std::max(exit_code, Fail(app, written));
}

}  // namespace

int ReplayMain(int argc, char** argv, const ReplayHost& host) {
  CLI::App app("Look into, check and replay packages and recordings.",
               host.name);
  app.require_subcommand(1);
  ReplayFlags flags;
  for (const Verb& verb : kVerbs) {
    CLI::App* sub = app.add_subcommand(verb.name, verb.summary);
    sub->add_option("FILE", flags.files, verb.files)->required();
    AddRunFlags(*sub, verb.flags, &flags);
    AddMeasureFlags(*sub, verb.flags, &flags);
    AddMakeFlags(*sub, verb.flags, &flags);
    flags.json.AddFlag(*sub);
    sub->footer(
        "Exit codes: 0 ok, 1 outputs are not as expected, 2 unusable input or "
        "arguments, 3 an internal error.");
  }
  if (const auto exit_code = ParseArguments(app, argc, argv)) return *exit_code;
  for (const Verb& verb : kVerbs) {
    if (app.got_subcommand(verb.name)) return RunVerb(app, verb, host, flags);
  }
  return kExitUnusableInput;
}

}  // namespace encore::tools
