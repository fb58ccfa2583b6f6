#include "encore/tools/json_output.h"

#include <array>
#include <iostream>

#include "encore/ir/support/strings.h"

namespace encore::tools {

void JsonOutput::AddFlag(CLI::App& app) {
  app.add_option("--json", path_,
                 "write an object per file, one a line; without FILE, or "
                 "for -, to standard output")
      ->expected(0, 1)
      ->type_name("FILE")
      ->default_str("-");
}

Status JsonOutput::Open() {
  if (!wanted() || on_stdout()) return OkStatus();
  std::array<char, 4> head{};
  std::ifstream(path_).read(head.data(), head.size());
  if (std::string_view(head.data(), head.size()) ==
      "\x89"
      "ENC") {
    return InvalidArgumentError(
        StrCat("--json ", path_, ": is an .encore file, which stays as it is"));
  }
  file_.open(path_);
  if (file_) return OkStatus();
  return PermissionDeniedError(StrCat("--json ", path_, " cannot be written"));
}

void JsonOutput::Write(const Json& object) {
  if (!wanted()) return;
  std::ostream& out = on_stdout() ? std::cout : file_;
  out << object.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n"
      << std::flush;
}

}  // namespace encore::tools
