#include "encore/tools/run/examples.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "encore/ir/import/import.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/tools/run/answers.h"
#include "encore/tools/run/call_file.h"
#include "encore/tools/run/report.h"
#include "encore/tools/terminal.h"
#include "nlohmann/json.hpp"

namespace encore::tools {
namespace {

namespace fs = std::filesystem;
using Calls = std::span<const std::vector<Literal>>;

// What storing expected outputs as f16, and small ones as 0, takes (see
// examples/make.py).
constexpr double kStoredRelative = 0x1p-11, kStoredAbsolute = 2e-6;

std::string Percent(double score) {
  return StrCat(std::lround(score * 100), " %");
}

// The time at which a frame begins, frames being `hop` samples apart.
std::string Seconds(int64_t frame, double hop, double rate) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f",
                static_cast<double>(frame) * hop / rate);
  return text;
}

StatusOr<std::string> FileType(const std::string& model, Calls calls) {
  const std::string path =
      (fs::path(model).parent_path() / "config.min.json").string();
  std::ifstream file(path);
  const auto config = nlohmann::json::parse(file, nullptr, false);
  const Guess best = BestOfRows(calls[0][0])[0];
  if (!config.is_object() || !config.contains("target_labels_space") ||
      !config["target_labels_space"].is_array()) {
    return DataLossError(StrCat(path, ": no target_labels_space"));
  }
  const auto& labels = config["target_labels_space"];
  if (static_cast<size_t>(best.index) >= labels.size()) {
    return DataLossError(StrCat(path, ": too few labels"));
  }
  const auto& label = labels[best.index];
  if (!label.is_string()) {
    return DataLossError(StrCat(path, ": a label that is no text"));
  }
  return StrCat(label.get<std::string>(), " (", Percent(best.score), ")");
}

StatusOr<std::string> RecognizedText(const std::string& model, Calls calls) {
  ENCORE_ASSIGN_OR_RETURN(const auto metadata, ReadModelMetadata(model));
  const auto characters = metadata.find("character");
  if (characters == metadata.end()) {
    return DataLossError(StrCat(model, ": no alphabet in its metadata"));
  }
  std::vector<std::string> alphabet;
  std::string_view rest = characters->second;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    alphabet.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  // The model's last class is the blank between words.
  alphabet.emplace_back(" ");
  const Line line = DecodeCtc(BestOfRows(calls[0][0]), alphabet);
  return StrCat("\"", line.text, "\" (", Percent(line.score), ")");
}

StatusOr<std::string> FoundBoxes(const std::string&, Calls calls) {
  const std::vector<Box> boxes = TextBoxes(calls[0][0]);
  std::string text =
      StrCat(boxes.size(), " boxes of text, as x, y, width x height:");
  for (const Box& box : boxes) {
    StrAppend(&text, "\n      ", box.left, ", ", box.top, ", ",
              box.right - box.left, " x ", box.bottom - box.top, " (",
              Percent(box.score), ")");
  }
  return text;
}

StatusOr<std::string> Direction(const std::string&, Calls calls) {
  const Guess best = BestOfRows(calls[0][0])[0];
  return StrCat(best.index == 0 ? "0" : "180", " degrees (",
                Percent(best.score), ")");
}

StatusOr<std::string> FoundNotes(const std::string&, Calls calls) {
  constexpr double kHop = 256, kRate = 22050;
  const std::vector<Note> notes = Notes(calls[0][0], calls[0][1]);
  return StrCat(notes.size(), " notes: ",
                StrJoin(notes, ", ", [](std::string* out, const Note& note) {
                  StrAppend(out, NoteName(note.midi), " (",
                            Seconds(note.begin, kHop, kRate), " to ",
                            Seconds(note.end, kHop, kRate), " s)");
                }));
}

StatusOr<std::string> FoundSpeech(const std::string&, Calls calls) {
  constexpr double kHop = 512, kRate = 16000;
  std::vector<double> scores;
  for (const std::vector<Literal>& outputs : calls) {
    scores.push_back(outputs[0].AsDouble(0));
  }
  return StrCat(
      "speech ",
      StrJoin(Speech(scores), ", ", [](std::string* out, const Stretch& part) {
        StrAppend(out, "from ", Seconds(part.begin, kHop, kRate), " to ",
                  Seconds(part.end, kHop, kRate), " s (", Percent(part.score),
                  ")");
      }));
}

constexpr Example kExamples[] = {
    {"magika", "magika", "magika/models/standard_v3_3/model.onnx", FileType},
    {"basic_pitch", "basic-pitch",
     "basic_pitch/saved_models/icassp_2022/nmp.onnx", FoundNotes},
    {"ppocrv4_det", "rapidocr-onnxruntime",
     "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", FoundBoxes},
    {"ppocrv4_rec", "rapidocr-onnxruntime",
     "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", RecognizedText},
    {"ppocrv4_cls", "rapidocr-onnxruntime",
     "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
     Direction},
    {"silero_vad", "silero-vad", "silero_vad/data/silero_vad.onnx",
     FoundSpeech},
};

std::optional<std::string> Variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

// Where `./encore setup` unpacks wheels.
std::string DependencyFolder() {
  if (const auto deps = Variable("ENCORE_DEPS")) return *deps;
  if (const auto home = Variable("ENCORE_HOME")) return *home + "/deps";
  if (const auto xdg = Variable("XDG_CACHE_HOME")) return *xdg + "/encore/deps";
  return Variable("HOME").value_or("") + "/.cache/encore/deps";
}

// The sorted entries of a folder that `pick` takes.
template <typename Pick>
std::vector<fs::path> EntriesOf(const std::string& folder, const Pick& pick) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator i(folder, error), end; !error && i != end;
       i.increment(error)) {
    if (pick(i->path())) entries.push_back(i->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace

std::span<const Example> Examples() { return kExamples; }

StatusOr<std::string> ExamplesFolder() {
  constexpr std::string_view kInRunfiles = "/encore/tools/run/examples";
  std::vector<std::string> candidates;
  if (const auto given = Variable("ENCORE_EXAMPLES")) {
    candidates.push_back(*given);
  }
  // A test's own runfiles first: the program's may be of an earlier build.
  if (const auto runfiles = Variable("RUNFILES_DIR")) {
    candidates.push_back(StrCat(*runfiles, kInRunfiles));
  }
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    candidates.push_back(StrCat(self.string(), ".runfiles", kInRunfiles));
  }
  for (const std::string& candidate : candidates) {
    if (fs::is_directory(candidate, error)) return candidate;
  }
  return NotFoundError(
      "the example calls are not beside the program; ENCORE_EXAMPLES names "
      "their folder, tools/run/examples");
}

StatusOr<std::string> ModelFile(const Example& example) {
  const std::string folder = DependencyFolder() + "/models";
  const std::string prefix = StrCat(example.wheel, "==");
  const auto wheels = EntriesOf(folder, [&](const fs::path& path) {
    return path.filename().string().starts_with(prefix);
  });
  if (!wheels.empty()) {
    const fs::path file = wheels.back() / example.path;
    std::error_code error;
    if (fs::exists(file, error)) return file.string();
  }
  return NotFoundError(StrCat("the model ", example.name, " is not in ", folder,
                              "; ./encore setup fetches it"));
}

StatusOr<bool> RunExamples(const RunRequest& request, cache::Session& session,
                           TextSink print, const ReportSink& sink) {
  ENCORE_ASSIGN_OR_RETURN(const std::string folder, ExamplesFolder());
  print(TableHead());
  bool ok = true;
  for (const Example& example : kExamples) {
    RunRequest one = request;
    ENCORE_ASSIGN_OR_RETURN(one.model, ModelFile(example));
    one.name = example.name;
    one.relative += kStoredRelative;
    one.absolute += kStoredAbsolute;
    one.calls.clear();
    const auto files = EntriesOf(
        StrCat(folder, "/", example.name),
        [](const fs::path& path) { return path.extension() == ".npz"; });
    std::vector<size_t> counts;
    for (const fs::path& file : files) {
      ENCORE_ASSIGN_OR_RETURN(std::vector<GivenTensors> calls,
                              ReadCalls(file.string()));
      counts.push_back(calls.size());
      std::ranges::move(calls, std::back_inserter(one.calls));
    }
    if (files.empty()) {
      return NotFoundError(
          StrCat(folder, "/", example.name, ": no calls there"));
    }
    ENCORE_ASSIGN_OR_RETURN(const RunReport report, RunModel(one, session));
    ok &= report.ok();
    print(ToRow(report));
    Calls rest = report.values;
    for (size_t i = 0; i < files.size() && !rest.empty(); ++i) {
      ENCORE_ASSIGN_OR_RETURN(const std::string answer,
                              example.answer(one.model, rest.first(counts[i])));
      rest = rest.subspan(counts[i]);
      print(StrCat("    ", PrintableName(files[i].stem().string()), ": ",
                   answer, "\n"));
    }
    std::fflush(stdout);
    ENCORE_RETURN_IF_ERROR(sink(report));
  }
  return ok;
}

}  // namespace encore::tools
