// ai.onnx.ml: maps, as the two tensors that split_maps.h makes of each.

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/ml/lookup.h"
#include "encore/ir/import/onnx/ml/scores.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Beyond any list of a file that can be read.
constexpr int64_t kMaxPlaces = int64_t{1} << 30;

// Whether key a comes before key b.
bool IsBefore(const Literal& keys, int64_t a, int64_t b) {
  if (IsString(keys.dtype())) return keys.strings()[a] < keys.strings()[b];
  return keys.AsInt(a) < keys.AsInt(b);
}

// The numbers of the keys in ascending order, equal ones as they are listed.
std::vector<int64_t> AscendingOrder(const Literal& keys) {
  std::vector<int64_t> order(keys.element_count());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](int64_t a, int64_t b) {
    return IsBefore(keys, a, b) || (a < b && !IsBefore(keys, b, a));
  });
  return order;
}

std::string KeyText(const Literal& keys, int64_t i) {
  return IsString(keys.dtype()) ? Quote(keys.strings()[i])
                                : StrCat(keys.AsInt(i));
}

// The keys with these numbers.
Literal KeysAt(const Literal& keys, const std::vector<int64_t>& numbers) {
  if (IsString(keys.dtype())) {
    std::vector<std::string> taken;
    for (const int64_t number : numbers) {
      taken.push_back(keys.strings()[number]);
    }
    return Literal::Strings(keys.dims(), std::move(taken));
  }
  Literal taken(keys.dtype(), keys.dims());
  for (size_t i = 0; i < numbers.size(); ++i) {
    taken.SetInt(static_cast<int64_t>(i), keys.AsInt(numbers[i]));
  }
  return taken;
}

// A map for each row, whose keys, in ascending order, are the labels.
Status ZipMap(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(
      const Literal labels,
      ReadLabels(context, "classlabels_int64s", "classlabels_strings"));
  const int64_t count = labels.element_count();
  const std::vector<int64_t> order = AscendingOrder(labels);
  for (size_t i = 1; i < order.size(); ++i) {
    if (IsBefore(labels, order[i - 1], order[i])) continue;
    return NodeContext::Error(StrCat(
        "attribute ",
        IsString(labels.dtype()) ? "classlabels_strings" : "classlabels_int64s",
        " lists ", KeyText(labels, order[i]), " twice"));
  }
  ENCORE_ASSIGN_OR_RETURN(
      Value x, Rows(context, DType::kF32, count, "the list of labels"));
  if (!std::ranges::is_sorted(order)) {
    x = g.Take(x, g.Constant(Literal::Vector<int64_t>(order)), 1);
  }
  ENCORE_RETURN_IF_ERROR(context.Output(0, g.Constant(KeysAt(labels, order))));
  return context.Output(1, x);
}

// `x` where `holds`, a vector of bools, is all true; else the run ends.
Value AssertAll(GraphBuilder& g, Value x, Value holds, std::string message) {
  const Value all = g.Reduce(g.Cast(holds, DType::kI64), Combiner::kMin, {0});
  return g.Assert(x, all, std::move(message));
}

// For each of `count` places the number, counted from 1, of the key that is for
// it, 0 where there is none: i64[count]. `places` has the place of each key;
// other numbers than those of places mean none. The run ends where two keys are
// for one place.
Value KeyAtPlace(NodeContext& context, Value places, int64_t count) {
  GraphBuilder& g = context.builder();
  places = g.Cast(places, DType::kI64);
  if (!places.valid()) return places;
  const Dim length = places.shape()[0];
  const Value numbers = g.Add(g.Iota(DType::kI64, {length}), int64_t{1});
  ScatterAttrs scatter;
  scatter.inserted_window_dims = {0};
  scatter.scatter_dims_to_operand_dims = {0};
  scatter.index_vector_dim = 1;
  const Value at =
      g.Scatter(g.Full({count}, g.Scalar(DType::kI64, int64_t{0})),
                g.Unsqueeze(places, {1}), numbers, std::move(scatter));
  // Of two keys for one place one finds the other there.
  const Value is_place = g.And(g.Compare(places, int64_t{0}, Comparison::kGe),
                               g.Compare(places, count, Comparison::kLt));
  const Value found =
      g.Compare(g.Take(at, places, 0), numbers, Comparison::kEq);
  return AssertAll(
      g, at, g.Or(found, g.Not(is_place)),
      StrCat(context.node().op_type, ": the map of input X has a key twice"));
}

// The values of the keys at `places`, numbered as KeyAtPlace does, as a row;
// `absent`, a literal of one element, where there is none.
Value ValuesAt(GraphBuilder& g, Value values, Value places, Literal absent) {
  const Value all = g.Concat({g.Constant(std::move(absent)), values}, 0);
  return g.Unsqueeze(g.Take(all, places, 0), {0});
}

Status CheckMap(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  ENCORE_RETURN_IF_ERROR(context.CheckVector(0, "X, keys"));
  ENCORE_RETURN_IF_ERROR(context.CheckVector(1, "X, values"));
  const Dim keys = context.Input(0).shape()[0];
  const Dim values = context.Input(1).shape()[0];
  if (keys == values) return OkStatus();
  return context.ShapeMismatch(StrCat("input X has keys ",
                                      context.Input(0).type(), " and values ",
                                      context.Input(1).type()));
}

// What the vocabulary's entries are in the map, 0 or empty where they are not;
// keys that are no entries do not count.
Status DictVectorizer(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(CheckMap(context));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(
      const Literal vocabulary,
      ReadLabels(context, "int64_vocabulary", "string_vocabulary"));
  const Value keys = context.Input(0), values = context.Input(1);
  if (keys.dtype() != vocabulary.dtype()) {
    return NodeContext::Error(StrCat("input X has keys of ", keys.dtype(),
                                     ", but the attributes list ",
                                     vocabulary.dtype()));
  }
  const int64_t count = vocabulary.element_count();
  if (count >= kMaxPlaces) {
    return ResourceExhaustedError("the vocabulary has too many entries");
  }
  Value at = KeyAtPlace(context, FindKeys(g, keys, vocabulary), count);
  // FindKeys knows the last of equal entries.
  const std::vector<int64_t> order = AscendingOrder(vocabulary);
  std::vector<int64_t> last(count);
  for (int64_t i = count - 1; i >= 0; --i) {
    const bool repeats =
        i + 1 < count && !IsBefore(vocabulary, order[i], order[i + 1]);
    last[order[i]] = repeats ? last[order[i + 1]] : order[i];
  }
  if (!std::ranges::is_sorted(last) ||
      std::ranges::adjacent_find(last) != last.end()) {
    at = g.Take(at, g.Constant(Literal::Vector<int64_t>(last)), 0);
  }
  return context.Output(0,
                        ValuesAt(g, values, at, Literal(values.dtype(), {1})));
}

Value Converted(NodeContext& context, Value x, DType to) {
  if (x.dtype() == to) return x;
  if (IsString(to)) return context.Emit(Op::kStringFormat, {x});
  if (IsString(x.dtype())) {
    return context.Emit(Op::kStringParse, {x}, ElementTypeAttrs{to});
  }
  return context.builder().Cast(x, to);
}

// The values by ascending keys.
Value Dense(NodeContext& context, Value keys, Value values) {
  GraphBuilder& g = context.builder();
  const Dim length = keys.shape()[0];
  const Value order =
      context.Emit(Op::kArgSort, {keys}, ArgSortAttrs{0, false});
  const Value sorted = g.Take(keys, order, 0);
  const Value lowest =
      g.Constant(Literal::FromValues<int64_t>({1}, {INT64_MIN}));
  const Value before = g.SliceAxis(g.Concat({lowest, sorted}, 0), 0, 0, length);
  const Value is_first =
      g.Compare(g.Iota(DType::kI64, {length}), int64_t{0}, Comparison::kEq);
  const Value differs = g.Compare(before, sorted, Comparison::kNe);
  const Value row = g.Unsqueeze(g.Take(values, order, 0), {0});
  return AssertAll(g, row, g.Or(differs, is_first),
                   "CastMap: the map of input X has a key twice");
}

// The values at the places that the keys are.
StatusOr<Value> Sparse(NodeContext& context, Value keys, Value values,
                       int64_t count) {
  GraphBuilder& g = context.builder();
  if (count < 1) {
    return NodeContext::Error(StrCat("attribute max_map is ", count,
                                     ", expected at least 1, as attribute "
                                     "map_form is SPARSE"));
  }
  if (count >= kMaxPlaces) {
    return ResourceExhaustedError(StrCat("attribute max_map is ", count));
  }
  Literal absent(values.dtype(), {1});
  if (IsString(absent.dtype())) absent.mutable_strings()[0] = "0";
  const Value at = KeyAtPlace(context, keys, count);
  const Value is_place = g.And(g.Compare(keys, int64_t{0}, Comparison::kGe),
                               g.Compare(keys, count, Comparison::kLt));
  return AssertAll(g, ValuesAt(g, values, at, std::move(absent)), is_place,
                   "CastMap: a key of input X is negative or not below "
                   "attribute max_map");
}

Status CastMap(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(CheckMap(context));
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(
      const DType to,
      attributes.Word<DType>("cast_to", {{"TO_FLOAT", DType::kF32},
                                         {"TO_STRING", DType::kString},
                                         {"TO_INT64", DType::kI64}}));
  ENCORE_ASSIGN_OR_RETURN(
      const bool sparse,
      attributes.Word<bool>("map_form", {{"DENSE", false}, {"SPARSE", true}}));
  ENCORE_ASSIGN_OR_RETURN(const int64_t count, attributes.Int("max_map", 1));
  const Value keys = context.Input(0);
  const Value values = Converted(context, context.Input(1), to);
  if (!sparse) return context.Output(0, Dense(context, keys, values));
  ENCORE_ASSIGN_OR_RETURN(const Value row,
                          Sparse(context, keys, values, count));
  return context.Output(0, row);
}

constexpr Converter kConverters[] = {
    {"ai.onnx.ml.CastMap", CastMap, Op::kGather},
    {"ai.onnx.ml.DictVectorizer", DictVectorizer, Op::kGather},
    {"ai.onnx.ml.ZipMap", ZipMap},
};

}  // namespace

std::span<const Converter> MapConverters() { return kConverters; }

}  // namespace encore::onnx
