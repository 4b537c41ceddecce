// SPDX-License-Identifier: BSD-3-Clause
#include "etcd/address.h"

#include <absl/strings/numbers.h>

#include <cstdint>

namespace sluice::etcd {

std::optional<Address> Address::Read(const std::string& text) {
  const size_t slash = text.find('/');
  if (slash == std::string::npos || slash + 1 == text.size()) return std::nullopt;
  const std::string server = text.substr(0, slash);
  // A colon inside brackets belongs to an IPv6 address.
  const size_t colon = server.rfind(':');
  uint32_t port = 0;
  if (colon == std::string::npos || colon == 0 ||
      !absl::SimpleAtoi(server.substr(colon + 1), &port) || port == 0 || port > UINT16_MAX ||
      server.find_first_of("@?# \t\"\\") != std::string::npos) {
    return std::nullopt;
  }
  return Address{"http://" + server, text.substr(slash + 1)};
}

}  // namespace sluice::etcd
