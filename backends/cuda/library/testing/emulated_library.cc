#include "encore/backends/cuda/library/testing/emulated_library.h"

#include <dlfcn.h>

#include <fstream>
#include <iterator>

#include "encore/backends/cuda/fake/fake_driver.h"
#include "encore/ir/support/check.h"

namespace encore::backends::cuda {
namespace {

constexpr char kFolder[] = "backends/cuda/library/";

const EmulatedCublasLtControl& Load() {
  void* const library =
      dlopen(EmulatedLibraryPath().c_str(), RTLD_NOW | RTLD_LOCAL);
  ENCORE_CHECK(library != nullptr) << dlerror();
  void* const symbol = dlsym(library, "EmulatedCublasLt");
  ENCORE_CHECK(symbol != nullptr) << dlerror();
  const auto& control =
      *reinterpret_cast<const EmulatedCublasLtControl* (*)()>(symbol)();
  std::ifstream in(std::string(kFolder) + "testing/testdata/product.ptx",
                   std::ios::binary);
  ENCORE_CHECK(in.good()) << "no PTX of products";
  const std::string ptx{std::istreambuf_iterator<char>(in),
                        std::istreambuf_iterator<char>()};
  control.use(&fake::FakeDriver::Find, ptx.c_str());
  return control;
}

}  // namespace

std::string EmulatedLibraryPath() {
  return std::string(kFolder) + "emulated_cublaslt.so";
}

const EmulatedCublasLtControl& EmulatedLibrary() {
  static const EmulatedCublasLtControl& control = Load();
  return control;
}

}  // namespace encore::backends::cuda
