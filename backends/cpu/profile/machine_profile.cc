#include "encore/backends/cpu/profile/machine_profile.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "encore/backends/cpu/profile/machine_texts.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/parse_number.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {
namespace {

constexpr size_t kMostName = 40;
constexpr double kGiga = 1e9, kNano = 1e-9;

// What follows a line's first word, word by word. The first error stays.
class Words {
 public:
  Words(std::string_view line, size_t number) : number_(number) {
    for (const std::string_view word : StrSplit(line, ' ')) {
      if (!word.empty()) words_.push_back(word);
    }
  }

  std::string_view key() const { return words_.empty() ? "" : words_[0]; }
  const Status& status() const { return status_; }

  void Text(std::string* out) {
    const std::string_view word = Next();
    const auto plain = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
             (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    };
    if (word.empty() || word.size() > kMostName ||
        !std::ranges::all_of(word, plain)) {
      return Fail(StrCat(Quote(word),
                         " is no name: letters, digits, -, _ "
                         "and ., at most ",
                         kMostName));
    }
    *out = word;
  }
  template <typename Number>
  void Value(Number least, Number most, double unit, Number* out) {
    const std::string_view word = Next();
    const std::optional<Number> value = ParseNumber<Number>(word);
    if (!value || !(*value >= least && *value <= most)) {
      return Fail(
          StrCat(Quote(word), " is no number from ", least, " to ", most));
    }
    *out = static_cast<Number>(*value * unit);
  }
  void Isa(Isa* out) {
    const std::string_view word = Next();
    const auto isa = ParseIsa(word);
    if (!isa || *isa == cpu::Isa::kNone) {
      return Fail(StrCat(Quote(word), " is neither avx2 nor avx512"));
    }
    *out = *isa;
  }
  void End() {
    if (next_ < words_.size()) Fail(StrCat(Quote(words_[next_]), " is extra"));
  }
  void Fail(std::string_view what) {
    if (!status_.ok()) return;
    status_ = InvalidArgumentError(
        StrCat("line ", number_, ": ", key(), key().empty() ? "" : ": ", what));
  }

 private:
  std::string_view Next() {
    return next_ < words_.size() ? words_[next_++] : std::string_view();
  }

  size_t number_;
  std::vector<std::string_view> words_;
  size_t next_ = 1;
  Status status_ = OkStatus();
};

// Reads the line into its field.
struct Line {
  std::string_view key;
  void (*read)(Words&, MachineProfile&);
};

template <MemoryLevel kLevel>
void ReadBandwidth(Words& words, MachineProfile& p) {
  MachineProfile::Bandwidth& bandwidth =
      p.bandwidth[static_cast<size_t>(kLevel)];
  words.Value(0.01, 1e6, kGiga, &bandwidth.one);
  words.Value(0.01, 1e8, kGiga, &bandwidth.all);
}

constexpr Line kLines[] = {
    {"machine", [](Words& w, MachineProfile& p) { w.Text(&p.name); }},
    {"cpu",
     [](Words& w, MachineProfile& p) {
       w.Text(&p.vendor);
       w.Value(0, 1 << 12, 1, &p.family);
       w.Value(0, 1 << 12, 1, &p.first_model);
       w.Value(p.first_model, 1 << 12, 1, &p.last_model);
     }},
    {"isa", [](Words& w, MachineProfile& p) { w.Isa(&p.isa); }},
    {"caches",
     [](Words& w, MachineProfile& p) {
       for (int64_t& bytes : p.cache_bytes) {
         w.Value<int64_t>(1 << 10, int64_t{1} << 40, 1, &bytes);
       }
     }},
    {"cores",
     [](Words& w, MachineProfile& p) { w.Value(1, 1024, 1, &p.cores); }},
    {"f32", [](Words& w,
               MachineProfile& p) { w.Value(0.1, 1e6, kGiga, &p.f32_flops); }},
    {"f64", [](Words& w,
               MachineProfile& p) { w.Value(0.1, 1e6, kGiga, &p.f64_flops); }},
    {"l1", ReadBandwidth<MemoryLevel::kL1>},
    {"l2", ReadBandwidth<MemoryLevel::kL2>},
    {"l3", ReadBandwidth<MemoryLevel::kL3>},
    {"memory", ReadBandwidth<MemoryLevel::kMemory>},
    {"dispatch",
     [](Words& w, MachineProfile& p) {
       w.Value(0.0, 1e9, kNano, &p.dispatch_seconds);
     }},
    {"wake",
     [](Words& w, MachineProfile& p) {
       w.Value(0.0, 1e9, kNano, &p.wake_seconds);
     }},
    {"costs", [](Words& w, MachineProfile& p) { w.Text(&p.costs); }},
};

Status AtLine(size_t line, std::string_view what) {
  return InvalidArgumentError(StrCat("line ", line, ": ", what));
}

// As a file has it: without the digits that a double cannot tell.
double Rounded(double value, double unit) {
  return std::round(value / unit * 1000) / 1000;
}

std::vector<MachineProfile> ReadClasses() {
  std::vector<MachineProfile> classes;
  std::string text;
  const auto add = [&] {
    if (StripWhitespace(text).empty()) return;
    auto profile = ParseMachine(text);
    ENCORE_CHECK_OK(profile.status());
    classes.push_back(*std::move(profile));
    text.clear();
  };
  for (const std::string_view line : StrSplit(MachineTexts(), '\n')) {
    if (line.empty()) {
      add();
    } else {
      StrAppend(&text, line, "\n");
    }
  }
  add();
  return classes;
}

}  // namespace

double MachineProfile::BytesPerSecond(MemoryLevel level, int threads) const {
  const Bandwidth& rates = bandwidth[static_cast<size_t>(level)];
  if (threads <= 1 || cores <= 1) return rates.one;
  // Each thread adds as much, up to all cores.
  const double share =
      static_cast<double>(std::min(threads, cores) - 1) / (cores - 1);
  return rates.one + (rates.all - rates.one) * share;
}

bool MachineProfile::Covers(const CpuInfo& cpu) const {
  return vendor == cpu.vendor && family == cpu.family &&
         first_model <= cpu.model && cpu.model <= last_model && isa <= cpu.isa;
}

std::span<const MachineProfile> MachineClasses() {
  static const auto* const classes =
      new std::vector<MachineProfile>(ReadClasses());
  return *classes;
}

const MachineProfile* FindMachineClass(std::string_view name) {
  const auto classes = MachineClasses();
  const auto it = std::ranges::find(classes, name, &MachineProfile::name);
  return it == classes.end() ? nullptr : &*it;
}

const MachineProfile& NearestClass(const CpuInfo& cpu, Isa isa) {
  const MachineProfile* best = nullptr;
  const auto distance = [&](const MachineProfile& p) {
    const int model = std::clamp(cpu.model, p.first_model, p.last_model);
    return std::tuple(p.vendor != cpu.vendor, std::abs(p.family - cpu.family),
                      std::abs(model - cpu.model));
  };
  // Where nothing is generated any class will do.
  const Isa wanted = std::max(isa, Isa::kAvx2);
  for (const MachineProfile& p : MachineClasses()) {
    if (p.isa != wanted) continue;
    if (best == nullptr || distance(p) < distance(*best)) best = &p;
  }
  ENCORE_CHECK(best != nullptr);
  return *best;
}

MachineProfile AsIf(const MachineProfile& profile, const CpuInfo& cpu) {
  MachineProfile other = profile;
  other.vendor = cpu.vendor;
  other.family = cpu.family;
  other.first_model = other.last_model = cpu.model;
  return other;
}

std::string ToText(const MachineProfile& p) {
  std::string text = StrCat(
      "machine ", p.name, "\ncpu ", p.vendor, " ", p.family, " ", p.first_model,
      " ", p.last_model, "\nisa ", Name(p.isa), "\ncaches ",
      StrJoin(p.cache_bytes, " "), "\ncores ", p.cores, "\nf32 ",
      Rounded(p.f32_flops, kGiga), "\nf64 ", Rounded(p.f64_flops, kGiga), "\n");
  constexpr std::string_view kLevels[] = {"l1", "l2", "l3", "memory"};
  for (int i = 0; i < kMemoryLevels; ++i) {
    StrAppend(&text, kLevels[i], " ", Rounded(p.bandwidth[i].one, kGiga), " ",
              Rounded(p.bandwidth[i].all, kGiga), "\n");
  }
  StrAppend(&text, "dispatch ", Rounded(p.dispatch_seconds, kNano), "\nwake ",
            Rounded(p.wake_seconds, kNano), "\ncosts ", p.costs, "\n");
  return text;
}

std::string ToLine(const MachineProfile& profile) {
  const std::string text = ToText(profile);
  return StrJoin(
      StrSplit(std::string_view(text).substr(0, text.size() - 1), '\n'), "; ");
}

StatusOr<MachineProfile> ParseMachine(std::string_view text) {
  if (text.size() > kMostMachineBytes) {
    return InvalidArgumentError(StrCat(text.size(),
                                       " bytes: a machine profile has at most ",
                                       kMostMachineBytes));
  }
  MachineProfile profile;
  bool seen[std::size(kLines)] = {};
  size_t number = 0;
  for (const std::string_view line : StrSplit(text, '\n')) {
    ++number;
    Words words(StripWhitespace(line), number);
    if (words.key().empty() || words.key().starts_with('#')) continue;
    const auto* const known =
        std::ranges::find(kLines, words.key(), &Line::key);
    if (known == std::end(kLines)) {
      return AtLine(number, StrCat(Quote(words.key()), " is no field"));
    }
    bool& once = seen[known - std::begin(kLines)];
    if (once) return AtLine(number, StrCat(words.key(), " comes twice"));
    once = true;
    known->read(words, profile);
    words.End();
    ENCORE_RETURN_IF_ERROR(words.status());
  }
  for (size_t i = 0; i < std::size(kLines); ++i) {
    if (!seen[i]) return AtLine(number, StrCat(kLines[i].key, " is missing"));
  }
  for (const MachineProfile::Bandwidth& rates : profile.bandwidth) {
    if (rates.all < rates.one) {
      return AtLine(number, "all cores have less bandwidth than one");
    }
  }
  return profile;
}

StatusOr<const MachineProfile*> FindMachine(const std::string& option) {
  if (option.find('\n') == std::string::npos) {
    if (const MachineProfile* known = FindMachineClass(option)) return known;
    return InvalidArgumentError(
        StrCat("machine ", Quote(option), ": there is no such class; known: ",
               StrJoin(MachineClasses(), ", ",
                       [](std::string* out, const MachineProfile& p) {
                         StrAppend(out, p.name);
                       })));
  }
  using Known = std::map<std::string, std::unique_ptr<const MachineProfile>>;
  static std::mutex mutex;
  static Known* const known = new Known;
  const std::lock_guard lock(mutex);
  const auto it = known->find(option);
  if (it != known->end()) return it->second.get();
  ENCORE_ASSIGN_OR_RETURN(MachineProfile profile, ParseMachine(option));
  if (FindMachineClass(profile.costs) == nullptr) {
    return InvalidArgumentError(
        StrCat("costs ", Quote(profile.costs), ": there is no such class"));
  }
  return known
      ->emplace(option,
                std::make_unique<const MachineProfile>(std::move(profile)))
      .first->second.get();
}

}  // namespace encore::backends::cpu
