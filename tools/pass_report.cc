#include "encore/tools/pass_report.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <span>

#include "encore/ir/support/sha256.h"
#include "encore/ir/support/staged_file.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/printer.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

double Milliseconds(const PassReport::Time& time) {
  return std::chrono::duration<double, std::milli>(time.end - time.begin)
      .count();
}

std::string WithoutData(const Graph& graph) {
  PrintOptions options;
  options.parameter_data = false;
  return Print(graph, options);
}

// As one word of a shell's command line.
std::string ShellWord(std::string_view text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

// The arguments that run the pass of `run` again on a file with its graph.
std::string ArgumentsOf(const opt::PassRun& run) {
  std::string arguments =
      StrCat("--passes ", run.pass.name, " --verify-passes");
  const auto& symbols = run.before.symbols();
  const auto& replacements = run.options.replacements;
  for (size_t i = 0; i < std::min(symbols.size(), replacements.size()); ++i) {
    if (!replacements[i].is_constant()) continue;
    StrAppend(
        &arguments, " --bind ",
        ShellWord(StrCat(symbols[i].name, "=", replacements[i].constant())));
  }
  return arguments;
}

// Text of several lines as a comment of the graph's text.
std::string Comment(std::string_view text) {
  std::string out = "// ";
  for (const char c : text) {
    out += c;
    if (c == '\n') out += "// ";
  }
  return out + "\n";
}

// The folder for temporary files, whether it is there or not.
std::filesystem::path TemporaryFolder() {
  const char* const folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

// Only the user may read it: graphs are the user's own, the folder is not.
Status WritePrivateFile(const std::string& path, std::string_view text) {
  ENCORE_ASSIGN_OR_RETURN(
      StagedFile file, StagedFile::Create(path, {.mode = S_IRUSR | S_IWUSR}));
  ENCORE_RETURN_IF_ERROR(file.Write(std::as_bytes(std::span(text))));
  return file.Commit();
}

// Writes the reproducer of a failed pass, and says so.
void WriteReproducer(const opt::PassRun& run) {
  const std::string arguments = ArgumentsOf(run);
  const std::string text =
      StrCat(Comment(StrCat("The pass ", run.pass.name,
                            " fails: ", Message(run.status))),
             Comment(StrCat("encore opt THIS_FILE ", arguments)),
             WithoutData(run.before));
  const std::string path =
      TemporaryFolder() / StrCat("encore-", run.pass.name, "-",
                                 Sha256Of(text).ToHex().substr(0, 16), ".txt");
  if (const Status status = WritePrivateFile(path, text); !status.ok()) {
    PrintLog(StrCat(
        "the pass ", run.pass.name,
        " failed, and its reproducer could not be written: ", Message(status),
        "; set TMPDIR to a folder that can be written to"));
    return;
  }
  PrintLog(StrCat("the pass ", run.pass.name,
                  " failed; this shows it again: encore opt ", ShellWord(path),
                  " ", arguments));
}

}  // namespace

void PassReport::AddFlags(CLI::App& app) {
  std::vector<std::string> names;
  for (const opt::Pass& pass : opt::AllPasses()) names.emplace_back(pass.name);
  app.add_option("--print-after", print_after_,
                 "print the graph after a pass on standard error; encore opt "
                 "--list tells the passes")
      ->type_name("PASS")
      ->expected(1)
      ->take_all()
      ->check(CLI::IsMember(names));
  app.add_flag("--verify-passes", verify_,
               "look at each pass's graph with the verifier");
}

void PassReport::Ran(const opt::PassRun& run) {
  times_.push_back({run.pass.name, run.begin, run.end});
  if (!run.status.ok()) {
    WriteReproducer(run);
  } else if (std::ranges::find(print_after_, run.pass.name) !=
             print_after_.end()) {
    PrintError(
        StrCat("// after ", run.pass.name, "\n", WithoutData(run.after)));
  }
}

void PassReport::Restart() {
  times_.clear();
  print_after_.clear();
}

Json PassReport::PassesMs() const {
  Json json = Json::object();
  for (const Time& time : times_) {
    const std::string name(time.name);
    json[name] = json.value(name, 0.0) + Milliseconds(time);
  }
  return json;
}

Json PassReport::OptimizeMs() const {
  if (times_.empty()) return nullptr;
  double sum = 0;
  for (const Time& time : times_) sum += Milliseconds(time);
  return sum;
}

}  // namespace encore::tools
