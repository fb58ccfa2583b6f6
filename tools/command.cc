#include "encore/tools/command.h"

#include <cstdio>

namespace encore::tools {

std::optional<int> ParseArguments(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUnusableInput;
  }
}

int Fail(const CLI::App& app, const Status& status) {
  std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(),
               Message(status).c_str());
  return ExitCodeOf(status);
}

int ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return kExitOk;
    case StatusCode::kInvalidArgument:
    case StatusCode::kNotFound:
    case StatusCode::kOutOfRange:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kUnimplemented:
    case StatusCode::kDataLoss:
    case StatusCode::kPermissionDenied:
      return kExitUnusableInput;
    default:
      return kExitOurFault;
  }
}

}  // namespace encore::tools
