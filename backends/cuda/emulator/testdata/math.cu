// Functions of the device's library, calls, tables of branches, local arrays,
// 128-bit integers: what a compiler makes of plain C++.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void functions_f32(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  float* out = y + 16 * i;
  out[0] = expf(v);
  out[1] = sinf(v);
  out[2] = cosf(v);
  out[3] = tanhf(v);
  out[4] = erff(v);
  out[5] = logf(fabsf(v) + 0.5f);
  out[6] = log1pf(fabsf(v));
  out[7] = powf(fabsf(v), 1.7f);
  out[8] = rsqrtf(fabsf(v) + 0.1f);
  out[9] = v / 3.0f;
  out[10] = fmodf(v, 0.7f);
  out[11] = rintf(v * 10);
  out[12] = atan2f(v, 2.0f);
  out[13] = cbrtf(v);
  out[14] = sqrtf(fabsf(v));
  out[15] = floorf(v) + ceilf(v) + truncf(v);
}

extern "C" __global__ void functions_f64(const double* x, double* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double v = x[i];
  double* out = y + 8 * i;
  out[0] = exp(v);
  out[1] = sin(v);
  out[2] = tanh(v);
  out[3] = log(fabs(v) + 0.5);
  out[4] = pow(fabs(v), 1.7);
  out[5] = v / 3.0;
  out[6] = sqrt(fabs(v));
  out[7] = erf(v);
}

__device__ __noinline__ int Collatz(int n, int* steps) {
  int largest = n;
  while (n != 1) {
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    largest = max(largest, n);
    ++*steps;
  }
  return largest;
}

extern "C" __global__ void calls(const int* x, int* y) {
  int steps = 0;
  const int largest = Collatz(x[threadIdx.x], &steps);
  y[2 * threadIdx.x] = largest;
  y[2 * threadIdx.x + 1] = steps;
}

__device__ __noinline__ unsigned Choose(unsigned i, unsigned v) {
  switch (i) {
    case 0: return v * 3 + 1;
    case 1: return v ^ 0x55555555u;
    case 2: return __brev(v);
    case 3: return __popc(v) + __clz(v);
    case 4: return v / 7;
    case 5: return __funnelshift_l(v, ~v, 5);
    case 6: return __byte_perm(v, v + 1, 0x3175);
    case 7: return v % 11;
    case 8: return __umulhi(v, 0x9e3779b9u);
    default: return 0;
  }
}

extern "C" __global__ void branches(const unsigned* x, unsigned* y) {
  y[threadIdx.x] = Choose(threadIdx.x % 10, x[threadIdx.x]);
}

__constant__ float kWeights[8] = {1, 2, 4, 8, 16, 32, 64, 128};
__device__ int visits = 5;
__device__ int* where = &visits;

extern "C" __global__ void local_arrays(const int* x, float* y) {
  float values[8];
  for (int i = 0; i < 8; ++i) values[i] = i * i;
  const int* indices = x + threadIdx.x * 4;
  for (int i = 0; i < 4; ++i) values[indices[i] & 7] += kWeights[i + indices[i] % 4];
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += values[(indices[0] + i) & 7] * (i + 1);
  y[threadIdx.x] = sum;
  atomicAdd(where, 1);
}

extern "C" __global__ void wide(const unsigned long long* x,
                                unsigned long long* y) {
  const unsigned __int128 a =
      (static_cast<unsigned __int128>(x[2 * threadIdx.x]) << 64) |
      x[2 * threadIdx.x + 1];
  const unsigned __int128 b = a * a + (a >> 3) - 12345;
  y[2 * threadIdx.x] = b >> 64;
  y[2 * threadIdx.x + 1] = static_cast<unsigned long long>(b);
}

extern "C" __global__ void halves(const __half2* x, __half2* y,
                                  const __nv_bfloat162* u, __nv_bfloat162* v) {
  const int i = threadIdx.x;
  y[i] = __hfma2(x[i], x[i], __hmax2(x[i], __float2half2_rn(0.25f)));
  v[i] = __hfma2(u[i], u[i], __hmin2(u[i], __float2bfloat162_rn(0.25f)));
}

// One leader of each warp counts for all that have the same key.
extern "C" __global__ void aggregate(const int* keys, int* counts) {
  const int key = keys[threadIdx.x];
  const unsigned same = __match_any_sync(__activemask(), key);
  const unsigned below = same & ((1u << threadIdx.x % 32) - 1);
  if (below == 0) atomicAdd(counts + key, __popc(same));
}

// Votes, and reductions by the barrier.
extern "C" __global__ void votes(const int* x, int* y) {
  const int v = x[threadIdx.x];
  const unsigned odd = __ballot_sync(0xffffffffu, v & 1);
  const int all = __syncthreads_and(v < 1000);
  const int any = __syncthreads_or(v == 7);
  const int count = __syncthreads_count(v > 20);
  y[threadIdx.x] = __popc(odd) + 100 * all + 1000 * any + 10000 * count;
}
