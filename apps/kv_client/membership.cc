// SPDX-License-Identifier: BSD-3-Clause
#include "membership.h"

#include <absl/strings/str_cat.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace sluice::kv_client {

namespace {

using engine::kv::client::Ring;
using engine::kv::client::RingServer;

std::vector<uint16_t> PlaceItems(const Ring& ring, const std::vector<uint16_t>& numbers,
                                 const engine::kv::client::ClientOptions& options) {
  std::vector<uint16_t> servers(options.items);
  std::vector<uint8_t> key(options.sizes.key_bytes);
  for (uint64_t i = 0; i < servers.size(); ++i) {
    engine::kv::workload::MakeKey(options.first_item + i, options.sizes, key.data());
    servers[i] = numbers[ring.ServerOf(key)];
  }
  return servers;
}

}  // namespace

Membership::Membership(const Settings& settings) : settings_(settings) {
  FileChanged();
  Adopt(settings.servers);
}

void Membership::Adopt(const Servers& servers) {
  present_ = servers;
  numbers_.clear();
  for (const RingServer& server : servers) {
    auto known = std::ranges::find_if(known_, [&](const RingServer& other) {
      return other.host == server.host && other.port == server.port;
    });
    if (known == known_.end()) known = known_.insert(known, server);
    numbers_.push_back(static_cast<uint16_t>(known - known_.begin()));
  }
}

std::vector<uint16_t> Membership::Place() const {
  return PlaceItems(Ring(present_, settings_.ring), numbers_, settings_.client);
}

bool Membership::FileChanged() {
  struct stat status;
  if (settings_.servers_file.empty() || stat(settings_.servers_file.c_str(), &status) != 0) {
    return false;
  }
  std::string signature = absl::StrCat(status.st_ino, " ", status.st_size, " ",
                                       status.st_mtim.tv_sec, " ", status.st_mtim.tv_nsec);
  return std::exchange(signature_, std::move(signature)) != signature_;
}

std::optional<std::vector<uint16_t>> Membership::Poll(std::string* error) {
  if (placing_.valid()) {
    if (placing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      return std::nullopt;
    }
    return placing_.get();
  }
  if (!FileChanged()) return std::nullopt;
  const auto servers = ReadServersFile(settings_.servers_file, settings_.default_port, error);
  if (!servers) {
    *error = absl::StrCat(settings_.servers_file, ": ", *error, " (the servers stay)");
    return std::nullopt;
  }
  Adopt(*servers);
  placing_ = std::async(std::launch::async, [ring = Ring(present_, settings_.ring),
                                             numbers = numbers_, &options = settings_.client] {
    return PlaceItems(ring, numbers, options);
  });
  return std::nullopt;
}

}  // namespace sluice::kv_client
