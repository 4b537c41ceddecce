// SPDX-License-Identifier: BSD-3-Clause
#include "nic/bilateral_binding.h"

#include <rte_ethdev.h>

#include <cerrno>

namespace sluice::nic {

Opened BilateralBinding::Open(const InterfaceOptions& options, std::string* error) {
  options_ = options;
  options_.packet_bytes = FitPacketBytes(options.port, options.packet_bytes);
  open_ = true;
  const bool native = rte_pmd_ipu_supported(options.port);
  if (native && options.before_start) options.before_start();
  const int rc = IpuLink::Open(options_, &links_, error);
  if (rc == -ENOTSUP || !native) {
    *error =
        "--iface=bilateral: " + PortText(options.port) +
        " does not support links: use --vdev=net_ipu0 with wire= or device=, or give no device";
    return Opened::kBadArgument;
  }
  if (rc == 0) return Opened::kYes;
  *error = PortText(options.port) + " " + *error;
  if (rc != -EINVAL) return Opened::kFailed;
  *error = "--workers=" + std::to_string(options.workers) + ": " + *error + ": give fewer workers";
  return Opened::kBadArgument;
}

InterfaceFigures BilateralBinding::Figures() const {
  using Stats = rte_pmd_ipu_link_stats;
  return SumFigures<Stats>("links", "regions exchanged and link events: totals since the start",
                           links_,
                           {{"swaps", &Stats::swaps},
                            {"rejected", &Stats::rejected},
                            {"too_late", &Stats::too_late},
                            {"suspects", &Stats::suspects},
                            {"resets", &Stats::resets},
                            {"in_doubt", &Stats::in_doubt},
                            {"faults", &Stats::faults},
                            {"discarded_pkts", &Stats::discarded_pkts}});
}

BilateralBinding::~BilateralBinding() {
  links_.clear();
  if (open_) rte_eth_dev_close(options_.port);
}

}  // namespace sluice::nic
