#include "encore/backends/cpu/winograd/transform_emitter.h"

#include <cstddef>

namespace encore::backends::cpu {
namespace {

// sum + factor * x; an invalid sum is 0.
Value AddScaled(IrBuilder& b, const Value& sum, double factor, const Value& x) {
  if (factor == 0) return sum;
  if (factor == 1) return sum.valid() ? b.Binary("fadd", sum, x) : x;
  if (factor == -1 && sum.valid()) return b.Binary("fsub", sum, x);
  const Value constant = IrBuilder::Float(x.type, factor);
  return sum.valid() ? b.Fma(x, constant, sum) : b.Binary("fmul", x, constant);
}

// The sum of coefficients[j] * x[first + 2 j], from the last on, whose
// coefficient is 1.
Value EverySecond(IrBuilder& b, const std::vector<double>& coefficients,
                  const std::vector<Value>& x, size_t first) {
  Value sum;
  for (size_t j = coefficients.size(); j-- > 0;) {
    sum = AddScaled(b, sum, coefficients[j], x[first + 2 * j]);
  }
  return sum;
}

}  // namespace

std::vector<Value> EmitDataTransform(IrBuilder& b,
                                     const WinogradTransform& transform,
                                     const std::vector<Value>& d) {
  if (transform.is_identity()) return d;
  const std::vector<double> all = PairPolynomial(transform, -1);
  std::vector<Value> points = {EverySecond(b, all, d, 0)};
  for (size_t i = 0; i < transform.pairs.size(); ++i) {
    const std::vector<double> others =
        PairPolynomial(transform, static_cast<int>(i));
    const Value even = EverySecond(b, others, d, 2);
    const Value odd = EverySecond(b, others, d, 1);
    points.push_back(AddScaled(b, even, transform.pairs[i], odd));
    points.push_back(AddScaled(b, even, -transform.pairs[i], odd));
  }
  points.push_back(EverySecond(b, all, d, 1));
  return points;
}

std::vector<Value> EmitResultTransform(IrBuilder& b,
                                       const WinogradTransform& transform,
                                       const std::vector<Value>& m) {
  if (transform.is_identity()) return m;
  std::vector<Value> sums, differences;
  for (size_t i = 0; i < transform.pairs.size(); ++i) {
    sums.push_back(b.Binary("fadd", m[1 + 2 * i], m[2 + 2 * i]));
    differences.push_back(b.Binary("fsub", m[1 + 2 * i], m[2 + 2 * i]));
  }
  std::vector<Value> results;
  std::vector<double> powers(transform.pairs.size(), 1);
  for (int k = 0; k < transform.outputs; ++k) {
    Value sum = k == 0 ? m.front() : Value();
    if (k == transform.outputs - 1) sum = m.back();
    for (size_t i = 0; i < powers.size(); ++i) {
      sum = AddScaled(b, sum, powers[i], k % 2 == 0 ? sums[i] : differences[i]);
      powers[i] *= transform.pairs[i];
    }
    results.push_back(sum);
  }
  return results;
}

std::vector<Value> EmitProduct(IrBuilder& b, const std::vector<double>& matrix,
                               const std::vector<Value>& x) {
  std::vector<Value> results;
  for (size_t row = 0; row < matrix.size() / x.size(); ++row) {
    Value sum;
    for (size_t i = 0; i < x.size(); ++i) {
      sum = AddScaled(b, sum, matrix[row * x.size() + i], x[i]);
    }
    results.push_back(sum);
  }
  return results;
}

}  // namespace encore::backends::cpu
