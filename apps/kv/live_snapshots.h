// SPDX-License-Identifier: BSD-3-Clause
//
// Snapshots while the workers serve: a thread that writes one whenever it is asked to, and tells so
// on standard error. It runs on the CPUs of the thread that made it, main's.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "engine/kv/access.h"
#include "engine/kv/live_snapshot.h"

namespace sluice::kv {

class LiveSnapshots {
 public:
  /// `store` outlives it. `path`: of the file; empty: there is none, and nothing begins.
  LiveSnapshots(const engine::kv::Store& store, std::string path, std::function<uint32_t()> now_s);
  ~LiveSnapshots() { Stop(); }
  LiveSnapshots(const LiveSnapshots&) = delete;
  LiveSnapshots& operator=(const LiveSnapshots&) = delete;

  // Any thread.

  /// Once workers work. Empty: one begins. Else why not, in one line.
  std::string Begin();
  /// Ends one that is under way, which leaves no trace, and begins no others. Waits for a worker
  /// that copies a chain just now; needs none otherwise.
  void Stop();
  uint64_t written() const;
  uint64_t failed() const;
  /// Adds "snapshots" to a report.
  void Extend(nlohmann::ordered_json& report) const;

 private:
  void Main();
  void WriteOne();
  std::optional<engine::kv::Copied> ByOwner(size_t partition, uint32_t chain, std::span<uint8_t> to,
                                            size_t* bytes);

  const engine::kv::Store& store_;
  const std::string path_;
  const std::function<uint32_t()> now_s_;
  std::atomic<bool> stop_ = false;

  mutable std::mutex mutex_;  // Of what follows.
  std::condition_variable asked_;
  bool wanted_ = false;
  bool under_way_ = false;
  uint64_t written_ = 0, failed_ = 0;
  engine::kv::LiveFigures last_;  // Of the last that was written.
  std::thread thread_;
};

}  // namespace sluice::kv
