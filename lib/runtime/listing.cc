// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/listing.h"

#include <nlohmann/json.hpp>

#include "nic/interfaces.h"

namespace sluice::runtime {

std::string Listing(std::string_view what) {
  if (what != "interfaces") return "";
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const nic::InterfaceInfo& interface : nic::kInterfaces) {
    list.push_back({{"name", interface.name},
                    {"crosses", interface.crosses},
                    {"model", interface.model},
                    {"ipv4_only", interface.ipv4_only}});
  }
  return list.dump(2) + "\n";
}

}  // namespace sluice::runtime
