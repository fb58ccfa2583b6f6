#include "encore/backends/absent.h"

#include <string>
#include <string_view>

#include "encore/backends/backends.h"
#include "encore/backends/devices.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

// The same text and code whoever is asked: the compilers' list, the devices'
// list, or a backend's own devices.
TEST(AbsentTest, BackendsAreNamed) {
  const Status compiler = FindBackend("tpu").status();
  EXPECT_EQ(compiler.code(), StatusCode::kNotFound);
  EXPECT_EQ(Message(compiler), "no backend \"tpu\"; there are: cpu, ref");
  const Status device = NewDevice("tpu", 0).status();
  EXPECT_EQ(device.code(), StatusCode::kNotFound);
  EXPECT_EQ(Message(device),
            "no backend \"tpu\"; there are: cpu, cuda, host, ref");
}

TEST(AbsentTest, DevicesAreNamed) {
  for (const Backend* backend : AllBackends()) {
    const std::string expected =
        std::string("no device ") + std::string(backend->name()) +
        ":3; there is " + std::string(backend->name()) + ":0";
    const Status own = backend->NewDevice(3).status();
    EXPECT_EQ(own.code(), StatusCode::kNotFound);
    EXPECT_EQ(Message(own), expected);
    EXPECT_EQ(NewDevice(backend->name(), 3).status(), own);
  }
  EXPECT_EQ(Message(NewDevice("host", 1).status()),
            "no device host:1; there is host:0");
  EXPECT_EQ(Message(NoDevice("cuda", 9, 4)),
            "no device cuda:9; there are cuda:0 to cuda:3");
}

}  // namespace
}  // namespace encore::backends
