// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/memcached/statistics.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <string>

#include "engine/kv/memcached/numbers.h"
#include "engine/kv/totals.h"

namespace sluice::engine::kv::memcached {
namespace {

/// Passes statistics to a callback until it rejects one.
class StatisticsWriter {
 public:
  explicit StatisticsWriter(AppendStatistic append) : append_(append) {}

  StatisticsWriter& Append(std::string_view name, std::string_view value) {
    accepted_ = accepted_ && append_(name, value);
    return *this;
  }
  StatisticsWriter& Append(std::string_view name, uint64_t value) {
    return Append(name, Digits(value).text());
  }
  StatisticsWriter& AppendFlag(std::string_view name, bool yes) {
    return Append(name, yes ? "yes" : "no");
  }
  bool accepted() const { return accepted_; }

 private:
  AppendStatistic append_;
  bool accepted_ = true;
};

/// Returns the increase since the last reset. Never negative, even if another worker resets
/// concurrently.
uint64_t Since(uint64_t now, const uint64_t& reset) { return now - std::min(now, LoadWord(reset)); }

ProtocolCounters SinceReset(const ProtocolCounters& now, const Store& store) {
  ProtocolCounters since;
  for (const auto& [name, member] : kProtocolCounters) {
    since.*member = Since(now.*member, store.reset.memcached.*member);
  }
  return since;
}

uint64_t MaxBytes(const Store& store) {
  uint64_t bytes = 0;
  for (const Partition& partition : store.partitions) bytes += partition.reserved_bytes();
  return bytes;
}

void AppendGeneral(const Exchange& exchange, const Store& store, StatisticsWriter& writer) {
  const ResponderCounters traffic = TrafficOf(store);
  const PartitionCounters kept = ItemsOf(store);
  const ProtocolCounters c = SinceReset(traffic.memcached, store);
  if (exchange.server != nullptr) {
    writer.Append("pid", exchange.server->pid)
        .Append("uptime", exchange.unix_s - exchange.server->started_unix_s)
        .Append("time", exchange.unix_s)
        .Append("version", exchange.server->version);
  }
  writer.Append("pointer_size", 8 * sizeof(void*))
      .Append("cmd_get", c.get_hits + c.get_misses)
      .Append("cmd_set", c.stores)
      .Append("cmd_flush", c.flushes)
      .Append("cmd_touch", c.touches + c.touch_misses)
      .Append("get_hits", c.get_hits)
      .Append("get_misses", c.get_misses)
      .Append("delete_misses", c.delete_misses)
      .Append("delete_hits", c.deletes)
      .Append("incr_misses", c.incr_misses)
      .Append("incr_hits", c.incr_hits)
      .Append("decr_misses", c.decr_misses)
      .Append("decr_hits", c.decr_hits)
      .Append("cas_misses", c.cas_misses)
      .Append("cas_hits", c.cas_hits)
      .Append("cas_badval", c.cas_badval)
      .Append("touch_hits", c.touches)
      .Append("touch_misses", c.touch_misses)
      .Append("store_too_large", c.too_large)
      .Append("store_no_memory", c.no_memory)
      .Append("limit_maxbytes", MaxBytes(store))
      .Append("threads", store.workers)
      .Append("bytes", kept.item_bytes)
      .Append("curr_items", kept.items)
      .Append("total_items", Since(traffic.mica.sets + traffic.memcached.sets, store.reset.sets))
      .Append("evictions", Since(kept.evicted, store.reset.evicted));
  // memcached has no statistic of this name.
  if (!exchange.is_stream()) writer.Append("udp_requests", c.requests);
}

void AppendSettings(const Exchange& exchange, const Store& store, StatisticsWriter& writer) {
  const Partition& any = store.partitions.front();
  const ServerFacts* const server = exchange.server;
  writer.Append("maxbytes", MaxBytes(store)).Append("tcpport", server ? server->tcp_port : 0);
  if (server != nullptr) writer.Append("udpport", server->udp_port);
  writer.Append("verbosity", "0")
      .Append("evictions", any.mode() == Mode::kCache ? "on" : "off")
      .Append("domain_socket", "NULL")
      .AppendFlag("shutdown_command", false)
      .Append("num_threads", store.workers)
      .Append("num_threads_per_udp", store.workers)
      .AppendFlag("detail_enabled", false)
      .AppendFlag("cas_enabled", true)
      .Append("binding_protocol", "auto-negotiate")
      .AppendFlag("auth_enabled_sasl", false)
      .AppendFlag("auth_enabled_ascii", false)
      .Append("item_size_max", any.max_value_bytes())
      .AppendFlag("flush_enabled", store.allow_flush)
      .AppendFlag("dump_enabled", false)
      .Append("hash_algorithm", "xxh3")
      .AppendFlag("track_sizes", false);
}

/// Reports statistics by class. As in memcached, classes without items are omitted.
void AppendClasses(StatisticsList list, const Store& store, StatisticsWriter& writer) {
  uint64_t active = 0, bytes = 0;
  for (size_t i = 0; i < store.partitions.size() && writer.accepted(); ++i) {
    PartitionCounters kept;
    Add(&kept, store.partitions[i].counters());
    if (kept.items == 0) continue;
    ++active;
    bytes += store.partitions[i].reserved_bytes();
    if (list == StatisticsList::kItems) {
      const std::string of_class = absl::StrCat("items:", i + 1, ":");
      writer.Append(of_class + "number", kept.items)
          .Append(of_class + "mem_requested", kept.item_bytes)
          .Append(of_class + "evicted", kept.evicted)
          .Append(of_class + "outofmemory", kept.refused);
    } else {
      writer.Append(absl::StrCat(i + 1, ":used_chunks"), kept.items)
          .Append(absl::StrCat(i + 1, ":mem_requested"), kept.item_bytes);
    }
  }
  if (list == StatisticsList::kSlabs) {
    writer.Append("active_slabs", active).Append("total_malloced", bytes);
  }
}

}  // namespace

std::optional<StatisticsList> StatisticsListOf(std::string_view word) {
  if (word.empty()) return StatisticsList::kGeneral;
  if (word == "settings") return StatisticsList::kSettings;
  if (word == "items") return StatisticsList::kItems;
  if (word == "slabs") return StatisticsList::kSlabs;
  return std::nullopt;
}

bool AppendStatistics(StatisticsList list, const Exchange& exchange, const Store& store,
                      AppendStatistic append) {
  StatisticsWriter writer(append);
  switch (list) {
    case StatisticsList::kGeneral:
      AppendGeneral(exchange, store, writer);
      break;
    case StatisticsList::kSettings:
      AppendSettings(exchange, store, writer);
      break;
    case StatisticsList::kItems:
    case StatisticsList::kSlabs:
      AppendClasses(list, store, writer);
      break;
  }
  return writer.accepted();
}

void ResetStatistics(Store& store) {
  const ResponderCounters traffic = TrafficOf(store);
  for (const auto& [name, member] : kProtocolCounters) {
    StoreWord(store.reset.memcached.*member, traffic.memcached.*member);
  }
  StoreWord(store.reset.sets, traffic.mica.sets + traffic.memcached.sets);
  StoreWord(store.reset.evicted, ItemsOf(store).evicted);
}

}  // namespace sluice::engine::kv::memcached
