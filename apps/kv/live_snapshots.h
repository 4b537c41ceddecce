// SPDX-License-Identifier: BSD-3-Clause
//
// Snapshots while the workers serve. A thread writes one on each request, and reports it on
// standard error. It runs on the CPUs of the main thread, which creates it.
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
  /// `store` must outlive the object. `path`: path of the file; empty: snapshots are disabled.
  LiveSnapshots(const engine::kv::Store& store, std::string path, std::function<uint32_t()> now_s);
  ~LiveSnapshots() { Stop(); }
  LiveSnapshots(const LiveSnapshots&) = delete;
  LiveSnapshots& operator=(const LiveSnapshots&) = delete;

  // Any thread may call the following functions, except Stop, which only the main thread calls.

  /// Starts a snapshot; workers must run. Returns an empty string, or one line with the reason why
  /// none was started.
  std::string Begin();
  /// Aborts the current snapshot, which then leaves no file. Later requests have no effect. Waits
  /// for a worker only if that worker is copying a chain.
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

  mutable std::mutex mutex_;  // Protects the following members except thread_.
  std::condition_variable asked_;
  bool wanted_ = false;
  bool under_way_ = false;
  uint64_t written_ = 0, failed_ = 0;
  engine::kv::LiveFigures last_;  // Figures of the last snapshot written.
  std::thread thread_;
};

}  // namespace sluice::kv
