// SPDX-License-Identifier: BSD-3-Clause
//
// The driver's counters of dropped frames. enso_stats.cc adds the other counters.
#pragma once

#include "base/counter_rows.h"

namespace sluice::net_enso {

struct DriverDrops {
  enum Id { kRxTooLong, kRxStop, kTxUnframeable, kTxBadPacket, kIds };
  static constexpr auto kRows =
      base::CounterRows<Id, kIds>({{kRxTooLong, "rx_too_long", base::Dropped::kHost},
                                   {kRxStop, "rx_stop_drops", base::Dropped::kHost},
                                   {kTxUnframeable, "tx_unframeable", base::Dropped::kHost},
                                   {kTxBadPacket, "tx_bad_packet", base::Dropped::kHost}});
};

}  // namespace sluice::net_enso
