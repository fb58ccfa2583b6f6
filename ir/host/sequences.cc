#include <algorithm>
#include <cstring>
#include <utility>

#include "encore/ir/host/families.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::host {
namespace {

// The most elements of a tensor that is made here.
constexpr int64_t kMaxElements = int64_t{1} << 40;

Literals One(Literal literal) {
  Literals results;
  results.push_back(std::move(literal));
  return results;
}

// The index in operand `i` into `length` places, which may count from the end.
StatusOr<int64_t> IndexIn(const HostContext& context, size_t i, int64_t length,
                          int64_t limit) {
  const int64_t given = context.operand(i).AsInt(0);
  const int64_t index = given < 0 ? given + length : given;
  if (index >= 0 && index < limit) return index;
  return context.Error("index ", given, " of a sequence of ", length);
}

// A tensor around an axis; without elements, nothing.
struct Rows {
  int64_t before = 1;  // the product of the dims before the axis
  int64_t after = 1;   // of those after it
};

Rows RowsOf(const std::vector<int64_t>& dims, int64_t axis) {
  Rows rows;
  if (ElementCount(dims) == 0) return {0, 0};
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    if (d < axis) rows.before *= dims[d];
    if (d > axis) rows.after *= dims[d];
  }
  return rows;
}

// to[to_at + i] = from[from_at + i] for `count` elements, whatever the dtype.
void CopyElements(const Literal& from, int64_t from_at, int64_t count,
                  Literal* to, int64_t to_at) {
  if (count == 0) return;
  if (IsString(from.dtype())) {
    std::copy_n(from.strings().begin() + from_at, count,
                to->mutable_strings().begin() + to_at);
  } else if (IsPacked(from.dtype())) {
    for (int64_t i = 0; i < count; ++i) {
      StorePacked(from.dtype(), to->mutable_bytes().data(), to_at + i,
                  LoadPacked(from.dtype(), from.bytes().data(), from_at + i));
    }
  } else {
    const int64_t size = BitWidth(from.dtype()) / 8;
    std::memcpy(to->mutable_bytes().data() + to_at * size,
                from.bytes().data() + from_at * size, count * size);
  }
}

// Whether two shapes agree but for `axis`; -1: everywhere.
bool SameBut(const std::vector<int64_t>& a, const std::vector<int64_t>& b,
             int64_t axis) {
  if (a.size() != b.size()) return false;
  for (size_t d = 0; d < a.size(); ++d) {
    if (a[d] != b[d] && static_cast<int64_t>(d) != axis) return false;
  }
  return true;
}

// A stack of no elements.
StatusOr<Literals> EmptyStack(const HostContext& context) {
  const auto& attrs = context.attrs<SequenceConcatAttrs>();
  if (!attrs.stack || attrs.shape.empty()) {
    return context.Error("a sequence without elements");
  }
  std::vector<int64_t> dims;
  for (const Dim& dim : attrs.shape) {
    dims.push_back(dim.is_constant() ? dim.constant() : 0);
  }
  dims[attrs.axis] = 0;
  return One(Literal(context.operand(0).dtype(), std::move(dims)));
}

StatusOr<Literals> Concat(const HostContext& context) {
  const auto& attrs = context.attrs<SequenceConcatAttrs>();
  const std::vector<Literal>& parts = context.operand(0).elements();
  if (parts.empty()) return EmptyStack(context);
  const int64_t rank = parts[0].rank() + (attrs.stack ? 1 : 0);
  if (attrs.axis >= rank) {
    return context.Error("axis ", attrs.axis, " of elements ",
                         parts[0].type().ToString());
  }
  std::vector<int64_t> dims = parts[0].dims();
  if (attrs.stack) dims.insert(dims.begin() + attrs.axis, 1);
  int64_t total = 0;
  for (const Literal& part : parts) {
    if (!SameBut(part.dims(), parts[0].dims(), attrs.stack ? -1 : attrs.axis)) {
      return context.Error("elements ", parts[0].type().ToString(), " and ",
                           part.type().ToString(), " along axis ", attrs.axis);
    }
    if (__builtin_add_overflow(total, attrs.stack ? 1 : part.dims()[attrs.axis],
                               &total)) {
      total = INT64_MAX;
    }
  }
  dims[attrs.axis] = total;
  const auto count = ElementCount(dims);
  if (!count || *count > kMaxElements) {
    return ResourceExhaustedError(
        StrCat(context.op, ": a result of [", StrJoin(dims, ","), "]"));
  }
  Literal result(parts[0].dtype(), dims);
  const Rows rows = RowsOf(dims, attrs.axis);
  int64_t at = 0;
  for (const Literal& part : parts) {
    const int64_t extent = attrs.stack ? 1 : part.dims()[attrs.axis];
    for (int64_t row = 0; row < rows.before; ++row) {
      CopyElements(part, row * extent * rows.after, extent * rows.after,
                   &result, (row * total + at) * rows.after);
    }
    at += extent;
  }
  return One(std::move(result));
}

StatusOr<Literals> Split(const HostContext& context) {
  const auto& attrs = context.attrs<SequenceSplitAttrs>();
  const Literal& whole = context.operand(0);
  const Literal& lengths = context.operand(1);
  const int64_t extent = whole.dims()[attrs.axis];
  const Rows rows = RowsOf(whole.dims(), attrs.axis);
  std::vector<Literal> pieces;
  int64_t at = 0;
  for (int64_t i = 0; i < lengths.element_count(); ++i) {
    const int64_t length = lengths.AsInt(i);
    if (length < 0 || length > extent - at || (attrs.squeeze && length != 1)) {
      return context.Error("piece ", i, " has length ", length, " of the ",
                           extent - at, " elements that are left");
    }
    std::vector<int64_t> dims = whole.dims();
    dims[attrs.axis] = length;
    Literal piece(whole.dtype(), dims);
    for (int64_t row = 0; row < rows.before; ++row) {
      CopyElements(whole, (row * extent + at) * rows.after, length * rows.after,
                   &piece, row * length * rows.after);
    }
    if (attrs.squeeze) {
      dims.erase(dims.begin() + attrs.axis);
      piece = piece.Reshaped(std::move(dims));
    }
    pieces.push_back(std::move(piece));
    at += length;
  }
  if (at != extent) {
    return context.Error("the pieces have ", at, " elements, the whole has ",
                         extent);
  }
  return One(Literal::Sequence(whole.dtype(), std::move(pieces)));
}

StatusOr<Literals> At(const HostContext& context) {
  const std::vector<Literal>& elements = context.operand(0).elements();
  const auto length = static_cast<int64_t>(elements.size());
  ENCORE_ASSIGN_OR_RETURN(const int64_t index,
                          IndexIn(context, 1, length, length));
  return One(elements[index]);
}

StatusOr<Literals> Insert(const HostContext& context) {
  const DType dtype = context.operand(0).dtype();
  const auto length =
      static_cast<int64_t>(context.operand(0).elements().size());
  ENCORE_ASSIGN_OR_RETURN(const int64_t index,
                          IndexIn(context, 2, length, length + 1));
  std::vector<Literal> elements = std::move(context.operand(0)).TakeElements();
  elements.insert(elements.begin() + index, std::move(context.operand(1)));
  return One(Literal::Sequence(dtype, std::move(elements)));
}

StatusOr<Literals> Erase(const HostContext& context) {
  const DType dtype = context.operand(0).dtype();
  const auto length =
      static_cast<int64_t>(context.operand(0).elements().size());
  ENCORE_ASSIGN_OR_RETURN(const int64_t index,
                          IndexIn(context, 1, length, length));
  std::vector<Literal> elements = std::move(context.operand(0)).TakeElements();
  elements.erase(elements.begin() + index);
  return One(Literal::Sequence(dtype, std::move(elements)));
}

}  // namespace

StatusOr<Literals> ApplySequenceOp(const HostContext& context) {
  switch (context.op) {
    case Op::kSequence:
      return One(Literal::Sequence(context.attrs<ElementTypeAttrs>().dtype,
                                   std::move(context.operands)));
    case Op::kSequenceAt:
      return At(context);
    case Op::kSequenceInsert:
      return Insert(context);
    case Op::kSequenceErase:
      return Erase(context);
    case Op::kSequenceLength:
      return One(Literal::Scalar(
          static_cast<int64_t>(context.operand(0).elements().size())));
    case Op::kSequenceConcat:
      return Concat(context);
    case Op::kSequenceSplit:
      return Split(context);
    case Op::kOptional: {
      if (!context.operands.empty()) {
        return One(Literal::Optional(std::move(context.operand(0))));
      }
      const auto& attrs = context.attrs<OptionalAttrs>();
      return One(Literal::Absent(attrs.dtype, attrs.sequence
                                                  ? ValueKind::kOptionalSequence
                                                  : ValueKind::kOptional));
    }
    case Op::kOptionalHas:
      return One(Literal::Scalar<bool>(!context.operand(0).elements().empty()));
    default:
      break;
  }
  ENCORE_CHECK(context.op == Op::kOptionalGet) << context.op;
  std::vector<Literal> value = std::move(context.operand(0)).TakeElements();
  if (value.empty()) return context.Error("the optional has no value");
  return One(std::move(value[0]));
}

}  // namespace encore::host
