#include "encore/backends/cpu/vendor/small_blocks.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "encore/ir/support/integers.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu::small_blocks {
namespace {

constexpr size_t kUnit = 64;
constexpr size_t kSizes = kMostBytes / kUnit;
// Neighbouring slots of one thread, so that threads seldom meet.
constexpr unsigned kStep = 16;

using New = void* (*)(size_t);
using Delete = void (*)(void*);
New real_new = nullptr;
Delete real_delete = nullptr;

// Blocks of one size; null where one is in use.
using Blocks = std::array<std::atomic<void*>, kKept>;
std::array<Blocks, kSizes>* kept = nullptr;

std::atomic<unsigned> threads = 0;

unsigned FirstSlot() {
  static thread_local unsigned first =
      kStep * threads.fetch_add(1, std::memory_order_relaxed) % kKept;
  return first;
}

void* Take(Blocks& blocks) {
  const unsigned first = FirstSlot();
  for (unsigned i = 0; i < kKept; ++i) {
    std::atomic<void*>& slot = blocks[(first + i) % kKept];
    if (slot.load(std::memory_order_relaxed) == nullptr) continue;
    if (void* const block = slot.exchange(nullptr, std::memory_order_acquire)) {
      return block;
    }
  }
  return nullptr;
}

bool Keep(Blocks& blocks, void* block) {
  const unsigned first = FirstSlot();
  for (unsigned i = 0; i < kKept; ++i) {
    std::atomic<void*>& slot = blocks[(first + i) % kKept];
    void* none = nullptr;
    if (slot.load(std::memory_order_relaxed) == nullptr &&
        slot.compare_exchange_strong(none, block, std::memory_order_release,
                                     std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

void* NewBlock(size_t bytes) {
  if (!Scope::is_open() || bytes == 0 || bytes > kMostBytes) {
    return real_new(bytes);
  }
  const size_t units = CeilDiv(bytes, kUnit);
  if (void* const block = Take((*kept)[units - 1])) return block;
  return real_new(units * kUnit);
}

void DeleteBlock(void* block) {
  if (block == nullptr) return;
  if (Scope::is_open()) {
    const size_t units = malloc_usable_size(block) / kUnit;
    if (units >= 1 && units <= kSizes && Keep((*kept)[units - 1], block)) {
      return;
    }
  }
  real_delete(block);
}

using Allocate = int (*)(void**, size_t, size_t);
Allocate real_allocate = nullptr;
Delete real_free = nullptr;

// Buffers that were given back; null where there is none.
std::array<std::atomic<void*>, kKeptBuffers> buffers = {};

// A kept buffer that holds so many bytes and not many more.
void* TakeBuffer(size_t alignment, size_t bytes) {
  for (std::atomic<void*>& slot : buffers) {
    if (slot.load(std::memory_order_relaxed) == nullptr) continue;
    void* const buffer = slot.exchange(nullptr, std::memory_order_acquire);
    if (buffer == nullptr) continue;
    const size_t room = malloc_usable_size(buffer);
    if (room >= bytes && room / 2 <= bytes &&
        reinterpret_cast<uintptr_t>(buffer) % alignment == 0) {
      return buffer;
    }
    void* none = nullptr;
    if (!slot.compare_exchange_strong(none, buffer,
                                      std::memory_order_release)) {
      real_free(buffer);
    }
  }
  return nullptr;
}

int AllocateBuffer(void** buffer, size_t alignment, size_t bytes) {
  if (Scope::is_open() && bytes > kMostBytes) {
    if (void* const kept_buffer = TakeBuffer(alignment, bytes)) {
      *buffer = kept_buffer;
      return 0;
    }
  }
  return real_allocate(buffer, alignment, bytes);
}

void FreeBuffer(void* buffer) {
  if (buffer != nullptr && Scope::is_open() &&
      malloc_usable_size(buffer) > kMostBytes) {
    for (std::atomic<void*>& slot : buffers) {
      void* none = nullptr;
      if (slot.load(std::memory_order_relaxed) == nullptr &&
          slot.compare_exchange_strong(none, buffer,
                                       std::memory_order_release)) {
        return;
      }
    }
  }
  real_free(buffer);
}

// Where the relocation tables of a loaded library are.
struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * calls = nullptr;
  size_t call_bytes = 0;
  // The loader has resolved all and then made the table read-only.
  bool read_only = false;
};

Tables TablesOf(const link_map& map) {
  Tables tables;
  for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto address = reinterpret_cast<const void*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) {
      tables.symbols = static_cast<const ElfW(Sym)*>(address);
    } else if (entry->d_tag == DT_STRTAB) {
      tables.names = static_cast<const char*>(address);
    } else if (entry->d_tag == DT_JMPREL) {
      tables.calls = static_cast<const ElfW(Rela)*>(address);
    } else if (entry->d_tag == DT_PLTRELSZ) {
      tables.call_bytes = entry->d_un.d_val;
    } else if (entry->d_tag == DT_BIND_NOW ||
               (entry->d_tag == DT_FLAGS &&
                (entry->d_un.d_val & DF_BIND_NOW) != 0) ||
               (entry->d_tag == DT_FLAGS_1 &&
                (entry->d_un.d_val & DF_1_NOW) != 0)) {
      tables.read_only = true;
    }
  }
  return tables;
}

// The address that calls of `name` go through; null: there are none.
void** SlotOf(const link_map& map, const Tables& tables,
              std::string_view name) {
  for (size_t i = 0; i < tables.call_bytes / sizeof(ElfW(Rela)); ++i) {
    const ElfW(Rela)& call = tables.calls[i];
    const ElfW(Sym)& symbol = tables.symbols[ELF64_R_SYM(call.r_info)];
    if (name == tables.names + symbol.st_name) {
      return reinterpret_cast<void**>(map.l_addr + call.r_offset);
    }
  }
  return nullptr;
}

bool IsStandard(void* function) {
  Dl_info info;
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return false;
  const std::string_view file(info.dli_fname);
  return file.substr(file.rfind('/') + 1).substr(0, 12) == "libstdc++.so";
}

Status Write(const Tables& tables, void** slot, void* function) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* const begin =
      reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(slot) / page * page);
  if (tables.read_only && mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) {
    return FailedPreconditionError("a table of the library is not writable");
  }
  std::atomic_ref<void*>(*slot).store(function, std::memory_order_release);
  if (tables.read_only) mprotect(begin, page, PROT_READ);
  return OkStatus();
}

// Leads the library's buffers to ours, where both calls can be.
Status RecycleBuffers(const link_map& map, const Tables& tables) {
  void** const allocate = SlotOf(map, tables, "posix_memalign");
  void** const free = SlotOf(map, tables, "free");
  if (allocate == nullptr || free == nullptr) return OkStatus();
  real_allocate = reinterpret_cast<Allocate>(*allocate);
  real_free = reinterpret_cast<Delete>(*free);
  ENCORE_RETURN_IF_ERROR(
      Write(tables, free, reinterpret_cast<void*>(&FreeBuffer)));
  return Write(tables, allocate, reinterpret_cast<void*>(&AllocateBuffer));
}

}  // namespace

thread_local constinit bool Scope::open_ = false;

Status Recycle(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) {
    return FailedPreconditionError(StrCat("no tables: ", dlerror()));
  }
  const Tables tables = TablesOf(*map);
  if (tables.symbols == nullptr || tables.names == nullptr) {
    return FailedPreconditionError("a library without symbols");
  }
  ENCORE_RETURN_IF_ERROR(RecycleBuffers(*map, tables));
  void** const news = SlotOf(*map, tables, "_Znwm");
  void** const deletes = SlotOf(*map, tables, "_ZdlPv");
  if (news == nullptr || deletes == nullptr || !IsStandard(*news) ||
      !IsStandard(*deletes)) {
    return OkStatus();
  }
  real_new = reinterpret_cast<New>(*news);
  real_delete = reinterpret_cast<Delete>(*deletes);
  kept = new std::array<Blocks, kSizes>{};
  for (size_t s = 0; s < kSizes; ++s) {
    for (std::atomic<void*>& slot : (*kept)[s]) {
      slot = real_new((s + 1) * kUnit);
    }
  }
  ENCORE_RETURN_IF_ERROR(
      Write(tables, deletes, reinterpret_cast<void*>(&DeleteBlock)));
  return Write(tables, news, reinterpret_cast<void*>(&NewBlock));
}

}  // namespace encore::backends::cpu::small_blocks
