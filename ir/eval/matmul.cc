#include "encore/ir/eval/matmul.h"

#include <algorithm>

#include "encore/ir/eval/numbers.h"

namespace encore::eval {
namespace {

// A panel of b, [kDepth, kColumns], stays in the first-level cache while all
// rows of a pass by, kRows at a time.
constexpr int kRows = 4, kColumns = 8, kDepth = 256;

// c[kRows, columns] += a[kRows, depth] * panel.
template <int Rows>
[[gnu::always_inline]] inline void Tile(int depth, int columns, const double* a,
                                        int64_t k, const double* panel,
                                        double* c, int64_t n) {
  double sums[Rows][kColumns] = {};
  for (int row = 0; row < Rows; ++row) {
    for (int j = 0; j < columns; ++j) sums[row][j] = c[row * n + j];
  }
  for (int p = 0; p < depth; ++p) {
    for (int row = 0; row < Rows; ++row) {
      const double factor = a[row * k + p];
      for (int j = 0; j < kColumns; ++j) {
        sums[row][j] += factor * panel[p * kColumns + j];
      }
    }
  }
  for (int row = 0; row < Rows; ++row) {
    for (int j = 0; j < columns; ++j) c[row * n + j] = sums[row][j];
  }
}

[[gnu::always_inline]] inline void Blocked(int64_t m, int64_t k, int64_t n,
                                           const double* a, const double* b,
                                           double* c) {
  alignas(64) double panel[kDepth * kColumns];
  for (int64_t j = 0; j < n; j += kColumns) {
    const int columns = static_cast<int>(std::min<int64_t>(kColumns, n - j));
    for (int64_t p = 0; p < k; p += kDepth) {
      const int depth = static_cast<int>(std::min<int64_t>(kDepth, k - p));
      for (int q = 0; q < depth; ++q) {
        for (int i = 0; i < kColumns; ++i) {
          panel[q * kColumns + i] = i < columns ? b[(p + q) * n + j + i] : 0;
        }
      }
      int64_t row = 0;
      for (; row + kRows <= m; row += kRows) {
        Tile<kRows>(depth, columns, a + row * k + p, k, panel, c + row * n + j,
                    n);
      }
      for (; row < m; ++row) {
        Tile<1>(depth, columns, a + row * k + p, k, panel, c + row * n + j, n);
      }
    }
  }
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void BlockedAvx2(int64_t m, int64_t k, int64_t n,
                                         const double* a, const double* b,
                                         double* c) {
  Blocked(m, k, n, a, b, c);
}
#endif

template <typename W>
void Plain(int64_t m, int64_t k, int64_t n, const W* a, const W* b, W* c) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t p = 0; p < k; ++p) {
      const W factor = a[i * k + p];
      for (int64_t j = 0; j < n; ++j) {
        c[i * n + j] = WrapAdd(c[i * n + j], WrapMul(factor, b[p * n + j]));
      }
    }
  }
}

}  // namespace

void MatMul(int64_t m, int64_t k, int64_t n, const double* a, const double* b,
            double* c) {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  if (has_avx2) return BlockedAvx2(m, k, n, a, b, c);
#endif
  Blocked(m, k, n, a, b, c);
}

void MatMul(int64_t m, int64_t k, int64_t n, const int64_t* a, const int64_t* b,
            int64_t* c) {
  Plain(m, k, n, a, b, c);
}

void MatMul(int64_t m, int64_t k, int64_t n, const uint64_t* a,
            const uint64_t* b, uint64_t* c) {
  Plain(m, k, n, a, b, c);
}

}  // namespace encore::eval
