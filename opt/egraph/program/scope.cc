#include "encore/opt/egraph/program/scope.h"

#include <string_view>

#include "encore/ir/support/check.h"

namespace encore::opt::program {
namespace {

template <typename T>
typename std::vector<T>::reference Grow(std::vector<T>* values, size_t index) {
  if (index >= values->size()) values->resize(index + 1);
  return (*values)[index];
}

bool HasPrefix(std::string_view name) {
  return name.size() > 1 && name[0] == '$';
}

}  // namespace

void Scope::Declare(Symbol name, NameMeaning meaning) {
  ENCORE_CHECK(Find(name).kind == NameKind::kNone);
  Grow(&meanings_, name) = meaning;
  declared_.push_back(name);
  if (meaning.kind == NameKind::kTable) tables_.push_back(meaning.id);
  const std::string_view text = names_->Text(name);
  if (meaning.kind == NameKind::kGlobal && HasPrefix(text)) {
    Grow(&without_prefix_, names_->Intern(text.substr(1))) = true;
  }
}

void Scope::Push(uint64_t count) {
  if (count == 0) return;
  if (!marks_.empty() && marks_.back().declared == declared_.size() &&
      marks_.back().count <= UINT64_MAX - count) {
    marks_.back().count += count;
  } else {
    marks_.push_back({declared_.size(), count});
  }
}

bool Scope::Pop(uint64_t count) {
  size_t keep = marks_.size();
  uint64_t left = count;
  while (left > 0 && keep > 0 && marks_[keep - 1].count <= left) {
    left -= marks_[--keep].count;
  }
  if (left > 0 && keep == 0) return false;
  const size_t declared =
      left > 0
          ? marks_[keep - 1].declared
          : (keep < marks_.size() ? marks_[keep].declared : declared_.size());
  if (left > 0) marks_[keep - 1].count -= left;
  marks_.resize(keep);
  while (declared_.size() > declared) {
    const Symbol name = declared_.back();
    declared_.pop_back();
    const NameMeaning meaning = meanings_[name];
    meanings_[name] = {};
    if (meaning.kind == NameKind::kTable) tables_.pop_back();
    const std::string_view text = names_->Text(name);
    if (meaning.kind == NameKind::kGlobal && HasPrefix(text)) {
      without_prefix_[names_->Intern(text.substr(1))] = false;
    }
  }
  return true;
}

}  // namespace encore::opt::program
