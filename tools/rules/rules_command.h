// `encore rules`: lists the rewrite rules, and checks them or a file of others.
#ifndef ENCORE_TOOLS_RULES_RULES_COMMAND_H_
#define ENCORE_TOOLS_RULES_RULES_COMMAND_H_

namespace encore::tools {

int RulesMain(int argc, char** argv);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_RULES_RULES_COMMAND_H_
