#include "encore/tools/command.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "encore/ir/support/strings.h"

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

// Bytes of the UTF-8 character that `text` begins with; 0 where it is none.
size_t CharacterLength(std::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const size_t length = byte(0) < 0x80   ? 1
                        : byte(0) < 0xc2 ? 0
                        : byte(0) < 0xe0 ? 2
                        : byte(0) < 0xf0 ? 3
                        : byte(0) < 0xf5 ? 4
                                         : 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

// `message` as a terminal may show it: names of a file may hold any bytes, and
// be of any length.
std::string Printable(std::string_view message) {
  constexpr size_t kMost = 4000;
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (size_t i = 0, length; i < message.size(); i += length) {
    if (out.size() > kMost) return out + "…";
    length = CharacterLength(message.substr(i));
    const auto byte = static_cast<unsigned char>(message[i]);
    if (length == 0 || (byte < 0x20 && byte != '\n') || byte == 0x7f) {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      length = 1;
    } else {
      out += message.substr(i, length);
    }
  }
  return out;
}

}  // namespace

std::optional<int> ParseArguments(CLI::App& app, int argc, char** argv) {
  app.failure_message([&](const CLI::App* failed, const CLI::Error& error) {
    const bool verb = error.get_exit_code() ==
                          static_cast<int>(CLI::ExitCodes::RequiredError) &&
                      app.get_require_subcommand_min() > 0 &&
                      app.get_subcommands().empty();
    return StrCat(app.get_name(), ": ",
                  verb ? MissingVerb(app, argc, argv) : error.what(),
                  "\nRun with --help for more information.\n");
  });
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUnusableInput;
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
  std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(),
               Printable(Message(status)).c_str());
  return ExitCodeOf(status);
}

int ExitCodeOfOutput(const char* program, int code) {
  std::cout.flush();
  const bool failed =
      std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout;
  if (!failed || code != kExitOk) return code;
  std::fprintf(stderr, "%s: standard output cannot be written\n", program);
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
      return kExitUnusableInput;
    default:
      return kExitOurFault;
  }
}

}  // namespace encore::tools
