// SPDX-License-Identifier: BSD-3-Clause
//
// An engine behind the C interface: what all kinds have, and what each kind is made of.
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
#include "runtime/json_reader.h"
#include "sluice/engines.h"

namespace sluice::c_api {

using runtime::Errors;

/// sluice_options without zeros.
struct Options {
  uint32_t workers = 1;
  uint64_t ticks_per_second = 1'000'000'000;
  uint64_t now = 0;
  uint64_t seed = 0;
};

/// A configuration as it was given.
struct ConfigText {
  std::string_view text;
  std::string folder;  ///< Where files that it names are.
};

/// A kind of engine.
struct Kind {
  const char* name;
  /// Null, with what is wrong in `errors`, if it cannot be made. May throw std::bad_alloc.
  std::unique_ptr<sluice_engine> (*make)(const ConfigText& config, const Options& options,
                                         Errors* errors);
};

extern const Kind kKv, kLogmon, kMaglev, kNeighbor, kTelemetry;

}  // namespace sluice::c_api

/// C's incomplete type. Any thread, unless said otherwise; one at a time holds the mutex.
struct sluice_engine {
 public:
  using VisitCounter = std::function<void(std::string_view name, uint64_t value)>;

  virtual ~sluice_engine() = default;
  sluice_engine(const sluice_engine&) = delete;

  const sluice::c_api::Kind& kind() const { return kind_; }
  std::span<const std::unique_ptr<sluice_worker>> workers() const { return workers_; }
  uint32_t headroom() const { return headroom_; }
  /// Null: there is none.
  const char* Reason(uint32_t number) const;
  uint32_t Counters(std::span<sluice_counter> counters) const;

  /// As sluice_engine_replace. False: as before.
  bool Replace(const sluice::c_api::ConfigText& config, sluice::c_api::Errors* errors);
  /// JSON; nothing: there is none.
  std::optional<std::string> Report();
  /// No worker is in a call.
  void Finish(uint64_t now);

 protected:
  /// `reasons`: the engine's, before that of frames for which there is no memory.
  sluice_engine(const sluice::c_api::Kind& kind, std::span<const std::string_view> reasons,
                uint32_t headroom);

  /// That of frames for which there is no memory.
  uint8_t no_memory() const { return static_cast<uint8_t>(reasons_.size() - 1); }
  void Add(std::unique_ptr<sluice_worker> worker) { workers_.push_back(std::move(worker)); }
  /// Of a kind whose workers need what it has of its own, at the beginning of its end.
  void EndWorkers() { workers_.clear(); }
  /// At the end of its making.
  void NameCounters();

  // With the mutex held:

  /// Besides those of frames: the same names in the same order, always.
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
