#include "encore/backends/cpu/measure/rates.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

#include "encore/ir/support/check.h"

namespace encore::backends::cpu {
namespace {

// Of one measurement, of which the best of so many counts: shorter than what
// the system gives a thread at a time.
constexpr double kSeconds = 300e-6;
constexpr int kMeasurements = 12;
constexpr int64_t kVectorsPerLoop = 8;

// The most that `work(n)`, which does n times the same, does in a second.
template <typename Work>
double BestRate(bool alone, const Work& work) {
  double best = 0;
  int64_t count = 1;
  for (int measured = 0; measured < kMeasurements;) {
    const double start = WorkSeconds(alone);
    work(count);
    const double seconds = WorkSeconds(alone) - start;
    if (seconds < kSeconds && count < int64_t{1} << 40) {
      count *= 2;
      continue;
    }
    best = std::max(best, static_cast<double>(count) / seconds);
    ++measured;
  }
  return best;
}

// The values that loops leave behind, so that they are computed.
volatile double sink;

#if defined(__x86_64__)

#define ENCORE_AVX2 __attribute__((target("avx2,fma")))
#define ENCORE_AVX512 __attribute__((target("avx512f")))

// `rounds` times twelve independent multiply-adds: more than any of these cores
// has in flight.
#define ENCORE_MULTIPLY_ADDS(name, target, Vector, set, fma, first) \
  target double name(int64_t rounds) {                              \
    Vector sums[12];                                                \
    for (Vector & sum : sums) sum = set(0.5);                       \
    const Vector a = set(0.999), b = set(1e-3);                     \
    for (int64_t i = 0; i < rounds; ++i) {                          \
      for (Vector & sum : sums) sum = fma(sum, a, b);               \
    }                                                               \
    Vector total = sums[0];                                         \
    for (int s = 1; s < 12; ++s) total = fma(sums[s], a, total);    \
    return first;                                                   \
  }
ENCORE_MULTIPLY_ADDS(F32Avx2, ENCORE_AVX2, __m256, _mm256_set1_ps,
                     _mm256_fmadd_ps, _mm256_cvtss_f32(total))
ENCORE_MULTIPLY_ADDS(F64Avx2, ENCORE_AVX2, __m256d, _mm256_set1_pd,
                     _mm256_fmadd_pd, _mm256_cvtsd_f64(total))
ENCORE_MULTIPLY_ADDS(F32Avx512, ENCORE_AVX512, __m512, _mm512_set1_ps,
                     _mm512_fmadd_ps, _mm512_cvtss_f32(total))
ENCORE_MULTIPLY_ADDS(F64Avx512, ENCORE_AVX512, __m512d, _mm512_set1_pd,
                     _mm512_fmadd_pd, _mm512_cvtsd_f64(total))
#undef ENCORE_MULTIPLY_ADDS

// Adds to each element of whole groups of eight vectors.
#define ENCORE_ADD_TO_EACH(name, target, Vector, set, load, store, add, lanes) \
  target void name(float* data, int64_t elements) {                            \
    const Vector one = set(1e-3f);                                             \
    for (int64_t i = 0; i < elements; i += kVectorsPerLoop * (lanes)) {        \
      for (int64_t v = 0; v < kVectorsPerLoop; ++v) {                          \
        float* const at = data + i + v * (lanes);                              \
        store(at, add(load(at), one));                                         \
      }                                                                        \
    }                                                                          \
  }
ENCORE_ADD_TO_EACH(AddAvx2, ENCORE_AVX2, __m256, _mm256_set1_ps, _mm256_load_ps,
                   _mm256_store_ps, _mm256_add_ps, 8)
ENCORE_ADD_TO_EACH(AddAvx512, ENCORE_AVX512, __m512, _mm512_set1_ps,
                   _mm512_load_ps, _mm512_store_ps, _mm512_add_ps, 16)
#undef ENCORE_ADD_TO_EACH

double MultiplyAdds(Isa isa, bool f64, int64_t rounds) {
  if (isa == Isa::kAvx512) return f64 ? F64Avx512(rounds) : F32Avx512(rounds);
  return f64 ? F64Avx2(rounds) : F32Avx2(rounds);
}

void AddToEach(Isa isa, float* data, int64_t elements) {
  (isa == Isa::kAvx512 ? AddAvx512 : AddAvx2)(data, elements);
}

#else  // No machine without these instruction sets has one of ours.

double MultiplyAdds(Isa, bool, int64_t) { return 0; }
void AddToEach(Isa, float*, int64_t) {}

#endif

struct Free {
  void operator()(void* data) const { std::free(data); }
};
using Buffer = std::unique_ptr<float, Free>;

// Of whole groups of vectors.
Buffer NewBuffer(int64_t elements) {
  constexpr size_t kAlignment = 4096;
  void* const data = std::aligned_alloc(
      kAlignment,
      (static_cast<size_t>(elements) * sizeof(float) + kAlignment - 1) /
          kAlignment * kAlignment);
  ENCORE_CHECK(data != nullptr);
  auto* const floats = static_cast<float*>(data);
  std::fill_n(floats, elements, 1.0f);
  return Buffer(floats);
}

}  // namespace

double WorkSeconds(bool alone) {
  timespec now;
  clock_gettime(alone ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

double MultiplyAddRate(Isa isa, bool f64) {
  const int lanes = VectorBits(isa) / (f64 ? 64 : 32);
  return 2.0 * 12 * lanes * BestRate(/*alone=*/true, [&](int64_t rounds) {
           sink = MultiplyAdds(isa, f64, rounds);
         });
}

double CopyRate(Isa isa, int64_t bytes, runtime::ThreadPool* threads) {
  const int64_t group = kVectorsPerLoop * VectorBits(isa) / 32;
  const int64_t elements =
      bytes / static_cast<int64_t>(sizeof(float)) / group * group;
  const int count = threads->size();
  std::vector<Buffer> buffers;
  for (int i = 0; i < count; ++i) buffers.push_back(NewBuffer(elements));
  const runtime::ThreadPool::Caller caller(*threads);
  return 2.0 * sizeof(float) * static_cast<double>(elements * count) *
         BestRate(/*alone=*/count == 1, [&](int64_t passes) {
           threads->ParallelFor(count, [&](int64_t i) {
             for (int64_t pass = 0; pass < passes; ++pass) {
               AddToEach(isa, buffers[static_cast<size_t>(i)].get(), elements);
             }
           });
         });
}

double DispatchSeconds(runtime::ThreadPool* threads) {
  const runtime::ThreadPool::Caller caller(*threads);
  return 1 / BestRate(threads->size() == 1, [&](int64_t calls) {
           for (int64_t i = 0; i < calls; ++i) {
             threads->ParallelFor(threads->size(), [](int64_t p) { sink = p; });
           }
         });
}

}  // namespace encore::backends::cpu
