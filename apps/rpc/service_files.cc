// SPDX-License-Identifier: BSD-3-Clause
#include "service_files.h"

#include <algorithm>
#include <utility>

#include "device/rpc/placement.h"
#include "host/sibling.h"
#include "service_functions.h"

namespace sluice::rpc_app {
namespace {

/// Well-known port of the port mapper over UDP and TCP (RFC 1833 section 3).
constexpr uint16_t kPortmapPort = 111;

ServiceFiles FilesOf(const std::string& text, uint16_t port) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) {
    return {text, Beside("services/libsluice_rpc_" + text + ".so"),
            Beside("services/" + text + ".x"), text == "portmap" ? kPortmapPort : port};
  }
  const std::string object = text.substr(0, colon);
  return {std::filesystem::path(object).stem(), object, text.substr(colon + 1), port};
}

LoadTarget TargetOf(const ServiceFiles& files, const rpc::Table& table) {
  using Kind = LoadTarget::Kind;
  const std::string& name = files.name;
  const bool known = name == "nothing" || name == "echo" || name == "add" || name == "front";
  const rpc::Procedure& called = known ? table.procedures.back() : table.procedures.front();
  const Kind kind = name == "echo"    ? Kind::kEcho
                    : name == "add"   ? Kind::kAdd
                    : name == "front" ? Kind::kKeep
                                      : Kind::kEmpty;
  return {kind, called.program, called.version, known ? called.number : 0, files.port};
}

}  // namespace

std::filesystem::path Beside(const std::string& name) {
  return host::Sibling(name, SLUICE_RPC_LIBDIR);
}

std::vector<ServiceFiles> ReadServices(const std::string& list, uint16_t port,
                                       const std::string& define) {
  std::vector<ServiceFiles> services;
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    services.push_back(FilesOf(list.substr(at, comma - at), port));
    at = comma + 1;
  }
  for (ServiceFiles& service : services) {
    service.define = define;
    for (const ServiceFiles& other : services) service.callees.push_back(other.x);
  }
  return services;
}

std::string ServicesFault(const std::vector<ServiceFiles>& services) {
  if (services.size() > device::rpc::kMaxProcesses) return "give at most 64";
  for (const ServiceFiles& files : services) {
    for (const std::string& path : {files.object, files.x}) {
      std::error_code error;
      if (std::filesystem::is_regular_file(path, error)) continue;
      return path +
             " is not a file: give OBJECT.so:FILE.x, or the name of a service: nothing, echo, add, "
             "store, front or portmap";
    }
  }
  return "";
}

std::optional<std::vector<rpc::CompiledX>> CompileAll(const std::vector<ServiceFiles>& services,
                                                      std::string* error) {
  std::vector<rpc::CompiledX> compiled;
  for (const ServiceFiles& files : services) {
    auto one = CompileFile(files.x, files.define, error);
    if (one && one->table.procedures.empty()) *error = files.x + ": declares no RPC program";
    if (!one || one->table.procedures.empty()) return std::nullopt;
    compiled.push_back(std::move(*one));
  }
  return compiled;
}

std::vector<LoadTarget> TargetsOf(const std::vector<ServiceFiles>& services,
                                  const std::vector<rpc::CompiledX>& compiled) {
  std::vector<LoadTarget> targets;
  for (size_t i = 0; i < services.size(); ++i) {
    targets.push_back(TargetOf(services[i], compiled[i].table));
  }
  return targets;
}

}  // namespace sluice::rpc_app
