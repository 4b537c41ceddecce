// SPDX-License-Identifier: BSD-3-Clause
//
// --iface=packetized: one queue pair of any ethdev per worker.
#pragma once

#include <memory>
#include <string>

#include "nic/interface.h"
#include "nic/packetized.h"

namespace sluice::nic {

class PacketizedBinding {
 public:
  static constexpr InterfaceInfo kInfo{.name = "packetized",
                                       .crosses = "one descriptor and one buffer per packet",
                                       .model = "net_ipu0"};

  Opened Open(const InterfaceOptions& options, std::string* error) {
    options_ = options;
    port_ = EthPort::Open(options.port,
                          {.rx_queues = options.workers,
                           .tx_queues = options.workers,
                           .promiscuous = options.promiscuous,
                           .packet_bytes = options.packet_bytes,
                           .before_start = options.before_start},
                          error);
    return port_ != nullptr ? Opened::kYes : Opened::kFailed;
  }
  std::string Place(uint32_t worker) const { return "queue " + std::to_string(worker); }
  bool has_queues() const { return true; }
  uint32_t packet_bytes() const { return port_->packet_bytes(); }
  InterfaceFigures Figures() const { return {}; }

  template <typename Run>
  int WithQueues(Run run) {
    return run([this](uint32_t worker) {
      const auto queue = static_cast<uint16_t>(worker);
      return PacketizedQueue(port_->id(), queue, options_.burst,
                             MakeExceptionPath(options_.exception, worker), port_->pool(queue));
    });
  }

 private:
  InterfaceOptions options_;
  std::unique_ptr<EthPort> port_;
};

}  // namespace sluice::nic
