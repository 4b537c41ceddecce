// SPDX-License-Identifier: BSD-3-Clause
//
// Wire counters. A port reports them with the prefix "wire_".
#pragma once

#include "base/counter_rows.h"

namespace sluice::emulator {

/// Frames that were affected by wire faults (emulator/faults.h).
struct FaultCounters {
  enum Kind { kDrop, kDuplicate, kReorder, kCorrupt, kDelay, kLinkDown, kPolice, kKinds };
  static constexpr auto kRows =
      base::CounterRows<Kind, kKinds>({{kDrop, "fault_drop", base::Dropped::kWire},
                                       {kDuplicate, "fault_dup"},
                                       {kReorder, "fault_reorder"},
                                       {kCorrupt, "fault_corrupt"},
                                       {kDelay, "fault_delay"},
                                       {kLinkDown, "fault_linkdown", base::Dropped::kWire},
                                       {kPolice, "fault_police", base::Dropped::kWire}});
};

/// Frames that a port used as a wire could not pass on (emulator/port.h).
struct PortCounters {
  enum Kind { kTxFull, kTxOversize, kTxNoMbuf, kRxUnusable, kKinds };
  static constexpr auto kRows =
      base::CounterRows<Kind, kKinds>({{kTxFull, "port_tx_full", base::Dropped::kWire},
                                       {kTxOversize, "port_tx_oversize", base::Dropped::kWire},
                                       {kTxNoMbuf, "port_tx_no_mbuf", base::Dropped::kWire},
                                       {kRxUnusable, "port_rx_unusable", base::Dropped::kWire}});
};

/// Frames that a loopback dropped (emulator/loopback.h).
struct LoopbackCounters {
  enum Kind { kFull, kKinds };
  static constexpr auto kRows =
      base::CounterRows<Kind, kKinds>({{kFull, "loopback_full", base::Dropped::kWire}});
};

/// Frames that a cable dropped or cut, and its connections (emulator/cable.h).
struct CableCounters {
  enum Kind { kFull, kDown, kOversize, kCutTx, kCutRx, kJoins, kKinds };
  static constexpr auto kRows =
      base::CounterRows<Kind, kKinds>({{kFull, "cable_full", base::Dropped::kWire},
                                       {kDown, "cable_down", base::Dropped::kWire},
                                       {kOversize, "cable_oversize", base::Dropped::kWire},
                                       {kCutTx, "cable_cut_tx", base::Dropped::kWire},
                                       {kCutRx, "cable_cut_rx", base::Dropped::kWire},
                                       {kJoins, "cable_joins"}});
};

}  // namespace sluice::emulator
