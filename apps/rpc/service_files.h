// SPDX-License-Identifier: BSD-3-Clause
//
// Services as named on the command line: their files, their compiled `.x` files, and the procedures
// that the load generator calls.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "load_wire.h"
#include "rpc/x_compiler.h"

namespace sluice::rpc_app {

/// Files and parameters of a service.
struct ServiceFiles {
  std::string name;                    ///< Name in reports.
  std::string object;                  ///< Path of the shared object.
  std::string x;                       ///< Path of the `.x` file.
  uint16_t port = 0;                   ///< UDP port.
  std::vector<int> listeners{};        ///< Sockets on which its process also serves TCP; borrowed.
  std::vector<std::string> callees{};  ///< Paths of the `.x` files of services that it may call.
  std::string define{};  ///< Constants for all these files, in the format of --define.
};

inline bool IsPortMapper(const ServiceFiles& files) { return files.name == "portmap"; }

/// Returns the path of an installed program or file: in this program's directory, or in the library
/// directory.
std::filesystem::path Beside(const std::string& name);

/// Reads a comma-separated list of services: names of built-in services, or OBJECT.so:FILE.x.
/// `port`: port of all services except the port mapper.
std::vector<ServiceFiles> ReadServices(const std::string& list, uint16_t port,
                                       const std::string& define);
inline constexpr const char* kDefineFix = "give NAME=NUMBER, separated by commas";
/// Returns the first error in the services and its fix, or an empty string.
std::string ServicesFault(const std::vector<ServiceFiles>& services);

/// Compiles the `.x` files. Returns nullopt and sets `error` if one of them is invalid.
std::optional<std::vector<rpc::CompiledX>> CompileAll(const std::vector<ServiceFiles>& services,
                                                      std::string* error);

/// Returns, for each service, the procedure that clients call: one whose result clients can check,
/// otherwise procedure 0.
std::vector<LoadTarget> TargetsOf(const std::vector<ServiceFiles>& services,
                                  const std::vector<rpc::CompiledX>& compiled);

}  // namespace sluice::rpc_app
