// TfIdfVectorizer: counts of n-grams from a pool.

#include <algorithm>
#include <numeric>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// The n-grams of one length.
struct Grams {
  int64_t length = 0;
  std::vector<int64_t> items;    // [count, length]
  std::vector<int64_t> columns;  // per n-gram: where it is counted
  int64_t count() const { return static_cast<int64_t>(columns.size()); }
};

struct Vectorizer {
  std::vector<std::string> words;  // of strings: what items are numbers of
  int64_t most_skips = 0;
  int64_t columns = 0;
  std::string mode;
  std::vector<Grams> pool;
  std::vector<float> weights;  // per column; empty: 1
};

// The items of all n-grams, one after the other; of strings their numbers in
// `words`, which are theirs without duplicates.
StatusOr<Ints> ReadItems(NodeContext& context,
                         std::vector<std::string>* words) {
  AttributeReader& attributes = context.attributes();
  if (context.Input(0).dtype() != DType::kString) {
    return attributes.Ints("pool_int64s", {});
  }
  ENCORE_ASSIGN_OR_RETURN(const std::vector<std::string> items,
                          attributes.Strings("pool_strings"));
  *words = items;
  std::ranges::sort(*words);
  words->erase(std::unique(words->begin(), words->end()), words->end());
  Ints numbers;
  for (const std::string& item : items) {
    numbers.push_back(std::ranges::lower_bound(*words, item) - words->begin());
  }
  return numbers;
}

StatusOr<std::vector<Grams>> ReadPool(NodeContext& context, int64_t shortest,
                                      int64_t longest,
                                      std::vector<std::string>* words) {
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const Ints starts,
                          attributes.RequiredInts("ngram_counts"));
  ENCORE_ASSIGN_OR_RETURN(const Ints indexes,
                          attributes.RequiredInts("ngram_indexes"));
  ENCORE_ASSIGN_OR_RETURN(const Ints items, ReadItems(context, words));
  std::vector<Grams> pool;
  size_t next = 0;
  const auto size = static_cast<int64_t>(items.size());
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t end = i + 1 < starts.size() ? starts[i + 1] : size;
    Grams grams;
    grams.length = static_cast<int64_t>(i) + 1;
    if (starts[i] < 0 || end < starts[i] || end > size ||
        (end - starts[i]) % grams.length != 0) {
      return NodeContext::Error(
          StrCat("attribute ngram_counts has the entry ", starts[i],
                 ", which is not the start of n-grams of length ", grams.length,
                 " in a pool of ", size));
    }
    grams.items.assign(items.begin() + starts[i], items.begin() + end);
    for (int64_t k = 0; k < (end - starts[i]) / grams.length; ++k) {
      if (next == indexes.size() || indexes[next] < 0) {
        return NodeContext::Error(
            StrCat("attribute ngram_indexes has ", indexes.size(),
                   " entries, expected one that is not negative for each "
                   "n-gram of the pool"));
      }
      grams.columns.push_back(indexes[next++]);
    }
    if (grams.length >= shortest && grams.length <= longest &&
        grams.count() > 0) {
      pool.push_back(std::move(grams));
    }
  }
  return pool;
}

StatusOr<Vectorizer> ReadVectorizer(NodeContext& context) {
  AttributeReader& attributes = context.attributes();
  Vectorizer vectorizer;
  ENCORE_ASSIGN_OR_RETURN(vectorizer.mode, attributes.String("mode", ""));
  ENCORE_ASSIGN_OR_RETURN(const int64_t shortest,
                          attributes.RequiredInt("min_gram_length"));
  ENCORE_ASSIGN_OR_RETURN(const int64_t longest,
                          attributes.RequiredInt("max_gram_length"));
  ENCORE_ASSIGN_OR_RETURN(vectorizer.most_skips,
                          attributes.RequiredInt("max_skip_count"));
  ENCORE_ASSIGN_OR_RETURN(vectorizer.weights, attributes.Floats("weights"));
  ENCORE_ASSIGN_OR_RETURN(
      vectorizer.pool, ReadPool(context, shortest, longest, &vectorizer.words));
  ENCORE_ASSIGN_OR_RETURN(const Ints indexes,
                          attributes.RequiredInts("ngram_indexes"));
  for (const int64_t index : indexes) {
    vectorizer.columns = std::max(vectorizer.columns, index + 1);
  }
  const bool known = vectorizer.mode == "TF" || vectorizer.mode == "IDF" ||
                     vectorizer.mode == "TFIDF";
  if (!known || shortest < 1 || longest < shortest ||
      vectorizer.most_skips < 0 || vectorizer.most_skips > INT16_MAX ||
      vectorizer.columns > (1 << 28) ||
      (!vectorizer.weights.empty() &&
       static_cast<int64_t>(vectorizer.weights.size()) != vectorizer.columns)) {
    return NodeContext::Error(
        "one of the attributes mode, min_gram_length, max_gram_length, "
        "max_skip_count, ngram_indexes and weights is out of range");
  }
  return vectorizer;
}

// The number of each string among `words`; of others -1.
Value NumbersOf(NodeContext& context, Value x, std::vector<std::string> words) {
  GraphBuilder& g = context.builder();
  const int rank = x.rank();
  const auto count = static_cast<int64_t>(words.size());
  Dims wide = x.shape().dims();
  wide.push_back(count);
  Ints axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  const Value all = g.Constant(Literal::Strings({count}, std::move(words)));
  const Value same =
      context.Emit(Op::kStringEqual, {g.Broadcast(x, Shape(wide), axes),
                                      g.Broadcast(all, Shape(wide), {rank})});
  const Value numbers = g.Add(g.Iota(DType::kI64, {count}, 0), 1);
  return g.Sub(g.Sum(g.Mul(g.Cast(same, DType::kI64), numbers), {rank}), 1);
}

// How often each n-gram stands in the rows of x [B, n], its items `skip` + 1
// apart: i64 [B, count]; nothing where it is longer than a row.
std::optional<Value> CountGrams(GraphBuilder& g, Value x, const Grams& grams,
                                int64_t skip) {
  const int64_t n = x.shape()[1].constant();
  const int64_t reach = (grams.length - 1) * (skip + 1);
  if (reach >= n) return std::nullopt;
  const Value pool = g.Constant(
      Literal::FromValues<int64_t>({grams.count(), grams.length}, grams.items));
  Value found;
  for (int64_t i = 0; i < grams.length; ++i) {
    const int64_t at = i * (skip + 1);
    const Value item = g.SliceAxis(x, 1, at, at + n - reach);
    const Value wanted = g.Squeeze(g.SliceAxis(pool, 1, i, i + 1), {1});
    const Value same =
        g.Compare(g.Unsqueeze(item, {2}), wanted, Comparison::kEq);
    found = found.valid() ? g.And(found, same) : same;
  }
  return g.Sum(g.Cast(found, DType::kI64), {1});
}

Status TfIdfVectorizer(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const Vectorizer vectorizer, ReadVectorizer(context));
  Value x = context.Input(0);
  const bool is_vector = x.rank() == 1;
  const bool strings = x.dtype() == DType::kString;
  if (x.rank() < 1 || x.rank() > 2 || !(strings || IsInteger(x.dtype())) ||
      !context.shape(x)[x.rank() - 1].is_constant()) {
    return NodeContext::Error(
        StrCat("input is ", x.type(),
               ", expected [n] or [batch, n] integers or strings"));
  }
  if (strings) x = NumbersOf(context, x, vectorizer.words);
  x = g.Cast(is_vector ? g.Unsqueeze(x, {0}) : x, DType::kI64);
  ENCORE_RETURN_IF_ERROR(g.status());
  Value counts = g.Full({x.shape()[0], vectorizer.columns},
                        g.Scalar(DType::kI64, int64_t{0}));
  for (const Grams& grams : vectorizer.pool) {
    // Single items have nothing to skip.
    const int64_t skips = grams.length == 1 ? 0 : vectorizer.most_skips;
    for (int64_t skip = 0; skip <= skips; ++skip) {
      const std::optional<Value> found = CountGrams(g, x, grams, skip);
      if (!found) break;
      // Added where the n-gram is counted; columns may repeat.
      ScatterAttrs scatter;
      scatter.update = Update::kAdd;
      scatter.update_window_dims = {0};
      scatter.inserted_window_dims = {1};
      scatter.scatter_dims_to_operand_dims = {1};
      scatter.index_vector_dim = 1;
      const Value columns = g.Constant(
          Literal::FromValues<int64_t>({grams.count(), 1}, grams.columns));
      counts = g.Scatter(counts, columns, *found, std::move(scatter));
    }
  }
  Value result =
      g.Cast(vectorizer.mode == "IDF" ? g.Min(counts, 1) : counts, DType::kF32);
  if (vectorizer.mode != "TF" && !vectorizer.weights.empty()) {
    result =
        g.Mul(result, g.Constant(Literal::Vector<float>(vectorizer.weights)));
  }
  return context.Output(0, is_vector ? g.Squeeze(result, {0}) : result);
}

constexpr Converter kConverters[] = {
    {"TfIdfVectorizer", TfIdfVectorizer, Op::kScatter},
};

}  // namespace

std::span<const Converter> TextConverters() { return kConverters; }

}  // namespace encore::onnx
