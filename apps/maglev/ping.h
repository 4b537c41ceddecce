// SPDX-License-Identifier: BSD-3-Clause
//
// ICMP echo from a ping socket of the kernel: no privilege, where
// net.ipv4.ping_group_range lets our group in. Not blocking.
#pragma once

#include <cstdint>

#include "engine/maglev/address.h"

namespace sluice::maglev {

class Ping {
 public:
  /// Sends an echo request. It has failed() if the kernel does not send it.
  explicit Ping(const engine::maglev::IpAddress& to);
  ~Ping();
  Ping(const Ping&) = delete;
  Ping& operator=(const Ping&) = delete;

  bool failed() const { return fd_ < 0; }
  /// The reason, if it failed and the backend is not the reason; else 0. See local_fault.h.
  int local_fault() const { return local_fault_; }
  /// To poll for reading; -1 if it failed.
  int fd() const { return fd_; }
  /// Reads what came. True: the answer is among it.
  bool IsAnswered();

 private:
  bool Send(const engine::maglev::IpAddress& to);

  int fd_;
  int local_fault_ = 0;
  uint8_t answer_type_;
};

}  // namespace sluice::maglev
