// SPDX-License-Identifier: BSD-3-Clause
//
// The configuration in force and everything that changes it while workers run: the file, an
// operator's drains, health checks. Each change compiles new tables and publishes them whole.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config.h"
#include "engine/maglev/tables.h"
#include "runtime/published.h"

namespace sluice::maglev {

/// A backend of a VIP, by their names.
using BackendId = std::pair<std::string, std::string>;

/// All methods may be called by any control thread.
class Control {
 public:
  using Tables = engine::maglev::Tables;
  /// Looks at what is in force; changes wait meanwhile.
  using Look = std::function<void(const Config& config, const Tables& tables)>;

  /// `path`: of the file, for Reload; empty for the built-in sample.
  Control(Config config, std::string path, uint32_t workers);

  /// Workers read these.
  runtime::Published<Tables>& published() { return published_; }
  const std::string& path() const { return path_; }
  void View(const Look& look) const;
  /// The setup as it is now in force, with states as they are, if `config` replaced the file.
  engine::maglev::Setup Effective(const Config& config) const;

  bool Has(const BackendId& backend) const;
  /// Grows with every Reload that succeeds.
  uint64_t configurations() const { return configurations_.load(); }

  /// Indices of VIPs and backends that have a new owner since the last change; called with
  /// every change that has some, after workers have taken it up.
  using NewOwners = std::function<void(const std::vector<uint16_t>& vips,
                                       const std::vector<uint16_t>& backends)>;
  /// Before workers run.
  void set_new_owners(NewOwners new_owners) { new_owners_ = std::move(new_owners); }

  // What operators do: "" if it is done, else one line that says why not.

  /// Reads the file again. Drains stay.
  std::string Reload();
  /// Gives a backend no new flows, whatever the file says; or takes that back.
  std::string Drain(const BackendId& backend);
  std::string Restore(const BackendId& backend);
  /// What a health check found. A backend that is not healthy is down, unless its VIP fails open
  /// (HealthCheck::fail_open); one that recovers is what file and operator say.
  void SetHealthy(const BackendId& backend, bool healthy);

 private:
  engine::maglev::Setup Apply(const Config& config) const;
  const engine::maglev::BackendSetup* Find(const BackendId& backend) const;
  void Publish();

  mutable std::mutex mutex_;
  Config config_;
  const std::string path_;
  std::set<BackendId> drained_;
  std::set<BackendId> unhealthy_;
  std::atomic<uint64_t> configurations_{0};
  NewOwners new_owners_;
  runtime::Published<Tables> published_;
};

/// "up", "draining" or "down".
std::string_view StateName(engine::maglev::BackendState state);

/// Settings that a reload cannot change, since workers are built with them; "" if `next` has
/// the same as `now`.
std::string FixedDifference(const engine::maglev::Setup& now, const engine::maglev::Setup& next);

}  // namespace sluice::maglev
