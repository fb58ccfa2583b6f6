// HostProgram: a kernel on host objects, as runtime::KernelBinary::params hold
// it.
//
// The kernels of the device "host" compute an operator of trait kNonFlatValues,
// give a constant tensor of strings, or unpack a tensor of a data-dependent
// size.
//
//   op        reads the operands; writes per result its slot and, where its
//             size is defined here, an i64 vector of its dims behind it (a
//             tensor of numbers is then written as an optional), then the
//             objects that it takes. args: the dims of operands that are
//             tensors of numbers, then of results that are tensors,
//             0 where defined here.
//   constant  writes the object of its result.
//   unpack    reads an optional; writes the tensor in it, and the optional,
//             which it takes. args: the tensor's dims.
#ifndef ENCORE_BACKENDS_HOST_PROGRAM_H_
#define ENCORE_BACKENDS_HOST_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/shape.h"

namespace encore::backends::host {

// The name of the device, and of programs' backend.
inline constexpr char kHostBackend[] = "host";

enum class HostEntry : uint8_t { kOp, kConstant, kUnpack };

struct HostProgram {
  struct Operand {
    DType dtype = DType::kF32;
    ValueKind kind = ValueKind::kTensor;
    uint32_t rank = 0;
    bool donated = false;  // nobody reads the object after this
    bool operator==(const Operand&) const = default;
  };
  struct Result {
    DType dtype = DType::kF32;
    ValueKind kind = ValueKind::kTensor;
    uint32_t rank = 0;
    bool sized = false;  // its dims are defined here
    bool operator==(const Result&) const = default;
  };

  HostEntry entry = HostEntry::kOp;
  Op op = Op::kConstant;
  // The dims in attributes are not kept, only how many there are.
  Attributes attributes = NoneAttrs();
  std::vector<Operand> operands;
  std::vector<Result> results;

  // Numbers live in plain buffers, all else in host objects.
  static bool IsObject(DType dtype, ValueKind kind) {
    return kind != ValueKind::kTensor || IsString(dtype);
  }
  // The arity of its launches.
  uint32_t reads() const;
  uint32_t writes() const;
  uint32_t args() const;
};

std::vector<std::byte> EncodeHostProgram(const HostProgram& program);

// DataLoss where the bytes are no program.
StatusOr<HostProgram> DecodeHostProgram(std::span<const std::byte> bytes);

}  // namespace encore::backends::host

#endif  // ENCORE_BACKENDS_HOST_PROGRAM_H_
