// Calls of a model in one file: what the examples are kept as, and what
// `encore run --calls` takes.
//
// An .npz with entries
//   in/NAME, out/NAME            an input, an expected output, of every call
//   each/in/NAME, each/out/NAME  the same with one more dim in front: by call
//   carry/INPUT=OUTPUT           the input in the first call; in each later one
//                                it is what OUTPUT was in the call before
// There are as many calls as the entries under each/ are long, one where there
// are none.
#ifndef ENCORE_TOOLS_RUN_CALL_FILE_H_
#define ENCORE_TOOLS_RUN_CALL_FILE_H_

#include <string>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/tools/run/inputs.h"

namespace encore::tools {

// The calls of a file, at least one; their tensors are converted to the dtypes
// of the model. DataLoss names the file and the entry that is none of the
// above.
StatusOr<std::vector<GivenTensors>> ReadCalls(const std::string& path);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_RUN_CALL_FILE_H_
