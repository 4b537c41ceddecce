// SPDX-License-Identifier: BSD-3-Clause
//
// ICMP echo over a non-blocking ping socket of the kernel. It needs no privilege if
// net.ipv4.ping_group_range includes the process's group.
#pragma once

#include <cstdint>

#include "engine/maglev/address.h"

namespace sluice::maglev {

class Ping {
 public:
  /// Sends an echo request. failed() returns true if the kernel does not send it.
  explicit Ping(const engine::maglev::IpAddress& to);
  ~Ping();
  Ping(const Ping&) = delete;
  Ping& operator=(const Ping&) = delete;

  bool failed() const { return fd_ < 0; }
  /// Returns the errno of a local fault; 0 if there was none. See local_fault.h.
  int local_fault() const { return local_fault_; }
  /// Returns the descriptor to poll for reading; -1 after a failure.
  int fd() const { return fd_; }
  /// Reads all received messages. Returns true if the answer is among them.
  bool IsAnswered();

 private:
  bool Send(const engine::maglev::IpAddress& to);

  int fd_;
  int local_fault_ = 0;
  uint8_t answer_type_;
};

}  // namespace sluice::maglev
