// SPDX-License-Identifier: BSD-3-Clause
//
// Counters of the transport unit. Only the stepping thread increments them.
#pragma once

#include <cstdint>

#include "base/counter_rows.h"

namespace sluice::device::transport {

enum class Event : uint32_t {
  kRxSegments,     ///< Frames from the wire that were TCP segments for the unit.
  kTxSegments,     ///< TCP segments sent to the wire.
  kRetransmitted,  ///< Those of kTxSegments that were sent again.
  kOpened,         ///< Connections that were established.
  kRefused,        ///< SYN segments refused because of a limit.
  kRxBytes,        ///< Bytes received in order, written into rings.
  kTxBytes,        ///< Bytes read from rings.
  kRecords,        ///< Records written for the host.
  kRxForged,       ///< Dropped: frames from the wire with the unit's MAC address.
  kBadRecords,     ///< Records of the host that do not fit the state of a connection; it is reset.
  kFaults,         ///< Accesses to rings outside the memory that the host registered.
  kCount,
};

inline constexpr uint32_t kEvents = static_cast<uint32_t>(Event::kCount);

inline constexpr auto kEventRows = base::CounterRows<Event, kEvents>(
    {{Event::kRxSegments, "transport_rx_segments"},
     {Event::kTxSegments, "transport_tx_segments"},
     {Event::kRetransmitted, "transport_retransmitted"},
     {Event::kOpened, "transport_opened"},
     {Event::kRefused, "transport_refused"},
     {Event::kRxBytes, "transport_rx_bytes"},
     {Event::kTxBytes, "transport_tx_bytes"},
     {Event::kRecords, "transport_records"},
     {Event::kRxForged, "transport_rx_forged", base::Dropped::kNic},
     {Event::kBadRecords, "transport_bad_records"},
     {Event::kFaults, "transport_faults"}});

}  // namespace sluice::device::transport
