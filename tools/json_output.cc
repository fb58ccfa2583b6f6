#include "encore/tools/json_output.h"

#include <filesystem>
#include <system_error>

#include "encore/ir/support/strings.h"
#include "encore/tools/terminal.h"

namespace encore::tools {

std::string ToLine(const Json& object) {
  return object.dump(-1, ' ', true, Json::error_handler_t::replace);
}

void JsonOutput::AddFlag(CLI::App& app) {
  app.add_option("--json", path_,
                 "write an object per file, one a line; without FILE, or "
                 "for -, to standard output")
      ->expected(0, 1)
      ->type_name("FILE")
      ->default_str("-");
}

void JsonOutput::AddFlagWithFile(CLI::App& app) {
  app.add_option("--json", path_,
                 "write an object per model, one a line; - for standard "
                 "output")
      ->type_name("FILE");
}

Status JsonOutput::Open() {
  if (!wanted() || on_stdout()) return OkStatus();
  std::error_code error;
  char first = '{';
  if (std::filesystem::is_regular_file(path_, error) &&
      std::filesystem::file_size(path_, error) > 0) {
    // What cannot be read is not known to be JSON.
    if (!std::ifstream(path_).get(first)) first = '\0';
  }
  if (first != '{') {
    return InvalidArgumentError(
        StrCat("--json ", path_,
               ": the file exists and is not JSON; it stays as it is"));
  }
  file_.open(path_);
  if (file_) return OkStatus();
  return PermissionDeniedError(StrCat("--json ", path_, " cannot be written"));
}

Status JsonOutput::status() const {
  if (!failed_) return OkStatus();
  return ResourceExhaustedError(StrCat("--json ", path_, " cannot be written"));
}

void JsonOutput::Write(const Json& object) {
  if (!wanted()) return;
  const std::string line = ToLine(object) + "\n";
  failed_ |=
      on_stdout() ? !WriteData(line).ok() : !(file_ << line << std::flush);
}

}  // namespace encore::tools
