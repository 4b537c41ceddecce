// SPDX-License-Identifier: BSD-3-Clause
//
// Counters of the Ensō NIC model: frames, events and all causes of drops. Only the stepping thread
// increments them.
#pragma once

#include <array>
#include <cstdint>

#include "base/counter_rows.h"

namespace sluice::device::enso {

enum class Event : uint32_t {
  kRxFrames,             ///< Frames written into a pipe.
  kRxBytes,              ///< Bytes of the frames in kRxFrames, without padding.
  kRxPipeFull,           ///< Dropped: fewer free flits than the frame needs.
  kRxPipeDisabled,       ///< Dropped: the pipe's rx_mem is zero.
  kRxNbDisabled,         ///< Dropped: the pipe's notification buffer is disabled.
  kRxNoFallback,         ///< Dropped: no flow entry and no fallback pipes.
  kRxOversize,           ///< Dropped: more than kMaxRxFlits.
  kRxEmpty,              ///< Dropped: length 0.
  kRxNoPacketBuffer,     ///< Dropped: all packet buffers hold frames of a wedged engine.
  kRxStuck,              ///< Held in packet buffers forever by a wedged engine.
  kRxNotifications,      ///< Notifications written.
  kRxNotificationsLost,  ///< Not written: the ring was full or disabled, the engine was wedged, or
                         ///< bus mastering was off.
  kRxNotificationsUnclaimed,  ///< Notifications written to the unused slot of a full ring; the tail
                              ///< does not advance.
  kRxNotificationHoles,       ///< Slots of buffer 0 skipped by head stores to disabled pipes.
  kRxHeadTriggers,            ///< Stores to a pipe's rx_head.
  kRxHeadTriggersLost,        ///< Stores to rx_head that were lost because the trigger queue was
                              ///< full.
  kTxFrames,                  ///< Frames cut from the byte stream.
  kTxBytes,                   ///< Bytes of the frames in kTxFrames, without MAC padding.
  kTxSlots,                   ///< Slots fetched, data and configuration.
  kTxConfigs,                 ///< Configuration commands, including unknown ones.
  kTxConfigsUnknown,          ///< Unknown configuration commands.
  kTxZeroLength,              ///< Slots of length 0, which wedge transmission.
  kTxOversize,       ///< Frames whose header contains a length above kMaxTxFrameFlits: deadlock.
  kFlowInsertsLost,  ///< Flow entries lost: all four rows were in use.
  kDmaFaults,        ///< Accesses outside the memory that the host registered.
  kWedged,           ///< 1 once a frame has wedged the DMA write engine.
  kCount,
};

inline constexpr uint32_t kEvents = static_cast<uint32_t>(Event::kCount);

inline constexpr auto kEventRows = base::CounterRows<Event, kEvents>(
    {{Event::kRxFrames, "rx_frames"},
     {Event::kRxBytes, "rx_bytes"},
     {Event::kRxPipeFull, "rx_pipe_full", base::Dropped::kNic},
     {Event::kRxPipeDisabled, "rx_pipe_disabled", base::Dropped::kNic},
     {Event::kRxNbDisabled, "rx_nb_disabled", base::Dropped::kNic},
     {Event::kRxNoFallback, "rx_no_fallback", base::Dropped::kNic},
     {Event::kRxOversize, "rx_oversize", base::Dropped::kNic},
     {Event::kRxEmpty, "rx_empty", base::Dropped::kNic},
     {Event::kRxNoPacketBuffer, "rx_no_packet_buffer", base::Dropped::kNic},
     {Event::kRxStuck, "rx_stuck", base::Dropped::kNic},
     {Event::kRxNotifications, "rx_notifications"},
     {Event::kRxNotificationsLost, "rx_notifications_lost"},
     {Event::kRxNotificationsUnclaimed, "rx_notifications_unclaimed"},
     {Event::kRxNotificationHoles, "rx_notification_holes"},
     {Event::kRxHeadTriggers, "rx_head_triggers"},
     {Event::kRxHeadTriggersLost, "rx_head_triggers_lost"},
     {Event::kTxFrames, "tx_frames"},
     {Event::kTxBytes, "tx_bytes"},
     {Event::kTxSlots, "tx_slots"},
     {Event::kTxConfigs, "tx_configs"},
     {Event::kTxConfigsUnknown, "tx_configs_unknown"},
     {Event::kTxZeroLength, "tx_zero_length"},
     {Event::kTxOversize, "tx_oversize", base::Dropped::kHost},
     {Event::kFlowInsertsLost, "flow_inserts_lost"},
     {Event::kDmaFaults, "dma_faults"},
     {Event::kWedged, "wedged"}});
inline constexpr auto kEventNames = base::NamesOf(kEventRows);

class Tally {
 public:
  uint64_t& operator[](Event event) { return values_[static_cast<uint32_t>(event)]; }

 private:
  std::array<uint64_t, kEvents> values_{};
};

}  // namespace sluice::device::enso
