// SPDX-License-Identifier: BSD-3-Clause
//
// Writes epochs with all their counters to files in a folder (--export_epochs), one file each, for
// --merge. Deletes the oldest of its files beyond a limit.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "engine/telemetry/export/epoch_file.h"

namespace sluice::telemetry {

class EpochFiles {
 public:
  /// `kept`: maximum number of files, beyond which the oldest are deleted; 0: unlimited.
  EpochFiles(std::string folder, uint32_t kept) : folder_(std::move(folder)), kept_(kept) {}

  /// Writes epoch-START.sluice, START in ns since 1970. The file appears under this name when it is
  /// complete.
  void Write(const engine::telemetry::Epoch& epoch, const engine::telemetry::EpochTimes& times);

  uint64_t written() const { return written_; }
  /// Returns whether a file could not be written.
  bool failed() const { return failed_; }

 private:
  const std::string folder_;
  const uint32_t kept_;
  std::deque<std::string> files_;  // Existing files, oldest first.
  uint64_t written_ = 0;
  bool failed_ = false;
};

}  // namespace sluice::telemetry
