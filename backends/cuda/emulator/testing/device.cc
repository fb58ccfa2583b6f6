#include "encore/backends/cuda/emulator/testing/device.h"

#include <fstream>
#include <iterator>

#include "encore/backends/cuda/emulator/launch.h"
#include "encore/backends/cuda/emulator/parse/parser.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::ptx {

TestDevice::TestDevice(std::string_view ptx) {
  auto module = ParseModule(ptx);
  loaded_ = module.status();
  if (!loaded_.ok()) return;
  auto loaded = LoadedModule::Load(*std::move(module), 0x1'0000'0000);
  loaded_ = loaded.status();
  if (loaded_.ok()) module_ = *std::move(loaded);
}

Buffer TestDevice::AddBytes(std::vector<std::byte> bytes) {
  const Buffer buffer{next_, memory_.size()};
  next_ += (bytes.size() + 0x1fff) / 0x1000 * 0x1000;
  memory_.push_back(std::move(bytes));
  addresses_.push_back(buffer.address);
  initialized_.push_back(true);
  return buffer;
}

Status TestDevice::Launch(std::string_view kernel, std::array<uint32_t, 3> grid,
                          std::array<uint32_t, 3> block) {
  ENCORE_RETURN_IF_ERROR(loaded_);
  ENCORE_ASSIGN_OR_RETURN(const Program* const program,
                          module_->Kernel(kernel));
  std::vector<Allocation> allocations = module_->variables();
  for (size_t i = 0; i < memory_.size(); ++i) {
    allocations.push_back({addresses_[i], memory_[i], StrCat("buffer ", i),
                           false, initialized_[i]});
  }
  LaunchConfig config;
  config.grid = grid;
  config.block = block;
  config.dynamic_shared_bytes = dynamic_shared_bytes_;
  config.parameters = parameters_;
  return ptx::Launch(*program, config, allocations, options_, &counters_);
}

std::string ReadTestData(std::string_view name) {
  std::ifstream in(StrCat("backends/cuda/emulator/testdata/", name),
                   std::ios::binary);
  ENCORE_CHECK(in.good()) << "no test data " << name;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string ModuleOf(std::string_view body, std::string_view target) {
  return StrCat(".version 9.0\n.target ", target,
                "\n.address_size 64\n"
                ".visible .entry test(.param .u64 in, .param .u64 out) {\n"
                ".reg .pred %p<64>; .reg .b16 %rs<64>; .reg .b32 %r<64>;\n"
                ".reg .b64 %rd<64>; .reg .f32 %f<64>; .reg .f64 %d<64>;\n"
                "mov.u32 %r0, %tid.x; cvt.u64.u32 %rd0, %r0;\n"
                "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];\n"
                "cvta.to.global.u64 %rd1, %rd1;\n"
                "cvta.to.global.u64 %rd2, %rd2;\n",
                body, "\nret;\n}\n");
}

}  // namespace encore::ptx
