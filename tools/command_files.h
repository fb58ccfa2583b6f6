// The files of a command line: what it reads and what it writes, which have to
// be apart. A verb lists them before any work, and checks.
//
//   CommandFiles files;
//   files.Reads("the model", model);
//   files.Writes("--save", save);
//   ENCORE_RETURN_IF_ERROR(files.CheckApart());
//
// Two paths are one file where device and inode are the same, links followed,
// so that other names and hard links are seen through. Devices and pipes are
// not kept apart: nothing is lost there.
#ifndef ENCORE_TOOLS_COMMAND_FILES_H_
#define ENCORE_TOOLS_COMMAND_FILES_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "encore/ir/support/status.h"

namespace encore::tools {

class CommandFiles {
 public:
  // `what` is the flag, or what the file is to the user. An empty path is none.
  void Reads(std::string_view what, const std::string& path);
  // The file of an --input: NAME=FILE, or FILE with several.
  void ReadsInput(const std::string& input);
  void Writes(std::string_view what, const std::string& path);
  // The same where "-" is standard output, which takes one thing.
  void WritesData(std::string_view what, const std::string& path);
  // Any of the files in `folder` whose names `is_written` takes.
  void WritesInto(std::string_view what, const std::string& folder,
                  bool (*is_written)(std::string_view name));

  // Whether a file that is there is written: nothing can be lost otherwise, and
  // what else is read need not be looked for.
  bool replaces_any() const;

  // InvalidArgument, naming both, where a file is written that is read or
  // written by another flag. Cost: O(n log n) for n files.
  Status CheckApart() const;

 private:
  // Device and inode of a file that is there, and no name; of the folder of one
  // that is not, and its name there.
  using Identity = std::tuple<dev_t, ino_t, std::string>;
  struct File {
    std::string what, path;
    Identity identity;
  };
  struct Folder {
    File file;
    bool (*is_written)(std::string_view name);
  };

  // Nothing for what is no file and can be none.
  static std::optional<Identity> Identify(const std::string& path);
  static void Add(std::string_view what, const std::string& path,
                  std::vector<File>* files);

  std::vector<File> read_, written_;
  std::vector<std::string> on_stdout_;  // the flags
  std::vector<Folder> folders_;
};

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_COMMAND_FILES_H_
