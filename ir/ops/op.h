// The op table (ops.def) as data: what an operator is called, what it takes and
// gives, which dtypes are legal, and what is known of it in general.
#ifndef ENCORE_IR_OPS_OP_H_
#define ENCORE_IR_OPS_OP_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/shape.h"

namespace encore {

enum class Op : uint16_t {
#define ENCORE_OP(Kind, mnemonic, level, signature, dtypes, Attrs, Family, \
                  traits, summary)                                         \
  k##Kind,
#include "encore/ir/ops/ops.def"
#undef ENCORE_OP
};

enum class OpLevel : uint8_t { kPrimitive, kComposite };

// Sets of traits, joined by |.
enum OpTraits : uint16_t {
  kNone = 0,
  // Result element i depends on element i of the operands (scalars aside) only.
  kElementwise = 1 << 0,
  kCommutative = 1 << 1,
  // Exactly so on integers and bool, up to rounding on floats (never for max
  // and min).
  kAssociative = 1 << 2,
  // Moves elements without computing on them.
  kMovement = 1 << 3,
  kReduction = 1 << 4,
  kContraction = 1 << 5,
  kNormalization = 1 << 6,
  kBodies = 1 << 7,
  // Jumps, leaves its domain or grows fast: computed floats are not for it
  // where results are compared.
  kSensitive = 1 << 8,
  // Made or read on the host: strings, sequences, optionals.
  kNonFlatValues = 1 << 9,
  // Symbols that are known at run time only get their values here: those of
  // define_symbols' attribute, of other operators those that stand alone as a
  // dim of a result.
  kDefinesSymbols = 1 << 10,
  // For fusion, of what computes over elements:
  // Costs less to compute again than to keep.
  kCheap = 1 << 11,
  // A kernel of its own with what it reads: nothing follows it in one.
  kEndsKernel = 1 << 12,
  // Reads elements of its operands several times: they may be moved on the way,
  // but not computed.
  kRereads = 1 << 13,
  // No kernel computes it: given from outside, a caller's, or a check of the
  // run.
  kNoKernel = 1 << 14,
  // May end the run with an error that depends on values; MayFail says of which
  // nodes. Such a node runs only where the program runs it: nothing moves it
  // out of a branch or a loop, or before the run. It is left out where nobody
  // reads its results.
  kMayFail = 1 << 15,
};
constexpr OpTraits operator|(OpTraits a, OpTraits b) {
  return static_cast<OpTraits>(static_cast<int>(a) | static_cast<int>(b));
}

// What an operand or result may be, from the signature.
struct TypeSlot {
  enum class Kind : uint8_t {
    kT,      // the row's dtype
    kIndex,  // i32 or i64
    kFixed,  // `dtype`
    kAttr,   // the attribute `dtype`
    kAny,
  };
  Kind kind = Kind::kT;
  DType dtype = DType::kF32;
  ValueKind value_kind = ValueKind::kTensor;  // kSequence: a sequence of these
};

struct Signature {
  std::vector<TypeSlot> operands, results;
  // The last operand (result) stands for any number of them, zero included.
  bool variadic_operands = false, variadic_results = false;
  // How many operands must be there.
  int required_operands = 0;

  // The slot of operand i; REQUIRES that so many are allowed.
  const TypeSlot& operand(int i) const;
  bool AllowsOperands(int count) const;
};

struct OpInfo {
  Op op;
  std::string_view name;      // "DotGeneral"
  std::string_view mnemonic;  // "dot_general"
  OpLevel level;
  std::string_view signature_text;
  std::string_view dtypes_text;  // "kFloats"
  std::span<const DType> dtypes;
  AttrsIndex attributes;
  OpTraits traits;
  std::string_view summary;
  // Bodies that a node has: If and While 2, Loop and Scan 1, others 0.
  int bodies;

  const Signature& signature() const;
  bool has(OpTraits trait) const { return (traits & trait) != 0; }
  bool allows(DType dtype) const;
};

// Every op in the order of the table.
std::span<const OpInfo> AllOps();

const OpInfo& Info(Op op);
// Whether a node of `op` with these attributes may end the run with an error
// that depends on values: trait kMayFail, and an attribute `out_of_range`,
// where there is one, that says so. What its bodies may do is not asked.
bool MayFail(Op op, const Attributes& attributes);
inline std::string_view Mnemonic(Op op) { return Info(op).mnemonic; }
std::optional<Op> ParseOp(std::string_view mnemonic);

inline std::ostream& operator<<(std::ostream& out, Op op) {
  return out << Mnemonic(op);
}
inline void AppendPiece(std::string* out, Op op) { out->append(Mnemonic(op)); }

}  // namespace encore

#endif  // ENCORE_IR_OPS_OP_H_
