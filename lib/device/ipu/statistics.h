// SPDX-License-Identifier: BSD-3-Clause
//
// The device's counters, indexed by regs::ipu::Statistic.
#pragma once

#include <array>
#include <cstdint>

#include "regs/ipu.h"

namespace sluice::device::ipu {

using Statistics = std::array<uint64_t, regs::ipu::kStatisticCount>;

}  // namespace sluice::device::ipu
