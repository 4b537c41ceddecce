// SPDX-License-Identifier: BSD-3-Clause
//
// Traffic that an application generates for its embedded NIC: a capture in anonymous memory, which
// the NIC's wire replays. It has no path, so other users cannot replace it with a file or a link.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/owned_fd.h"
#include "runtime/command_line.h"

namespace sluice::runtime {

/// Returns whether the application generates the embedded NIC's traffic: the NIC must exist, and
/// neither --wire nor --pcap may define its traffic.
bool WantsSample(const CommandLine& line);

/// Owns the capture. Must exist until Session::Start has returned, because the NIC has then loaded
/// the capture.
class SampleCapture {
 public:
  /// Writes a capture to `path`. On failure returns false with one line in `error`.
  using Write = std::function<bool(const std::string& path, std::string* error)>;

  /// Creates the capture. Sets `options.wire` so that the wire replays the capture at --rate, with
  /// the suffix `more` ("+loop=1"), and sets `options.traffic` to `about` and the rate. On failure
  /// returns nullopt with one line in `error`.
  static std::optional<SampleCapture> Make(Options& options, const Write& write,
                                           const std::string& about, std::string_view more,
                                           std::string* error);

 private:
  explicit SampleCapture(base::OwnedFd file) : file_(std::move(file)) {}

  base::OwnedFd file_;
};

}  // namespace sluice::runtime
