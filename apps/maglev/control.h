// SPDX-License-Identifier: BSD-3-Clause
//
// The current configuration, and all sources of changes to it while workers run: the file, etcd's
// additions to the file, drains by operators, and health checks. Each change builds new tables and
// publishes them as a whole.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/maglev/config/config.h"
#include "engine/maglev/tables.h"
#include "engine/maglev/totals.h"
#include "runtime/published.h"

namespace sluice::maglev {

using engine::maglev::Additions;
using engine::maglev::Config;
using engine::maglev::HealthCheck;
using engine::maglev::ParseConfig;
using engine::maglev::ReadConfig;

/// Sources of a configuration.
struct Sources {
  std::string text;     ///< Text of the file, or of the built-in sample.
  Additions additions;  ///< Received from etcd.
};

/// Returns an error message if a port cannot receive packets of the length that `setup` forwards,
/// or an empty string. `port_packet_bytes`: length of the longest packet that the port receives
/// (Session::packet_bytes).
std::string MtuFault(const engine::maglev::Setup& setup, uint32_t port_packet_bytes);

/// Names of a VIP and of one of its backends.
using BackendId = std::pair<std::string, std::string>;

/// Any control thread may call any method.
class Control {
 public:
  using Tables = engine::maglev::Tables;
  /// Reads the current configuration; changes are blocked during the call.
  using Look = std::function<void(const Config& config, const Tables& tables)>;

  /// `path`: path of the file, for Reload; empty for the built-in sample. `sources`: the sources of
  /// `config`.
  Control(Config config, std::string path, uint32_t workers, Sources sources = {});

  /// Returns the tables that workers read.
  runtime::Published<Tables>& published() { return published_; }
  const std::string& path() const { return path_; }
  void View(const Look& look) const;
  /// Returns the setup that would apply if `config` replaced the file, with the current drains and
  /// health states.
  engine::maglev::Setup Effective(const Config& config) const;

  bool Has(const BackendId& backend) const;
  /// Reads another file, together with etcd's additions, like ReadConfig.
  std::optional<Config> ReadOther(const std::string& path, std::vector<std::string>* errors) const;
  /// Returns how often Reload and Add have applied a configuration.
  uint64_t configurations() const { return configurations_.load(); }

  /// Called for every change that gives indices to new owners, after Published::Publish has
  /// returned.
  using OnNewOwners = std::function<void(const engine::maglev::NewOwners& owners)>;
  /// Call it before workers run.
  void set_port_packet_bytes(uint32_t bytes) { port_packet_bytes_ = bytes; }
  /// Call it before workers run.
  void set_on_new_owners(OnNewOwners on_new_owners) { on_new_owners_ = std::move(on_new_owners); }

  // Operations for operators. They return "" on success, or a one-line reason for the failure.

  /// Reloads the file. Drains of backends that are in the new configuration stay in effect.
  std::string Reload();
  /// Applies etcd's current additions to the latest text of the file. Invalid keys are skipped
  /// (Config::skipped), and are parsed again at the next change of either source.
  std::string Add(const Additions& additions);
  /// Stops new flows to a backend, regardless of the file; Restore reverts this.
  std::string Drain(const BackendId& backend);
  std::string Restore(const BackendId& backend);
  /// Applies several results of health checks at once. If backends that fail together were changed
  /// one by one, flows would move to backends that are about to fail. An unhealthy backend is down,
  /// unless its VIP fails open (HealthCheck::fail_open). A recovered backend returns to the state
  /// that the file and the operator define.
  void SetHealthy(const std::vector<std::pair<BackendId, bool>>& found);
  /// Counts a health check that this host could not perform. Does not change any state.
  void CountNoResult() { ++no_results_; }
  uint64_t no_results() const { return no_results_.load(); }

 private:
  std::string Reconfigure(const std::string& text, const Additions& additions);
  engine::maglev::Setup Apply(const Config& config) const;
  const engine::maglev::BackendSetup* Find(const BackendId& backend) const;
  void Publish();

  mutable std::mutex sources_mutex_;  // Lock it before mutex_.
  Sources sources_;                   // Sources of the current configuration.

  mutable std::mutex mutex_;
  Config config_;
  const std::string path_;
  std::set<BackendId> drained_;
  std::set<BackendId> unhealthy_;
  std::atomic<uint64_t> configurations_{0};
  std::atomic<uint64_t> no_results_{0};
  OnNewOwners on_new_owners_;
  uint32_t port_packet_bytes_ = engine::maglev::kMaxMtu;  ///< See MtuFault.
  runtime::Published<Tables> published_;
};

}  // namespace sluice::maglev
