#include "encore/tools/io/write_output.h"

#include "encore/ir/support/staged_file.h"
#include "encore/tools/terminal.h"

namespace encore::tools {

Status WriteOutput(const std::string& path, std::string_view bytes) {
  return path == "-" ? WriteData(bytes) : WriteWholeFile(path, bytes);
}

}  // namespace encore::tools
