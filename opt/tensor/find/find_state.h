// FindState: the file from which a search goes on.
#ifndef ENCORE_OPT_TENSOR_FIND_FIND_STATE_H_
#define ENCORE_OPT_TENSOR_FIND_FIND_STATE_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/tensor/find/expressions.h"
#include "encore/opt/tensor/find/missing_rule.h"
#include "encore/opt/tensor/rule_text.h"

namespace encore::opt {

// A line that says which search it is of, how many of its candidates are done,
// a line for each missing rule.
class FindState {
 public:
  // `path`: empty for no file. `batch`: how many candidates are looked at at
  // once.
  FindState(const FindOptions& options, std::span<const TextRule> rules,
            size_t batch, std::string path);

  struct Content {
    size_t done = 0;
    std::vector<MissingRule> missing;
  };

  // Nothing done where there is no file. Errors: InvalidArgument where it is of
  // another search, has more done than `all`, or is no such file.
  StatusOr<Content> Read(size_t all) const;

  // The whole file is replaced at once.
  Status Write(size_t done, std::span<const MissingRule> missing) const;

 private:
  std::string path_;
  std::string head_;
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FIND_FIND_STATE_H_
