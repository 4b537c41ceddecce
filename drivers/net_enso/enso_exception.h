// SPDX-License-Identifier: BSD-3-Clause
//
// The port for frames that the NIC cannot send (exception=): it cuts the byte stream by IPv4's
// total length, so nothing but IPv4 leaves through it.
#pragma once

#include <rte_ethdev.h>
#include <rte_spinlock.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "dpdk/owned_port.h"

namespace sluice::net_enso {

/// Another ethdev, of which this object is the owner: applications leave it alone. Control path but
/// for Send.
class ExceptionPort {
 public:
  /// Null, with one line in `error`, if there is no such port or somebody has it. `owner`: for
  /// people, 63 characters at most.
  static std::unique_ptr<ExceptionPort> Own(const std::string& name, const char* owner,
                                            std::string* error);
  /// The port stays, stopped, for whoever wants it next.
  ~ExceptionPort();
  ExceptionPort(const ExceptionPort&) = delete;
  ExceptionPort& operator=(const ExceptionPort&) = delete;

  /// `pool`: for what arrives there, which nobody fetches; null: the port receives nothing. 0, or a
  /// negative errno.
  int Start(uint16_t mtu, rte_mempool* pool);
  void Stop();

  /// Sends the frame, which stays the caller's as well. False: there is no room, it has segments
  /// and the port takes none, or the port is gone. Any thread, one after the other: such frames are
  /// few.
  bool Send(rte_mbuf* frame);

  /// The port was released; another one may have its name.
  bool gone() const { return port_->gone(); }

 private:
  explicit ExceptionPort(std::unique_ptr<dpdk::OwnedPort> port) : port_(std::move(port)) {}

  const std::unique_ptr<dpdk::OwnedPort> port_;
  bool started_ = false;
  bool takes_segments_ = false;
  rte_spinlock_t lock_ = RTE_SPINLOCK_INITIALIZER;
};

}  // namespace sluice::net_enso
