#include "encore/backends/cpu/winograd/transform.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "encore/ir/support/check.h"

namespace encore::backends::cpu {
namespace {

// Of rectified normal data: the square of the mean as a share of the mean
// square.
constexpr double kMeanShare = 1 / std::numbers::pi;
// What transforms add to an error, as roundings of a product: measured, of data
// 1 to 3, of filters 1, of results 3 to 4, in two dims.
constexpr double kFilterRoundings = 1, kDimRoundings = 2.75;

// The finite points, in order.
std::vector<double> FinitePoints(const WinogradTransform& transform) {
  std::vector<double> points = {0};
  for (const double a : transform.pairs) {
    points.push_back(a);
    points.push_back(-a);
  }
  return points;
}

}  // namespace

WinogradTransform WindowOfThree(int outputs) {
  ENCORE_CHECK(outputs == 2 || outputs == 4);
  if (outputs == 2) return {2, 3, {1}};
  return {4, 3, {0.625, 1.5}};
}

WinogradTransform WindowOfOne() { return {1, 1, {}}; }

std::vector<double> PairPolynomial(const WinogradTransform& transform,
                                   int left_out) {
  std::vector<double> coefficients = {1};
  for (size_t i = 0; i < transform.pairs.size(); ++i) {
    if (static_cast<int>(i) == left_out) continue;
    const double square = transform.pairs[i] * transform.pairs[i];
    coefficients.insert(coefficients.begin(), 0);
    for (size_t j = 0; j + 1 < coefficients.size(); ++j) {
      coefficients[j] -= square * coefficients[j + 1];
    }
  }
  return coefficients;
}

std::vector<double> MatrixA(const WinogradTransform& transform) {
  const int n = transform.points();
  const std::vector<double> points = FinitePoints(transform);
  std::vector<double> matrix(size_t(transform.outputs) * n);
  for (int i = 0; i < transform.outputs; ++i) {
    for (int p = 0; p + 1 < n; ++p) {
      matrix[i * n + p] = std::pow(points[p], i);
    }
  }
  matrix.back() = 1;
  return matrix;
}

std::vector<double> MatrixB(const WinogradTransform& transform) {
  if (transform.is_identity()) return {1};
  const int n = transform.points();
  std::vector<double> matrix(size_t(n) * n);
  const std::vector<double> all = PairPolynomial(transform, -1);
  for (size_t j = 0; j < all.size(); ++j) {
    matrix[2 * j] = all[j];
    matrix[(n - 1) * n + 2 * j + 1] = all[j];
  }
  for (size_t i = 0; i < transform.pairs.size(); ++i) {
    const std::vector<double> others =
        PairPolynomial(transform, static_cast<int>(i));
    const double a = transform.pairs[i];
    for (size_t j = 0; j < others.size(); ++j) {
      for (const int sign : {1, -1}) {
        double* row = &matrix[(1 + 2 * i + (sign < 0 ? 1 : 0)) * n];
        row[2 * j + 2] = others[j];
        row[2 * j + 1] = sign * a * others[j];
      }
    }
  }
  return matrix;
}

std::vector<double> MatrixG(const WinogradTransform& transform) {
  const int n = transform.points(), r = transform.window;
  const std::vector<double> points = FinitePoints(transform);
  std::vector<double> matrix(size_t(n) * r);
  for (int p = 0; p + 1 < n; ++p) {
    double divisor = 1;
    for (int q = 0; q + 1 < n; ++q) {
      if (q != p) divisor *= points[p] - points[q];
    }
    for (int s = 0; s < r; ++s) {
      matrix[p * r + s] = std::pow(points[p], s) / divisor;
    }
  }
  matrix.back() = 1;
  return matrix;
}

namespace {

// In one dim.
double GrowthOf(const WinogradTransform& transform) {
  const int n = transform.points(), r = transform.window;
  const std::vector<double> a = MatrixA(transform), b = MatrixB(transform),
                            g = MatrixG(transform);
  double growth = 0;
  for (int i = 0; i < transform.outputs; ++i) {
    for (int s = 0; s < r; ++s) {
      double sum = 0;
      for (int p = 0; p < n; ++p) {
        double inputs = 0;
        for (int j = 0; j < n; ++j) inputs += std::abs(b[p * n + j]);
        sum += std::abs(a[i * n + p]) * std::abs(g[p * r + s]) * inputs;
      }
      growth = std::max(growth, sum);
    }
  }
  return growth;
}

// What a rounding of a sum of products weighs in the results, over the points
// of one dim, of the part of the data without their mean and of the mean.
struct Weights {
  double varied = 0, mean = 0;
};

Weights WeightsOf(const WinogradTransform& transform) {
  const int n = transform.points(), m = transform.outputs, r = transform.window;
  const std::vector<double> a = MatrixA(transform), b = MatrixB(transform),
                            g = MatrixG(transform);
  Weights weights;
  for (int p = 0; p < n; ++p) {
    double sum = 0, squares = 0, filter = 0, result = 0;
    for (int j = 0; j < n; ++j) {
      sum += b[p * n + j];
      squares += b[p * n + j] * b[p * n + j];
    }
    for (int s = 0; s < r; ++s) filter += g[p * r + s] * g[p * r + s];
    for (int i = 0; i < m; ++i) result += a[i * n + p] * a[i * n + p] / m;
    weights.varied += result * filter * squares;
    weights.mean += result * filter * sum * sum;
  }
  return weights;
}

}  // namespace

double GrowthOf(const WinogradTransform& lines,
                const WinogradTransform& columns) {
  return GrowthOf(lines) * GrowthOf(columns);
}

double ErrorRatio(const WinogradTransform& lines,
                  const WinogradTransform& columns, int64_t channels,
                  int64_t partial_sums) {
  const Weights of_lines = WeightsOf(lines), of_columns = WeightsOf(columns);
  // Two dims are one after the other.
  const double weight = (1 - kMeanShare) * of_lines.varied * of_columns.varied +
                        kMeanShare * of_lines.mean * of_columns.mean;
  const auto length = static_cast<double>(channels);
  const auto parts = static_cast<double>(partial_sums);
  double roundings = (length / parts + parts) / 2 + kFilterRoundings;
  double taps = 1;
  for (const WinogradTransform* t : {&lines, &columns}) {
    if (!t->is_identity()) roundings += kDimRoundings;
    taps *= t->window;
  }
  return std::sqrt(weight * roundings / (taps * taps * length / 4));
}

int RoundingsOf(const WinogradTransform& lines,
                const WinogradTransform& columns) {
  // Of each dim, of data and of results: a sum or difference of two, then
  // `pairs` + 1 more terms at most. Filters are rounded once, from f64.
  int roundings = 2;
  for (const WinogradTransform* t : {&lines, &columns}) {
    if (t->is_identity()) continue;
    roundings += 2 * (static_cast<int>(t->pairs.size()) + 2);
  }
  return roundings;
}

}  // namespace encore::backends::cpu
