// SPDX-License-Identifier: BSD-3-Clause
//
// Staging memory in which all rings, links and endpoints collect frames so that they are sent in
// bursts.
#pragma once

#include "device/frame_staging.h"
#include "regs/ipu.h"

namespace sluice::device::ipu {

using TxStaging = FrameStaging<64, 64 * 1024, regs::ipu::kMaxFrameBytes>;

}  // namespace sluice::device::ipu
