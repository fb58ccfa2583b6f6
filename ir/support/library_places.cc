#include "encore/ir/support/library_places.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace encore {

namespace fs = std::filesystem;

std::vector<std::string> LibraryPlaces(const char* variable,
                                       std::string_view runfile) {
  if (const char* path = std::getenv(variable)) {
    if (std::string_view(path).empty() || std::string_view(path) == "none") {
      return {};
    }
    return {path};
  }
  std::vector<std::string> places;
  const auto add = [&places](const fs::path& place) {
    places.push_back(place.string());
  };
  for (const char* root_variable : {"RUNFILES_DIR", "TEST_SRCDIR"}) {
    if (const char* root = std::getenv(root_variable)) {
      add(fs::path(root) / runfile);
    }
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return places;
  add(fs::path(program.string() + ".runfiles") / runfile);
  add(program.parent_path() / fs::path(runfile).filename());
  return places;
}

std::string FindLibrary(const char* variable, std::string_view runfile) {
  std::error_code error;
  for (std::string& place : LibraryPlaces(variable, runfile)) {
    if (fs::exists(place, error)) return std::move(place);
  }
  return {};
}

}  // namespace encore
