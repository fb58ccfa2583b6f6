// ChoiceStore: where what was found in saturated e-graphs is kept, so that the
// same graph is not saturated again (kept_choices.h).
#ifndef ENCORE_OPT_TENSOR_KEPT_CHOICE_STORE_H_
#define ENCORE_OPT_TENSOR_KEPT_CHOICE_STORE_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace encore::opt {

// Implementations say whether they are thread-safe. Failures are "not there".
class ChoiceStore {
 public:
  virtual ~ChoiceStore() = default;

  // What was put under `key`, which says everything that the bytes depend on
  // beside the program's own code: the store adds what stands for that.
  virtual std::optional<std::vector<std::byte>> Get(std::string_view key) = 0;
  virtual void Put(std::string_view key, std::span<const std::byte> bytes) = 0;
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_KEPT_CHOICE_STORE_H_
