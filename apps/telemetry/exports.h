// SPDX-License-Identifier: BSD-3-Clause
//
// All destinations of reports: IPFIX, CSV, lines of JSON, and files with all counters of an epoch.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/telemetry/epoch.h"
#include "engine/telemetry/epoch_report.h"
#include "epoch_files.h"
#include "ipfix_sender.h"
#include "settings.h"

namespace sluice::telemetry {

class Exports {
 public:
  /// Opens sockets and files. Returns null, with the wrong flag and the fix, on failure.
  static std::unique_ptr<Exports> Open(const Settings& settings, uint64_t clock_unix_ns,
                                       std::string* flag, std::string* fix);

  /// Only one thread at a time may call it.
  void Write(const engine::telemetry::EpochReport& report, const engine::telemetry::Epoch& epoch);
  /// Call it after the last Write. Returns false, with one line in `error`, if a file is
  /// incomplete.
  bool Close(std::string* error);

  /// Returns the written amounts per destination; empty without exports. May be called by any
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
