#include "encore/tools/io/tensor_file.h"

#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/import/onnx/format/tensor_data.h"
#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::tools {

StatusOr<Literal> ReadTensor(const std::string& path) {
  ENCORE_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  const auto bytes = file->bytes();
  StatusOr<Literal> literal = InvalidArgumentError(
      "no tensor file has this extension; known: .npy, .pb (and .npz for "
      "several)");
  if (path.ends_with(".npy")) {
    literal =
        DecodeNpy({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } else if (path.ends_with(".pb")) {
    const StatusOr<onnx::Tensor> tensor = onnx::ReadTensor(bytes);
    literal = tensor.ok() ? onnx::ToLiteral(*tensor, {file})
                          : StatusOr<Literal>(tensor.status());
  }
  if (!literal.ok()) return Annotate(literal.status(), path);
  return literal->Aligned();
}

}  // namespace encore::tools
