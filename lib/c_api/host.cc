// SPDX-License-Identifier: BSD-3-Clause
#include "c_api/host.h"

#include <string>

#include "packet/mac_text.h"

namespace sluice::c_api {

engine::Neighbor ReadHost(config::ObjectReader& reader) {
  packet::MacAddress mac{};
  const bool has_mac =
      reader.Parsed("mac", "a MAC address such as 02:00:00:00:00:01", packet::ParseMac, &mac);
  engine::Neighbor neighbor(mac);
  std::string list, error;
  if (!reader.Text("ip", &list)) return neighbor;
  if (!has_mac) reader.Complain("mac", "missing: \"ip\" requires the port's MAC address");
  if (!neighbor.AddAddresses(list, &error)) reader.Complain("ip", error);
  return neighbor;
}

}  // namespace sluice::c_api
