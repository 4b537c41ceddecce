// SPDX-License-Identifier: BSD-3-Clause
#include "counters.h"

#include <string>

namespace sluice::kv {
namespace {

nlohmann::ordered_json ToJson(const engine::kv::ProtocolCounters& sum) {
  nlohmann::ordered_json json;
  for (const auto& [name, member] : engine::kv::kProtocolCounters) {
    json[std::string(name)] = sum.*member;
  }
  return json;
}

}  // namespace

void AppendCounters(const engine::kv::ResponderCounters& sum, nlohmann::ordered_json* report) {
  (*report)["mica"] = ToJson(sum.mica);
  (*report)["memcached"] = ToJson(sum.memcached);
  (*report)["workers"] = {{"handed_over", sum.handed_over},
                          {"taken_over", sum.taken_over},
                          {"datagrams_sent", sum.datagrams_sent},
                          {"lost_on_the_way", sum.lost_on_the_way},
                          {"withheld", sum.withheld}};
}

nlohmann::ordered_json ToJson(const engine::kv::PartitionCounters& sum) {
  return {{"items", sum.items},     {"item_bytes", sum.item_bytes},
          {"evicted", sum.evicted}, {"expired", sum.expired},
          {"refused", sum.refused}, {"extra_buckets", sum.extra_buckets}};
}

}  // namespace sluice::kv
