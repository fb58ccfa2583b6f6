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
constexpr int kSums = 12;

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

#if defined(__x86_64__)

#define ENCORE_AVX2 __attribute__((target("avx2,fma")))
#define ENCORE_AVX512 __attribute__((target("avx512f")))
#define ENCORE_BF16 __attribute__((target("avx512f,avx512bf16")))
#define ENCORE_VNNI __attribute__((target("avx512f,avx512vnni")))

// `rounds` times twelve independent instructions, more than any of these cores
// has in flight. `next` is of `sum` and operands `a` and `b`.
#define ENCORE_PRODUCTS(name, target, Vector, first, one, other, next) \
  target void name(int64_t rounds) {                                   \
    Vector sums[kSums];                                                \
    for (Vector & sum : sums) sum = first;                             \
    const auto a = one, b = other;                                     \
    for (int64_t i = 0; i < rounds; ++i) {                             \
      for (Vector & sum : sums) sum = next;                            \
    }                                                                  \
    for (const Vector& sum : sums) asm volatile("" : : "x"(sum));      \
  }
ENCORE_PRODUCTS(F32Avx2, ENCORE_AVX2, __m256, _mm256_set1_ps(0.5),
                _mm256_set1_ps(0.999), _mm256_set1_ps(1e-3),
                _mm256_fmadd_ps(sum, a, b))
ENCORE_PRODUCTS(F64Avx2, ENCORE_AVX2, __m256d, _mm256_set1_pd(0.5),
                _mm256_set1_pd(0.999), _mm256_set1_pd(1e-3),
                _mm256_fmadd_pd(sum, a, b))
ENCORE_PRODUCTS(F32Avx512, ENCORE_AVX512, __m512, _mm512_set1_ps(0.5),
                _mm512_set1_ps(0.999), _mm512_set1_ps(1e-3),
                _mm512_fmadd_ps(sum, a, b))
ENCORE_PRODUCTS(F64Avx512, ENCORE_AVX512, __m512d, _mm512_set1_pd(0.5),
                _mm512_set1_pd(0.999), _mm512_set1_pd(1e-3),
                _mm512_fmadd_pd(sum, a, b))
ENCORE_PRODUCTS(Bf16Avx512, ENCORE_BF16, __m512, _mm512_set1_ps(0.5),
                (__m512bh)_mm512_set1_epi32(0x3f803f80),
                (__m512bh)_mm512_set1_epi32(0x3f803f80),
                _mm512_dpbf16_ps(sum, a, b))
ENCORE_PRODUCTS(I8Avx512, ENCORE_VNNI, __m512i, _mm512_set1_epi32(1),
                _mm512_set1_epi8(1), _mm512_set1_epi8(1),
                _mm512_dpbusd_epi32(sum, a, b))
#undef ENCORE_PRODUCTS

#endif

#if defined(__x86_64__)

void Multiply(Isa isa, Product product, int64_t rounds) {
  switch (product) {
    case Product::kF32:
      return isa == Isa::kAvx512 ? F32Avx512(rounds) : F32Avx2(rounds);
    case Product::kF64:
      return isa == Isa::kAvx512 ? F64Avx512(rounds) : F64Avx2(rounds);
    case Product::kBf16:
      return Bf16Avx512(rounds);
    case Product::kI8:
      return I8Avx512(rounds);
  }
}

bool HasBf16() { return __builtin_cpu_supports("avx512bf16"); }
bool HasI8() { return __builtin_cpu_supports("avx512vnni"); }

#else  // No machine without these instruction sets has one of ours.

void Multiply(Isa, Product, int64_t) {}
bool HasBf16() { return false; }
bool HasI8() { return false; }

#endif

#if defined(__x86_64__)

// Does `body` with the vector at `at` of whole groups of eight; `half` elements
// further on are those of the other half.
#define ENCORE_EACH_VECTOR(name, target, lanes, body)                 \
  target void name(float* data, int64_t elements, int64_t half) {     \
    for (int64_t i = 0; i < elements; i += kVectorsPerLoop * lanes) { \
      for (int64_t v = 0; v < kVectorsPerLoop; ++v) {                 \
        float* const at = data + i + v * lanes;                       \
        body;                                                         \
      }                                                               \
    }                                                                 \
    static_cast<void>(half);                                          \
  }
ENCORE_EACH_VECTOR(ReadAvx2, ENCORE_AVX2, 8,
                   asm volatile("" : : "x"(_mm256_load_ps(at))))
ENCORE_EACH_VECTOR(ReadAvx512, ENCORE_AVX512, 16,
                   asm volatile("" : : "x"(_mm512_load_ps(at))))
ENCORE_EACH_VECTOR(UpdateAvx2, ENCORE_AVX2, 8,
                   _mm256_store_ps(at, _mm256_add_ps(_mm256_load_ps(at),
                                                     _mm256_set1_ps(1e-3f))))
ENCORE_EACH_VECTOR(UpdateAvx512, ENCORE_AVX512, 16,
                   _mm512_store_ps(at, _mm512_add_ps(_mm512_load_ps(at),
                                                     _mm512_set1_ps(1e-3f))))
ENCORE_EACH_VECTOR(CopyAvx2, ENCORE_AVX2, 8,
                   _mm256_store_ps(at + half, _mm256_load_ps(at)))
ENCORE_EACH_VECTOR(CopyAvx512, ENCORE_AVX512, 16,
                   _mm512_store_ps(at + half, _mm512_load_ps(at)))
ENCORE_EACH_VECTOR(StreamAvx2, ENCORE_AVX2, 8,
                   _mm256_stream_ps(at + half, _mm256_load_ps(at)))
ENCORE_EACH_VECTOR(StreamAvx512, ENCORE_AVX512, 16,
                   _mm512_stream_ps(at + half, _mm512_load_ps(at)))
#undef ENCORE_EACH_VECTOR

void Move(Isa isa, Traffic traffic, float* data, int64_t elements,
          int64_t half) {
  const bool wide = isa == Isa::kAvx512;
  switch (traffic) {
    case Traffic::kRead:
      return (wide ? ReadAvx512 : ReadAvx2)(data, elements, half);
    case Traffic::kUpdate:
      return (wide ? UpdateAvx512 : UpdateAvx2)(data, elements, half);
    case Traffic::kCopy:
      return (wide ? CopyAvx512 : CopyAvx2)(data, elements, half);
    case Traffic::kStream:
      return (wide ? StreamAvx512 : StreamAvx2)(data, elements, half);
  }
}

#else

void Move(Isa, Traffic, float*, int64_t, int64_t) {}

#endif

// Elements of a vector's operands: each gives a multiply-add.
int64_t ProductsPerVector(Isa isa, Product product) {
  switch (product) {
    case Product::kF32:
      return VectorBits(isa) / 32;
    case Product::kF64:
      return VectorBits(isa) / 64;
    case Product::kBf16:
      return VectorBits(isa) / 16;
    case Product::kI8:
      return VectorBits(isa) / 8;
  }
  return 0;
}

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

std::string_view Name(Product product) {
  switch (product) {
    case Product::kF32:
      return "f32";
    case Product::kF64:
      return "f64";
    case Product::kBf16:
      return "bf16";
    case Product::kI8:
      return "i8";
  }
  return "";
}

bool Has(Isa isa, Product product) {
  if (isa == Isa::kNone || isa > HostCpu().isa) return false;
  if (product == Product::kBf16) return isa == Isa::kAvx512 && HasBf16();
  if (product == Product::kI8) return isa == Isa::kAvx512 && HasI8();
  return true;
}

double ProductRate(Isa isa, Product product, runtime::ThreadPool* threads) {
  ENCORE_CHECK(Has(isa, product)) << Name(isa) << " " << Name(product);
  const int count = threads->size();
  const runtime::ThreadPool::Caller caller(*threads);
  return 2.0 * kSums *
         static_cast<double>(ProductsPerVector(isa, product) * count) *
         BestRate(/*alone=*/count == 1, [&](int64_t rounds) {
           threads->ParallelFor(
               count, [&](int64_t) { Multiply(isa, product, rounds); });
         });
}

double TrafficRate(Isa isa, Traffic traffic, int64_t bytes,
                   runtime::ThreadPool* threads) {
  const bool halves = traffic == Traffic::kCopy || traffic == Traffic::kStream;
  const int64_t group = kVectorsPerLoop * VectorBits(isa) / 32;
  const int64_t all = bytes / static_cast<int64_t>(sizeof(float));
  const int64_t elements = (halves ? all / 2 : all) / group * group;
  const int64_t moved = traffic == Traffic::kRead ? elements : 2 * elements;
  const int count = threads->size();
  std::vector<Buffer> buffers;
  for (int i = 0; i < count; ++i) {
    buffers.push_back(NewBuffer(halves ? 2 * elements : elements));
  }
  const runtime::ThreadPool::Caller caller(*threads);
  return sizeof(float) * static_cast<double>(moved * count) *
         BestRate(/*alone=*/count == 1, [&](int64_t passes) {
           threads->ParallelFor(count, [&](int64_t i) {
             float* const data = buffers[static_cast<size_t>(i)].get();
             for (int64_t pass = 0; pass < passes; ++pass) {
               Move(isa, traffic, data, elements, elements);
             }
           });
         });
}

double DispatchSeconds(runtime::ThreadPool* threads) {
  const runtime::ThreadPool::Caller caller(*threads);
  return 1 / BestRate(threads->size() == 1, [&](int64_t calls) {
           for (int64_t i = 0; i < calls; ++i) {
             threads->ParallelFor(threads->size(), [](int64_t) {});
           }
         });
}

}  // namespace encore::backends::cpu
