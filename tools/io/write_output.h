// Where a verb's -o goes.
#ifndef ENCORE_TOOLS_IO_WRITE_OUTPUT_H_
#define ENCORE_TOOLS_IO_WRITE_OUTPUT_H_

#include <string>
#include <string_view>

#include "encore/ir/support/status.h"

namespace encore::tools {

// Writes a file whole or not at all (staged_file.h); the path - is standard
// output.
Status WriteOutput(const std::string& path, std::string_view bytes);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_IO_WRITE_OUTPUT_H_
