// SPDX-License-Identifier: BSD-3-Clause
//
// Traffic that an application generates for its embedded NIC: a capture in anonymous memory, which
// the NIC's wire replays. It has no path, so other users cannot replace it by a file or a link.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/owned_fd.h"
#include "runtime/command_line.h"

namespace sluice::runtime {

/// Returns whether the application generates the embedded NIC's traffic: the NIC exists, and
/// neither --wire nor --pcap defines its traffic.
bool WantsSample(const CommandLine& line);

/// Owns the capture. Must exist until Session::Start has returned; the NIC has then loaded it.
class SampleCapture {
 public:
  /// Writes a capture to `path`. Returns false, with one line in `error`, on failure.
  using Write = std::function<bool(const std::string& path, std::string* error)>;

  /// Creates the capture. Sets `options.wire` to replay it at --rate with the suffix `more`
  /// ("+loop=1"), and `options.traffic` to `about` and the rate. Returns nullopt, with one line in
  /// `error`, on failure.
  static std::optional<SampleCapture> Make(Options& options, const Write& write,
                                           const std::string& about, std::string_view more,
                                           std::string* error);

 private:
  explicit SampleCapture(base::OwnedFd file) : file_(std::move(file)) {}

  base::OwnedFd file_;
};

}  // namespace sluice::runtime
