// The kernels of runtime::TestDevice for CUDA: buffers, then the step's args,
// then the bytes of each buffer. Each runs in one block.
typedef long long i64;

extern "C" __global__ void add(const float* a, const float* b, float* out, i64,
                               i64, i64 bytes) {
  for (i64 i = threadIdx.x; i < bytes / 4; i += blockDim.x) out[i] = a[i] + b[i];
}

extern "C" __global__ void neg(const float* a, float* out, i64, i64 bytes) {
  for (i64 i = threadIdx.x; i < bytes / 4; i += blockDim.x) out[i] = -a[i];
}

extern "C" __global__ void update(const float* x, const float*, float* y, i64,
                                  i64, i64 bytes) {
  for (i64 i = threadIdx.x; i < bytes / 4; i += blockDim.x) y[i] += x[i];
}

extern "C" __global__ void fill(float* out, i64 value, i64 bytes) {
  for (i64 i = threadIdx.x; i < bytes / 4; i += blockDim.x) out[i] = value;
}

extern "C" __global__ void less(const i64* a, const i64* b, bool* out, i64, i64,
                                i64) {
  if (threadIdx.x == 0) *out = *a < *b;
}

extern "C" __global__ void increment(const i64*, i64* value, i64, i64) {
  if (threadIdx.x == 0) ++*value;
}

extern "C" __global__ void count(const float* a, i64* out, i64 bytes, i64) {
  if (threadIdx.x != 0) return;
  i64 count = 0;
  for (i64 i = 0; i < bytes / 4; ++i) count += a[i] != 0;
  *out = count;
}

extern "C" __global__ void compact(const float* a, float* out, i64 most,
                                   i64 bytes, i64) {
  if (threadIdx.x != 0) return;
  i64 done = 0;
  for (i64 i = 0; i < bytes / 4 && done < most; ++i) {
    if (a[i] != 0) out[done++] = a[i];
  }
}

// Writes behind its buffer.
extern "C" __global__ void overrun(float* out, i64 bytes) {
  out[bytes / 4 + 4096] = 1;
}

// As kernel_params.h has it.
struct FaultRecord {
  unsigned lock, found, check, node, component, unused;
  i64 position, index, count, extent;
};

// out = a, but for elements below 0, which it reports.
extern "C" __global__ void checked(const float* a, float* out, i64 bytes, i64,
                                   FaultRecord* record) {
  if (threadIdx.x != 0) return;
  for (i64 i = 0; i < bytes / 4; ++i) {
    out[i] = a[i];
    if (a[i] >= 0 || record->found != 0) continue;
    while (atomicCAS(&record->lock, 0u, 1u) != 0) {
    }
    record->check = 0;
    record->node = 7;
    record->position = i;
    record->index = static_cast<i64>(a[i]);
    record->count = bytes / 4;
    record->extent = 100;
    __threadfence_system();
    record->found = 1;
    __threadfence_system();
    atomicExch(&record->lock, 0u);
  }
}
