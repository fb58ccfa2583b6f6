// What of a model is doubtful, but does not keep it from being imported.
#ifndef ENCORE_IR_IMPORT_ONNX_FORMAT_WARNINGS_H_
#define ENCORE_IR_IMPORT_ONNX_FORMAT_WARNINGS_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "encore/ir/support/status.h"

namespace encore::onnx {

// Collects warnings, or refuses what they are about where the import is strict.
// Used by one thread.
class Warnings {
 public:
  // `texts`, which may be null, outlives this.
  Warnings(bool strict, std::vector<std::string>* texts)
      : strict_(strict), texts_(texts) {}

  // `error` where the import is strict, else OK: then its message is a warning,
  // which is given once, and not after a hundred others.
  Status Add(const Status& error) {
    if (strict_) return error;
    if (texts_ == nullptr || texts_->size() >= kMost) return OkStatus();
    const std::string text = Message(error);
    if (std::ranges::find(*texts_, text) == texts_->end()) {
      texts_->push_back(text);
    }
    return OkStatus();
  }

  // How many there are; Drop takes back those since there were `count`, which
  // are about an attempt that came to nothing.
  size_t count() const { return texts_ == nullptr ? 0 : texts_->size(); }
  void Drop(size_t count) {
    if (texts_ != nullptr) texts_->resize(count);
  }

 private:
  static constexpr size_t kMost = 100;

  bool strict_;
  std::vector<std::string>* texts_;
};

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_FORMAT_WARNINGS_H_
