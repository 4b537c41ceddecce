// SPDX-License-Identifier: BSD-3-Clause
#include "other_interface.h"

#include <span>
#include <string_view>

#include "host/sibling.h"
#include "service_files.h"

namespace sluice::rpc_app {

bool WantsOtherInterface(int argc, char** argv) {
  const std::span<char* const> arguments(argv + 1, argv + argc);
  if (host::ArgumentOf("list", arguments) != nullptr) return true;
  const char* const iface = host::ArgumentOf("iface", arguments);
  return iface != nullptr && iface != std::string_view("coherent");
}

int RunOtherInterface(char** argv) { return host::Become(Beside("sluice-rpc-frames"), argv); }

}  // namespace sluice::rpc_app
