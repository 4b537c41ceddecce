// SPDX-License-Identifier: BSD-3-Clause
#include "settings.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/string_view.h>
#include <absl/strings/strip.h>
#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "host/argument_faults.h"
#include "host/flag_text.h"

DEFINE_string(server, "127.0.0.1",
              "Servers: host:port,… (append /?weight to each server if weights differ)");
DEFINE_string(
    servers_file, "",
    "Read the servers from this regular file, one per line, and again whenever it changes");
DEFINE_string(servers_etcd, "",
              "Read the servers from etcd, as HOST:PORT/PREFIX: the values of all keys that begin "
              "with PREFIX. Reads them again whenever they change");
DEFINE_string(sharding, "ketama",
              "Distribution of keys over servers: ketama (libmemcached's KETAMA_WEIGHTED) or "
              "ketama-plain (its KETAMA with MD5)");
DEFINE_string(protocol, "mica",
              "Protocol: mica, memcached-ascii or memcached-binary; all over UDP");
DEFINE_uint32(workers, 1, "mica: number of consecutive ports of each server, one per worker");
DEFINE_uint32(partitions, 0, "mica: number of partitions of each server (0: as many as workers)");
DEFINE_uint64(items, 100000, "Number of items");
DEFINE_uint64(first_item, 0,
              "Number of the first item; clients that run at the same time must not share items");
DEFINE_string(
    size, "tiny",
    "Bytes of keys and of values: tiny (8 and 8), small (16 and 64), large (128 and 1024)");
DEFINE_uint32(key_bytes, 0, "Bytes of keys, 1 … 250 (0: by --size)");
DEFINE_uint32(value_bytes, 0, "Bytes of values, 8 or more (0: by --size)");
DEFINE_double(mix, 0.5, "Share of gets, 0 … 1; the others are sets");
DEFINE_string(distribution, "uniform", "Popularity of items: uniform or zipf:EXPONENT (zipf:0.99)");
DEFINE_double(rate, 0,
              "Requests per second, at times fixed in advance: an open loop (0: closed loop)");
DEFINE_string(arrivals, "poisson", "Open loop: gaps between requests, poisson or constant");
DEFINE_uint32(outstanding, 64, "Closed loop and preloading: requests in flight, 1 … 32768");
DEFINE_uint32(batch, 1, "mica: requests per datagram, 1 … 255");
DEFINE_double(batch_wait_us, 10, "mica: maximum time that a request waits until its batch is full");
DEFINE_uint32(max_datagram_bytes, 1472,
              "mica: maximum size of a datagram with requests or replies");
DEFINE_double(timeout_ms, 100,
              "Time after which a request without a reply counts as lost; it is not sent again");
DEFINE_bool(preload, true, "Set every item before the run");
DEFINE_bool(verify, true, "Check every value that a get returns");
DEFINE_uint64(seed, 1, "Seed of items and arrival times");
DEFINE_double(duration_s, 10, "Seconds to run, after preloading (0: until SIGINT or SIGTERM)");
DEFINE_double(stats_period_s, 1, "Seconds between statistics lines (0: none)");
DEFINE_double(patience_s, 5, "Preloading fails after this time without any reply");
DEFINE_string(json, "", "Write the final report to this file; - for standard output");

namespace sluice::kv_client {

namespace {

using engine::kv::client::ClientOptions;
using engine::kv::client::Protocol;
using engine::kv::client::ReadServers;
using engine::kv::client::Ring;
using engine::workload::Arrivals;

constexpr uint64_t kMaxItems = uint64_t{1} << 28;

// Records the first error.
class Checker {
 public:
  void Require(bool good, const char* flag, absl::string_view fix) {
    if (!good && error_.empty()) {
      error_ = host::FlagComplaint(flag, std::string_view(fix.data(), fix.size()));
    }
  }
  void Accept(const std::string& fault, const char* flag) { Require(fault.empty(), flag, fault); }
  const std::string& error() const { return error_; }

 private:
  std::string error_;
};

void CheckSizes(Checker& check, ClientOptions& client) {
  auto& sizes = client.sizes;
  if (FLAGS_size == "tiny") sizes = {.key_bytes = 8, .value_bytes = 8};
  if (FLAGS_size == "small") sizes = {.key_bytes = 16, .value_bytes = 64};
  if (FLAGS_size == "large") sizes = {.key_bytes = 128, .value_bytes = 1024};
  check.Require(FLAGS_size == "tiny" || FLAGS_size == "small" || FLAGS_size == "large", "size",
                "give tiny, small or large");
  if (FLAGS_key_bytes != 0) sizes.key_bytes = FLAGS_key_bytes;
  if (FLAGS_value_bytes != 0) sizes.value_bytes = FLAGS_value_bytes;
  check.Require(sizes.key_bytes <= 250, "key_bytes", "give 1 to 250");
  check.Require(sizes.value_bytes >= engine::kv::client::kMinWorkloadValueBytes &&
                    sizes.value_bytes <= UINT16_MAX,
                "value_bytes", "give 8 or more, but not more than fits into a datagram");
  const bool mica = client.protocol == Protocol::kMica;
  client.max_datagram_bytes =
      mica ? FLAGS_max_datagram_bytes : static_cast<uint32_t>(client.MaxDatagram());
  check.Require(
      client.max_datagram_bytes >= 64 && client.max_datagram_bytes <= client.MaxDatagram(),
      "max_datagram_bytes", absl::StrCat("give 64 to ", client.MaxDatagram()));
  if (!check.error().empty()) return;
  const char* const culprit = FLAGS_value_bytes != 0 ? "value_bytes" : "size";
  check.Require(
      client.LongestMessage() <= client.max_datagram_bytes, culprit,
      absl::StrCat("a request or its reply needs ", client.LongestMessage(), " bytes, more than ",
                   client.max_datagram_bytes, ": use shorter keys and values"));
  check.Require(FLAGS_items >= 1 && FLAGS_items <= kMaxItems, "items",
                absl::StrCat("give 1 to ", kMaxItems));
  check.Require(FLAGS_items <= sizes.MaxItems(), "items",
                absl::StrCat("only ", sizes.MaxItems(),
                             " keys of this length exist: give fewer items, or longer keys"));
  check.Require(
      FLAGS_first_item <= sizes.MaxItems() - std::min(FLAGS_items, sizes.MaxItems()), "first_item",
      "the last item would exceed the number of keys of this length: give a smaller number");
}

void CheckLoad(Checker& check, ClientOptions& client) {
  check.Require(FLAGS_mix >= 0 && FLAGS_mix <= 1, "mix", "give a share of gets between 0 and 1");
  absl::string_view exponent = FLAGS_distribution;
  const bool zipf =
      absl::ConsumePrefix(&exponent, "zipf:") && absl::SimpleAtod(exponent, &client.zipf_exponent);
  check.Require(FLAGS_distribution == "uniform" ||
                    (zipf && client.zipf_exponent > 0 && client.zipf_exponent <= 10),
                "distribution", "give uniform or zipf:EXPONENT, such as zipf:0.99");
  check.Require(FLAGS_rate == 0 || (FLAGS_rate >= 0.001 && FLAGS_rate <= 1e9), "rate",
                "give requests per second, up to 1e9, or 0 for a closed loop");
  client.arrivals = FLAGS_arrivals == "constant" ? Arrivals::kConstant : Arrivals::kPoisson;
  check.Require(FLAGS_arrivals == "constant" || FLAGS_arrivals == "poisson", "arrivals",
                "give poisson or constant");
  check.Require(FLAGS_outstanding >= 1 && FLAGS_outstanding <= 32768, "outstanding",
                "give 1 to 32768");
  check.Require(FLAGS_batch >= 1 && FLAGS_batch <= 255, "batch", "give 1 to 255");
  check.Require(client.protocol == Protocol::kMica || FLAGS_batch == 1, "batch",
                "a memcached datagram holds one request: omit --batch, or use --protocol=mica");
  check.Require(FLAGS_batch_wait_us >= 0 && FLAGS_batch_wait_us <= 1e6, "batch_wait_us",
                "give 0 to 1e6");
  check.Require(FLAGS_timeout_ms >= 0.001 && FLAGS_timeout_ms <= 60'000, "timeout_ms",
                "give 0.001 to 60000");
}

void CheckServers(Checker& check, Settings& settings) {
  ClientOptions& client = settings.client;
  const bool mica = client.protocol == Protocol::kMica;
  check.Require(FLAGS_workers >= 1 && FLAGS_workers <= 1024, "workers", "give 1 to 1024");
  check.Require(mica || FLAGS_workers == 1, "workers",
                "a memcached server has one port: omit --workers, or use --protocol=mica");
  settings.rules = {.default_port = static_cast<uint16_t>(mica ? 1024 : 11211),
                    .ports = FLAGS_workers};
  settings.servers_file = FLAGS_servers_file;
  check.Accept(host::InputFileFault(FLAGS_servers_file), "servers_file");
  if (!FLAGS_servers_etcd.empty()) {
    settings.servers_etcd = etcd::Address::Read(FLAGS_servers_etcd);
    check.Require(settings.servers_etcd.has_value(), "servers_etcd", etcd::kAddressFix);
    check.Require(FLAGS_servers_file.empty(), "servers_etcd",
                  "conflicts with --servers_file: omit one of them");
  }
  std::string error;
  if (FLAGS_servers_file.empty() && FLAGS_servers_etcd.empty()) {
    const auto servers = ReadServers(absl::StrSplit(FLAGS_server, ','), settings.rules, &error);
    check.Require(servers.has_value(), "server", error);
    if (servers) settings.servers = *servers;
  }
  settings.ring = FLAGS_sharding == "ketama-plain" ? Ring::Kind::kPlain : Ring::Kind::kWeighted;
  check.Require(FLAGS_sharding == "ketama" || FLAGS_sharding == "ketama-plain", "sharding",
                "give ketama or ketama-plain");
  const uint32_t partitions = FLAGS_partitions == 0 ? FLAGS_workers : FLAGS_partitions;
  check.Require(partitions >= FLAGS_workers && partitions <= 65535, "partitions",
                "give at least the number of --workers, and at most 65535");
  client.workers = FLAGS_workers;
  client.partitions = partitions;
}

std::string Check(Settings& settings) {
  Checker check;
  ClientOptions& client = settings.client;
  client.protocol = FLAGS_protocol == "memcached-ascii"    ? Protocol::kMemcachedAscii
                    : FLAGS_protocol == "memcached-binary" ? Protocol::kMemcachedBinary
                                                           : Protocol::kMica;
  check.Require(client.protocol != Protocol::kMica || FLAGS_protocol == "mica", "protocol",
                "give mica, memcached-ascii or memcached-binary");
  CheckServers(check, settings);
  CheckSizes(check, client);
  CheckLoad(check, client);
  check.Require(FLAGS_patience_s > 0 && FLAGS_patience_s <= 1e7, "patience_s",
                "give seconds, more than 0");
  client.items = FLAGS_items;
  client.first_item = FLAGS_first_item;
  client.get_share = FLAGS_mix;
  client.seed = FLAGS_seed;
  client.rate = FLAGS_rate;
  client.outstanding = FLAGS_outstanding;
  client.batch = FLAGS_batch;
  client.batch_wait_ns = static_cast<uint64_t>(FLAGS_batch_wait_us * 1e3);
  client.timeout_ns = static_cast<uint64_t>(FLAGS_timeout_ms * 1e6);
  client.verify = FLAGS_verify;
  settings.preload = FLAGS_preload;
  settings.patience_s = FLAGS_patience_s;
  static_cast<host::RunSettings&>(settings) = host::ReadRunFlags();
  return check.error().empty() ? host::RunFlagsComplaint() : check.error();
}

}  // namespace

std::optional<Settings> ReadSettings(int argc, char** argv, int* exit_code) {
  if (!host::ParseFlags(argc, argv,
                        "sluice-kv-client: loads key-value servers over UDP and checks every value",
                        SLUICE_VERSION, exit_code)) {
    return std::nullopt;
  }
  Settings settings;
  const std::string error = Check(settings);
  if (error.empty()) return settings;
  std::fprintf(stderr, "%s\n", error.c_str());
  *exit_code = 2;
  return std::nullopt;
}

}  // namespace sluice::kv_client
