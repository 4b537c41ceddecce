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
class Teller {
 public:
  explicit Teller(TellStatistic tell) : tell_(tell) {}

  Teller& Tell(std::string_view name, std::string_view value) {
    taken_ = taken_ && tell_(name, value);
    return *this;
  }
  Teller& Tell(std::string_view name, uint64_t value) { return Tell(name, Digits(value).text()); }
  Teller& TellFlag(std::string_view name, bool yes) { return Tell(name, yes ? "yes" : "no"); }
  bool taken() const { return taken_; }

 private:
  TellStatistic tell_;
  bool taken_ = true;
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

void TellGeneral(const Exchange& exchange, const Store& store, Teller& teller) {
  const ResponderCounters traffic = TrafficOf(store);
  const PartitionCounters kept = ItemsOf(store);
  const ProtocolCounters c = SinceReset(traffic.memcached, store);
  if (exchange.server != nullptr) {
    teller.Tell("pid", exchange.server->pid)
        .Tell("uptime", exchange.unix_s - exchange.server->started_unix_s)
        .Tell("time", exchange.unix_s)
        .Tell("version", exchange.server->version);
  }
  teller.Tell("pointer_size", 8 * sizeof(void*))
      .Tell("cmd_get", c.get_hits + c.get_misses)
      .Tell("cmd_set", c.stores)
      .Tell("cmd_flush", c.flushes)
      .Tell("cmd_touch", c.touches + c.touch_misses)
      .Tell("get_hits", c.get_hits)
      .Tell("get_misses", c.get_misses)
      .Tell("delete_misses", c.delete_misses)
      .Tell("delete_hits", c.deletes)
      .Tell("incr_misses", c.incr_misses)
      .Tell("incr_hits", c.incr_hits)
      .Tell("decr_misses", c.decr_misses)
      .Tell("decr_hits", c.decr_hits)
      .Tell("cas_misses", c.cas_misses)
      .Tell("cas_hits", c.cas_hits)
      .Tell("cas_badval", c.cas_badval)
      .Tell("touch_hits", c.touches)
      .Tell("touch_misses", c.touch_misses)
      .Tell("store_too_large", c.too_large)
      .Tell("store_no_memory", c.no_memory)
      .Tell("limit_maxbytes", MaxBytes(store))
      .Tell("threads", store.workers)
      .Tell("bytes", kept.item_bytes)
      .Tell("curr_items", kept.items)
      .Tell("total_items", Since(traffic.mica.sets + traffic.memcached.sets, store.reset.sets))
      .Tell("evictions", Since(kept.evicted, store.reset.evicted))
      .Tell("udp_requests", c.requests);  // memcached has no statistic of this name.
}

void TellSettings(const Exchange& exchange, const Store& store, Teller& teller) {
  const Partition& any = store.partitions.front();
  teller.Tell("maxbytes", MaxBytes(store)).Tell("tcpport", "0");
  if (exchange.server != nullptr) teller.Tell("udpport", exchange.server->udp_port);
  teller.Tell("verbosity", "0")
      .Tell("evictions", any.mode() == Mode::kCache ? "on" : "off")
      .Tell("domain_socket", "NULL")
      .TellFlag("shutdown_command", false)
      .Tell("num_threads", store.workers)
      .Tell("num_threads_per_udp", store.workers)
      .TellFlag("detail_enabled", false)
      .TellFlag("cas_enabled", true)
      .Tell("binding_protocol", "auto-negotiate")
      .TellFlag("auth_enabled_sasl", false)
      .TellFlag("auth_enabled_ascii", false)
      .Tell("item_size_max", any.max_value_bytes())
      .TellFlag("flush_enabled", store.allow_flush)
      .TellFlag("dump_enabled", false)
      .Tell("hash_algorithm", "xxh3")
      .TellFlag("track_sizes", false);
}

/// Reports statistics by class. As in memcached, these are only classes that contain items.
void TellClasses(StatisticsList list, const Store& store, Teller& teller) {
  uint64_t active = 0, bytes = 0;
  for (size_t i = 0; i < store.partitions.size() && teller.taken(); ++i) {
    PartitionCounters kept;
    Add(&kept, store.partitions[i].counters());
    if (kept.items == 0) continue;
    ++active;
    bytes += store.partitions[i].reserved_bytes();
    if (list == StatisticsList::kItems) {
      const std::string of_class = absl::StrCat("items:", i + 1, ":");
      teller.Tell(of_class + "number", kept.items)
          .Tell(of_class + "mem_requested", kept.item_bytes)
          .Tell(of_class + "evicted", kept.evicted)
          .Tell(of_class + "outofmemory", kept.refused);
    } else {
      teller.Tell(absl::StrCat(i + 1, ":used_chunks"), kept.items)
          .Tell(absl::StrCat(i + 1, ":mem_requested"), kept.item_bytes);
    }
  }
  if (list == StatisticsList::kSlabs) {
    teller.Tell("active_slabs", active).Tell("total_malloced", bytes);
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

bool TellStatistics(StatisticsList list, const Exchange& exchange, const Store& store,
                    TellStatistic tell) {
  Teller teller(tell);
  switch (list) {
    case StatisticsList::kGeneral:
      TellGeneral(exchange, store, teller);
      break;
    case StatisticsList::kSettings:
      TellSettings(exchange, store, teller);
      break;
    case StatisticsList::kItems:
    case StatisticsList::kSlabs:
      TellClasses(list, store, teller);
      break;
  }
  return teller.taken();
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
