#include "encore/backends/cuda/driver/driver.h"

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

constexpr char kSmallDriver[] = "backends/cuda/driver/small_driver.so";

std::string LoadError(const std::string& library, const char* fault,
                      StatusCode code) {
  setenv("SMALL_DRIVER", fault, 1);
  const Status status = Driver::Load(library).status();
  setenv("SMALL_DRIVER", "", 1);
  EXPECT_EQ(status.code(), code) << status;
  return std::string(Message(status));
}

TEST(Driver, IsLoadedFromALibrary) {
  const auto driver = Driver::Load(kSmallDriver);
  ASSERT_TRUE(driver.ok()) << driver.status();
  EXPECT_EQ((*driver)->version(), 13000);
  EXPECT_EQ((*driver)->device_count(), 2);
  EXPECT_EQ((*driver)->api.cuStreamSynchronize(nullptr), Result::kNotSupported);
  EXPECT_EQ(Message((*driver)->ToStatus(Result::kUnknown, "cuMemAlloc")),
            "cuMemAlloc: CUDA_ERROR_UNKNOWN (999)");
  EXPECT_EQ((*driver)->ToStatus(Result::kOutOfMemory, "cuMemAlloc").code(),
            StatusCode::kResourceExhausted);
}

TEST(Driver, ErrorsNameLibraryAndRemedy) {
  const std::string absent =
      LoadError("/nowhere/libcuda.so.1", "", StatusCode::kNotFound);
  EXPECT_NE(absent.find("/nowhere/libcuda.so.1"), std::string::npos) << absent;
  EXPECT_NE(absent.find("ENCORE_CUDA_DRIVER"), std::string::npos) << absent;
  const std::string other =
      LoadError("libm.so.6", "", StatusCode::kFailedPrecondition);
  EXPECT_NE(other.find("libm.so.6"), std::string::npos) << other;
}

TEST(Driver, AnyFunctionMayBeMissing) {
#define ENCORE_CUDA_FUNCTION(name, version, parameters)                        \
  {                                                                            \
    const std::string message =                                                \
        LoadError(kSmallDriver, "no " #name, StatusCode::kFailedPrecondition); \
    EXPECT_NE(message.find(#name), std::string::npos) << message;              \
    EXPECT_NE(message.find("12.8 or later"), std::string::npos) << message;    \
  }
#include "encore/backends/cuda/driver/functions.def"
#undef ENCORE_CUDA_FUNCTION
}

TEST(Driver, StubsAndBrokenDriversAreNamed) {
  EXPECT_NE(
      LoadError(kSmallDriver, "stub", StatusCode::kNotFound).find("is a stub"),
      std::string::npos);
  EXPECT_NE(LoadError(kSmallDriver, "no device", StatusCode::kNotFound)
                .find("finds no CUDA device"),
            std::string::npos);
  const std::string broken =
      LoadError(kSmallDriver, "broken", StatusCode::kFailedPrecondition);
  EXPECT_NE(broken.find("cuInit: CUDA_ERROR_UNKNOWN (999)"), std::string::npos)
      << broken;
}

TEST(Driver, TheLibraryIsAParameter) {
  unsetenv("ENCORE_CUDA_DRIVER");
  EXPECT_EQ(DriverLibrary(), "libcuda.so.1");
  setenv("ENCORE_CUDA_DRIVER", kSmallDriver, 1);
  EXPECT_EQ(DriverLibrary(), kSmallDriver);
}

}  // namespace
}  // namespace encore::backends::cuda
