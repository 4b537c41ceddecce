// SPDX-License-Identifier: BSD-3-Clause
#include "nic/coherent_binding.h"

#include <rte_ethdev.h>

#include <cerrno>

namespace sluice::nic {

Opened CoherentBinding::Open(const InterfaceOptions& options, std::string* error) {
  options_ = options;
  options_.packet_bytes = FitPacketBytes(options.port, options.packet_bytes);
  open_ = true;
  const bool native = rte_pmd_ipu_supported(options.port);
  if (native && options.before_start) options.before_start();
  const int rc = IpuLines::Open(options_, &lines_, error);
  if (rc == 0) return Opened::kYes;
  if (rc == -ENOTSUP || !native) {
    *error =
        "--iface=coherent: " + PortText(options.port) +
        " does not support endpoints: use --vdev=net_ipu0 with wire= or device=, or give no device";
    return Opened::kBadArgument;
  }
  *error = PortText(options.port) + " " + *error;
  if (rc != -EINVAL) return Opened::kFailed;
  *error = "--workers=" + std::to_string(options.workers) + ": " + *error + ": give fewer workers";
  return Opened::kBadArgument;
}

InterfaceFigures CoherentBinding::Figures() const {
  using Stats = rte_pmd_ipu_endpoint_stats;
  return SumFigures<Stats>(
      "lines", "loads that the NIC answered and line events: totals since the start", lines_,
      {{"requests", &Stats::requests},
       {"tryagains", &Stats::tryagains},
       {"grants", &Stats::grants},
       {"resets", &Stats::resets},
       {"faults", &Stats::faults}});
}

CoherentBinding::~CoherentBinding() {
  lines_.clear();
  if (open_) rte_eth_dev_close(options_.port);
}

}  // namespace sluice::nic
