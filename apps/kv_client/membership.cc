// SPDX-License-Identifier: BSD-3-Clause
#include "membership.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sluice::kv_client {

namespace {

using engine::kv::client::Ring;
using engine::kv::client::RingServer;

constexpr size_t kMaxKnown = UINT16_MAX;  // Server numbers have 16 bits.

std::vector<uint16_t> PlaceItems(const Ring& ring, const std::vector<uint16_t>& numbers,
                                 const engine::kv::client::ClientOptions& options) {
  std::vector<uint16_t> servers(options.items);
  std::vector<uint8_t> key(options.sizes.key_bytes);
  for (uint64_t i = 0; i < servers.size(); ++i) {
    engine::kv::client::MakeKey(options.first_item + i, options.sizes, key.data());
    servers[i] = numbers[ring.ServerOf(key)];
  }
  return servers;
}

}  // namespace

Membership::Membership(const Settings& settings, const Servers& servers, MemberSource* source)
    : settings_(settings), source_(source) {
  Adopt(servers);
}

// Returns false and changes nothing if there would be more servers than numbers.
bool Membership::Adopt(const Servers& servers) {
  Servers known = known_;
  std::vector<uint16_t> numbers;
  for (const RingServer& server : servers) {
    auto same = std::ranges::find_if(known, [&](const RingServer& other) {
      return other.host == server.host && other.port == server.port;
    });
    if (same == known.end()) same = known.insert(same, server);
    numbers.push_back(static_cast<uint16_t>(same - known.begin()));
  }
  if (known.size() > kMaxKnown) return false;
  known_ = std::move(known);
  numbers_ = std::move(numbers);
  present_ = servers;
  return true;
}

std::vector<uint16_t> Membership::Place() const {
  return PlaceItems(Ring(present_, settings_.ring), numbers_, settings_.client);
}

std::optional<std::vector<uint16_t>> Membership::Poll(std::string* error) {
  if (placing_.valid()) {
    if (placing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      return std::nullopt;
    }
    return placing_.get();
  }
  if (source_ == nullptr) return std::nullopt;
  const auto servers = source_->Poll(error);
  const bool adopted = servers && Adopt(*servers);
  if (servers && !adopted)
    *error =
        "too many servers were added and removed since the start: restart the client to use "
        "the new list";
  if (!error->empty()) {
    *error = "--" + settings_.ServersFlag() + ": " + *error + "; the servers stay the same";
  }
  if (!adopted) return std::nullopt;
  placing_ = std::async(std::launch::async, [ring = Ring(present_, settings_.ring),
                                             numbers = numbers_, &options = settings_.client] {
    return PlaceItems(ring, numbers, options);
  });
  return std::nullopt;
}

}  // namespace sluice::kv_client
