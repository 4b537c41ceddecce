// SPDX-License-Identifier: BSD-3-Clause
//
// The device's counters, indexed by regs::ipu::Statistic.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "regs/ipu.h"

namespace sluice::device::ipu {

using Statistics = std::array<uint64_t, regs::ipu::kStatisticCount>;

/// Names in register order.
inline constexpr std::array<std::string_view, regs::ipu::kStatisticCount> kStatisticNames = {
    "rx_frames",       "rx_bytes",      "rx_no_descriptor", "rx_oversize",  "rx_undersize",
    "rx_filtered",     "rx_flow_drop",  "rx_disabled",      "rx_dma_faults", "tx_frames",
    "tx_bytes",        "tx_bad_descriptor", "tx_dma_faults", "bad_doorbell"};

}  // namespace sluice::device::ipu
