// SPDX-License-Identifier: BSD-3-Clause
#include "etcd_source.h"

#include <utility>

namespace sluice::kv_client {

namespace {

constexpr etcd::Watcher::Limits kLimits{.keys = kMaxServers, .bytes = 1 << 20};

}  // namespace

EtcdSource::EtcdSource(etcd::Address address, const ServerRules& rules)
    : rules_(rules),
      watcher_(
          std::move(address), kLimits, [this](const etcd::Keys& keys) { Publish(keys); },
          [this](const std::string& trouble) { Complain(trouble); }) {}

std::optional<Servers> EtcdSource::Open(std::string* error) {
  *error = watcher_.Open();
  if (!error->empty()) return std::nullopt;
  auto servers = Poll(error);
  if (servers) watcher_.Follow();
  return servers;
}

std::optional<Servers> EtcdSource::Poll(std::string* error) {
  const std::lock_guard lock(mutex_);
  *error = std::exchange(trouble_, {});
  return std::exchange(news_, std::nullopt);
}

// If the servers in `keys` have changed, stores them for Poll.
void EtcdSource::Publish(const etcd::Keys& keys) {
  std::vector<std::string> words;
  for (const auto& [key, value] : keys) words.push_back(value);
  if (words == published_ && !words.empty()) return;
  std::string error;
  auto servers = ReadServers(words, rules_, &error);
  if (!servers) return Complain(error);
  published_ = std::move(words);
  const std::lock_guard lock(mutex_);
  news_ = std::move(servers);
}

void EtcdSource::Complain(const std::string& trouble) {
  const std::lock_guard lock(mutex_);
  trouble_ = trouble;
}

}  // namespace sluice::kv_client
