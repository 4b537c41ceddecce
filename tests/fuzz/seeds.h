// SPDX-License-Identifier: BSD-3-Clause
//
// Seed inputs for fuzz targets that read a format or script defined by this project.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "packet/fixtures.h"

namespace sluice::test {

inline void Append(Bytes& to, std::string_view text) {
  to.insert(to.end(), text.begin(), text.end());
}
template <typename T>
void AppendNumber(Bytes& to, T number) {
  uint8_t bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  to.insert(to.end(), bytes, bytes + sizeof number);
}

/// A policy graph that uses every member.
inline constexpr std::string_view kChainGraph = R"({"devices": [
  {"name": "host", "kind": "host", "port": 0}, {"name": "nic", "kind": "nic", "port": 1},
  {"name": "a", "kind": "legacy", "port": 2, "slots": 2, "from": ["nic"]},
  {"name": "b", "kind": "streaming", "port": 3, "buffer": 1024}],
 "chains": [{"name": "c", "flows": ["udp:1", "any:*"], "message": 512, "nodes": [
  {"name": "in", "device": "nic", "choose": "hash", "ways": 2, "window": 16,
   "to": [{"if": 0, "nodes": ["x"]}, {"if": 1, "mask": 1, "nodes": ["x", "y"]}]},
  {"name": "x", "device": "a", "command": 1, "state": "00ff", "state_rule": "count",
   "on_death": "drain", "to": [{"nodes": ["out"]}]},
  {"name": "y", "device": "b", "on_death": "bypass", "bypass": "out",
   "to": [{"nodes": ["out"]}]},
  {"name": "out", "device": "host"}]}]})";

/// The header of a gzip member with every optional field, followed by an empty stored block.
inline Bytes GzipSeed() {
  Bytes member = {0x1f, 0x8b, 8, 0x1f, 0, 0, 0, 0, 0, 255, 3, 0, 'a', 'b', 'c'};
  Append(member, std::string_view("name\0comment\0", 13));
  member.insert(member.end(), {'x', 'y', 1, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0});
  return member;
}

/// A snapshot of one item (engine/kv/snapshot.h), preceded by a byte that requests correct
/// checksums.
inline Bytes SnapshotOf(std::string_view key, std::string_view value, uint32_t seconds_left) {
  Bytes file{1};
  Append(file, "SLUICEKV");
  AppendNumber(file, uint32_t{1});
  AppendNumber(file, uint32_t{0});
  AppendNumber(file, static_cast<uint32_t>(24 + key.size() + value.size()));
  AppendNumber(file, uint32_t{1});
  AppendNumber(file, uint64_t{0});
  AppendNumber(file, static_cast<uint32_t>(value.size() << 8 | key.size()));
  AppendNumber(file, uint32_t{7});  // Flags.
  AppendNumber(file, seconds_left);
  AppendNumber(file, uint32_t{0});
  AppendNumber(file, uint64_t{41});  // Unique.
  Append(file, key);
  Append(file, value);
  AppendNumber(file, uint32_t{16});
  AppendNumber(file, uint32_t{0});
  AppendNumber(file, uint64_t{0});
  AppendNumber(file, uint64_t{1});   // Items.
  AppendNumber(file, uint64_t{42});  // Last unique.
  return file;
}
inline std::vector<Bytes> SnapshotSeeds() {
  return {SnapshotOf("key", "value", 0), SnapshotOf("k", "", 50),
          SnapshotOf(std::string(250, 'k'), std::string(600, 'v'), 1)};
}

/// Answers to a client: one byte selects the protocol; each answer follows as a control byte (2:
/// use the ids of the last request), its length and its bytes.
inline Bytes ConversationOf(uint8_t protocol, const std::vector<Bytes>& answers) {
  Bytes script{protocol};
  for (const Bytes& answer : answers) {
    script.push_back(2);
    script.push_back(static_cast<uint8_t>(answer.size()));
    script.insert(script.end(), answer.begin(), answer.end());
  }
  script.push_back(250);  // Time passes.
  return script;
}
inline std::vector<Bytes> ClientSeeds() {
  const auto ascii = [](std::string_view text) {
    Bytes datagram{0, 0, 0, 0, 0, 1, 0, 0};
    Append(datagram, text);
    return datagram;
  };
  const auto binary = [](uint8_t opcode, uint8_t extras, uint8_t status, std::string_view value) {
    Bytes datagram{
        0, 0, 0,      0, 0, 1,      0, 0, 0x81, opcode,
        0, 0, extras, 0, 0, status, 0, 0, 0,    static_cast<uint8_t>(extras + value.size())};
    datagram.resize(8 + 24 + extras);
    Append(datagram, value);
    return datagram;
  };
  const auto mica = [](uint8_t operation, uint8_t result, uint8_t value_bytes) {
    Bytes datagram{0x79, 1, 0, 0, 0, 0, operation, result, 0, 0, value_bytes};
    datagram.resize(6 + 24 + (value_bytes + 7) / 8 * 8);
    return datagram;
  };
  return {ConversationOf(0, {mica(4, 0, 0), mica(5, 0, 8), mica(5, 4, 0), mica(4, 1, 0)}),
          ConversationOf(1, {ascii("STORED\r\n"), ascii("END\r\n"),
                             ascii("VALUE k 0 8\r\n12345678\r\nEND\r\n"),
                             ascii("SERVER_ERROR out of memory\r\n")}),
          ConversationOf(2, {binary(1, 0, 0, ""), binary(0, 4, 0, "12345678"),
                             binary(0, 0, 1, "Not found"), binary(1, 0, 0x82, "")})};
}

/// Answers from the etcd gateway, each preceded by a byte that selects the request: range, watch,
/// grant or keepalive. The keys are "sluice/servers/0" and "sluice/x" in base64 (RFC 4648).
inline std::vector<Bytes> EtcdSeeds() {
  std::vector<Bytes> seeds;
  for (const char* const text :
       {R"(0{"header":{"revision":"9"},"kvs":[{"key":"c2x1aWNlL3NlcnZlcnMvMA==","value":"YQ=="}]})",
        R"(0{"header":{"revision":"1"}})",
        R"(1{"result":{"header":{"revision":"9"},"created":true}})",
        R"(1{"result":{"events":[{"kv":{"key":"c2x1aWNlL3g=","value":"YQ=="}},)"
        R"({"type":"DELETE","kv":{"key":"c2x1aWNlL3g="}}]}})",
        R"(1{"result":{"canceled":true,"compact_revision":"7"}})",
        R"(2{"header":{"revision":"9"},"ID":"7587862094014","TTL":"10"})",
        R"(3{"result":{"header":{"revision":"9"},"ID":"7587862094014","TTL":"10"}})",
        R"(3{"result":{"ID":"7587862094014"}})"}) {
    Bytes seed;
    Append(seed, text);
    seeds.push_back(seed);
  }
  return seeds;
}

/// An epoch file (engine/telemetry/export/epoch_file.h) with one flow in the smallest sketch,
/// preceded by a byte that requests a correct checksum.
inline Bytes EpochSeed() {
  constexpr int kCells = 3 * 16;
  Bytes file{1};
  Append(file, "SLUICEEP");
  AppendNumber(file, uint32_t{1});
  file.resize(file.size() + 20);  // A zero, and the fields that the fuzz target sets.
  AppendNumber(file, uint32_t{1});
  file.insert(file.end(), {0, 32, 128, 0});
  for (const uint32_t number : {0, 3, 16, 1, 1, 16, 16, 0}) AppendNumber(file, number);
  AppendNumber(file, 1.0);                  // Probability.
  AppendNumber(file, 1.0);                  // Packets per second.
  AppendNumber(file, uint64_t{1'000'000});  // Length.
  for (const double share : {0.5, 0.5, 0.95}) AppendNumber(file, share);
  AppendNumber(file, uint32_t{0});
  AppendNumber(file, uint32_t{1});
  AppendNumber(file, uint64_t{1});  // Seed.
  AppendNumber(file, uint64_t{5});
  AppendNumber(file, uint64_t{9});
  AppendNumber(file, uint32_t{1});
  AppendNumber(file, uint32_t{64});
  for (const uint64_t number : {4, 256, 4, 0}) AppendNumber(file, number);
  AppendNumber(file, 1.0);
  AppendNumber(file, 1.0);
  for (int i = 0; i < 2 * kCells; ++i) AppendNumber(file, int64_t{i} - kCells);
  AppendNumber(file, uint32_t{1});
  AppendNumber(file, uint32_t{1});
  Bytes key(40);
  key[0] = 10;
  key[36] = 17;
  key[37] = 4;
  file.insert(file.end(), key.begin(), key.end());
  AppendNumber(file, int64_t{3072});
  AppendNumber(file, int64_t{196608});
  AppendNumber(file, uint32_t{12});
  AppendNumber(file, uint32_t{1});
  AppendNumber(file, uint64_t{0});
  AppendNumber(file, uint32_t{0});
  return file;
}

/// Stream files for sluice-pktgen that use every form of each member.
inline std::vector<Bytes> StreamSeeds() {
  std::vector<Bytes> seeds;
  for (const char* const text :
       {R"({"streams": [{}]})",
        R"({"streams": [{"name": "web", "rate": "2Mpps", "arrivals": "poisson", "seed": 9,)"
        R"( "frames": 10, "frame_size": "imix",)"
        R"( "ipv4": {"source": {"from": "10.0.0.1", "to": "10.0.0.9", "step": 3},)"
        R"( "destination": "192.0.2.1", "service": 8, "hops": 3},)"
        R"( "tcp": {"source_port": {"from": 1024, "to": 65535, "random": true, "seed": 7},)"
        R"( "destination_port": [80, 443], "flags": 2}}]})",
        R"({"streams": [{"name": "a", "schedule": "10Mpps:10s,pause:1s,80%:500ms",)"
        R"( "ethernet": {"source": "02:00:00:00:00:09"}, "frame_size": "64,1518"},)"
        R"( {"name": "b", "schedule": [{"rate": "1Gbps", "duration_s": 10},)"
        R"( {"rate": "max", "duration_s": 1.5, "start_s": 15}], "frame_size": [200, 1518],)"
        R"( "vlans": [{"id": 7, "service": true}, {"id": [1, 2], "priority": 6}],)"
        R"( "vxlan": {"network": 42, "ipv4": {"source": "172.16.0.1"}, "udp": {}},)"
        R"( "ipv6": {"source": "2001:db8::1", "destination": {"from": "::", "to": "::7"}},)"
        R"( "icmp": {"identifier": 5, "sequence": {"from": 0, "to": 9}}}]})"}) {
    Append(seeds.emplace_back(), text);
  }
  return seeds;
}

/// Random scripts for hosts and peers with arbitrary actions; any bytes are valid. The lengths are
/// those that the targets read.
inline std::vector<Bytes> ScriptSeeds() {
  std::mt19937_64 random(10);
  std::vector<Bytes> seeds;
  for (const size_t bytes : {64, 512, 2048, 4096, 20'000}) {
    Bytes seed(bytes);
    for (uint8_t& byte : seed) byte = static_cast<uint8_t>(random());
    seeds.push_back(seed);
  }
  return seeds;
}

}  // namespace sluice::test
