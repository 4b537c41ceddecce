// SPDX-License-Identifier: BSD-3-Clause
//
// --iface=bilateral: one link of a net_ipu port per worker.
#pragma once

#include <string>
#include <vector>

#include "nic/bilateral.h"
#include "nic/interface.h"
#include "nic/ipu_link.h"

namespace sluice::nic {

class BilateralBinding {
 public:
  static constexpr InterfaceInfo kInfo{.name = "bilateral",
                                       .crosses = "atomic swap of regions between host and NIC",
                                       .model = "net_ipu0"};

  BilateralBinding() = default;
  ~BilateralBinding();
  BilateralBinding(const BilateralBinding&) = delete;
  BilateralBinding& operator=(const BilateralBinding&) = delete;

  Opened Open(const InterfaceOptions& options, std::string* error);
  std::string Place(uint32_t worker) const { return "link " + std::to_string(worker); }
  bool has_queues() const { return true; }
  uint32_t packet_bytes() const { return options_.packet_bytes; }
  /// Returns the counts of swaps and link events.
  InterfaceFigures Figures() const;

  template <typename Run>
  int WithQueues(Run run) {
    return run([this](uint32_t worker) {
      return BilateralQueue<IpuLink>(links_[worker], MakeExceptionPath(options_.exception, worker));
    });
  }

 private:
  InterfaceOptions options_;
  bool open_ = false;
  std::vector<IpuLink> links_;  ///< One per worker.
};

}  // namespace sluice::nic
