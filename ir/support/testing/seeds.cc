#include "encore/ir/support/testing/seeds.h"

#include <cstddef>
#include <fstream>
#include <iostream>
#include <utility>

#include "encore/ir/support/check.h"

namespace encore {
namespace {

constexpr size_t kMostBytes = 16'000;

}  // namespace

Seeds::Seeds(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::filesystem::create_directories(folder_);
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    if (!entry.path().filename().string().starts_with("found-")) {
      std::filesystem::remove(entry.path());
    }
  }
}

void Seeds::Add(const std::string& name, std::string_view bytes) const {
  if (bytes.size() > kMostBytes) {
    std::cout << name << ": " << bytes.size() << " bytes, left out\n";
    return;
  }
  std::ofstream file(folder_ / name, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  ENCORE_CHECK(file.good()) << folder_ / name;
}

}  // namespace encore
