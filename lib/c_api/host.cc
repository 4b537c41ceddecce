// SPDX-License-Identifier: BSD-3-Clause
#include "c_api/host.h"

#include <string>

#include "packet/mac_text.h"

namespace sluice::c_api {

packet::OwnAddresses ReadHost(config::ObjectReader& reader) {
  packet::MacAddress mac{};
  const bool has_mac =
      reader.Parsed("mac", "a MAC address such as 02:00:00:00:00:01", packet::ParseMac, &mac);
  packet::OwnAddresses own(mac);
  std::string list, error;
  if (!reader.Text("ip", &list)) return own;
  if (!has_mac) reader.Complain("mac", "missing: \"ip\" requires the port's MAC address");
  if (!own.Add(list, &error)) reader.Complain("ip", error);
  return own;
}

}  // namespace sluice::c_api
