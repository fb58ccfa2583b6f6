#include "encore/ir/support/status.h"

namespace encore {

Status Annotate(const Status& status, std::string_view prefix) {
  if (status.ok()) return status;
  return MakeStatus(status.code(),
                    std::string(prefix) + ": " + Message(status));
}

}  // namespace encore
