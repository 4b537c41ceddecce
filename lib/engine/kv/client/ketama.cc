// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/client/ketama.h"

#include <md5.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "packet/bytes.h"

namespace sluice::engine::kv::client {

namespace {

constexpr uint16_t kDefaultPort = 11211;  // The default port is omitted from a server's name.
constexpr uint32_t kPlainPoints = 100;
constexpr uint32_t kWeightedPoints = 160;
constexpr uint32_t kPointsOfDigest = 4;

using Digest = std::array<uint8_t, MD5_DIGEST_LENGTH>;

Digest Md5(Bytes bytes) {
  Digest digest;
  MD5_CTX context;
  MD5Init(&context);
  MD5Update(&context, bytes.data(), bytes.size());
  MD5Final(digest.data(), &context);
  return digest;
}
Digest Md5(const std::string& text) {
  return Md5(Bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

uint32_t Part(const Digest& digest, uint32_t i) {
  return packet::Load<uint32_t>(digest.data() + 4 * i);
}

// Returns the number of digests for a server, in proportion to its share of the total weight.
// Computes in single precision, as libmemcached does, because rounding affects the result.
uint32_t WeightedDigests(uint32_t weight, uint32_t total, size_t servers) {
  const float share = static_cast<float>(weight) / static_cast<float>(total);
  const auto digests = static_cast<float>(
      static_cast<double>(share * kWeightedPoints / kPointsOfDigest * static_cast<float>(servers)) +
      0.0000000001);
  return static_cast<uint32_t>(std::floor(digests));
}

}  // namespace

Ring::Ring(std::span<const RingServer> servers, Kind kind) {
  const bool weighted =
      kind == Kind::kWeighted ||
      std::ranges::any_of(servers, [](const RingServer& server) { return server.weight != 1; });
  uint32_t total = 0;
  for (const RingServer& server : servers) total += server.weight;
  for (uint32_t i = 0; i < servers.size(); ++i) {
    const RingServer& server = servers[i];
    std::string name = server.host;
    if (server.port != kDefaultPort) name += ':' + std::to_string(server.port);
    const uint32_t digests =
        weighted ? WeightedDigests(server.weight, total, servers.size()) : kPlainPoints;
    for (uint32_t n = 0; n < digests; ++n) {
      const Digest digest = Md5(name + '-' + std::to_string(n));
      for (uint32_t part = 0; part < (weighted ? kPointsOfDigest : 1); ++part) {
        points_.push_back({Part(digest, part), i});
      }
    }
  }
  std::ranges::stable_sort(points_, {}, &Point::value);
}

uint32_t Ring::ServerOf(Bytes key) const {
  const auto point = std::ranges::lower_bound(points_, Part(Md5(key), 0), {}, &Point::value);
  return (point == points_.end() ? points_.front() : *point).server;
}

}  // namespace sluice::engine::kv::client
