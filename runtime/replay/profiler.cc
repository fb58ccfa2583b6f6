#include "encore/runtime/replay/profiler.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "encore/ir/support/strings.h"
#include "encore/ir/support/utf8.h"

namespace encore::runtime {
namespace {

struct StepNamer {
  const CompiledGraph& graph;

  std::string operator()(const Allocate& op) const { return "allocate"; }
  std::string operator()(const Deallocate& op) const { return "deallocate"; }
  std::string operator()(const Copy& op) const { return "copy"; }
  std::string operator()(const Launch& op) const {
    const KernelBinary& binary = graph.kernel_binary(op.binary);
    return StrCat("launch ", binary.backend, ":", binary.entry);
  }
  std::string operator()(const Invoke& op) const {
    switch (op.kind) {
      case InvokeKind::kIf:
        return "if";
      case InvokeKind::kWhile:
        return "while";
      case InvokeKind::kScan:
        break;
    }
    return "scan";
  }
};

// A JSON string. Names may hold any bytes: what is no UTF-8 becomes U+FFFD,
// bytes outside ASCII are kept otherwise.
std::string JsonString(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const auto [length, code] = FirstUtf8Character(text);
    if (length == 0) {
      out += "\\ufffd";
    } else if (code == '"' || code == '\\') {
      out += {'\\', static_cast<char>(code)};
    } else if (code < 0x20) {
      out += {'\\', 'u', '0', '0', kHex[code >> 4], kHex[code & 15]};
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out + '"';
}

// Microseconds, as the format wants them, to the nanosecond.
std::string Microseconds(int64_t ns) {
  std::string fraction = StrCat(ns % 1000);
  fraction.insert(0, 3 - fraction.size(), '0');
  return StrCat(ns / 1000, ".", fraction);
}

}  // namespace

std::string StepName(const CompiledGraph& graph, const Step& step) {
  return std::visit(StepNamer{graph}, step.op);
}

Profiler::Profiler(size_t most_records)
    : start_(std::chrono::steady_clock::now()) {
  records_.reserve(most_records);
}

std::vector<Profiler::StepTotal> Profiler::Totals() const {
  std::map<std::pair<PlanId, uint32_t>, StepTotal> totals;
  for (const Record& record : records_) {
    if (record.is_wait) continue;
    const int64_t ns = record.end_ns - record.begin_ns;
    auto [it, is_new] = totals.try_emplace({record.plan, record.step});
    StepTotal& total = it->second;
    if (is_new) total = {record.plan, record.step, 0, 0, ns, ns};
    ++total.runs;
    total.total_ns += ns;
    total.min_ns = std::min(total.min_ns, ns);
    total.max_ns = std::max(total.max_ns, ns);
    if (record.device_ns < 0) continue;
    ++total.device_runs;
    total.device_ns += record.device_ns;
  }
  std::vector<StepTotal> sorted;
  for (const auto& [key, total] : totals) sorted.push_back(total);
  std::ranges::sort(sorted, [](const StepTotal& a, const StepTotal& b) {
    return std::tie(b.total_ns, a.plan, a.step) <
           std::tie(a.total_ns, b.plan, b.step);
  });
  return sorted;
}

std::string Profiler::ChromeTrace(const CompiledGraph& graph,
                                  const OriginName& origin_name,
                                  std::span<const Event> others) const {
  auto zero = start_;
  for (const Event& event : others) zero = std::min(zero, event.begin);
  const auto since = [&](std::chrono::steady_clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time - zero)
        .count();
  };
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  bool first = true;
  for (const Event& event : others) {
    if (!first) out += ',';
    first = false;
    StrAppend(
        &out,
        "\n{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"name\":", JsonString(event.name),
        ",\"ts\":", Microseconds(since(event.begin)),
        ",\"dur\":", Microseconds(since(event.end) - since(event.begin)), "}");
  }
  for (const Record& record : records_) {
    const Step& step = graph.plan(record.plan).steps[record.step];
    if (!first) out += ',';
    first = false;
    const std::string name =
        StrCat(record.is_wait ? "wait before " : "", StepName(graph, step));
    // Row 2 is for what goes on beside the replays.
    const uint32_t row = record.queue == 0 ? 1 : record.queue + 2;
    StrAppend(&out, "\n{\"ph\":\"X\",\"pid\":1,\"tid\":", row,
              ",\"name\":", JsonString(name),
              ",\"ts\":", Microseconds(since(start_) + record.begin_ns),
              ",\"dur\":", Microseconds(record.end_ns - record.begin_ns),
              ",\"args\":{\"replay\":", record.replay,
              ",\"plan\":", record.plan.value(), ",\"step\":", record.step,
              ",\"origins\":[");
    for (size_t i = 0; i < step.origins.size(); ++i) {
      const std::string name =
          origin_name ? origin_name(step.origins[i]) : std::string();
      StrAppend(&out, i == 0 ? "" : ",",
                JsonString(name.empty() ? StrCat(step.origins[i]) : name));
    }
    out += "]}}";
  }
  return out + "\n]}\n";
}

}  // namespace encore::runtime
