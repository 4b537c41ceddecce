// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/totals.h"

namespace sluice::engine::kv {
namespace {

void AddProtocol(ProtocolCounters* sum, const ProtocolCounters& more) {
  for (const auto& [name, member] : kProtocolCounters) sum->*member += LoadWord(more.*member);
}

}  // namespace

void Add(ResponderCounters* sum, const ResponderCounters& more) {
  AddProtocol(&sum->mica, more.mica);
  AddProtocol(&sum->memcached, more.memcached);
  for (const auto total : {&ResponderCounters::handed_over, &ResponderCounters::taken_over,
                           &ResponderCounters::datagrams_sent, &ResponderCounters::lost_on_the_way,
                           &ResponderCounters::withheld}) {
    sum->*total += LoadWord(more.*total);
  }
}

void Add(PartitionCounters* sum, const PartitionCounters& more) {
  for (const auto total : {&PartitionCounters::items, &PartitionCounters::item_bytes,
                           &PartitionCounters::evicted, &PartitionCounters::expired,
                           &PartitionCounters::refused, &PartitionCounters::extra_buckets}) {
    sum->*total += LoadWord(more.*total);
  }
}

ResponderCounters TrafficOf(const Store& store) {
  ResponderCounters sum;
  for (const auto& worker : store.traffic) Add(&sum, *worker);
  return sum;
}

PartitionCounters ItemsOf(const Store& store) {
  PartitionCounters sum;
  for (const Partition& partition : store.partitions) Add(&sum, partition.counters());
  return sum;
}

}  // namespace sluice::engine::kv
