// Early return on a status that is not OK.
//
//   ENCORE_RETURN_IF_ERROR(Verify(graph));
//   ENCORE_ASSIGN_OR_RETURN(const Shape shape, InferShape(node));
#ifndef ENCORE_IR_SUPPORT_STATUS_MACROS_H_
#define ENCORE_IR_SUPPORT_STATUS_MACROS_H_

#include <utility>

#include "encore/ir/support/status.h"

#define ENCORE_RETURN_IF_ERROR(expression)              \
  do {                                                  \
    if (::encore::Status encore_status_ = (expression); \
        !encore_status_.ok()) {                         \
      return encore_status_;                            \
    }                                                   \
  } while (false)

#define ENCORE_ASSIGN_OR_RETURN(declaration, expression)                    \
  ENCORE_ASSIGN_OR_RETURN_IMPL_(ENCORE_CONCAT_(encore_statusor_, __LINE__), \
                                declaration, expression)

#define ENCORE_ASSIGN_OR_RETURN_IMPL_(result, declaration, expression) \
  auto result = (expression);                                          \
  if (!result.ok()) return std::move(result).status();                 \
  declaration = *std::move(result)

#define ENCORE_CONCAT_(a, b) ENCORE_CONCAT_IMPL_(a, b)
#define ENCORE_CONCAT_IMPL_(a, b) a##b

#endif  // ENCORE_IR_SUPPORT_STATUS_MACROS_H_
