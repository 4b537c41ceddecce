// SPDX-License-Identifier: BSD-3-Clause
#include "counters.h"

#include "engine/kv/word.h"

namespace sluice::kv {
namespace {

using engine::kv::LoadWord;
using engine::kv::PartitionCounters;
using engine::kv::ProtocolCounters;
using engine::kv::ResponderCounters;

void AddProtocol(ProtocolCounters* sum, const ProtocolCounters& more) {
  for (const auto total :
       {&ProtocolCounters::requests, &ProtocolCounters::get_hits, &ProtocolCounters::get_misses,
        &ProtocolCounters::sets, &ProtocolCounters::deletes, &ProtocolCounters::touches,
        &ProtocolCounters::errors, &ProtocolCounters::refused_admin,
        &ProtocolCounters::cut_replies}) {
    sum->*total += LoadWord(more.*total);
  }
}

nlohmann::ordered_json ToJson(const ProtocolCounters& c) {
  return {{"requests", c.requests},   {"get_hits", c.get_hits}, {"get_misses", c.get_misses},
          {"sets", c.sets},           {"deletes", c.deletes},   {"touches", c.touches},
          {"errors", c.errors},       {"refused_admin", c.refused_admin},
          {"cut_replies", c.cut_replies}};
}

}  // namespace

void Add(ResponderCounters* sum, const ResponderCounters& more) {
  AddProtocol(&sum->mica, more.mica);
  AddProtocol(&sum->memcached, more.memcached);
  for (const auto total : {&ResponderCounters::handed_over, &ResponderCounters::taken_over,
                           &ResponderCounters::datagrams_sent,
                           &ResponderCounters::lost_on_the_way, &ResponderCounters::withheld}) {
    sum->*total += LoadWord(more.*total);
  }
}

void Add(PartitionCounters* sum, const PartitionCounters& more) {
  for (const auto total :
       {&PartitionCounters::items, &PartitionCounters::item_bytes, &PartitionCounters::evicted,
        &PartitionCounters::expired, &PartitionCounters::refused,
        &PartitionCounters::extra_buckets}) {
    sum->*total += LoadWord(more.*total);
  }
}

void Tell(const ResponderCounters& sum, nlohmann::ordered_json* report) {
  (*report)["mica"] = ToJson(sum.mica);
  (*report)["memcached"] = ToJson(sum.memcached);
  (*report)["workers"] = {{"handed_over", sum.handed_over},
                          {"taken_over", sum.taken_over},
                          {"datagrams_sent", sum.datagrams_sent},
                          {"lost_on_the_way", sum.lost_on_the_way},
                          {"withheld", sum.withheld}};
}

nlohmann::ordered_json ToJson(const PartitionCounters& sum) {
  return {{"items", sum.items},     {"item_bytes", sum.item_bytes}, {"evicted", sum.evicted},
          {"expired", sum.expired}, {"refused", sum.refused},
          {"extra_buckets", sum.extra_buckets}};
}

}  // namespace sluice::kv
