// d = relu(a b + beta * c + bias), column-major, as emulated_product.h asks for
// it: in one go (mode 0), or as sums of pieces of the depth (mode 1), which a
// second launch adds (mode 2).
typedef long long i64;

struct F16 {
  unsigned short bits;
};
struct BF16 {
  unsigned short bits;
};

__device__ float Read(float x) { return x; }
__device__ double Read(double x) { return x; }
__device__ float Read(F16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
__device__ float Read(BF16 x) {
  return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
}
__device__ void Write(float x, float* y) { *y = x; }
__device__ void Write(double x, double* y) { *y = x; }
__device__ void Write(float x, F16* y) {
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y->bits) : "f"(x));
}
__device__ void Write(float x, BF16* y) {
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y->bits) : "f"(x));
}

template <typename In, typename Out, typename Sum>
__device__ void Product(const In* a, const In* b, const Out* c, Out* d,
                        const Out* bias, Sum* parts, i64 rows, i64 columns,
                        i64 depth, i64 batch, i64 a_row, i64 a_depth,
                        i64 a_batch, i64 b_depth, i64 b_column, i64 b_batch,
                        i64 c_column, i64 c_batch, i64 d_column, i64 d_batch,
                        i64 pieces, i64 mode, i64 relu, i64 beta) {
  const i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  const i64 elements = rows * columns * batch;
  if (i >= elements) return;
  const i64 row = i % rows, column = i / rows % columns,
            number = i / (rows * columns);
  Sum sum = 0;
  if (mode == 2) {
    for (i64 p = 0; p < pieces; ++p) sum += parts[p * elements + i];
  } else {
    const i64 piece = blockIdx.y;
    const In* const x = a + number * a_batch + row * a_row;
    const In* const y = b + number * b_batch + column * b_column;
    for (i64 k = depth * piece / pieces; k < depth * (piece + 1) / pieces; ++k) {
      sum += Read(x[k * a_depth]) * Read(y[k * b_depth]);
    }
    if (mode == 1) {
      parts[piece * elements + i] = sum;
      return;
    }
  }
  if (beta != 0) sum += Read(c[number * c_batch + column * c_column + row]);
  if (bias != nullptr) sum += Read(bias[row]);
  if (relu != 0 && sum < 0) sum = 0;
  Write(sum, d + number * d_batch + column * d_column + row);
}

#define PRODUCT(name, In, Out, Sum)                                          \
  extern "C" __global__ void name(                                           \
      const In* a, const In* b, const Out* c, Out* d, const Out* bias,       \
      Sum* parts, i64 rows, i64 columns, i64 depth, i64 batch, i64 a_row,    \
      i64 a_depth, i64 a_batch, i64 b_depth, i64 b_column, i64 b_batch,      \
      i64 c_column, i64 c_batch, i64 d_column, i64 d_batch, i64 pieces,      \
      i64 mode, i64 relu, i64 beta) {                                        \
    Product<In, Out, Sum>(a, b, c, d, bias, parts, rows, columns, depth,     \
                          batch, a_row, a_depth, a_batch, b_depth, b_column, \
                          b_batch, c_column, c_batch, d_column, d_batch,     \
                          pieces, mode, relu, beta);                         \
  }

PRODUCT(product_f32_f32, float, float, float)
PRODUCT(product_f64_f64, double, double, double)
PRODUCT(product_f16_f16, F16, F16, float)
PRODUCT(product_f16_f32, F16, float, float)
PRODUCT(product_bf16_bf16, BF16, BF16, float)
PRODUCT(product_bf16_f32, BF16, float, float)
