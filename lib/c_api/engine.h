// SPDX-License-Identifier: BSD-3-Clause
//
// Base of the C interface's engines: the code that all engine kinds share, and the interface that
// each kind implements.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "c_api/worker.h"
#include "config/json_reader.h"
#include "sluice/engines.h"

namespace sluice::c_api {

using config::Errors;

/// sluice_options with zeros replaced by defaults.
struct Options {
  uint32_t workers = 1;
  uint64_t ticks_per_second = 1'000'000'000;
  uint64_t now = 0;
  uint64_t seed = 0;
};

/// A configuration as given by the caller.
struct ConfigText {
  std::string_view text;
  std::string folder;  ///< Folder against which relative file names in `text` are resolved.
};

/// A kind of engine.
struct Kind {
  const char* name;
  /// Creates an engine. On failure, returns null and stores the reasons in `errors`. May throw
  /// std::bad_alloc.
  std::unique_ptr<sluice_engine> (*make)(const ConfigText& config, const Options& options,
                                         Errors* errors);
};

extern const Kind kKv, kLogmon, kMaglev, kNeighbor, kTelemetry;

}  // namespace sluice::c_api

/// The C interface's opaque engine type. Any thread may call its functions unless stated otherwise;
/// a mutex serializes them.
struct sluice_engine {
 public:
  using VisitCounter = std::function<void(std::string_view name, uint64_t value)>;

  virtual ~sluice_engine() = default;
  sluice_engine(const sluice_engine&) = delete;

  const sluice::c_api::Kind& kind() const { return kind_; }
  std::span<const std::unique_ptr<sluice_worker>> workers() const { return workers_; }
  uint32_t headroom() const { return headroom_; }
  /// Returns the name of a drop reason, or null if `number` is not a reason.
  const char* Reason(uint32_t number) const;
  uint32_t Counters(std::span<sluice_counter> counters) const;

  /// Implements sluice_engine_replace. Returns false and changes nothing on failure.
  bool Replace(const sluice::c_api::ConfigText& config, sluice::c_api::Errors* errors);
  /// Returns JSON, or nullopt if the engine has nothing to report.
  std::optional<std::string> Report();
  /// Implements sluice_engine_finish. No worker call may be in progress.
  void Finish(uint64_t now);

 protected:
  /// `reasons` are the engine's drop reasons; a reason for lack of memory is appended.
  sluice_engine(const sluice::c_api::Kind& kind, std::span<const std::string_view> reasons,
                uint32_t headroom);

  /// Returns the drop reason for lack of memory.
  uint8_t no_memory() const { return static_cast<uint8_t>(reasons_.size() - 1); }
  void Add(std::unique_ptr<sluice_worker> worker) { workers_.push_back(std::move(worker)); }
  /// Destroys the workers. Must be called first in the destructor of a kind whose workers use its
  /// members.
  void EndWorkers() { workers_.clear(); }
  /// Must be called last in the constructor.
  void NameCounters();

  // Called with the mutex held:

  /// Visits the engine's counters, in addition to the common frame counters. Names and order must
  /// never change.
  virtual void VisitCounters(const VisitCounter& visit) const = 0;
  virtual bool DoReplace(const sluice::c_api::ConfigText& config, sluice::c_api::Errors* errors);
  virtual std::optional<std::string> DoReport() { return std::nullopt; }
  virtual void DoFinish(uint64_t /*now*/) {}

 private:
  void VisitAll(const VisitCounter& visit) const;

  const sluice::c_api::Kind& kind_;
  std::vector<std::string> reasons_;
  const uint32_t headroom_;
  std::vector<std::string> counter_names_;
  std::vector<std::unique_ptr<sluice_worker>> workers_;
  mutable std::mutex mutex_;
};
