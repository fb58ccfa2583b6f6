// What `encore run` prints.
#ifndef ENCORE_TOOLS_RUN_REPORT_H_
#define ENCORE_TOOLS_RUN_REPORT_H_

#include <string>

#include "encore/tools/json_output.h"
#include "encore/tools/run/run_model.h"

namespace encore::tools {

// The report for programs. Fields that do not apply are null.
Json ToJson(const RunReport& report);

// A few lines for a person.
std::string ToText(const RunReport& report);

// The same as one row of a table, and the table's head; with the line's end.
std::string TableHead();
std::string ToRow(const RunReport& report);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_RUN_REPORT_H_
