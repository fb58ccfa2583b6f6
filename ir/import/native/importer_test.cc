#include <fstream>
#include <vector>

#include "encore/ir/graph/equal.h"
#include "encore/ir/import/import.h"
#include "encore/ir/proto/to_proto.h"
#include "encore/ir/text/parser.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

constexpr char kText[] =
    "symbols N in [1, 8]\n"
    "graph f(%x: f32[N,2], %y: f32[N,2]) { %z = add(%x, %y) return %z }";

std::string Write(const std::string& name, const std::string& bytes) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path) << bytes;
  return path;
}

TEST(NativeImporter, ReadsTextAndProto) {
  const Graph expected = *ParseGraph(kText);
  const auto text = ImportFile(Write("f.txt", kText));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(FirstDifference(*text, expected), std::nullopt);
  const auto proto = ImportFile(Write("f.pb", *ToProto(expected)));
  ASSERT_TRUE(proto.ok()) << proto.status();
  EXPECT_EQ(FirstDifference(*proto, expected), std::nullopt);
}

TEST(NativeImporter, BindsSymbolsByNameAndByInput) {
  const std::string path = Write("f.txt", kText);
  ImportOptions options;
  options.bindings["N"] = 3;
  const auto named = ImportFile(path, options);
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(named->shape(named->arguments()[0].value).ConstantDims(),
            (std::vector<int64_t>{3, 2}));
  options.bindings.clear();
  options.input_shapes["y"] = {4, 2};
  const auto by_input = ImportFile(path, options);
  ASSERT_TRUE(by_input.ok()) << by_input.status();
  EXPECT_EQ(by_input->shape(by_input->arguments()[0].value).ConstantDims(),
            (std::vector<int64_t>{4, 2}));
  std::vector<ImportOptions> bad(4);
  bad[0].bindings["M"] = 3;
  bad[1].bindings["N"] = 9;
  bad[2].input_shapes["w"] = {3, 2};
  bad[3].input_shapes["x"] = {3, 3};
  for (const ImportOptions& wrong : bad) {
    EXPECT_EQ(ImportFile(path, wrong).status().code(),
              StatusCode::kInvalidArgument);
  }
}

TEST(NativeImporter, RefusesWhatIsNoGraph) {
  EXPECT_EQ(ImportFile(Write("bad.txt", "graph f(")).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(ImportFile(Write("bad.pb", "\x08\xff\xff")).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace encore
