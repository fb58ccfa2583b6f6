#include "encore/opt/tensor/find/find_state.h"

#include <filesystem>
#include <string_view>
#include <utility>

#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/staged_file.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/tensor/rule_printer.h"

namespace encore::opt {
namespace {

// What stands before the separator, which is taken too.
std::string_view NextPiece(std::string_view* text, char separator) {
  const size_t end = text->find(separator);
  const std::string_view piece = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return piece;
}

}  // namespace

FindState::FindState(const FindOptions& options,
                     std::span<const TextRule> rules, size_t batch,
                     std::string path)
    : path_(std::move(path)) {
  const std::string what =
      StrCat(options.operators, " ", options.results, " ", options.kinds, " ",
             options.inputs, " ", options.seed, " ", options.one_of, " ", batch,
             " ", PrintRules(rules));
  head_ = StrCat("encore rules find 3 ", Sha256Of(what).ToHex(), "\n");
}

StatusOr<FindState::Content> FindState::Read(size_t all) const {
  if (path_.empty() || !std::filesystem::exists(path_)) return Content();
  ENCORE_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path_));
  std::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                        file->bytes().size());
  const auto wrong = [&] {
    return InvalidArgumentError(
        StrCat(path_,
               ": not the state of this search (other options, or another "
               "rule book); remove it, or name another file"));
  };
  if (!text.starts_with(head_)) return wrong();
  text.remove_prefix(head_.size());
  const auto done = ParseInt64(NextPiece(&text, '\n'));
  if (!done || *done < 0 || static_cast<size_t>(*done) > all) return wrong();
  Content content{.done = static_cast<size_t>(*done), .missing = {}};
  while (!text.empty()) {
    std::string_view line = NextPiece(&text, '\n');
    const auto operators = ParseInt64(NextPiece(&line, '\t'));
    const auto gain = ParseDouble(NextPiece(&line, '\t'));
    if (!operators || !gain) return wrong();
    MissingRule rule;
    rule.operators = static_cast<int>(*operators);
    rule.gain = *gain;
    rule.from = NextPiece(&line, '\t');
    rule.to = line;
    content.missing.push_back(std::move(rule));
  }
  return content;
}

Status FindState::Write(size_t done,
                        std::span<const MissingRule> missing) const {
  if (path_.empty()) return OkStatus();
  std::string text = StrCat(head_, done, "\n");
  for (const MissingRule& rule : missing) {
    StrAppend(&text, rule.operators, "\t", rule.gain, "\t", rule.from, "\t",
              rule.to, "\n");
  }
  return WriteWholeFile(path_, std::string_view(text));
}

}  // namespace encore::opt
