#include "encore/tools/cache/cache_command.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/cache/key/key.h"
#include "encore/cache/store/container.h"
#include "encore/cache/store/disk_store.h"
#include "encore/cache/store/entry.h"
#include "encore/ir/support/file_stamp.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/tools/cache/verify_entry.h"
#include "encore/tools/command.h"
#include "encore/tools/command_files.h"
#include "encore/tools/json_output.h"
#include "encore/tools/machine_flags.h"
#include "encore/tools/progress.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

using cache::DiskStore;
using Entries = std::vector<DiskStore::Entry>;

struct Flags {
  MachineFlags machine;
  JsonOutput json;
  std::vector<std::string> keys;

  bool quiet() const { return json.on_stdout(); }
};

// Null where there is no folder: looking at a cache does not make one.
StatusOr<std::shared_ptr<DiskStore>> OpenStore(const Flags& flags) {
  if (flags.machine.cache.empty()) {
    return InvalidArgumentError(
        "there is no cache folder; name one with --cache or ENCORE_CACHE");
  }
  if (StampOf(flags.machine.cache).status().code() == StatusCode::kNotFound) {
    return std::shared_ptr<DiskStore>();
  }
  ENCORE_ASSIGN_OR_RETURN(const uint64_t max_bytes,
                          ParseByteCount(flags.machine.cache_size));
  return DiskStore::Open(
      {.folder = flags.machine.cache, .max_bytes = max_bytes, .log = PrintLog});
}

Entries List(const DiskStore* store) {
  return store == nullptr ? Entries() : store->List();
}

struct Sum {
  int64_t entries = 0;
  uint64_t bytes = 0;
  int64_t uses = 0;
};
// By kind; "" is the sum of all.
std::map<std::string, Sum> SumsOf(const Entries& entries) {
  std::map<std::string, Sum> sums;
  for (const DiskStore::Entry& entry : entries) {
    for (const std::string& kind : {std::string(), entry.kind}) {
      ++sums[kind].entries;
      sums[kind].bytes += entry.bytes;
      sums[kind].uses += entry.uses;
    }
  }
  sums.try_emplace("");
  return sums;
}

Json SumsJson(const std::map<std::string, Sum>& sums) {
  Json json = Json::object();
  for (const auto& [kind, sum] : sums) {
    if (kind.empty()) continue;
    json[kind] = {
        {"entries", sum.entries}, {"bytes", sum.bytes}, {"hits", sum.uses}};
  }
  return json;
}

// What entries of a kind are, for people; empty for others.
const char* AboutKind(std::string_view kind) {
  static constexpr std::pair<std::string_view, const char*> kAbout[] = {
      {"graph", "compiled graphs"},
      {"kernel", "compiled kernels, to be linked into any graph"},
      {"rewrite", "what rules led to, to be priced for any machine"},
      {"weights", "prepared weights"},
      {"artifact", "measurements, rules that were checked"},
      {"memo", "digests of weights, files that were verified"},
      {"prefetch", "the graph that a model's file gave last"},
      {"named", "graphs by names of the caller's"},
  };
  const auto* const found = std::ranges::find(
      kAbout, kind, &std::pair<std::string_view, const char*>::first);
  return found == std::end(kAbout) ? "" : found->second;
}

void PrintSums(const std::map<std::string, Sum>& sums) {
  for (const auto& [kind, sum] : sums) {
    if (kind.empty()) continue;
    Printf("  %-9s %6lld entries %14llu bytes %6lld hits  %s\n",
           PrintableName(kind).c_str(), static_cast<long long>(sum.entries),
           static_cast<unsigned long long>(sum.bytes),
           static_cast<long long>(sum.uses), AboutKind(kind));
  }
}

StatusOr<int> StatusVerb(Flags& flags) {
  ENCORE_ASSIGN_OR_RETURN(const auto store, OpenStore(flags));
  const auto sums = SumsOf(List(store.get()));
  const size_t bad = store == nullptr ? 0 : store->Bad().size();
  ENCORE_ASSIGN_OR_RETURN(const uint64_t max_bytes,
                          ParseByteCount(flags.machine.cache_size));
  Json json;
  json["folder"] = flags.machine.cache;
  json["exists"] = store != nullptr;
  json["entries"] = sums.at("").entries;
  json["bytes"] = sums.at("").bytes;
  json["max_bytes"] = max_bytes;
  json["bad"] = bad;
  json["kinds"] = SumsJson(sums);
  flags.json.Write(json);
  if (flags.quiet()) return kExitOk;
  Printf(
      "%s: %s%lld entries, %llu of at most %llu bytes, %zu damaged ones "
      "set aside\n",
      PrintableName(flags.machine.cache).c_str(),
      store == nullptr ? "not made yet; " : "",
      static_cast<long long>(sums.at("").entries),
      static_cast<unsigned long long>(sums.at("").bytes),
      static_cast<unsigned long long>(max_bytes), bad);
  PrintSums(sums);
  Printf(
      "  hits: one a minute and entry at most, none in an entry's first "
      "minute\n");
  return kExitOk;
}

Json EntryJson(const DiskStore::Entry& entry) {
  Json json;
  json["kind"] = entry.kind;
  json["key"] = entry.key.ToHex();
  json["bytes"] = entry.bytes;
  json["used_seconds"] = entry.used_ns / 1'000'000'000;
  json["hits"] = entry.uses;
  json["path"] = entry.path;
  return json;
}

StatusOr<int> ListVerb(Flags& flags) {
  ENCORE_ASSIGN_OR_RETURN(const auto store, OpenStore(flags));
  for (const DiskStore::Entry& entry : List(store.get())) {
    flags.json.Write(EntryJson(entry));
    if (flags.quiet()) continue;
    Printf("%-9s %s %12llu bytes\n", PrintableName(entry.kind).c_str(),
           entry.key.ToHex().c_str(),
           static_cast<unsigned long long>(entry.bytes));
  }
  return kExitOk;
}

StatusOr<int> VerifyVerb(Flags& flags) {
  ENCORE_ASSIGN_OR_RETURN(const auto store, OpenStore(flags));
  const Entries entries = List(store.get());
  Json damaged = Json::array();
  std::vector<std::string> texts;
  {
    Progress progress("verifying", static_cast<int64_t>(entries.size()));
    for (const DiskStore::Entry& entry : entries) {
      const std::vector<std::string> problems = VerifyEntry(entry);
      progress.Advance();
      if (problems.empty()) continue;
      Json json = EntryJson(entry);
      json["problems"] = problems;
      damaged.push_back(std::move(json));
      texts.insert(texts.end(), problems.begin(), problems.end());
    }
  }
  Json json;
  json["folder"] = flags.machine.cache;
  json["entries"] = entries.size();
  json["ok"] = damaged.empty();
  json["damaged"] = damaged;
  flags.json.Write(json);
  if (!flags.quiet()) {
    Printf("%s: %zu entries, %zu damaged\n",
           PrintableName(flags.machine.cache).c_str(), entries.size(),
           damaged.size());
    for (const std::string& text : texts) {
      Printf("  %s\n", PrintableName(text).c_str());
    }
  }
  return damaged.empty() ? kExitOk : kExitMismatch;
}

StatusOr<int> ClearVerb(Flags& flags) {
  ENCORE_ASSIGN_OR_RETURN(const auto store, OpenStore(flags));
  const DiskStore::Cleared cleared =
      store == nullptr ? DiskStore::Cleared() : store->Clear();
  const auto sums = SumsOf(cleared.entries);
  Json json;
  json["folder"] = flags.machine.cache;
  json["removed"] = sums.at("").entries;
  json["bytes"] = sums.at("").bytes;
  json["bad"] = cleared.bad;
  json["kinds"] = SumsJson(sums);
  flags.json.Write(json);
  if (!cleared.kept.empty()) return PermissionDeniedError(cleared.kept);
  if (flags.quiet()) return kExitOk;
  Printf("%s: removed %lld entries, %llu bytes, and %d damaged ones\n",
         PrintableName(flags.machine.cache).c_str(),
         static_cast<long long>(sums.at("").entries),
         static_cast<unsigned long long>(sums.at("").bytes), cleared.bad);
  PrintSums(sums);
  return kExitOk;
}

// The ingredients of a file, or of the compiled graph whose key begins so.
StatusOr<cache::KeyIngredients> IngredientsOf(const Entries& entries,
                                              const std::string& key) {
  std::string path = key;
  if (!StampOf(key).ok()) {
    const auto begins = [&](const DiskStore::Entry& entry) {
      return entry.kind == "graph" && entry.key.ToHex().starts_with(key);
    };
    const auto first = std::ranges::find_if(entries, begins);
    if (key.empty() || first == entries.end()) {
      return NotFoundError(
          StrCat("no file and no compiled graph with the key ", Quote(key)));
    }
    if (std::find_if(first + 1, entries.end(), begins) != entries.end()) {
      return InvalidArgumentError(
          StrCat("several compiled graphs have keys that begin with ", key));
    }
    path = first->path;
  }
  ENCORE_ASSIGN_OR_RETURN(const auto container, cache::Container::Open(path));
  auto ingredients = cache::ReadEntryIngredients(*container);
  if (ingredients.ok()) return ingredients;
  return Annotate(ingredients.status(), path);
}

StatusOr<int> ExplainVerb(Flags& flags) {
  ENCORE_ASSIGN_OR_RETURN(const auto store, OpenStore(flags));
  const Entries entries = List(store.get());
  ENCORE_ASSIGN_OR_RETURN(const auto first,
                          IngredientsOf(entries, flags.keys[0]));
  ENCORE_ASSIGN_OR_RETURN(const auto second,
                          IngredientsOf(entries, flags.keys[1]));
  const auto difference = cache::Explain(first, second);
  Json json;
  json["equal"] = !difference.has_value();
  json["difference"] = difference ? Json(*difference) : Json(nullptr);
  flags.json.Write(json);
  if (!flags.quiet()) {
    Printf("%s\n",
           difference ? PrintableName(*difference).c_str() : "the same key");
  }
  return difference ? kExitMismatch : kExitOk;
}

struct Verb {
  const char* name;
  const char* summary;
  StatusOr<int> (*run)(Flags& flags);
};

constexpr Verb kVerbs[] = {
    {"status", "how much is kept", StatusVerb},
    {"list", "every entry", ListVerb},
    {"verify", "read every entry again and name the damaged ones", VerifyVerb},
    {"explain", "the first thing in which two keys differ", ExplainVerb},
    {"clear", "remove everything", ClearVerb},
};

}  // namespace

int CacheMain(int argc, char** argv) {
  CLI::App app("Look into, check and empty the cache on disk.", "encore cache");
  app.require_subcommand(1);
  Flags flags;
  for (const Verb& verb : kVerbs) {
    CLI::App* sub = app.add_subcommand(verb.name, verb.summary);
    AddCacheFlag(*sub, &flags.machine);
    if (verb.run == StatusVerb) AddCacheSizeFlag(*sub, &flags.machine);
    if (verb.run == ExplainVerb) {
      sub->add_option("KEY", flags.keys,
                      "two keys, or their first digits, or files")
          ->expected(2)
          ->required();
    }
    flags.json.AddFlag(*sub);
    sub->footer(
        "Exit codes: 0 ok, 1 damaged entries or different keys, 2 unusable "
        "input or arguments, 3 an internal error.");
  }
  if (const auto exit_code = ParseArguments(app, argc, argv)) return *exit_code;
  CommandFiles files;
  files.WritesData("--json", flags.json.path());
  for (const std::string& key : flags.keys) files.Reads("the file", key);
  Status ready = files.CheckApart();
  if (ready.ok()) ready = flags.json.Open();
  if (!ready.ok()) return Fail(app, ready);
  for (const Verb& verb : kVerbs) {
    if (!app.got_subcommand(verb.name)) continue;
    const StatusOr<int> exit_code = verb.run(flags);
    if (!exit_code.ok()) return Fail(app, exit_code.status());
    const Status written = flags.json.status();
    return written.ok() ? *exit_code : Fail(app, written);
  }
  return kExitUnusableInput;
}

}  // namespace encore::tools
