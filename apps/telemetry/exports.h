// SPDX-License-Identifier: BSD-3-Clause
//
// All destinations of reports: IPFIX, CSV, JSON lines, and files with all counters of an epoch.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/telemetry/epoch.h"
#include "engine/telemetry/epoch_report.h"
#include "engine/telemetry/export/epoch_file.h"
#include "ipfix_sender.h"
#include "settings.h"

namespace sluice::telemetry {

/// For --merge, writes epochs with all their counters to a folder (--export_epochs), one file per
/// epoch. If there are too many files, deletes the oldest ones that it wrote.
class EpochFiles {
 public:
  /// `kept`: maximum number of files; 0: unlimited.
  EpochFiles(std::string folder, uint32_t kept) : folder_(std::move(folder)), kept_(kept) {}

  /// Writes epoch-START.sluice, where START is in ns since 1970. The file gets this name only when
  /// it is complete.
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

class Exports {
 public:
  /// Opens sockets and files. On failure, returns null and sets `flag` and `fix`.
  static std::unique_ptr<Exports> Open(const Settings& settings, uint64_t clock_unix_ns,
                                       std::string* flag, std::string* fix);

  /// Only one thread at a time may call it.
  void Write(const engine::telemetry::EpochReport& report, const engine::telemetry::Epoch& epoch);
  /// Call it after the last Write. Returns false and sets `error` if a file is incomplete.
  bool Close(std::string* error);

  /// Returns the amounts written per destination; empty without exports. May be called by any
  /// thread.
  nlohmann::ordered_json Counts() const;

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  /// A file that is written in whole lines.
  struct File {
    std::string flag;
    std::string path;
    std::unique_ptr<std::FILE, CloseFile> file;
    bool failed = false;

    bool Open(const std::string& its_flag, const std::string& its_path);
    void Write(const std::string& text);
  };

  Exports(const Settings& settings, uint64_t clock_unix_ns)
      : confidence_(settings.setup.confidence), clock_unix_ns_(clock_unix_ns) {}

  const double confidence_;
  const uint64_t clock_unix_ns_;
  std::unique_ptr<IpfixSender> ipfix_;
  File csv_, json_;
  std::unique_ptr<EpochFiles> files_;
  std::string folder_;
  std::atomic<uint64_t> epochs_ = 0, epoch_files_ = 0, ipfix_messages_ = 0, ipfix_failed_ = 0;
};

}  // namespace sluice::telemetry
