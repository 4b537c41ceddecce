// SPDX-License-Identifier: BSD-3-Clause
//
// The host side of a connection to sluice-device: sends requests and validates replies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emulator/attach.h"
#include "emulator/channel.h"
#include "emulator/message.h"

namespace sluice::emulator {

/// A connection to sluice-device. Used by one thread at a time, except for Shutdown and fd.
class Connection {
 public:
  Connection() = default;
  explicit Connection(Channel channel) : channel_(std::move(channel)) {}

  int fd() const { return channel_.fd(); }
  void Shutdown() { channel_.Shutdown(); }
  /// Returns false once a request has not received a valid reply.
  bool good() const { return good_; }

  /// Sends `request`, together with `file` unless `file` is negative, and waits up to
  /// kMessagePatience for the reply. Returns false and sets `error` to a one-line message if the
  /// device rejects the request, does not answer, or sends an invalid reply. In the last two cases,
  /// the connection ends and good() returns false from then on.
  bool Ask(Request request, int file, Reply* reply, base::OwnedFd* received, std::string* error);
  /// Requests the statistics.
  bool AskStatistics(std::vector<Statistic>* statistics, std::string* error);

 private:
  bool Exchange(Request& request, int file, base::OwnedFd* received, std::string* error);

  Channel channel_;
  bool good_ = true;
  uint32_t sequence_ = 0;
  std::vector<uint8_t> buffer_;  ///< Contents of the last reply.
};

}  // namespace sluice::emulator
