#include "encore/backends/host/kernel.h"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "encore/backends/host/program.h"
#include "encore/ir/host/host_ops.h"
#include "encore/ir/ops/infer.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/replay/host_object.h"

namespace encore::backends::host {
namespace {

using runtime::HostObject;
using runtime::LaunchContext;

// Reads a launch's buffers and args in their order.
class Cursor {
 public:
  explicit Cursor(const LaunchContext& context) : context_(context) {}

  // InvalidArgument where the plan has a tensor in its place.
  StatusOr<HostObject*> Object() {
    if (context_.sizes[buffer_] != runtime::kHostObjectSize) {
      return InvalidArgumentError("a tensor in the place of a host object");
    }
    return static_cast<HostObject*>(context_.buffers[buffer_++]);
  }
  // The other way round.
  StatusOr<std::span<std::byte>> Bytes() {
    const int64_t size = context_.sizes[buffer_];
    if (size == runtime::kHostObjectSize) {
      return InvalidArgumentError("a host object in the place of a tensor");
    }
    return std::span(static_cast<std::byte*>(context_.buffers[buffer_++]),
                     static_cast<size_t>(size));
  }
  std::vector<int64_t> Dims(uint32_t rank) {
    std::vector<int64_t> dims = NextDims(rank);
    arg_ += rank;
    return dims;
  }
  // The same without taking them.
  std::vector<int64_t> NextDims(uint32_t rank) const {
    const int64_t* begin = context_.args + arg_;
    return {begin, begin + rank};
  }

 private:
  const LaunchContext& context_;
  size_t buffer_ = 0, arg_ = 0;
};

Status CopyOut(const Literal& literal, std::span<std::byte> to) {
  const auto bytes = literal.bytes();
  if (bytes.size() != to.size()) {
    return InvalidArgumentError(StrCat("a tensor of ", bytes.size(),
                                       " bytes for a buffer of ", to.size()));
  }
  if (!bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
  return OkStatus();
}

// What is in `object`, which must be as the program says.
Status CheckObject(const Literal& value, DType dtype, ValueKind kind) {
  if (value.dtype() == dtype && value.kind() == kind) return OkStatus();
  return InvalidArgumentError(StrCat("a host object is ", value.type()));
}

Status CheckDims(std::string_view what, const Literal& result,
                 const std::vector<int64_t>& dims) {
  if (result.dims() == dims) return OkStatus();
  return InvalidArgumentError(StrCat(what, ": a tensor is ", result.type(),
                                     ", expected [", StrJoin(dims, ","), "]"));
}

// Whether an operator keeps its operands' bytes.
bool Keeps(Op op) {
  return op == Op::kSequence || op == Op::kSequenceInsert ||
         op == Op::kOptional;
}

class OpKernel : public runtime::Kernel {
 public:
  explicit OpKernel(HostProgram program) : program_(std::move(program)) {}

  Status Launch(const LaunchContext& context) const override {
    Cursor cursor(context);
    ENCORE_ASSIGN_OR_RETURN(std::vector<Literal> operands, Take(&cursor));
    std::vector<TensorType> types;
    for (const Literal& operand : operands) types.push_back(operand.type());
    ENCORE_RETURN_IF_ERROR(
        InferTypes({program_.op, program_.attributes, types, {}, {}}).status());
    ENCORE_ASSIGN_OR_RETURN(std::vector<Literal> results,
                            Apply(cursor, std::move(operands)));
    for (size_t i = 0; i < program_.results.size(); ++i) {
      ENCORE_RETURN_IF_ERROR(
          Give(program_.results[i], std::move(results[i]), &cursor));
    }
    return OkStatus();
  }

 private:
  // `cursor` is at the dims of the results.
  StatusOr<std::vector<Literal>> Apply(const Cursor& cursor,
                                       std::vector<Literal> operands) const {
    if (program_.op != Op::kSequenceConcat) {
      return ApplyHostOp(program_.op, program_.attributes, std::move(operands));
    }
    // Without elements only the dims say what the result is.
    Attributes attributes = program_.attributes;
    Dims& shape = attributes.Get<SequenceConcatAttrs>().shape;
    const std::vector<int64_t> dims =
        cursor.NextDims(static_cast<uint32_t>(shape.size()));
    shape.assign(dims.begin(), dims.end());
    return ApplyHostOp(program_.op, attributes, std::move(operands));
  }

  StatusOr<std::vector<Literal>> Take(Cursor* cursor) const {
    std::vector<Literal> operands;
    for (const HostProgram::Operand& operand : program_.operands) {
      if (HostProgram::IsObject(operand.dtype, operand.kind)) {
        ENCORE_ASSIGN_OR_RETURN(HostObject* const object, cursor->Object());
        ENCORE_RETURN_IF_ERROR(
            CheckObject(object->value, operand.dtype, operand.kind));
        operands.push_back(operand.donated ? object->Take() : object->value);
        continue;
      }
      ENCORE_ASSIGN_OR_RETURN(const auto bytes, cursor->Bytes());
      std::vector<int64_t> dims = cursor->Dims(operand.rank);
      ENCORE_ASSIGN_OR_RETURN(
          Literal literal,
          Keeps(program_.op)
              ? Literal::Copy(operand.dtype, std::move(dims), bytes)
              : Literal::Map(operand.dtype, std::move(dims), bytes, nullptr));
      operands.push_back(std::move(literal));
    }
    return operands;
  }

  Status Give(const HostProgram::Result& type, Literal result,
              Cursor* cursor) const {
    if (result.dtype() != type.dtype || result.kind() != type.kind ||
        result.rank() != static_cast<int>(type.rank)) {
      return InvalidArgumentError(StrCat(program_.op, ": a result is ",
                                         result.type(), ", expected ",
                                         type.dtype, " of rank ", type.rank));
    }
    if (type.kind == ValueKind::kTensor) {
      const std::vector<int64_t> dims = cursor->Dims(type.rank);
      if (!type.sized) {
        ENCORE_RETURN_IF_ERROR(CheckDims(Mnemonic(program_.op), result, dims));
      }
    }
    if (!HostProgram::IsObject(type.dtype, type.kind) && !type.sized) {
      ENCORE_ASSIGN_OR_RETURN(const auto bytes, cursor->Bytes());
      return CopyOut(result, bytes);
    }
    ENCORE_ASSIGN_OR_RETURN(HostObject* const object, cursor->Object());
    const std::vector<int64_t> dims = result.dims();
    object->value = HostProgram::IsObject(type.dtype, type.kind)
                        ? std::move(result)
                        : Literal::Optional(std::move(result));
    if (!type.sized) return OkStatus();
    ENCORE_ASSIGN_OR_RETURN(const auto bytes, cursor->Bytes());
    return CopyOut(Literal::Vector<int64_t>(dims), bytes);
  }

  const HostProgram program_;
};

class ConstantKernel : public runtime::Kernel {
 public:
  explicit ConstantKernel(Literal value) : value_(std::move(value)) {}

  Status Launch(const LaunchContext& context) const override {
    ENCORE_ASSIGN_OR_RETURN(HostObject* const object, Cursor(context).Object());
    object->value = value_;
    return OkStatus();
  }

 private:
  const Literal value_;
};

class UnpackKernel : public runtime::Kernel {
 public:
  explicit UnpackKernel(const HostProgram::Result& type) : type_(type) {}

  Status Launch(const LaunchContext& context) const override {
    Cursor cursor(context);
    ENCORE_ASSIGN_OR_RETURN(HostObject* const object, cursor.Object());
    ENCORE_RETURN_IF_ERROR(
        CheckObject(object->value, type_.dtype, ValueKind::kOptional));
    const std::vector<Literal> value = object->Take().TakeElements();
    if (value.empty()) {
      return InvalidArgumentError(
          "the optional is empty, expected a value in it");
    }
    ENCORE_RETURN_IF_ERROR(
        CheckDims("unpack", value[0], cursor.Dims(type_.rank)));
    ENCORE_ASSIGN_OR_RETURN(const auto bytes, cursor.Bytes());
    return CopyOut(value[0], bytes);
  }

 private:
  const HostProgram::Result type_;
};

// Whether dims in attributes are those of the result.
bool HasRank(const HostProgram& program) {
  const auto* attrs = program.attributes.GetIf<SequenceConcatAttrs>();
  return attrs == nullptr || (program.results.size() == 1 &&
                              program.results[0].rank == attrs->shape.size());
}

StatusOr<std::unique_ptr<runtime::Kernel>> MakeKernel(HostProgram program) {
  switch (program.entry) {
    case HostEntry::kOp:
      if (Info(program.op).has(kNonFlatValues) && HasRank(program)) {
        return std::make_unique<OpKernel>(std::move(program));
      }
      break;
    case HostEntry::kConstant: {
      const auto* constant = program.attributes.GetIf<ConstantAttrs>();
      if (constant != nullptr && IsString(constant->value.dtype())) {
        return std::make_unique<ConstantKernel>(constant->value);
      }
      break;
    }
    case HostEntry::kUnpack:
      if (program.results.size() == 1 && !IsString(program.results[0].dtype)) {
        return std::make_unique<UnpackKernel>(program.results[0]);
      }
      break;
  }
  return DataLossError("the params of a host kernel do not fit its entry");
}

}  // namespace

StatusOr<std::unique_ptr<runtime::Kernel>> LoadHostKernel(
    const runtime::LoadRequest& request) {
  ENCORE_ASSIGN_OR_RETURN(HostProgram program,
                          DecodeHostProgram(request.binary->params));
  if (request.binary->reads != program.reads() ||
      request.binary->writes != program.writes() ||
      request.binary->args != program.args()) {
    return DataLossError("a host kernel of another arity than its program");
  }
  return MakeKernel(std::move(program));
}

}  // namespace encore::backends::host
