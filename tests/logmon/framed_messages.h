// SPDX-License-Identifier: BSD-3-Clause
//
// Collects the messages of a syslog stream that arrives in pieces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/logmon/source/syslog_framing.h"

namespace sluice::test {

/// The receiver for ReadFrames. Like a monitor, it ignores empty messages.
struct FramedMessages {
  engine::logmon::SyslogFraming framing;
  std::string parts;
  std::vector<std::string> messages;

  void Feed(std::string_view bytes) { ReadFrames(framing, bytes, *this); }

  void Part(std::string_view bytes) { parts += bytes; }
  void Whole(std::string_view bytes) {
    parts += bytes;
    if (!parts.empty()) messages.push_back(parts);
    parts.clear();
  }
  void Restart() { parts.clear(); }
  void Found(bool /*skipped*/) { parts.clear(); }
};

}  // namespace sluice::test
