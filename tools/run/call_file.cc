#include "encore/tools/run/call_file.h"

#include <optional>
#include <string_view>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/literal.h"
#include "encore/tools/io/tensor_file.h"

namespace encore::tools {
namespace {

constexpr std::string_view kIn = "in/", kOut = "out/", kEach = "each/",
                           kCarry = "carry/";

bool Take(std::string_view prefix, std::string_view* name) {
  if (!name->starts_with(prefix)) return false;
  name->remove_prefix(prefix.size());
  return true;
}

// Part `i` of a tensor along its first dim, dropped.
StatusOr<Literal> Part(const Literal& whole, int64_t i) {
  const std::vector<int64_t> dims(whole.dims().begin() + 1, whole.dims().end());
  const auto bytes = whole.bytes();
  const size_t size = bytes.size() / static_cast<size_t>(whole.dims()[0]);
  return Literal::Copy(whole.dtype(), dims,
                       bytes.subspan(static_cast<size_t>(i) * size, size));
}

class Reader {
 public:
  explicit Reader(const NamedTensors& tensors) : tensors_(tensors) {}

  StatusOr<std::vector<GivenTensors>> Read() {
    ENCORE_RETURN_IF_ERROR(CountCalls());
    for (GivenTensors& call : calls_) call.convert = true;
    for (const auto& [name, tensor] : tensors_) {
      const Status status = Add(name, tensor);
      if (!status.ok()) return Annotate(status, Quote(name));
    }
    return std::move(calls_);
  }

 private:
  Status CountCalls() {
    std::optional<int64_t> count;
    for (const auto& [name, tensor] : tensors_) {
      if (!name.starts_with(kEach)) continue;
      if (tensor.rank() == 0 || tensor.dims()[0] < 1 ||
          tensor.dims()[0] != count.value_or(tensor.dims()[0])) {
        return DataLossError(
            StrCat(Quote(name), " is ", tensor.type(),
                   ", expected one part per call, in as many calls as others"));
      }
      count = tensor.dims()[0];
    }
    calls_.resize(static_cast<size_t>(count.value_or(1)));
    return OkStatus();
  }

  Status Add(std::string_view name, const Literal& tensor) {
    if (Take(kCarry, &name)) return Carry(name, tensor);
    const bool each = Take(kEach, &name);
    const bool input = Take(kIn, &name);
    if (!input && !Take(kOut, &name)) {
      return DataLossError(
          "names neither an input (in/…) nor an output (out/…)");
    }
    for (size_t i = 0; i < calls_.size(); ++i) {
      Literal value;
      if (each) {
        ENCORE_ASSIGN_OR_RETURN(value, Part(tensor, static_cast<int64_t>(i)));
      } else {
        value = tensor.Aligned();
      }
      NamedTensors& of = input ? calls_[i].inputs : calls_[i].expected;
      of[std::string(name)] = std::move(value);
    }
    return OkStatus();
  }

  Status Carry(std::string_view name, const Literal& tensor) {
    const size_t equals = name.find('=');
    if (equals == std::string_view::npos) {
      return DataLossError("expected carry/INPUT=OUTPUT");
    }
    const std::string input(name.substr(0, equals));
    for (size_t i = 0; i < calls_.size(); ++i) {
      calls_[i].inputs[input] = tensor.Aligned();
      if (i > 0) calls_[i].carried[input] = name.substr(equals + 1);
    }
    return OkStatus();
  }

  const NamedTensors& tensors_;
  std::vector<GivenTensors> calls_;
};

}  // namespace

StatusOr<std::vector<GivenTensors>> ReadCalls(const std::string& path) {
  ENCORE_ASSIGN_OR_RETURN(const NamedTensors tensors, ReadTensors(path));
  auto calls = Reader(tensors).Read();
  if (!calls.ok()) return Annotate(calls.status(), path);
  return calls;
}

}  // namespace encore::tools
