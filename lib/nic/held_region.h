// SPDX-License-Identifier: BSD-3-Clause
//
// The only file that includes the driver's native API for links. IpuLink and BilateralQueue include
// this file instead.
#pragma once

#include <type_traits>

#include "net_ipu/rte_pmd_ipu.h"
#include "swap/region.h"

namespace sluice::nic {

/// A region in the form that drivers use, while its worker holds it: from the swap that returned it
/// until it is given back. The link owns the memory. A driver's header is C, so it cannot use
/// swap::Region, which gives a region's position in the memory of its link.
using HeldRegion = rte_pmd_ipu_region;
static_assert(std::is_same_v<decltype(HeldRegion::entries), swap::Entry*>);

}  // namespace sluice::nic
