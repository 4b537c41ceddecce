// SPDX-License-Identifier: BSD-3-Clause
//
// The configuration in force and everything that changes it while workers run: the file, what etcd
// adds to it, an operator's drains, health checks. Each change compiles new tables and publishes
// them whole.
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

/// What a configuration was made of.
struct Sources {
  std::string text;     ///< Of the file, or of the built-in sample.
  Additions additions;  ///< From etcd.
};

/// Why a port cannot receive the packets that `setup` sends on, in one line; empty: it can.
/// `port_packet_bytes`: of the longest that it receives, as Session::packet_bytes.
std::string MtuFault(const engine::maglev::Setup& setup, uint32_t port_packet_bytes);

/// A backend of a VIP, by their names.
using BackendId = std::pair<std::string, std::string>;

/// All methods may be called by any control thread.
class Control {
 public:
  using Tables = engine::maglev::Tables;
  /// Looks at what is in force; changes wait meanwhile.
  using Look = std::function<void(const Config& config, const Tables& tables)>;

  /// `path`: of the file, for Reload; empty for the built-in sample. `sources`: of `config`.
  Control(Config config, std::string path, uint32_t workers, Sources sources = {});

  /// Workers read these.
  runtime::Published<Tables>& published() { return published_; }
  const std::string& path() const { return path_; }
  void View(const Look& look) const;
  /// The setup as it is now in force, with states as they are, if `config` replaced the file.
  engine::maglev::Setup Effective(const Config& config) const;

  bool Has(const BackendId& backend) const;
  /// Another file, with what etcd adds; as ReadConfig.
  std::optional<Config> ReadOther(const std::string& path, std::vector<std::string>* errors) const;
  /// Grows with every Reload and Add that succeed.
  uint64_t configurations() const { return configurations_.load(); }

  /// Called with every change by which indices get new owners, after workers have taken it up.
  using OnNewOwners = std::function<void(const engine::maglev::NewOwners& owners)>;
  /// Before workers run.
  void set_port_packet_bytes(uint32_t bytes) { port_packet_bytes_ = bytes; }
  /// Before workers run.
  void set_on_new_owners(OnNewOwners told) { on_new_owners_ = std::move(told); }

  // What operators do: "" if it is done, else one line that says why not.

  /// Reads the file again. Drains stay.
  std::string Reload();
  /// Applies all that etcd adds now, with the file as it was read last. Keys that are wrong are
  /// skipped (Config::skipped) and read again with the next change of either.
  std::string Add(const Additions& additions);
  /// Gives a backend no new flows, whatever the file says; or takes that back.
  std::string Drain(const BackendId& backend);
  std::string Restore(const BackendId& backend);
  /// What health checks found, in one step: between two of several backends that fail at once,
  /// flows would move to those that are about to. A backend that is not healthy is down, unless its
  /// VIP fails open (HealthCheck::fail_open); one that recovers is what file and operator say.
  void SetHealthy(const std::vector<std::pair<BackendId, bool>>& found);
  /// A health check that this host could not make: it decides nothing.
  void CountNoResult() { ++no_results_; }
  uint64_t no_results() const { return no_results_.load(); }

 private:
  std::string Take(const std::string& text, const Additions& additions);
  engine::maglev::Setup Apply(const Config& config) const;
  const engine::maglev::BackendSetup* Find(const BackendId& backend) const;
  void Publish();

  mutable std::mutex sources_mutex_;  // Before mutex_.
  Sources sources_;                   // Of the configuration in force.

  mutable std::mutex mutex_;
  Config config_;
  const std::string path_;
  std::set<BackendId> drained_;
  std::set<BackendId> unhealthy_;
  std::atomic<uint64_t> configurations_{0};
  std::atomic<uint64_t> no_results_{0};
  OnNewOwners on_new_owners_;
  uint32_t port_packet_bytes_ = engine::maglev::kMaxMtu;  ///< As MtuFault.
  runtime::Published<Tables> published_;
};

}  // namespace sluice::maglev
