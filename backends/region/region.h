// Region: what one kernel computes, as plain data that every backend compiles.
//
// Variables v0, v1, … each run over [0, extent). The first `outer` of them are
// shared by all stages and parallel: iterations write disjoint elements and may
// run in any order. For every point of the outer variables the stages run one
// after the other:
//
//   kMap     for every point of `loops`: computes and stores; `values`, where
//            there is one, is kept as the stage's result
//   kReduce  for every point of `loops`: combines `values` over all points of
//            `reduced`, in row-major order of that list; the result is kept
//   kScan    along the one variable in `loops`: the result at a point combines
//            all points up to it (before it, where `exclusive`)
//
// A stage's result is a scalar per outer point where it has no loops, else a
// buffer with the extents of `loops`; later stages of the same outer point read
// it through an Access. So a softmax is one region: maximum, exponentials into
// a buffer, sum, quotient; and so is a product of a softmax of a product, whose
// scores and weights are buffers of a row.
//
// Scalars come from a DAG of expressions in which operands come first. An
// expression computes in its dtype as the op table says; a backend may keep
// more precision inside a region. Reductions combine in `accumulate` or in
// something more precise.
//
// Elements are addressed through an Index per dim: affine in the variables,
// with an expression added where the address depends on data (gather). Where
// data may not lead outside, a Check says so.
//
// Extents and offsets are Dims over the region's own symbols, numbered from 0:
// the arguments of its kernel.
//
// region/verify.h has the invariants, region/text.h the dump, region/codec.h
// the bytes, region/interpreter.h the meaning.
#ifndef ENCORE_BACKENDS_REGION_REGION_H_
#define ENCORE_BACKENDS_REGION_REGION_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encore/backends/region/layout.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/typed_id.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/dtype.h"

namespace encore::backends {

using ExprId = TypedId<struct ExprTag>;

// A tensor that the region reads or writes. Whatever its layout, indices are of
// `dims`; what lies behind them in memory is zeros (layout.h).
struct Operand {
  DType dtype = DType::kF32;
  std::vector<Dim> dims = {};
  Layout layout = {};
};

// (offset + sum of stride * variable + indirect) / divisor.
struct Index {
  struct Term {
    uint32_t variable = 0;
    Dim stride = 1;  // not 0; may be negative
    bool operator==(const Term&) const = default;
  };
  Dim offset = {};
  std::vector<Term> terms = {};  // variables ascending
  // The position exists only where the division is exact (dilated operands);
  // above 1 only in a checked access.
  int64_t divisor = 1;
  ExprId indirect = {};  // an i64; invalid: none

  bool operator==(const Index&) const = default;
};

// An element of an input, or of the result of an earlier stage.
struct Access {
  enum class Source : uint8_t { kInput, kStage };
  Source source = Source::kInput;
  uint32_t number = 0;     // of the input or stage
  uint32_t component = 0;  // of a stage's tuple
  // One per dim of the input, or per loop of the stage.
  std::vector<Index> indices = {};
  // Where an index does not exist or is not in [0, extent), the value is `fill`
  // (0 where invalid). Without `checked` every index exists.
  bool checked = false;
  ExprId fill = {};
};

struct Expr {
  enum class Kind : uint8_t {
    kConstant,  // the element whose bits are `bits`
    kVariable,  // the value of variable `number`, an i64
    kDim,       // the value of `dim`, an i64
    kLoad,      // accesses[number]
    kOp,        // an elementwise primitive of the op table on `operands`
    kChecked,   // the first operand, an i64, which checks[number] must hold of;
                // 0 where it does not
  };
  Kind kind = Kind::kConstant;
  DType dtype = DType::kF32;
  uint64_t bits = 0;
  uint32_t number = 0;
  Dim dim = {};
  Op op = Op::kAdd;
  Comparison comparison = Comparison::kEq;  // of kCompare
  bool saturate = false;                    // of kCast
  std::array<ExprId, 3> operands = {};      // the unused ones are invalid
};

// What a gather or scatter whose indices may not leave their axis asks of one
// of them. Where it does not hold, the kernel computes on and then reports it:
// of all that do not hold the one whose node is first, of these the one at the
// first position, of these the one of the first component.
struct IndexCheck {
  static constexpr uint32_t kMost = 256;  // nodes, components, axes

  uint32_t node = 0;    // of the region's nodes that may fail, in their order
  Op op = Op::kGather;  // what the error calls it
  uint32_t component = 0;  // of the index vector
  uint32_t axis = 0;
  Dim count = {};       // the index is in [0, count)
  Dim extent = {};      // of the axis
  Index position = {};  // of the index vector, as IndexFault has it; divisor 1
};

enum class RegionCombiner : uint8_t {
  kSum,
  kProduct,
  kMax,  // NaN where one is
  kMin,
  kAnd,
  kOr,
  // The i64 value of the last variable in `reduced` where the value is extreme;
  // of equal ones the first, or the last. A NaN is beyond every number.
  kArgMax,
  kArgMin,
  kArgMaxLast,
  kArgMinLast,
  // Component 0: the mean of the values, 1: the sum of squared differences from
  // it.
  kWelford,
  // Component 0: the maximum m of the values x, 1: the sum of e^(x - m).
  kOnlineSoftmax,
};

// outputs[output] at `indices` = value, or combined with it.
struct Store {
  uint32_t output = 0;
  ExprId value = {};
  std::vector<Index> indices = {};
  // Where an index is not in [0, extent), nothing is stored.
  bool checked = false;
  // Anything but kSet combines with what the element holds. Stores of a stage
  // take effect in row-major order of its loops.
  Update update = Update::kSet;
};

struct Stage {
  enum class Kind : uint8_t { kMap, kReduce, kScan };
  Kind kind = Kind::kMap;
  std::vector<uint32_t> loops = {};    // inner variables, outermost first
  std::vector<uint32_t> reduced = {};  // of kReduce
  RegionCombiner combiner = RegionCombiner::kSum;
  bool exclusive = false;  // of kScan
  // Floats: at least f32. Others: the dtype of the value.
  DType accumulate = DType::kF32;
  // The dtype of the result, component for component, rounded once at the end.
  DType dtype = DType::kF32;
  ExprId value = {};               // invalid: a kMap that only stores
  std::vector<Store> stores = {};  // of kMap
};

// What a template needs to see a matrix product or convolution in a kReduce
// stage with kSum whose value is lhs * rhs. It says nothing that the stage does
// not say. Variables of extent 1 are left out everywhere: an empty list is an
// extent of 1.
struct Contraction {
  enum class Kind : uint8_t { kDot, kConvolution };
  Kind kind = Kind::kDot;
  uint32_t stage = 0;
  // The factors; loads of operands, unless something is fused before them.
  ExprId lhs = {}, rhs = {};
  // Of kDot. batch: variables in both factors and the result; m: in lhs and
  // result; n: in rhs and result; k: reduced. Each in the order of the result,
  // k in the order of `reduced`.
  std::vector<uint32_t> batch = {}, m = {}, n = {}, k = {};
  // Of kConvolution: the op's attributes, and its dims as the op table has
  // them. Result [N, O, spatial…], lhs [N, C, spatial…], rhs [O, C /
  // feature_groups, window…].
  ConvolutionAttrs convolution = {};
  std::vector<Dim> lhs_dims = {}, rhs_dims = {}, result_dims = {};
};

struct Region {
  std::vector<Dim> extents;  // by variable
  uint32_t outer = 0;
  uint32_t symbols = 0;  // Dims use symbols below this one
  std::vector<Operand> inputs, outputs;
  std::vector<Access> accesses;
  std::vector<Expr> exprs;
  std::vector<IndexCheck> checks;
  std::vector<Stage> stages;
  std::optional<Contraction> contraction;

  const Expr& expr(ExprId id) const { return exprs[id.value()]; }
  // The access of a kLoad.
  const Access& access(ExprId id) const {
    return accesses[exprs[id.value()].number];
  }
};

// Components of a stage's result: 2 for kWelford and kOnlineSoftmax, else 1.
int ComponentCount(RegionCombiner combiner);

// "sum", "arg_max_last".
std::string_view Name(RegionCombiner combiner);

// The combiner of the op table as a region's.
RegionCombiner ToRegionCombiner(Combiner combiner);

// The dtype that a reduction of `dtype` accumulates in: f32 for narrower
// floats, otherwise `dtype`.
DType AccumulateDType(DType dtype);

// Which expressions `roots` need, themselves included; what a load's access
// names counts as needed. Invalid ids are skipped. Indexed by expression.
std::vector<bool> Reachable(const Region& region,
                            const std::vector<ExprId>& roots);

// Appends and returns the new element's id or number.
ExprId AddExpr(Region* region, Expr expr);
uint32_t AddAccess(Region* region, Access access);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_REGION_H_
