// Which dims of a graph are equal though their expressions differ.
#ifndef ENCORE_IR_IMPORT_ONNX_SCOPE_EQUAL_DIMS_H_
#define ENCORE_IR_IMPORT_ONNX_SCOPE_EQUAL_DIMS_H_

#include <utility>
#include <vector>

#include "encore/ir/types/dim.h"

namespace encore::onnx {

// Facts of a call that gets as far as the node that asserts them. That node may
// be dropped where nothing needs its result: who relies on a fact does what the
// call checks by itself, as a reshape does.
class EqualDims {
 public:
  void Add(const Dim& a, const Dim& b);

  // One dim for all that are equal as far as symbols can be replaced: a
  // constant where one of them is.
  Dim Canonical(const Dim& dim) const { return dim.Substitute(replacements_); }
  bool AreEqual(const Dim& a, const Dim& b) const;

 private:
  // By symbol; what stands here has no symbol that is replaced.
  std::vector<Dim> replacements_;
  // What no replacement says.
  std::vector<std::pair<Dim, Dim>> others_;
};

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_SCOPE_EQUAL_DIMS_H_
