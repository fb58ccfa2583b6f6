// The transforms of Winograd's convolutions F(m x m, r x r).
//
// m outputs of a filter g of r taps on m + r - 1 inputs d are
//
//   y = A^T [(G g) * (B^T d)]
//
// with n = m + r - 1 products in place of m r. By the theorem of Toom and Cook
// the matrices follow from n - 1 points at which polynomials are evaluated, and
// infinity. The points here are 0 and pairs a, -a: then the even and the odd
// terms of a pair are shared, which halves the work. Two dims are one after the
// other. B^T holds the coefficients of polynomials, so that G has all divisors.
//
// Source: A. Lavin, S. Gray, Fast Algorithms for Convolutional Neural Networks
// (2016); B. Barabasz et al., Error Analysis and Improving the Accuracy of
// Winograd Convolution for Deep Neural Networks (2020), for points whose
// products are near 1 and why they lose less.
//
// A dim without a window has a transform that does nothing, F(1, 1): of its one
// point.
#ifndef ENCORE_BACKENDS_CPU_WINOGRAD_TRANSFORM_H_
#define ENCORE_BACKENDS_CPU_WINOGRAD_TRANSFORM_H_

#include <cstdint>
#include <vector>

namespace encore::backends::cpu {

struct WinogradTransform {
  int outputs = 2;  // m
  int window = 3;   // r
  // The positive point of each pair; 2 pairs + 2 = m + r - 1, but of F(1, 1),
  // which has none. Exact in f32, and so are the coefficients that they make.
  std::vector<double> pairs;

  int points() const { return outputs + window - 1; }  // n
  bool is_identity() const { return points() == 1; }
};

// F(2, 3) or F(4, 3). REQUIRES 2 or 4 outputs.
WinogradTransform WindowOfThree(int outputs);
// F(1, 1).
WinogradTransform WindowOfOne();

// Coefficients of the product over all pairs a but number `left_out` (-1: none)
// of y - a^2, the lowest first.
std::vector<double> PairPolynomial(const WinogradTransform& transform,
                                   int left_out);

// The matrices, row-major, points in the order 0, a, -a, b, -b, …, infinity.
std::vector<double> MatrixA(const WinogradTransform& transform);  // A^T, m x n
std::vector<double> MatrixB(const WinogradTransform& transform);  // B^T, n x n
std::vector<double> MatrixG(const WinogradTransform& transform);  // n x r

// What rounding is bounded with (backends/conformance/fast_convolution.h): the
// largest
// of sum over the points p of |A_ip| |G_ps| sum over j of |B_pj|, in both dims.
double GrowthOf(const WinogradTransform& lines,
                const WinogradTransform& columns);
// Roundings that a term goes through in the transforms of data, results and
// filters.
int RoundingsOf(const WinogradTransform& lines,
                const WinogradTransform& columns);

// The expected error of results that are summed over `channels` in so many
// partial sums of equal length, as a multiple of that of sums of terms, both
// root mean square. Data are independent and rectified, as most that
// convolutions read; filters independent with mean 0. Sums are random walks:
// what their roundings add grows with the square of their length, and half the
// terms of a sum of terms, which are 0, add none. REQUIRES channels >= 1.
double ErrorRatio(const WinogradTransform& lines,
                  const WinogradTransform& columns, int64_t channels,
                  int64_t partial_sums);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_WINOGRAD_TRANSFORM_H_
