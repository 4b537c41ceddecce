// SPDX-License-Identifier: BSD-3-Clause
//
// Epochs with all their counters in files of a folder (--export_epochs), one each, for --merge. Of
// those that it has written, it keeps the latest.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "engine/telemetry/export/epoch_file.h"

namespace sluice::telemetry {

class EpochFiles {
 public:
  /// `kept`: how many stay; 0: all.
  EpochFiles(std::string folder, uint32_t kept) : folder_(std::move(folder)), kept_(kept) {}

  /// Writes epoch-START.sluice, START in ns since 1970; it is there when it is whole.
  void Write(const engine::telemetry::Epoch& epoch, const engine::telemetry::EpochTimes& times);

  uint64_t written() const { return written_; }
  /// One could not be written.
  bool failed() const { return failed_; }

 private:
  const std::string folder_;
  const uint32_t kept_;
  std::deque<std::string> files_;  // That are there, oldest first.
  uint64_t written_ = 0;
  bool failed_ = false;
};

}  // namespace sluice::telemetry
