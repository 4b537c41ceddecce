// SPDX-License-Identifier: BSD-3-Clause
//
// The port for frames that the NIC cannot send (exception=). The NIC divides the byte stream into
// frames by their IPv4 total length, so it can send only IPv4 frames.
#pragma once

#include <rte_ethdev.h>
#include <rte_spinlock.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "dpdk/owned_port.h"

namespace sluice::net_enso {

/// Another ethdev port, which this object owns so that applications do not use it. All functions
/// except Send are for the control path.
class ExceptionPort {
 public:
  /// Returns null and sets `error` to one line if the port does not exist or has another owner.
  /// `owner` is a display name of at most 63 characters.
  static std::unique_ptr<ExceptionPort> Own(const std::string& name, const char* owner,
                                            std::string* error);
  /// Stops and releases the port, so that another owner can use it.
  ~ExceptionPort();
  ExceptionPort(const ExceptionPort&) = delete;
  ExceptionPort& operator=(const ExceptionPort&) = delete;

  /// `pool` provides mbufs for received frames, which are never read; if null, the port does not
  /// receive. Returns 0 or a negative errno.
  int Start(uint16_t mtu, rte_mempool* pool);
  void Stop();

  /// Sends the frame; the caller keeps its reference. Returns false if the queue is full, if the
  /// frame has several segments and the port does not support them, or if the port no longer
  /// exists. May be called by any thread. Calls are serialized, because they are rare.
  bool Send(rte_mbuf* frame);

  /// Returns whether the port has been released. Its name may then belong to another port.
  bool gone() const { return port_->gone(); }

 private:
  explicit ExceptionPort(std::unique_ptr<dpdk::OwnedPort> port) : port_(std::move(port)) {}

  const std::unique_ptr<dpdk::OwnedPort> port_;
  bool started_ = false;
  bool takes_segments_ = false;
  rte_spinlock_t lock_ = RTE_SPINLOCK_INITIALIZER;
};

}  // namespace sluice::net_enso
