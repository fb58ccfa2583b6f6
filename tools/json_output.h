// Where a verb's JSON goes: nowhere, standard output, or a file.
#ifndef ENCORE_TOOLS_JSON_OUTPUT_H_
#define ENCORE_TOOLS_JSON_OUTPUT_H_

#include <fstream>
#include <string>

#include "CLI/CLI.hpp"
#include "encore/ir/support/status.h"
#include "nlohmann/json.hpp"

namespace encore::tools {

using Json = nlohmann::ordered_json;

// A line's text, without the line's end, in ASCII: other characters are
// escaped, and bad bytes of text that is no UTF-8 replaced.
std::string ToLine(const Json& object);

class JsonOutput {
 public:
  // --json [FILE]; without FILE, or for -, standard output.
  void AddFlag(CLI::App& app);
  // --json FILE, for verbs that have other names behind it.
  void AddFlagWithFile(CLI::App& app);
  // Opens the file. PermissionDenied where it cannot be written,
  // InvalidArgument where it has something else than JSON in it: somebody left
  // FILE out, and what follows is a model.
  Status Open();

  // Whether JSON was asked for; whether it takes standard output, which then
  // has nothing else.
  bool wanted() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  bool on_stdout() const { return path_ == "-"; }

  // One object a line.
  void Write(const Json& object);
  // Whether everything could be written; asked at the end.
  Status status() const;

 private:
  std::string path_;
  std::ofstream file_;
  bool failed_ = false;
};

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_JSON_OUTPUT_H_
