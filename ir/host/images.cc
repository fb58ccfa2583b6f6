// Image files as pixels.

#include "encore/ir/host/families.h"
#include "encore/ir/host/images/decode.h"

namespace encore::host {

StatusOr<Literals> DecodeImage(const HostContext& context) {
  StatusOr<Literal> pixels = DecodeImageFile(
      context.operand(0).bytes(), context.attrs<DecodeImageAttrs>().format);
  if (!pixels.ok()) {
    return Annotate(pixels.status(), Info(context.op).mnemonic);
  }
  Literals results;
  results.push_back(*std::move(pixels));
  return results;
}

}  // namespace encore::host
