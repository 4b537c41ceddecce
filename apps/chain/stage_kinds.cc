// SPDX-License-Identifier: BSD-3-Clause
#include "stage_kinds.h"

#include <dlfcn.h>

#include <nlohmann/json.hpp>
#include <span>

#include "executors/all.h"

namespace sluice::chain_app {
namespace {

template <typename Kind>
const Kind* Find(std::span<const Kind* const> kinds, const std::string& name, const char* what,
                 std::string* error) {
  std::string names;
  for (const Kind* kind : kinds) {
    if (name == kind->name) return kind;
    names += (names.empty() ? "" : ", ") + std::string(kind->name);
  }
  *error = "\"" + name + "\": no such " + what + "; use one of " + names;
  return nullptr;
}

template <typename Kind>
std::string List(std::span<const Kind* const> kinds) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Kind* kind : kinds) all.push_back({{"name", kind->name}, {"what", kind->what}});
  return all.dump(2) + "\n";
}

}  // namespace

const StageKind* FindStage(const std::string& executor, std::string* error) {
  if (executor.find('/') == executor.npos) {
    const StageKind* const kind = Find(BuiltInStages(), executor, "stage", error);
    if (kind == nullptr) *error += ", or the path of a shared object";
    return kind;
  }
  // The object is never closed, because its code may run until the process exits.
  void* const object = dlopen(executor.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    *error = dlerror();
    return nullptr;
  }
  const auto* const kind = static_cast<const StageKind*>(dlsym(object, kStageSymbol));
  if (kind == nullptr || kind->name == nullptr || kind->make == nullptr) {
    *error = executor + ": defines no stage: use the macro SLUICE_STAGE exactly once";
    return nullptr;
  }
  return kind;
}

const TrafficKind* FindTraffic(const std::string& text, std::string* options, std::string* error) {
  const size_t colon = text.find(':');
  *options = colon == text.npos ? "" : text.substr(colon + 1);
  return Find(BuiltInTraffic(), text.substr(0, colon), "traffic", error);
}

std::vector<std::string> RefusalsOf(const StageKind& kind) {
  std::vector<std::string> names;
  for (const char* name : kind.refusals) {
    if (name == nullptr) break;
    names.emplace_back(name);
  }
  if (names.empty()) names.emplace_back("refused");
  return names;
}

std::string ListStages() { return List(BuiltInStages()); }
std::string ListTraffic() { return List(BuiltInTraffic()); }

}  // namespace sluice::chain_app
