#include "encore/backends/absent.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "encore/backends/backends.h"
#include "encore/backends/devices.h"
#include "encore/ir/support/strings.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

// The same text and code whoever is asked: the compilers' list, the devices'
// list, or a backend's own devices.
TEST(AbsentTest, BackendsAreNamed) {
  const Status compiler = FindBackend("tpu").status();
  EXPECT_EQ(compiler.code(), StatusCode::kNotFound);
  EXPECT_EQ(Message(compiler),
            "no backend \"tpu\"; there are: cpu, cuda, cuda_emulated, ref");
  const Status device = NewDevice("tpu", 0).status();
  EXPECT_EQ(device.code(), StatusCode::kNotFound);
  EXPECT_EQ(Message(device),
            "no backend \"tpu\"; there are: cpu, cuda, host, ref");
}

TEST(AbsentTest, DevicesAreNamed) {
  for (const std::string_view name : {"cpu", "ref"}) {
    const std::string expected =
        StrCat("no device ", name, ":3; there is ", name, ":0");
    const Status own = (*FindBackend(name))->NewDevice(3).status();
    EXPECT_EQ(own.code(), StatusCode::kNotFound);
    EXPECT_EQ(Message(own), expected);
    EXPECT_EQ(NewDevice(name, 3).status(), own);
  }
  EXPECT_EQ(Message(NewDevice("host", 1).status()),
            "no device host:1; there is host:0");
  EXPECT_EQ(Message(NoDevice("cuda", 9, 4)),
            "no device cuda:9; there are cuda:0 to cuda:3");
}

// Why there is none, and what would help, before anything is loaded.
TEST(AbsentTest, CudaSaysWhy) {
  setenv("ENCORE_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
  const Status own = (*FindBackend("cuda"))->NewDevice(0).status();
  EXPECT_EQ(own.code(), StatusCode::kNotFound);
  EXPECT_NE(Message(own).find("no CUDA driver can be loaded"),
            std::string_view::npos)
      << own;
  EXPECT_EQ(NewDevice("cuda", 0).status(), own);
}

// It is there where it is named, and nobody who only replays has it.
TEST(AbsentTest, EmulatedDevicesAreThereWhereTheyAreNamed) {
  const auto backend = FindBackend("cuda:emulated");
  ASSERT_TRUE(backend.ok()) << backend.status();
  EXPECT_EQ((*backend)->name(), "cuda_emulated");
  EXPECT_TRUE((*backend)->NewDevice(1).ok());
  EXPECT_EQ(Message((*backend)->NewDevice(2).status()),
            "no device cuda_emulated:2; there are cuda_emulated:0 to "
            "cuda_emulated:1");
  EXPECT_NE((*backend)->Target({}), (*FindBackend("cuda"))->Target({}));
  EXPECT_EQ(NewDevice("cuda_emulated", 0).status().code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace encore::backends
