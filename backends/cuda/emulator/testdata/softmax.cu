// The softmax of each row of f16, one block a row, computed in f32.
#include <cuda_fp16.h>

__device__ float BlockReduce(float value, bool maximum, float* scratch) {
  const auto combine = [&](float a, float b) {
    return maximum ? fmaxf(a, b) : a + b;
  };
  for (int offset = 16; offset > 0; offset /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  value = scratch[0];
  for (int i = 1; i < blockDim.x / 32; ++i) value = combine(value, scratch[i]);
  return value;
}

extern "C" __global__ void __launch_bounds__(256)
    softmax(const __half* x, __half* y, int columns) {
  __shared__ float scratch[32];
  const __half* row = x + static_cast<size_t>(blockIdx.x) * columns;
  __half* out = y + static_cast<size_t>(blockIdx.x) * columns;
  float largest = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    largest = fmaxf(largest, __half2float(row[i]));
  }
  largest = BlockReduce(largest, true, scratch);
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    sum += __expf(__half2float(row[i]) - largest);
  }
  sum = BlockReduce(sum, false, scratch);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    out[i] = __float2half(expf(__half2float(row[i]) - largest) / sum);
  }
}
