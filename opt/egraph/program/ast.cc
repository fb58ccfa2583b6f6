#include "encore/opt/egraph/program/ast.h"

#include <algorithm>
#include <utility>

#include "encore/ir/support/strings.h"

namespace encore::opt::program {

SourceFile MakeSourceFile(std::string name, std::string text) {
  SourceFile file{std::move(name), std::move(text), {0}};
  for (size_t at = file.text.find('\n'); at != std::string::npos;
       at = file.text.find('\n', at + 1)) {
    file.line_starts.push_back(static_cast<uint32_t>(at + 1));
  }
  return file;
}

std::string Where(const Program& program, Position position) {
  const SourceFile& file = program.files[position.file];
  const auto after = std::upper_bound(file.line_starts.begin(),
                                      file.line_starts.end(), position.offset);
  return StrCat(file.name, ":", after - file.line_starts.begin(), ":",
                position.offset - *(after - 1) + 1);
}

void Arguments(const Program& program, ExprId e, std::vector<ExprId>* out) {
  const uint32_t count = program.exprs[e].num_arguments;
  out->resize(count);
  ExprId argument = e;
  for (uint32_t i = count; i-- > 0;) {
    argument = (i + 1 == count ? e : program.exprs[argument].first) - 1;
    (*out)[i] = argument;
  }
}

}  // namespace encore::opt::program
