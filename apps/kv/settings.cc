// SPDX-License-Identifier: BSD-3-Clause
#include "settings.h"

#include <absl/strings/str_format.h>
#include <gflags/gflags.h>

#include <new>

#include "client_wire.h"
#include "engine/kv/available_memory.h"
#include "packet/own_addresses.h"
#include "runtime/tcp/tcp_clients.h"
#include "runtime/tcp/tcp_server.h"
#include "transport/clients/stream_clients.h"

DEFINE_string(mode, "cache",
              "cache: evicts the oldest items; store: rejects items that do not fit");
DEFINE_uint64(memory_mb, 256, "Memory for all items, in MiB");
DEFINE_uint64(items, 1 << 20, "Expected number of items in all partitions");
DEFINE_uint32(
    partitions, 0,
    "Number of partitions of the store, each written by one worker; 0: as many as workers");
DEFINE_string(transport, "udp",
              "udp: datagrams; tcp: memcached's protocols over TCP, by one worker");
DEFINE_uint32(memcached_port, 11211, "Port of memcached's protocols; 0: not served");
DEFINE_uint32(mica_port, 1024, "UDP port of partition 0 in MICA's protocol; 0: not served");
DEFINE_uint32(max_reply_bytes, 2048,
              "Maximum bytes of the answer to one memcached datagram, since the source address of "
              "a datagram may be forged");
DEFINE_uint64(excess_kb_s, 64'000,
              "Limit on answers to one source: three times the bytes of its requests plus this "
              "many kB per second; 0: no limit");
DEFINE_bool(any_destination, false,
            "Also answer datagrams to other hosts' addresses, for replayed captures");
DEFINE_bool(
    any_source_port, false,
    "Also answer datagrams from source ports below 1024 and from ports that this server serves");
DEFINE_bool(trust_hashes, false, "Trust the key hashes that MICA's clients send");
DEFINE_bool(concurrent_read, true, "Let workers read each other's partitions");
DEFINE_string(client, "items=1000000+get=0.95+zipf=0.99+outstanding=1024",
              "Options of the client on the embedded NIC's wire: see the README");
DEFINE_string(clients, "connections=16+bytes=64",
              "Embedded NIC, TCP: clients, each with one request in flight; bytes of a value");
DEFINE_bool(allow_flush, false, "Let memcached's flush_all empty the store");

namespace sluice::kv {
namespace {

constexpr uint64_t kMaxPartitions = 1024;
constexpr uint64_t kMaxMemoryMb = uint64_t{1} << 20;
constexpr uint64_t kMaxItems = uint64_t{1} << 36;
constexpr uint32_t kMinReplyBytes = 1400;
constexpr uint32_t kMaxReplyBytes = 2 << 20;  // The longest value and its framing.
constexpr uint64_t kMaxExcessKb = 1'000'000'000;

// Checks the flags of TCP; see Complaint.
bool CheckTransport(const runtime::CommandLine& line, const runtime::Complaint& complaint) {
  std::string error;
  const bool clients = transport::ReadClientOptions(FLAGS_clients, 0, 0, &error).has_value();
  if (!complaint.Check(clients, "clients", error)) return false;
  if (FLAGS_transport == "udp") return true;
  const bool mica = !gflags::GetCommandLineFlagInfoOrDie("mica_port").is_default;
  return complaint.Check(FLAGS_transport == "tcp", "transport", "give udp or tcp") &&
         runtime::CheckTcpPort(FLAGS_memcached_port, "memcached_port", complaint) &&
         complaint.Check(!mica || FLAGS_mica_port == 0, "mica_port",
                         "MICA's protocol is not served over TCP: omit --mica_port or "
                         "--transport=tcp") &&
         complaint.Check(line.options.workers == 1, "workers",
                         "give 1: over TCP one worker serves all partitions") &&
         runtime::CheckTcp(line, "transport", complaint);
}

// Returns the options of each partition. Flags must be checked already.
engine::kv::PartitionOptions OptionsOfEach(uint32_t partitions) {
  return {.mode = FLAGS_mode == "store" ? engine::kv::Mode::kStore : engine::kv::Mode::kCache,
          .memory_bytes = (FLAGS_memory_mb << 20) / partitions,
          .items = (FLAGS_items + partitions - 1) / partitions};
}

}  // namespace

std::optional<Settings> ReadSettings(runtime::CommandLine* line, std::string* flag,
                                     std::string* fix) {
  const runtime::Complaint complaint{flag, fix};
  const bool tcp = FLAGS_transport == "tcp";
  const bool clients = tcp && runtime::HasTcpClients(*line);
  if (!CheckTransport(*line, complaint)) return std::nullopt;
  if (tcp) FLAGS_mica_port = 0;
  const uint32_t workers = line->options.workers;
  const uint32_t partitions = FLAGS_partitions != 0 ? FLAGS_partitions : workers;
  const bool right =
      complaint.Check(FLAGS_mode == "cache" || FLAGS_mode == "store", "mode",
                      "give cache or store") &&
      complaint.Check(partitions >= workers && partitions <= kMaxPartitions, "partitions",
                      "give at least the number of --workers, and at most 1024") &&
      complaint.Check(FLAGS_memory_mb >= 4 * partitions && FLAGS_memory_mb <= kMaxMemoryMb,
                      "memory_mb", "give at least 4 per partition, and at most 1048576") &&
      complaint.Check(FLAGS_items >= 1 && FLAGS_items <= kMaxItems, "items",
                      "give 1 ... 68719476736") &&
      complaint.Check(FLAGS_memcached_port <= 65535, "memcached_port", "give 0 ... 65535") &&
      complaint.Check(uint64_t{FLAGS_mica_port} + partitions <= 65536, "mica_port",
                      "each partition has a port, and the last must be below 65536: give a lower "
                      "port or fewer --partitions") &&
      complaint.Check(FLAGS_mica_port == 0 || FLAGS_memcached_port < FLAGS_mica_port ||
                          FLAGS_memcached_port >= FLAGS_mica_port + partitions,
                      "memcached_port", "conflicts with the MICA ports: give another port") &&
      complaint.Check(
          FLAGS_max_reply_bytes >= kMinReplyBytes && FLAGS_max_reply_bytes <= kMaxReplyBytes,
          "max_reply_bytes", "give 1400 ... 2097152") &&
      complaint.Check(FLAGS_excess_kb_s <= kMaxExcessKb, "excess_kb_s", "give 0 ... 1000000000");
  if (!right) return std::nullopt;

  line->options.answers = !tcp;
  if (clients && !runtime::AddTcpClients(*line, "libsluice_kv_tcp_wire.so", FLAGS_clients,
                                         FLAGS_memcached_port, complaint)) {
    return std::nullopt;
  }
  if (!tcp && !line->own_port && !line->options.frame_size.empty()) {
    std::string to;
    if (!line->options.own.empty()) {
      const auto server =
          runtime::ServerOfClients(line->options.own, kClientWireAddress, complaint);
      if (!server) return std::nullopt;
      to = "+to=" + *server;
    }
    const std::string client =
        "workers=" + std::to_string(workers) + "+partitions=" + std::to_string(partitions) +
        "+mica_port=" + std::to_string(FLAGS_mica_port) +
        "+memcached_port=" + std::to_string(FLAGS_memcached_port) + to + "+" + FLAGS_client;
    if (!ReadClientWireOptions(client, 1, fix)) {
      *flag = "client";
      return std::nullopt;
    }
    // The library is linked into this process, so its name without a path is sufficient.
    line->options.wire = "library:libsluice_kv_wire.so+" + client;
    line->options.traffic = "client:" + FLAGS_client;
  }
  line->options.answers = false;
  if (FLAGS_any_destination) line->options.promiscuous = true;

  Settings settings;
  settings.partition = OptionsOfEach(partitions);
  settings.partitions = partitions;
  settings.secret = line->options.SeedOrRandom();
  settings.trust_hashes = FLAGS_trust_hashes;
  settings.concurrent_read = FLAGS_concurrent_read;
  settings.allow_flush = FLAGS_allow_flush;
  settings.tcp = tcp;
  settings.clients = clients;
  settings.service.memcached_port = static_cast<uint16_t>(FLAGS_memcached_port);
  settings.service.mica_port = static_cast<uint16_t>(FLAGS_mica_port);
  settings.service.max_reply_bytes = FLAGS_max_reply_bytes;
  settings.service.excess_bytes_per_s = FLAGS_excess_kb_s * 1000;
  settings.service.gate.any_destination = FLAGS_any_destination;
  settings.service.gate.any_source_port = FLAGS_any_source_port;
  return settings;
}

bool FitsMachine(const Settings& settings, std::string* flag, std::string* fix) {
  const engine::kv::PartitionOptions& partition = settings.partition;
  const uint64_t bytes = partition.OccupiedBytes() * settings.partitions;
  const uint64_t available = engine::kv::AvailableBytes();
  const bool memory = partition.RoundedMemoryBytes() * settings.partitions > available;
  return runtime::Complaint{flag, fix}.Check(
      bytes <= available, memory ? "memory_mb" : "items",
      absl::StrFormat(
          "items and index need %d MiB%s, but only %d MiB is available: give a smaller value",
          bytes >> 20, FLAGS_mode == "cache" ? " (cache mode rounds up to powers of two)" : "",
          available >> 20));
}

std::optional<engine::kv::Store> MakeStore(const Settings& settings, uint32_t workers) {
  engine::kv::Store store;
  store.workers = workers;
  store.secret = settings.secret;
  store.trust_hashes = settings.trust_hashes;
  store.concurrent_read = settings.concurrent_read;
  store.allow_flush = settings.allow_flush;
  try {
    for (uint32_t i = 0; i < settings.partitions; ++i) {
      store.partitions.emplace_back(settings.partition).PopulatePages();
    }
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
  return store;
}

}  // namespace sluice::kv
