// SPDX-License-Identifier: BSD-3-Clause
//
// The thread that takes over what workers count, and everything that is done with it: minutes,
// lines, alerts.
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

/// What the collector knows at one moment.
struct Figures {
  uint64_t lines = 0;
  std::vector<FilterTotals> filters;
  WorkerFigures workers;  ///< All, added up.
  uint64_t alerts = 0;
  uint64_t lost_hosts = 0;  ///< Events that no alert counted: it had no room for another host.
  uint64_t failed_programs = 0;
};

class Collector {
 public:
  /// The present minute is over when nobody will add to it any more: some seconds later.
  static constexpr uint64_t kGraceNs = 5'000'000'000;

  /// `settings` and `clock` outlive it. `text`: for people.
  Collector(const Settings& settings, const WallClock& clock, uint32_t workers, std::FILE* text);
  ~Collector() { Stop(); }

  /// Opens the files. False, with the flag to blame and the fix, if one cannot be.
  bool Open(std::string* flag, std::string* fix);
  /// Where worker `i` puts what it counts.
  runtime::Handover<Batch>& batches(uint32_t i) { return *batches_[i]; }

  void Start();
  /// After the workers left: takes the rest. Once is enough.
  void Stop();
  /// After Stop(): a file lacks lines that were written to it.
  bool failed() const { return lines_.failed() || minutes_.failed() || alerts_.failed(); }

  // Any thread:

  Figures Take() const;
  /// The minutes that were over lately, the oldest first.
  nlohmann::ordered_json Minutes() const;

 private:
  void Loop();
  void Collect();
  void Close(const std::vector<FilterMinute>& minutes);
  void ShowLines(ShownLines& lines);

  const Settings& settings_;
  const WallClock& clock_;
  std::FILE* const text_;
  std::vector<std::unique_ptr<runtime::Handover<Batch>>> batches_;  ///< By worker.
  LinesFile lines_, minutes_;

  mutable std::mutex mutex_;  ///< Of what follows.
  Ledger ledger_;
  Alerts alerts_;
  std::vector<WorkerFigures> figures_;  ///< By worker.
  std::deque<nlohmann::ordered_json> over_;

  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace sluice::logmon
