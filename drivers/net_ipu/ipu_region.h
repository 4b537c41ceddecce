// SPDX-License-Identifier: BSD-3-Clause
//
// Describes a link's region as the native API does.
#pragma once

#include "net_ipu/rte_pmd_ipu.h"
#include "swap/host_link.h"

namespace sluice::net_ipu {

/// Describes the region that the host owns: link.holding() must be true.
inline rte_pmd_ipu_region DescribeRegion(const swap::HostLink& link) {
  const swap::Geometry& geometry = link.geometry();
  return {.base = link.region().base,
          .entries = link.region().entries(),
          .received = link.received(),
          .capacity = geometry.max_frames,
          .data = geometry.DataOffset(),
          .bytes = geometry.region_bytes};
}

}  // namespace sluice::net_ipu
