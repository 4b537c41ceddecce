// SPDX-License-Identifier: BSD-3-Clause
#include "crew.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/kv/word.h"

namespace sluice::kv {
namespace {

using engine::kv::LoadWord;
using engine::kv::PartitionCounters;
using engine::kv::ProtocolCounters;
using engine::kv::ResponderCounters;

ProtocolCounters Plus(ProtocolCounters sum, const ProtocolCounters& more) {
  for (const auto total :
       {&ProtocolCounters::requests, &ProtocolCounters::get_hits, &ProtocolCounters::get_misses,
        &ProtocolCounters::sets, &ProtocolCounters::deletes, &ProtocolCounters::touches,
        &ProtocolCounters::errors, &ProtocolCounters::refused_admin,
        &ProtocolCounters::cut_replies}) {
    sum.*total += LoadWord(more.*total);
  }
  return sum;
}

void AddTo(ResponderCounters* sum, const ResponderCounters& more) {
  sum->mica = Plus(sum->mica, more.mica);
  sum->memcached = Plus(sum->memcached, more.memcached);
  for (const auto total : {&ResponderCounters::handed_over, &ResponderCounters::taken_over,
                           &ResponderCounters::datagrams_sent,
                           &ResponderCounters::lost_on_the_way}) {
    sum->*total += LoadWord(more.*total);
  }
}

nlohmann::ordered_json Json(const ProtocolCounters& c) {
  return {{"requests", c.requests},   {"get_hits", c.get_hits}, {"get_misses", c.get_misses},
          {"sets", c.sets},           {"deletes", c.deletes},   {"touches", c.touches},
          {"errors", c.errors},       {"refused_admin", c.refused_admin},
          {"cut_replies", c.cut_replies}};
}

PartitionCounters SumPartitions(const engine::kv::Store& store) {
  PartitionCounters sum;
  for (const engine::kv::Partition& partition : store.partitions) {
    const PartitionCounters& more = partition.counters();
    for (const auto total :
         {&PartitionCounters::items, &PartitionCounters::item_bytes, &PartitionCounters::evicted,
          &PartitionCounters::expired, &PartitionCounters::refused,
          &PartitionCounters::extra_buckets}) {
      sum.*total += LoadWord(more.*total);
    }
  }
  return sum;
}

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void Crew::Add(const engine::kv::Responder& responder) {
  const std::scoped_lock lock(mutex_);
  responders_.push_back(&responder);
}

void Crew::Remove(const engine::kv::Responder& responder) {
  const std::scoped_lock lock(mutex_);
  std::erase(responders_, &responder);
  AddTo(&gone_, responder.counters());
}

ResponderCounters Crew::Sum() const {
  const std::scoped_lock lock(mutex_);
  ResponderCounters sum = gone_;
  for (const engine::kv::Responder* const responder : responders_) {
    AddTo(&sum, responder->counters());
  }
  return sum;
}

std::string Crew::NextLine(const runtime::PortStats& port) {
  const ResponderCounters now = Sum();
  const double now_s = Seconds();
  const auto since = [&](uint64_t ProtocolCounters::*total) {
    return now.mica.*total + now.memcached.*total - last_.mica.*total - last_.memcached.*total;
  };
  const uint64_t requests = since(&ProtocolCounters::requests);
  const uint64_t hits = since(&ProtocolCounters::get_hits);
  const uint64_t gets = hits + since(&ProtocolCounters::get_misses);
  const double period_s = last_s_ == 0 ? 0 : now_s - last_s_;
  last_ = now;
  last_s_ = now_s;
  std::string line = absl::StrFormat(
      "    %s Mops, %s of gets found, %d items",
      period_s > 0 ? absl::StrFormat("%.3f", static_cast<double>(requests) / period_s / 1e6) : "-",
      gets > 0 ? absl::StrFormat("%.1f %%", 100.0 * static_cast<double>(hits) /
                                                static_cast<double>(gets))
               : "-",
      SumPartitions(store_).items);
  if (port.Get("wire_client_requests") > 0) {
    absl::StrAppendFormat(&line, "; client: gets p50 %.1f, p99 %.1f us, %d wrong, %d timed out",
                          static_cast<double>(port.Get("wire_client_get_p50_ns")) / 1e3,
                          static_cast<double>(port.Get("wire_client_get_p99_ns")) / 1e3,
                          port.Get("wire_client_wrong"), port.Get("wire_client_timeouts"));
  }
  return line;
}

void Crew::Extend(nlohmann::ordered_json& report) const {
  const ResponderCounters sum = Sum();
  const PartitionCounters kept = SumPartitions(store_);
  report["store"] = {{"items", kept.items},     {"item_bytes", kept.item_bytes},
                     {"evicted", kept.evicted}, {"expired", kept.expired},
                     {"refused", kept.refused}, {"extra_buckets", kept.extra_buckets}};
  report["mica"] = Json(sum.mica);
  report["memcached"] = Json(sum.memcached);
  report["workers"] = {{"handed_over", sum.handed_over},
                       {"taken_over", sum.taken_over},
                       {"datagrams_sent", sum.datagrams_sent},
                       {"lost_on_the_way", sum.lost_on_the_way}};
}

Worker::Worker(Crew& crew, Engine engine) : crew_(crew), engine_(std::move(engine)) {
  crew_.Add(engine_.engine().responder());
}

}  // namespace sluice::kv
