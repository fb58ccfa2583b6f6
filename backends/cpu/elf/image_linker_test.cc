#include "encore/backends/cpu/elf/image_linker.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/cpu/codegen/compiler.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/image.h"
#include "encore/ir/support/strings.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

using Bytes = std::vector<std::byte>;

std::vector<std::string> Objects(const std::vector<std::string>& modules) {
  auto objects = CompileObjects(modules, Isa::kAvx2, 1);
  EXPECT_TRUE(objects.ok()) << objects.status();
  return objects.ok() ? *std::move(objects) : std::vector<std::string>();
}

Bytes Linked(const std::vector<std::string>& modules) {
  auto image = LinkImage(Objects(modules));
  EXPECT_TRUE(image.ok()) << image.status();
  return image.ok() ? *std::move(image) : Bytes();
}

std::shared_ptr<const Image> Loaded(const Bytes& bytes) {
  auto image = Image::Load(bytes, std::nullopt);
  EXPECT_TRUE(image.ok()) << image.status();
  return image.ok() ? *std::move(image) : nullptr;
}

template <typename Function>
Function* Find(const Image& image, std::string_view name) {
  return reinterpret_cast<Function*>(const_cast<void*>(image.Find(name)));
}

size_t Count(const Bytes& bytes, std::string_view wanted) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              bytes.size());
  size_t count = 0;
  for (size_t at = text.find(wanted); at != std::string_view::npos;
       at = text.find(wanted, at + 1)) {
    ++count;
  }
  return count;
}

// i32 @name(i32 %x), which gives %x + `added`.
std::string Adds(std::string_view name, int added) {
  return StrCat("define i32 @", name, "(i32 %x) {\n  %y = add i32 %x, ", added,
                "\n  ret i32 %y\n}\n");
}

TEST(ImageLinker, EveryFunctionOfManyObjectsIsFound) {
  std::vector<std::string> modules;
  for (int i = 0; i < 50; ++i) modules.push_back(Adds(StrCat("f", i), i));
  const auto image = Loaded(Linked(modules));
  ASSERT_NE(image, nullptr);
  for (int i = 0; i < 50; ++i) {
    const auto f = Find<int(int)>(*image, StrCat("f", i));
    ASSERT_NE(f, nullptr) << i;
    EXPECT_EQ(f(1000), 1000 + i);
  }
  EXPECT_EQ(image->Find("f50"), nullptr);
  EXPECT_EQ(image->Find(""), nullptr);
}

TEST(ImageLinker, ObjectsCallEachOther) {
  const auto image = Loaded(
      Linked({"declare i32 @twice(i32)\ndefine i32 @four(i32 %x) {\n"
              "  %a = call i32 @twice(i32 %x)\n  %b = call i32 @twice(i32 %a)\n"
              "  ret i32 %b\n}\n",
              "define i32 @twice(i32 %x) {\n  %y = mul i32 %x, 2\n  ret i32 "
              "%y\n}\n"}));
  ASSERT_NE(image, nullptr);
  EXPECT_EQ(Find<int(int)>(*image, "four")(5), 20);
}

// Eight numbers that no single instruction makes.
constexpr float kNumbers[] = {1, 0.5, 0.25, 7, 11, 13, 17, 19};

std::string StoresNumbers(std::string_view name) {
  return StrCat("define void @", name,
                "(ptr %to) {\n  store <8 x float> <float 1.0, float 0.5, float "
                "0.25, float 7.0, float 11.0, float 13.0, float 17.0, float "
                "19.0>, ptr %to, align 32\n  ret void\n}\n");
}

// The instructions that read them fault where they are not aligned.
TEST(ImageLinker, ConstantsAreThereOnceAndAligned) {
  const std::string three = "define float @three() {\n  ret float 3.0\n}\n";
  const Bytes bytes =
      Linked({three, StoresNumbers("a"), StoresNumbers("b"), Adds("f", 1)});
  EXPECT_EQ(
      Count(bytes, {reinterpret_cast<const char*>(kNumbers), sizeof(kNumbers)}),
      1);
  const auto image = Loaded(bytes);
  ASSERT_NE(image, nullptr);
  for (const char* name : {"a", "b"}) {
    alignas(32) float stored[8] = {};
    Find<void(float*)>(*image, name)(stored);
    EXPECT_EQ(std::memcmp(stored, kNumbers, sizeof(stored)), 0);
  }
  EXPECT_EQ(Find<float()>(*image, "three")(), 3);
}

TEST(ImageLinker, DataThatCodeFindsItsWayBy) {
  std::string cases, blocks;
  for (int i = 0; i < 8; ++i) {
    StrAppend(&cases, "    i32 ", i, ", label %b", i, "\n");
    StrAppend(&blocks, "b", i, ":\n  store volatile i32 ", i,
              ", ptr %seen\n  ret i32 ", (i * 37) % 11, "\n");
  }
  const auto image = Loaded(Linked({StrCat(
      "define i32 @pick(i32 %x, ptr %seen) {\n  switch i32 %x, label %none [\n",
      cases, "  ]\nnone:\n  ret i32 -1\n", blocks, "}\n")}));
  ASSERT_NE(image, nullptr);
  const auto pick = Find<int(int, int*)>(*image, "pick");
  int seen = -1;
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(pick(i, &seen), (i * 37) % 11);
    EXPECT_EQ(seen, i);
  }
  EXPECT_EQ(pick(8, &seen), -1);
}

// An image is a shared object like any other: another loader finds its way in
// it, and the same functions.
TEST(ImageLinker, TheDynamicLinkerLoadsImages) {
  const Bytes bytes = Linked({Adds("first", 1), Adds("second", 2),
                              Adds("third", 3), StoresNumbers("numbers")});
  const int file = memfd_create("image", MFD_CLOEXEC);
  ASSERT_EQ(write(file, bytes.data(), bytes.size()), bytes.size());
  void* const library =
      dlopen(StrCat("/proc/self/fd/", file).c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  int added = 0;
  for (const char* name : {"first", "second", "third"}) {
    const auto f = reinterpret_cast<int (*)(int)>(dlsym(library, name));
    ASSERT_NE(f, nullptr) << dlerror();
    EXPECT_EQ(f(10), 10 + ++added);
  }
  EXPECT_NE(dlsym(library, "numbers"), nullptr);
  EXPECT_EQ(dlsym(library, "fourth"), nullptr);
  dlclose(library);
  close(file);
}

TEST(ImageLinker, WhatNeedsADynamicLinkerIsRefused) {
  const auto message = [](const std::vector<std::string>& modules) {
    const auto image = LinkImage(Objects(modules));
    EXPECT_EQ(image.status().code(), StatusCode::kInternal);
    return Message(image.status());
  };
  EXPECT_NE(message({"declare void @elsewhere()\ndefine void @f() {\n  call "
                     "void @elsewhere()\n  ret void\n}\n"})
                .find("nothing defines elsewhere"),
            std::string::npos);
  EXPECT_NE(
      message({Adds("f", 1), Adds("f", 2)}).find("two functions are called f"),
      std::string::npos);
  EXPECT_NE(message({"@count = internal global i32 0\ndefine void @f() {\n  "
                     "%c = load volatile i32, ptr @count\n  %d = add i32 %c, "
                     "1\n  store volatile i32 %d, ptr @count\n  ret void\n}\n"})
                .find("cannot be linked"),
            std::string::npos);
  EXPECT_NE(message({"@table = internal constant [2 x ptr] [ptr @f, ptr @g]\n"
                     "define void @g() {\n  ret void\n}\ndefine ptr @f(i64 "
                     "%i) {\n  %p = getelementptr ptr, ptr @table, i64 %i\n  "
                     "%q = load ptr, ptr %p\n  ret ptr %q\n}\n"})
                .find("cannot be linked"),
            std::string::npos);
}

// Objects that all call their function alike.
TEST(ImageLinker, TheImagesNamesMayBeGiven) {
  const std::vector<std::string> objects =
      Objects({Adds("f", 1), Adds("f", 2), StoresNumbers("f")});
  const std::vector<std::string> names = {"one", "two", "numbers"};
  const auto bytes = LinkImage(objects, names);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const auto image = Loaded(*bytes);
  ASSERT_NE(image, nullptr);
  EXPECT_EQ(Find<int(int)>(*image, "one")(10), 11);
  EXPECT_EQ(Find<int(int)>(*image, "two")(10), 12);
  EXPECT_NE(image->Find("numbers"), nullptr);
  EXPECT_EQ(image->Find("f"), nullptr);
}

TEST(ImageLinker, AGivenNameIsForOneFunction) {
  const std::vector<std::string> name = {"g"};
  const auto message = [&](const std::vector<std::string>& objects) {
    const auto image = LinkImage(objects, name);
    EXPECT_EQ(image.status().code(), StatusCode::kInternal);
    return Message(image.status());
  };
  EXPECT_NE(
      message(Objects({StrCat(Adds("a", 1), Adds("b", 2))})).find("called g"),
      std::string::npos);
  EXPECT_NE(
      message(Objects({"@x = hidden constant i32 1\n"})).find("for the name g"),
      std::string::npos);
}

TEST(ImageLinker, NoObjectsMakeAnImageWithoutFunctions) {
  const auto image = LinkImage({});
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_TRUE(Image::Verify(*image).ok());
}

// Whatever a flipped bit does, linking ends, and what it gives is an image.
TEST(ImageLinker, HostileObjectsAreBounded) {
  const std::vector<std::string> good =
      Objects({StoresNumbers("a"), Adds("f", 1)});
  ASSERT_EQ(good.size(), 2);
  for (size_t bit = 0; bit < good[0].size() * 8; ++bit) {
    std::vector<std::string> objects = good;
    objects[0][bit / 8] = static_cast<char>(objects[0][bit / 8] ^ 1 << bit % 8);
    const auto image = LinkImage(objects);
    if (image.ok()) {
      EXPECT_TRUE(Image::Verify(*image).ok()) << bit;
    }
  }
  for (size_t size = 0; size < good[0].size(); ++size) {
    const std::vector<std::string> objects = {good[0].substr(0, size)};
    LinkImage(objects).status().IgnoreError();
  }
}

}  // namespace
}  // namespace encore::backends::cpu
