// Packages that are written where no GPU is and replayed where one is: small
// models whose weights and inputs are drawn from seeds, so that whoever has the
// program knows what they compute.
#ifndef ENCORE_TESTS_GPU_PACKAGES_H_
#define ENCORE_TESTS_GPU_PACKAGES_H_

#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"

namespace encore::gpu {

struct Model {
  std::string name;
  Graph graph;                     // with weights
  std::vector<Literal> arguments;  // weights among them
};

// All of them, the same in each process.
std::vector<Model> Models();

// Kinds of devices that packages are written for: the variants of target
// `backend`, or the backend alone where it has none.
std::vector<std::string> PackageTargets(std::string_view backend);

std::string PackagePath(const std::string& folder, const Model& model,
                        const std::string& target);

// Writes a package of each model for each target of `backend` to `folder`,
// which exists. Needs no device.
Status WritePackages(const std::string& folder, std::string_view backend);

}  // namespace encore::gpu

#endif  // ENCORE_TESTS_GPU_PACKAGES_H_
