// What a core and all cores of this machine do at most, for other figures to be
// shares of.
//
//   peak [--json] [THREADS]
//
// Multiply-adds on registers alone, by dtype and instruction set, in GFLOP/s
// (of integers: in as many operations); and what is read, or copied, from each
// level of cache and from memory, in GB/s, a copied byte counting as read and
// as written. A level is measured with half of what it holds, the last one
// shared by the threads. Each figure is the best of ROUNDS.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "encore/ir/support/strings.h"
#include "encore/runtime/device/thread_pool.h"

namespace encore::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 25;
constexpr int64_t kInstructionsPerTurn = 14;  // of accumulators
constexpr int64_t kTurns = 300000;
constexpr int64_t kBytesPerRound = 256 << 20;
constexpr int64_t kLine = 512;  // bytes of a turn of the loops below

// `instruction` on 14 registers that wait for nothing but themselves, `turns`
// times. The operands are 1.0 in bf16, near it in f32, small in f64.
#define ENCORE_REGISTER_LOOP(name, instruction, prefix)                 \
  void name(int64_t turns) {                                            \
    asm volatile(                                                       \
        "vmovd %[value], %%xmm0\n vpbroadcastd %%xmm0, %%" prefix       \
        "0\n"                                                           \
        ".irp r,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"                    \
        " vpxor %%xmm\\r, %%xmm\\r, %%xmm\\r\n .endr\n"                 \
        "1:\n .irp r,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n " instruction  \
        " %%" prefix "0, %%" prefix "0, %%" prefix                      \
        "\\r\n .endr\n dec %[turns]\n jnz 1b\n vzeroupper\n"            \
        : [turns] "+r"(turns)                                           \
        : [value] "r"(0x3f803f80)                                       \
        : "cc", "xmm0", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", \
          "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",  \
          "xmm15");                                                     \
  }

ENCORE_REGISTER_LOOP(MultiplyF32Ymm, "vfmadd231ps", "ymm")
ENCORE_REGISTER_LOOP(MultiplyF64Ymm, "vfmadd231pd", "ymm")
ENCORE_REGISTER_LOOP(MultiplyF32Zmm, "vfmadd231ps", "zmm")
ENCORE_REGISTER_LOOP(MultiplyF64Zmm, "vfmadd231pd", "zmm")
ENCORE_REGISTER_LOOP(MultiplyBf16Zmm, "vdpbf16ps", "zmm")
ENCORE_REGISTER_LOOP(MultiplyI8Zmm, "vpdpbusd", "zmm")

// Loops over kLine bytes a turn; memory is aligned to them.
#define ENCORE_MEMORY_LOOP(name, prefix, step, body)               \
  void name(const std::byte* from, std::byte* to, int64_t bytes) { \
    for (int64_t i = 0; i < bytes; i += kLine) {                   \
      asm volatile(".set offset, 0\n .rept 512/" step "\n " body   \
                   " .set offset, offset+" step "\n .endr\n"       \
                   :                                               \
                   : [from] "r"(from + i), [to] "r"(to + i)        \
                   : "memory", "xmm0");                            \
    }                                                              \
  }

#define ENCORE_LOAD(prefix) "vmovaps offset(%[from]), %%" prefix "0\n"
ENCORE_MEMORY_LOOP(ReadYmm, "ymm", "32", ENCORE_LOAD("ymm"))
ENCORE_MEMORY_LOOP(ReadZmm, "zmm", "64", ENCORE_LOAD("zmm"))
ENCORE_MEMORY_LOOP(CopyYmm, "ymm", "32",
                   ENCORE_LOAD("ymm") "vmovaps %%ymm0, offset(%[to])\n")
ENCORE_MEMORY_LOOP(CopyZmm, "zmm", "64",
                   ENCORE_LOAD("zmm") "vmovaps %%zmm0, offset(%[to])\n")
ENCORE_MEMORY_LOOP(StreamYmm, "ymm", "32",
                   ENCORE_LOAD("ymm") "vmovntps %%ymm0, offset(%[to])\n")

struct Figure {
  std::string name, unit;
  double one = 0, all = 0;
};

class Peaks {
 public:
  explicit Peaks(int threads) : one_(1), all_(threads) {}

  void MeasureProducts();
  void MeasureMemory();
  const std::vector<Figure>& figures() const { return figures_; }

 private:
  using Work = std::function<void(int64_t thread)>;

  // The best rate in units of 1e9 per second, where each thread does `amount`.
  static double Rate(runtime::ThreadPool& pool, double amount,
                     const Work& work);
  void AddLevel(const std::string& name, int64_t bytes, int64_t bytes_of_all);

  runtime::ThreadPool one_, all_;
  std::vector<Figure> figures_;
};

double Peaks::Rate(runtime::ThreadPool& pool, double amount, const Work& work) {
  double least = 1e30;
  for (int round = 0; round < kRounds; ++round) {
    const Clock::time_point begin = Clock::now();
    pool.ParallelFor(pool.size(), work);
    least = std::min(
        least, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return amount * pool.size() / least * 1e-9;
}

void Peaks::MeasureProducts() {
  const auto add = [this](std::string_view name, int operations,
                          void (*loop)(int64_t)) {
    const auto amount =
        static_cast<double>(operations * kInstructionsPerTurn * kTurns);
    const Work work = [loop](int64_t) { loop(kTurns); };
    const double one = Rate(one_, amount, work);
    figures_.push_back(
        {std::string(name), "GFLOP/s", one, Rate(all_, amount, work)});
  };
  if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2")) {
    add("f32 avx2", 16, MultiplyF32Ymm);
    add("f64 avx2", 8, MultiplyF64Ymm);
  }
  if (__builtin_cpu_supports("avx512f")) {
    add("f32 avx512", 32, MultiplyF32Zmm);
    add("f64 avx512", 16, MultiplyF64Zmm);
  }
  if (__builtin_cpu_supports("avx512bf16")) {
    add("bf16 avx512", 64, MultiplyBf16Zmm);
  }
  if (__builtin_cpu_supports("avx512vnni")) {
    add("i8 avx512", 128, MultiplyI8Zmm);
  }
}

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

// `bytes` of a level for one thread, `bytes_of_all` for each of all.
void Peaks::AddLevel(const std::string& name, int64_t bytes,
                     int64_t bytes_of_all) {
  const bool wide = __builtin_cpu_supports("avx512f");
  const auto threads = static_cast<size_t>(all_.size());
  std::vector<std::unique_ptr<std::byte, Free>> memory(threads);
  for (auto& own : memory) {
    own.reset(static_cast<std::byte*>(std::aligned_alloc(4096, bytes)));
    std::memset(own.get(), 1, bytes);
  }
  const auto add = [&](std::string_view what, auto* loop, bool copies) {
    const auto run = [&](runtime::ThreadPool& pool, int64_t most) {
      // Copies have half for what is read, and half for what is written.
      const int64_t size = (copies ? most / 2 : most) / kLine * kLine;
      const int64_t repeats = std::max<int64_t>(1, kBytesPerRound / size);
      return Rate(pool, static_cast<double>((copies ? 2 : 1) * size * repeats),
                  [&](int64_t thread) {
                    std::byte* own = memory[thread].get();
                    for (int64_t i = 0; i < repeats; ++i) {
                      loop(own, own + size, size);
                    }
                  });
    };
    const double one = run(one_, bytes);
    figures_.push_back(
        {StrCat(what, " ", name), "GB/s", one, run(all_, bytes_of_all)});
  };
  add("read", wide ? ReadZmm : ReadYmm, /*copies=*/false);
  add("copy", wide ? CopyZmm : CopyYmm, /*copies=*/true);
  if (name == "memory") add("stream", StreamYmm, /*copies=*/true);
}

// Bytes of a core's cache of data of that level, by what the kernel says; else
// what is usual. (What sysconf says counts a level's caches of all cores on
// some machines.)
int64_t CacheBytes(int level, int64_t usual) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder =
        StrCat("/sys/devices/system/cpu/cpu0/cache/index", index, "/");
    std::string type, kibibytes;
    int found = 0;
    std::ifstream(folder + "type") >> type;
    std::ifstream(folder + "level") >> found;
    std::ifstream(folder + "size") >> kibibytes;
    if (found != level || type == "Instruction" || !kibibytes.ends_with("K")) {
      continue;
    }
    kibibytes.pop_back();
    return ParseInt64(kibibytes).value_or(usual >> 10) << 10;
  }
  return usual;
}

void Peaks::MeasureMemory() {
  if (!__builtin_cpu_supports("avx2")) return;
  const int threads = all_.size();
  const auto page = [](int64_t bytes) { return bytes / 8192 * 8192; };
  const int64_t first = CacheBytes(1, 32 << 10),
                second = CacheBytes(2, 1 << 20), last = CacheBytes(3, 32 << 20);
  const auto size = [this](const char* name, int64_t one, int64_t all) {
    figures_.push_back({StrCat("size ", name), "KiB",
                        static_cast<double>(one >> 10),
                        static_cast<double>(all >> 10)});
  };
  size("L1", first, threads * first);
  size("L2", second, threads * second);
  size("L3", last, last);
  AddLevel("L1", page(first / 2), page(first / 2));
  AddLevel("L2", page(second / 2), page(second / 2));
  AddLevel("L3", page(last / 2), page(last / 2 / threads));
  AddLevel("memory", page(4 * last), page(4 * last / threads));
}

void Print(const std::vector<Figure>& figures, int threads) {
  std::printf("| | unit | 1 thread | %d threads |\n|---|---|---|---|\n",
              threads);
  for (const Figure& f : figures) {
    std::printf("| %s | %s | %.1f | %.1f |\n", f.name.c_str(), f.unit.c_str(),
                f.one, f.all);
  }
}

// {"NAME": [one, all], …}
void PrintJson(const std::vector<Figure>& figures) {
  std::string text;
  for (const Figure& f : figures) {
    StrAppend(&text, text.empty() ? "{" : ", ", "\"", f.name, "\": [", f.one,
              ", ", f.all, "]");
  }
  std::printf("%s}\n", text.c_str());
}

int Run(const std::vector<std::string_view>& arguments) {
  bool json = false;
  int64_t threads = std::thread::hardware_concurrency();
  for (const std::string_view argument : arguments) {
    const auto number = ParseInt64(argument);
    if (argument == "--json") {
      json = true;
    } else if (number && *number >= 1 && *number <= 1024) {
      threads = *number;
    } else {
      std::fprintf(stderr, "usage: peak [--json] [THREADS]\n");
      return 2;
    }
  }
  Peaks peaks(static_cast<int>(threads));
  peaks.MeasureProducts();
  peaks.MeasureMemory();
  if (json) {
    PrintJson(peaks.figures());
  } else {
    Print(peaks.figures(), static_cast<int>(threads));
  }
  return 0;
}

}  // namespace
}  // namespace encore::tools

int main(int argc, char** argv) {
  return encore::tools::Run({argv + 1, argv + argc});
}
