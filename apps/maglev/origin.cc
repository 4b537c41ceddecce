// SPDX-License-Identifier: BSD-3-Clause
#include "origin.h"

#include <gflags/gflags.h>

#include <string_view>
#include <utility>

#include "config/json_reader.h"
#include "engine/maglev/setup.h"
#include "sample.h"

DEFINE_string(
    config, "",
    "JSON file of VIPs and their backends; empty: a built-in sample, or no VIP with --config_etcd");
DEFINE_string(config_etcd, "",
              "etcd, as HOST:PORT/PREFIX, with more VIPs and backends than those of --config; "
              "changes are applied at once");

namespace sluice::maglev {

namespace {

// Enough for the maximum number of VIPs and backends with the longest values used in practice.
constexpr etcd::Watcher::Limits kLimits{
    .keys = engine::maglev::kMaxVips + engine::maglev::kMaxBackends, .bytes = size_t{32} << 20};

// Text of the configuration if all VIPs come from etcd.
constexpr char kNothing[] = "{\"vips\": []}";

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

std::optional<Config> ReadBeside(const std::string& path, const Additions& additions,
                                 std::vector<std::string>* errors) {
  const std::optional<std::string> text = config::ReadFile(path, errors);
  return text ? ParseConfig(*text, errors, additions) : std::nullopt;
}

std::optional<Origin> ReadOrigin(Trouble* trouble) {
  Origin origin;
  origin.path = FLAGS_config;
  trouble->flag = "config";
  const bool more = !FLAGS_config_etcd.empty();
  if (FLAGS_config.empty()) {
    origin.sources.text = more ? std::string_view(kNothing) : kSample;
  } else {
    auto text = config::ReadFile(FLAGS_config, &trouble->errors);
    if (!text) return std::nullopt;
    origin.sources.text = *std::move(text);
  }
  std::optional<Config> config = ParseConfig(origin.sources.text, &trouble->errors);
  if (!config) return std::nullopt;
  if (more) {
    trouble->flag = "config_etcd";
    const auto address = etcd::Address::Read(FLAGS_config_etcd);
    if (!address) {
      trouble->errors.push_back(etcd::kAddressFix);
      return std::nullopt;
    }
    trouble->exit_code = 1;
    origin.etcd = std::make_unique<EtcdConfig>(*address);
    const std::string error = origin.etcd->Open(&origin.sources.additions);
    if (!error.empty()) {
      trouble->errors.push_back(error);
      return std::nullopt;
    }
    config = ParseConfig(origin.sources.text, &trouble->errors, origin.sources.additions);
    if (!config) return std::nullopt;
  }
  origin.config = *std::move(config);
  return origin;
}

}  // namespace sluice::maglev
