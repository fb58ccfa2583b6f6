#include "encore/backends/cuda/testing/kernel_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <optional>
#include <utility>

#include "encore/backends/conformance/bounds.h"
#include "encore/backends/cuda/candidates.h"
#include "encore/backends/cuda/codegen/device_compiler.h"
#include "encore/backends/cuda/codegen/program.h"
#include "encore/backends/cuda/module_builder.h"
#include "encore/backends/cuda/testing/emulated_kernel.h"
#include "encore/backends/region/whole_region.h"
#include "encore/backends/region/work.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/random_data.h"
#include "encore/ir/text/parser.h"
#include "encore/ir/transform/decompose.h"
#include "encore/runtime/device/thread_pool.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

// What buffers are misaligned by, the largest element of these tests.
constexpr int64_t kOff = 8;

// Memory with some before it.
struct TestBuffer {
  std::vector<std::byte> bytes;

  explicit TestBuffer(size_t size) : bytes(size + kOff, std::byte{0xb5}) {}
  std::byte* data() { return bytes.data() + kOff; }
  int64_t size() const { return static_cast<int64_t>(bytes.size()) - kOff; }
};

class CaseRun {
 public:
  explicit CaseRun(const KernelCase& c) : case_(c) {}

  StatusOr<KernelResult> Run() {
    ENCORE_ASSIGN_OR_RETURN(const Graph graph, ParseGraph(case_.text));
    ENCORE_ASSIGN_OR_RETURN(const Graph primitives, DecomposeAll(graph));
    const BuiltRegion built = BuildWhole(primitives);
    std::vector<Literal> arguments = case_.arguments;
    for (const auto& argument : graph.arguments()) {
      if (!case_.arguments.empty()) break;
      arguments.push_back(
          RandomData(graph.type(argument.value),
                     static_cast<uint32_t>(arguments.size()) + 7));
    }
    ENCORE_ASSIGN_OR_RETURN(auto bounds, EvaluateBounds(graph, arguments));
    for (Bounds& one : bounds) Widen(&one);
    ENCORE_RETURN_IF_ERROR(Compile(built.region));
    std::vector<TestBuffer> buffers;
    for (const ValueId input : built.inputs) {
      for (size_t a = 0; a < arguments.size(); ++a) {
        if (!(primitives.arguments()[a].value == input)) continue;
        const auto bytes = arguments[a].bytes();
        TestBuffer& buffer = buffers.emplace_back(bytes.size());
        std::memcpy(buffer.data(), bytes.data(), bytes.size());
      }
    }
    for (const ValueId output : built.outputs) {
      const Literal shape(primitives.type(output).dtype,
                          primitives.type(output).shape.ConstantDims());
      buffers.emplace_back(shape.bytes().size());
    }
    if (!(scratch_ == Dim(0))) buffers.emplace_back(scratch_.constant());
    ENCORE_RETURN_IF_ERROR(Launch(buffers));
    for (size_t o = 0; o < built.outputs.size(); ++o) {
      TestBuffer& buffer = buffers[built.inputs.size() + o];
      ENCORE_RETURN_IF_ERROR(
          Check(primitives, built.outputs[o], buffer, bounds));
    }
    const Work work = EstimateWork(built.region, {});
    result_.least_bytes = work.read_bytes + work.written_bytes;
    return result_;
  }

 private:
  Status Compile(const Region& region) {
    const KernelRequest request{
        &region, std::vector<bool>(region.inputs.size()), {}};
    CompileOptions options;
    options.precision = case_.precision;
    options.rewrites = case_.rewrites;
    options.target = case_.target;
    const auto candidates = CandidatesOf(request, options);
    const auto found = std::ranges::find_if(candidates, [&](const auto& one) {
      return case_.kernel.empty() || one.kernel == case_.kernel;
    });
    if (found == candidates.end()) {
      return InternalError(StrCat("no kernel ", case_.kernel));
    }
    result_.kernel = found->kernel;
    KernelProgram program;
    ENCORE_ASSIGN_OR_RETURN(
        const CompiledKernel kernel,
        AddKernel({request, *found}, options, case_.limits, &program));
    scratch_ = kernel.scratch;
    ENCORE_ASSIGN_OR_RETURN(
        const DeviceCode code,
        CompileDeviceCode(program.Text(), {8, 0}, /*ptx_only=*/true));
    ENCORE_ASSIGN_OR_RETURN(const auto module, LoadEmulatedModule(code.ptx));
    ENCORE_ASSIGN_OR_RETURN(KernelParams params,
                            DecodeKernelParams(kernel.code.params, 0));
    const std::vector<EmulatedKernel::Module> modules(params.launches.size(),
                                                      module);
    const size_t buffers = region.inputs.size() + region.outputs.size() +
                           (scratch_ == Dim(0) ? 0 : 1);
    kernel_.emplace(modules, std::move(params), static_cast<uint32_t>(buffers),
                    0);
    if (case_.misaligned) {
      kernel_->set_misalignment(
          case_.misalignment,
          static_cast<uint32_t>(region.inputs.size() + region.outputs.size()));
    }
    kernel_->options().seed = case_.seed;
    return OkStatus();
  }

  Status Launch(std::vector<TestBuffer>& buffers) {
    std::vector<void*> data;
    std::vector<int64_t> sizes;
    for (TestBuffer& buffer : buffers) {
      data.push_back(buffer.data());
      sizes.push_back(buffer.size());
    }
    runtime::ThreadPool threads(1);
    runtime::LaunchContext context;
    context.buffers = data.data();
    context.sizes = sizes.data();
    context.threads = &threads;
    return kernel_->LaunchCounted(context, &result_.launches);
  }

  void Widen(Bounds* bounds) const {
    if (case_.slack == 0) return;
    double largest = 0;
    for (int64_t i = 0; i < bounds->expected.element_count(); ++i) {
      largest = std::max(largest, std::abs(bounds->expected.AsDouble(i)));
    }
    const double by = case_.slack * largest;
    for (int64_t i = 0; i < bounds->low.element_count(); ++i) {
      bounds->low.SetDouble(i, bounds->low.AsDouble(i) - by);
      bounds->high.SetDouble(i, bounds->high.AsDouble(i) + by);
    }
  }

  Status Check(const Graph& graph, ValueId output, TestBuffer& buffer,
               const std::vector<Bounds>& bounds) {
    const TensorType& type = graph.type(output);
    ENCORE_ASSIGN_OR_RETURN(
        const Literal actual,
        Literal::Copy(type.dtype, type.shape.ConstantDims(),
                      {buffer.data(), static_cast<size_t>(buffer.size())}));
    result_.outputs.push_back(actual);
    for (size_t i = 0; i < bounds.size(); ++i) {
      if (!(graph.outputs()[i].value == output)) continue;
      const auto difference = Difference(actual, bounds[i]);
      if (difference) return InternalError(*difference);
    }
    return OkStatus();
  }

  const KernelCase& case_;
  KernelResult result_;
  Dim scratch_ = 0;
  std::optional<EmulatedKernel> kernel_;
};

template <typename Read>
double SumOf(const KernelResult& result, Read read) {
  double sum = 0;
  for (const ptx::Counters& counters : result.launches) {
    sum += static_cast<double>(read(counters));
  }
  return sum;
}

constexpr auto kGlobal = static_cast<size_t>(ptx::Space::kGlobal);

}  // namespace

std::string Of(std::string text, std::string_view dtype) {
  for (size_t at; (at = text.find('T')) != std::string::npos;) {
    text.replace(at, 1, dtype);
  }
  return text;
}

double KernelResult::moved_bytes() const {
  return SumOf(*this, [](const ptx::Counters& counters) {
    return counters.bytes_read[kGlobal] + counters.bytes_written[kGlobal];
  });
}

double KernelResult::sector_waste() const {
  return SumOf(*this, [](const auto& of) { return of.global_sectors; }) * 32 /
         moved_bytes();
}

uint64_t KernelResult::bank_conflicts() const {
  return static_cast<uint64_t>(
      SumOf(*this, [](const auto& of) { return of.BankConflicts(); }));
}

uint64_t KernelResult::instructions(ptx::InstructionClass of) const {
  return static_cast<uint64_t>(SumOf(*this, [of](const auto& counters) {
    return counters.warp_instructions[static_cast<size_t>(of)];
  }));
}

StatusOr<KernelResult> RunCase(const KernelCase& c) { return CaseRun(c).Run(); }

KernelResult RunAndPrint(const KernelCase& c) {
  const auto result = RunCase(c);
  EXPECT_TRUE(result.ok()) << result.status() << "\n" << c.text;
  if (!result.ok()) return {};
  std::cout << result->kernel << ": " << result->launches.size()
            << " launches, " << result->moved_bytes() / result->least_bytes
            << " of the least bytes, sectors " << result->sector_waste()
            << ", bank conflicts " << result->bank_conflicts() << "\n";
  return *result;
}

}  // namespace encore::backends::cuda
