// SPDX-License-Identifier: BSD-3-Clause
#include "etcd_config.h"

#include <utility>

#include "engine/maglev/setup.h"

namespace sluice::maglev {

namespace {

// Sufficient for the maximum number of VIPs and backends, with the longest values in practice.
constexpr etcd::Watcher::Limits kLimits{
    .keys = engine::maglev::kMaxVips + engine::maglev::kMaxBackends, .bytes = size_t{32} << 20};

}  // namespace

EtcdConfig::EtcdConfig(etcd::Address address)
    : prefix_(address.prefix),
      watcher_(
          std::move(address), kLimits, [this](const etcd::Keys& keys) { Accept(keys); },
          [this](const std::string& trouble) { on_trouble_(trouble); }) {}

std::string EtcdConfig::Open(Additions* additions) {
  std::string error = watcher_.Open();
  if (error.empty()) *additions = last_;
  return error;
}

void EtcdConfig::Follow(std::function<void(const Additions&)> on_additions,
                        std::function<void(const std::string&)> on_trouble) {
  on_additions_ = std::move(on_additions);
  on_trouble_ = std::move(on_trouble);
  watcher_.Follow();
}

void EtcdConfig::Accept(const etcd::Keys& keys) {
  Additions additions;
  for (const auto& [key, value] : keys) additions.emplace(key.substr(prefix_.size()), value);
  if (additions == last_) return;
  last_ = std::move(additions);
  if (on_additions_) on_additions_(last_);
}

}  // namespace sluice::maglev
