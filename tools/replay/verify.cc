#include <utility>

#include "encore/cache/package/package_loader.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/plan_verifier.h"
#include "encore/tools/command.h"
#include "encore/tools/replay/calls.h"
#include "encore/tools/replay/plan_text_file.h"
#include "encore/tools/replay/replay_file.h"
#include "encore/tools/replay/verbs.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

// What was found wrong, and what was not looked at.
struct Findings {
  int exit_code = kExitOk;
  Json sections = Json::array();
  // ok, or what is wrong; none where there is none
  std::string plan = "not looked at";
  Json calls;  // null where none were made
  std::vector<std::string> problems;

  void Problem(int code, std::string text) {
    exit_code = std::max(exit_code, code);
    problems.push_back(std::move(text));
  }
};

void CheckSections(const cache::Container& container, Findings* findings) {
  for (const cache::Section& section : container.sections()) {
    const Status status = container.Verify(section);
    findings->sections.push_back(
        {{"type", std::string(cache::Name(section.type))},
         {"index", section.index},
         {"ok", status.ok()}});
    if (!status.ok()) findings->Problem(kExitUnusableInput, Message(status));
  }
}

Status CheckPlan(const ReplayFile& file) {
  if (file.kind != FileKind::kEntry) return cache::CheckPackage(file.package);
  return runtime::VerifyPlan(*file.package.graph);
}

// Replays a recording's calls.
Status CheckCalls(ReplayContext& context, const ReplayFile& file,
                  Findings* findings) {
  ENCORE_ASSIGN_OR_RETURN(const auto loaded, LoadFile(context, file));
  ENCORE_ASSIGN_OR_RETURN(CallsReport report, MakeCalls(context.flags, *loaded,
                                                        file.package.calls));
  findings->calls = std::move(report.calls);
  if (!report.ok) {
    findings->Problem(kExitMismatch, "outputs are not as recorded");
  }
  return OkStatus();
}

void WriteJson(ReplayContext& context, const std::string& path,
               const Findings& findings) {
  Json json;
  json["file"] = path;
  json["ok"] = findings.problems.empty();
  json["sections"] = findings.sections;
  json["plan"] = findings.plan;
  json["calls"] = findings.calls;
  json["problems"] = findings.problems;
  context.flags.json.Write(json);
}

void PrintFindings(const ReplayContext& context, const std::string& path,
                   const Findings& findings) {
  if (context.quiet()) return;
  Printf("%s: %zu sections, plan %s, %zu calls replayed: %s\n",
         PrintableName(path).c_str(), findings.sections.size(),
         PrintableName(findings.plan).c_str(), findings.calls.size(),
         findings.problems.empty() ? "ok" : "BAD");
  for (const std::string& problem : findings.problems) {
    Printf("  %s\n", PrintableName(problem).c_str());
  }
}

// What the sections say, once they are known to be as they were written.
Status CheckContents(ReplayContext& context, const std::string& path,
                     Findings* findings) {
  findings->plan = "none";
  ENCORE_ASSIGN_OR_RETURN(const ReplayFile file, OpenReplayFile(path));
  if (file.has_plan()) {
    const Status plan = CheckPlan(file);
    findings->plan = plan.ok() ? "ok" : Message(plan);
    if (!plan.ok()) findings->Problem(kExitUnusableInput, Message(plan));
  }
  if (findings->problems.empty() && file.kind == FileKind::kRecording) {
    const Status calls = CheckCalls(context, file, findings);
    if (!calls.ok()) {
      findings->Problem(ExitCodeOf(calls),
                        StrCat("not replayed: ", Message(calls)));
    }
  }
  return OkStatus();
}

Status CheckContainer(ReplayContext& context, const std::string& path,
                      Findings* findings) {
  ENCORE_ASSIGN_OR_RETURN(const auto container, cache::Container::Open(path));
  CheckSections(*container, findings);
  if (findings->problems.empty()) return CheckContents(context, path, findings);
  if (container->Find(cache::SectionType::kCompiledGraph) == nullptr) {
    findings->plan = "none";
  }
  return OkStatus();
}

Status CheckText(const std::string& path, Findings* findings) {
  ENCORE_ASSIGN_OR_RETURN(const std::string finding, FindingOfPlanText(path));
  findings->plan = finding.empty() ? "ok" : finding;
  if (!finding.empty()) findings->Problem(kExitUnusableInput, finding);
  return OkStatus();
}

}  // namespace

StatusOr<int> ReplayVerify(ReplayContext& context, const std::string& path) {
  Findings findings;
  const Status status = IsPlanText(path)
                            ? CheckText(path, &findings)
                            : CheckContainer(context, path, &findings);
  if (!status.ok()) {
    findings.Problem(ExitCodeOf(status), Message(status));
    WriteJson(context, path, findings);
    return status;
  }
  WriteJson(context, path, findings);
  PrintFindings(context, path, findings);
  return findings.exit_code;
}

}  // namespace encore::tools
