// SPDX-License-Identifier: BSD-3-Clause
//
// Traffic that an application makes for its embedded NIC: a capture in memory, which the NIC's wire
// replays. No name in any folder leads to it, so nobody else can put a file or a link in its place.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/command_line.h"
#include "runtime/owned_fd.h"

namespace sluice::runtime {

/// Whether the embedded NIC's traffic is the application's to choose: there is such a NIC, and no
/// flag says what it brings.
bool WantsSample(const CommandLine& line);

/// The capture. Kept until Session::Start has returned; by then the NIC has loaded it.
class SampleCapture {
 public:
  /// Writes a capture to `path`. False, with one line in the error, if it cannot.
  using Write = std::function<bool(const std::string& path, std::string* error)>;

  /// Makes the capture and sets `options.wire` to replay it at --rate, with what `more` says
  /// ("+loop=1"), and `options.traffic` to `about` and the rate. Nothing, with one line in `error`,
  /// if it cannot.
  static std::optional<SampleCapture> Make(Options& options, const Write& write,
                                           const std::string& about, std::string_view more,
                                           std::string* error);

 private:
  explicit SampleCapture(OwnedFd file) : file_(std::move(file)) {}

  OwnedFd file_;
};

}  // namespace sluice::runtime
