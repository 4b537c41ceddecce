// SPDX-License-Identifier: BSD-3-Clause
//
// The thread that receives the workers' counts, and produces minutes, lines and alerts.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "alerts.h"
#include "batch.h"
#include "ledger.h"
#include "lines_file.h"
#include "runtime/handover.h"
#include "settings.h"
#include "wall_clock.h"

namespace sluice::logmon {

/// The collector's state at one moment.
struct Figures {
  uint64_t lines = 0;
  std::vector<FilterTotals> filters;
  WorkerFigures workers;  ///< Sum over all workers.
  uint64_t alerts = 0;
  /// Events that no alert counted, because the alert already had its maximum number of hosts or a
  /// worker's AlertEvents its maximum number of pairs.
  uint64_t lost_hosts = 0;
  uint64_t failed_programs = 0;
};

class Collector {
 public:
  /// A minute is closed this long after its end; by then, workers no longer add to it.
  static constexpr uint64_t kGraceNs = 5'000'000'000;

  /// `settings` and `clock` must outlive the object. `text`: stream for users.
  Collector(const Settings& settings, const WallClock& clock, uint32_t workers, std::FILE* text);
  ~Collector() { Stop(); }

  /// Opens the files. On failure, returns false and sets `flag` to the wrong flag, and `fix`.
  bool Open(std::string* flag, std::string* fix);
  /// Returns the destination for the batches of worker `i`.
  runtime::Handover<Batch>& batches(uint32_t i) { return *batches_[i]; }

  void Start();
  /// Processes the remaining data. Call it after the workers have left. Further calls have no
  /// effect.
  void Stop();
  /// Returns whether lines are missing from a file. Call it after Stop().
  bool failed() const { return lines_.failed() || minutes_.failed() || alerts_.failed(); }

  // Any thread may call the following functions.

  Figures ReadFigures() const;
  /// Returns the latest closed minutes, oldest first.
  nlohmann::ordered_json Minutes() const;

 private:
  void Loop();
  void Collect();
  void Close(const std::vector<FilterMinute>& minutes);
  void ShowLines(ShownLines& lines);

  const Settings& settings_;
  const WallClock& clock_;
  std::FILE* const text_;
  std::vector<std::unique_ptr<runtime::Handover<Batch>>> batches_;  ///< Indexed by worker.
  LinesFile lines_, minutes_;

  mutable std::mutex mutex_;  ///< Protects ledger_, alerts_, figures_ and over_.
  Ledger ledger_;
  Alerts alerts_;
  std::vector<WorkerFigures> figures_;  ///< Indexed by worker.
  std::deque<nlohmann::ordered_json> over_;

  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace sluice::logmon
