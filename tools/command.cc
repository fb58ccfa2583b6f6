#include "encore/tools/command.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "encore/ir/support/strings.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

// What is wrong with the command line, where it is that a verb of several is
// missing or is none of them.
std::string MissingVerb(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands({})) {
    names.push_back(verb->get_name());
  }
  const bool given = argc > 1 && argv[1][0] != '-';
  return StrCat(given ? StrCat("no verb ", Quote(argv[1])) : "expected a verb",
                "; there are: ", StrJoin(names, ", "));
}

// Of a message at most: names in it may be of any length.
constexpr size_t kMostOfMessage = 4000;

}  // namespace

std::optional<int> ParseArguments(CLI::App& app, int argc, char** argv) {
  app.failure_message([&](const CLI::App* failed, const CLI::Error& error) {
    const bool verb = error.get_exit_code() ==
                          static_cast<int>(CLI::ExitCodes::RequiredError) &&
                      app.get_require_subcommand_min() > 0 &&
                      app.get_subcommands().empty();
    return StrCat(
        app.get_name(), ": ",
        PrintableName(verb ? MissingVerb(app, argc, argv) : error.what()),
        "\nRun with --help for more information.\n");
  });
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    const int code = app.exit(error, out, err);
    Print(out.str());
    PrintError(err.str());
    return code == 0 ? kExitOk : kExitUnusableInput;
  }
}

CLI::Validator NonNegativeNumber() {
  return CLI::Validator(
      [](std::string& text) {
        double value = -1;
        const char* end = text.data() + text.size();
        const auto [rest, error] = std::from_chars(text.data(), end, value);
        if (error == std::errc() && rest == end && value >= 0 &&
            std::isfinite(value)) {
          return std::string();
        }
        return StrCat("expected a number of at least 0, found ", Quote(text));
      },
      "");
}

CLI::Validator WholeNumber(int64_t least) {
  return CLI::Validator(
      [least](std::string& text) {
        const std::optional<int64_t> value = ParseInt64(text);
        if (value && *value >= least) return std::string();
        return StrCat("expected a whole number of at least ", least, ", found ",
                      Quote(text));
      },
      "");
}

int Fail(const CLI::App& app, const Status& status) {
  std::string message = Message(status);
  if (message.size() > kMostOfMessage) {
    size_t end = kMostOfMessage;
    // A character has at most four bytes.
    for (int i = 0; i < 3 && (message[end] & 0xc0) == 0x80; ++i) --end;
    message.replace(end, std::string::npos, "…");
  }
  PrintError(StrCat(app.get_name(), ": ", PrintableName(message), "\n"));
  return ExitCodeOf(status);
}

int ExitCodeOfOutput(const char* program, int code) {
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (!failed || code != kExitOk) return code;
  PrintError(StrCat(program, ": standard output cannot be written\n"));
  return kExitUnusableInput;
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
    case StatusCode::kResourceExhausted:
    case StatusCode::kUnavailable:
      return kExitUnusableInput;
    default:
      return kExitOurFault;
  }
}

}  // namespace encore::tools
