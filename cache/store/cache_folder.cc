#include "encore/cache/store/cache_folder.h"

#include <cstdlib>
#include <string_view>

#include "encore/ir/support/strings.h"

namespace encore::cache {

std::string DefaultCacheFolder() {
  if (const char* folder = std::getenv("ENCORE_CACHE")) {
    return std::string_view(folder) == "off" ? "" : folder;
  }
  if (const char* xdg = std::getenv("XDG_CACHE_HOME");
      xdg != nullptr && *xdg != '\0') {
    return StrCat(std::string_view(xdg), "/encore/cache");
  }
  if (const char* home = std::getenv("HOME");
      home != nullptr && *home != '\0') {
    return StrCat(std::string_view(home), "/.cache/encore/cache");
  }
  return "";
}

}  // namespace encore::cache
