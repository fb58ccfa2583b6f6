// Status and StatusOr: how Encore reports what a caller can do something about.
//
// They are Abseil's types under Encore's names. Differences between Abseil
// releases (string types, missing macros) are settled here and in
// status_macros.h, and nowhere else. Codes carry the exit code of the tools:
// kInvalidArgument, kNotFound, kOutOfRange, kFailedPrecondition,
// kUnimplemented, kDataLoss and kPermissionDenied are "unusable input" (2);
// everything else is an internal error (3).
//
// A message names the thing at fault and, where there is one, the remedy.
#ifndef ENCORE_IR_SUPPORT_STATUS_H_
#define ENCORE_IR_SUPPORT_STATUS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace encore {

using Status = absl::Status;
template <typename T>
using StatusOr = absl::StatusOr<T>;
using StatusCode = absl::StatusCode;

inline Status OkStatus() { return absl::OkStatus(); }

inline Status MakeStatus(StatusCode code, std::string_view message) {
  return Status(code, {message.data(), message.size()});
}
inline Status InvalidArgumentError(std::string_view message) {
  return MakeStatus(StatusCode::kInvalidArgument, message);
}
inline Status NotFoundError(std::string_view message) {
  return MakeStatus(StatusCode::kNotFound, message);
}
inline Status OutOfRangeError(std::string_view message) {
  return MakeStatus(StatusCode::kOutOfRange, message);
}
inline Status FailedPreconditionError(std::string_view message) {
  return MakeStatus(StatusCode::kFailedPrecondition, message);
}
inline Status UnimplementedError(std::string_view message) {
  return MakeStatus(StatusCode::kUnimplemented, message);
}
// Stored bytes are not what was written: a bad checksum, a truncated file.
inline Status DataLossError(std::string_view message) {
  return MakeStatus(StatusCode::kDataLoss, message);
}
inline Status PermissionDeniedError(std::string_view message) {
  return MakeStatus(StatusCode::kPermissionDenied, message);
}
inline Status ResourceExhaustedError(std::string_view message) {
  return MakeStatus(StatusCode::kResourceExhausted, message);
}
inline Status CancelledError(std::string_view message) {
  return MakeStatus(StatusCode::kCancelled, message);
}
inline Status InternalError(std::string_view message) {
  return MakeStatus(StatusCode::kInternal, message);
}

// The message as std::string (Abseil's own view type differs between releases).
inline std::string Message(const Status& status) {
  return std::string(status.message().data(), status.message().size());
}

// `status` with "prefix: " before its message; OK stays OK.
Status Annotate(const Status& status, std::string_view prefix);

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_STATUS_H_
