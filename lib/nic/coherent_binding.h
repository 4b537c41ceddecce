// SPDX-License-Identifier: BSD-3-Clause
//
// --iface=coherent: one endpoint of a net_ipu port per worker.
#pragma once

#include <string>
#include <vector>

#include "nic/coherent.h"
#include "nic/interface.h"
#include "nic/ipu_lines.h"

namespace sluice::nic {

class CoherentBinding {
 public:
  static constexpr InterfaceInfo kInfo{
      .name = "coherent",
      .crosses =
          "cache lines: a load waits until the NIC answers with frames; the next load returns them",
      .model = "net_ipu0"};

  CoherentBinding() = default;
  ~CoherentBinding();
  CoherentBinding(const CoherentBinding&) = delete;
  CoherentBinding& operator=(const CoherentBinding&) = delete;

  Opened Open(const InterfaceOptions& options, std::string* error);
  std::string Place(uint32_t worker) const { return "endpoint " + std::to_string(worker); }
  bool has_queues() const { return true; }
  uint32_t packet_bytes() const { return options_.packet_bytes; }
  /// Returns the counts of loads and of the NIC's answers.
  InterfaceFigures Figures() const;

  template <typename Run>
  int WithQueues(Run run) {
    return run([this](uint32_t worker) {
      return CoherentQueue<IpuLines>(lines_[worker], MakeExceptionPath(options_.exception, worker));
    });
  }

 private:
  InterfaceOptions options_;
  bool open_ = false;
  std::vector<IpuLines> lines_;  ///< One per worker.
};

}  // namespace sluice::nic
