// SPDX-License-Identifier: BSD-3-Clause
//
// Services as people name them: their files, what their `.x` files say, and what the load generator
// calls of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "load_wire.h"
#include "rpc/x_compiler.h"

namespace sluice::rpc_app {

/// Where a service comes from.
struct ServiceFiles {
  std::string name;                    ///< For reports.
  std::string object;                  ///< Path of the shared object.
  std::string x;                       ///< Path of the `.x` file.
  uint16_t port = 0;                   ///< UDP.
  std::vector<int> listeners{};        ///< Sockets that its process serves over TCP, too; borrowed.
  std::vector<std::string> callees{};  ///< Paths of the `.x` files of services that it may call.
  std::string define{};                ///< Constants of all these files: the flag's text.
};

inline bool IsPortMapper(const ServiceFiles& files) { return files.name == "portmap"; }

/// A program or file that belongs to this program: beside it, or where an installation puts it.
std::filesystem::path Beside(const std::string& name);

/// Services of a list by commas: names of those that come with sluice-rpc, or OBJECT.so:FILE.x.
/// `port`: of all but the port mapper.
std::vector<ServiceFiles> ReadServices(const std::string& list, uint16_t port,
                                       const std::string& define);
inline constexpr const char* kDefineFix = "give NAME=NUMBER, by commas";
/// What is wrong with them, and the fix; empty: nothing is.
std::string ServicesFault(const std::vector<ServiceFiles>& services);

/// What the `.x` files say. Nothing, with one line in `error`, if one of them is wrong.
std::optional<std::vector<rpc::CompiledX>> CompileAll(const std::vector<ServiceFiles>& services,
                                                      std::string* error);

/// What clients call of each: what they know how to check, else procedure 0.
std::vector<LoadTarget> TargetsOf(const std::vector<ServiceFiles>& services,
                                  const std::vector<rpc::CompiledX>& compiled);

}  // namespace sluice::rpc_app
