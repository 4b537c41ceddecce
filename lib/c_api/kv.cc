// SPDX-License-Identifier: BSD-3-Clause
//
// Kind "kv": a key-value store that supports the MICA and memcached protocols. Its configuration
// members are named like sluice-kv's flags.
#include <unistd.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "c_api/engine.h"
#include "c_api/handoffs.h"
#include "c_api/host.h"
#include "engine/kv/available_memory.h"
#include "engine/kv/counters.h"
#include "engine/kv/server.h"
#include "engine/kv/totals.h"
#include "engine/neighbor/neighbor.h"
#include "packet/own_addresses.h"

namespace sluice::c_api {
namespace {

using engine::kv::Mode;
using engine::kv::PartitionCounters;
using engine::kv::PartitionOptions;
using engine::kv::ProtocolCounter;
using engine::kv::ProtocolCounters;
using engine::kv::ResponderCounters;
using engine::kv::ServiceOptions;
using engine::kv::Store;

using Server = engine::WithNeighbor<engine::kv::Server<HandoffsOfWorker>>;

struct Settings {
  PartitionOptions partition;  ///< Options of each partition.
  uint32_t partitions = 1;
  bool trust_hashes = false;
  bool concurrent_read = true;
  bool allow_flush = false;
  ServiceOptions service;
  packet::OwnAddresses host;
};

std::optional<Mode> ParseMode(std::string_view name) {
  if (name == "cache") return Mode::kCache;
  if (name == "store") return Mode::kStore;
  return std::nullopt;
}

void ReadStore(config::ObjectReader& reader, uint32_t workers, Settings* settings) {
  uint64_t memory_mb = 256, items = uint64_t{1} << 20;
  settings->partitions = workers;
  reader.Parsed("mode", "cache or store", ParseMode, &settings->partition.mode);
  reader.Whole("partitions", workers, 1024, &settings->partitions);
  const uint64_t least_mb = uint64_t{4} * settings->partitions;
  reader.Whole("memory_mb", least_mb, uint64_t{1} << 20, &memory_mb);
  reader.Whole("items", 1, uint64_t{1} << 36, &items);
  if (memory_mb < least_mb) reader.Complain("memory_mb", "give at least 4 per partition");
  settings->partition.memory_bytes = (memory_mb << 20) / settings->partitions;
  settings->partition.items = (items + settings->partitions - 1) / settings->partitions;
  const uint64_t available = engine::kv::AvailableBytes();
  if (settings->partition.OccupiedBytes() > available / settings->partitions) {
    // Rejected here, because the kernel would grant the memory and kill a process later.
    const bool memory = settings->partition.RoundedMemoryBytes() > available / settings->partitions;
    reader.Complain(memory ? "memory_mb" : "items", "items and index need more memory than the " +
                                                        std::to_string(available >> 20) +
                                                        " MiB available: give a smaller value");
  }
  reader.Flag("trust_hashes", &settings->trust_hashes);
  reader.Flag("concurrent_read", &settings->concurrent_read);
  reader.Flag("allow_flush", &settings->allow_flush);
}

void ReadService(config::ObjectReader& reader, Settings* settings) {
  ServiceOptions& service = settings->service;
  reader.Whole("memcached_port", 0, 65535, &service.memcached_port);
  reader.Whole("mica_port", 0, 65536 - settings->partitions, &service.mica_port);
  if (service.mica_port != 0 && service.memcached_port >= service.mica_port &&
      service.memcached_port < service.mica_port + settings->partitions) {
    reader.Complain("memcached_port", "conflicts with the MICA ports: give another port");
  }
  reader.Whole("max_reply_bytes", 1400, 2 << 20, &service.max_reply_bytes);
  uint64_t excess_kb_s = service.excess_bytes_per_s / 1000;
  reader.Whole("excess_kb_s", 0, 1'000'000'000, &excess_kb_s);
  service.excess_bytes_per_s = excess_kb_s * 1000;
  reader.Flag("any_destination", &service.gate.any_destination);
  reader.Flag("any_source_port", &service.gate.any_source_port);
  settings->host = ReadHost(reader);
  service.gate.own = settings->host;
  if (!service.gate.any_destination && settings->host.mac() == packet::MacAddress{}) {
    reader.Complain("mac", "give the port's MAC address: only requests to it are answered");
  }
}

std::optional<Settings> ReadSettings(std::string_view text, uint32_t workers, Errors* errors) {
  const auto root = config::ParseJson(text, errors);
  if (!root) return std::nullopt;
  const size_t before = errors->size();
  config::ObjectReader reader(*root, "", errors);
  Settings settings;
  ReadStore(reader, workers, &settings);
  ReadService(reader, &settings);
  reader.Finish();
  if (errors->size() != before) return std::nullopt;
  return settings;
}

class KvWorker final : public sluice_worker {
 public:
  template <typename... Arguments>
  KvWorker(uint8_t no_memory, uint64_t now, const packet::OwnAddresses& host,
           Arguments&&... arguments)
      : sluice_worker(no_memory),
        server_(host, std::in_place, std::forward<Arguments>(arguments)...) {
    server_.set_outbox(outbox());
    server_.AtRest(now);
  }

 private:
  void Work(FrameBurst& burst, uint64_t now) override {
    server_.AtRest(now);
    server_.ProcessBurst(burst, now);
  }

  Server server_;
};

class KvEngine final : public sluice_engine {
 public:
  KvEngine(const Settings& settings, const Options& options)
      : sluice_engine(kKv, Server::kDropReasons, 0), handoffs_(options.workers) {
    store_.workers = options.workers;
    store_.secret = options.seed;
    store_.trust_hashes = settings.trust_hashes;
    store_.concurrent_read = settings.concurrent_read;
    store_.allow_flush = settings.allow_flush;
    for (uint32_t i = 0; i < settings.partitions; ++i) {
      store_.partitions.emplace_back(settings.partition).PopulatePages();
    }
    const auto unix_s = static_cast<uint32_t>(std::time(nullptr));
    ServiceOptions service = settings.service;
    service.unix_epoch_s = unix_s - static_cast<uint32_t>(options.now / options.ticks_per_second);
    service.facts = {.version = SLUICE_VERSION,
                     .pid = static_cast<uint32_t>(getpid()),
                     .started_unix_s = unix_s};
    for (uint32_t i = 0; i < options.workers; ++i) {
      Add(std::make_unique<KvWorker>(no_memory(), options.now, settings.host, store_, i, service,
                                     HandoffsOfWorker(handoffs_, i), options.ticks_per_second));
    }
    NameCounters();
  }
  ~KvEngine() override { EndWorkers(); }

 private:
  void VisitCounters(const VisitCounter& visit) const override {
    const ResponderCounters traffic = TrafficOf(store_);
    const auto tell = [&visit](const std::string& protocol, const ProtocolCounters& counters) {
      for (const ProtocolCounter& counter : engine::kv::kProtocolCounters) {
        visit(protocol + std::string(counter.name), counters.*counter.member);
      }
    };
    tell("mica_", traffic.mica);
    tell("memcached_", traffic.memcached);
    visit("handed_over", traffic.handed_over);
    visit("taken_over", traffic.taken_over);
    visit("lost_on_the_way", traffic.lost_on_the_way);
    visit("withheld", traffic.withheld);
    const PartitionCounters items = ItemsOf(store_);
    visit("evicted", items.evicted);
    visit("expired", items.expired);
    visit("refused", items.refused);
  }

  std::optional<std::string> DoReport() override {
    const PartitionCounters items = ItemsOf(store_);
    return nlohmann::ordered_json{{"partitions", store_.partitions.size()},
                                  {"items", items.items},
                                  {"item_bytes", items.item_bytes}}
        .dump();
  }

  Store store_;
  Handoffs handoffs_;
};

std::unique_ptr<sluice_engine> Make(const ConfigText& text, const Options& options,
                                    Errors* errors) {
  const std::optional<Settings> settings = ReadSettings(text.text, options.workers, errors);
  return settings ? std::make_unique<KvEngine>(*settings, options) : nullptr;
}

}  // namespace

constinit const Kind kKv{"kv", Make};

}  // namespace sluice::c_api
