// SPDX-License-Identifier: BSD-3-Clause
//
// Counters of the Ensō NIC model: frames, events and all causes of drops. Only the stepping thread
// increments them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

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
  kRxNotificationsLost,  ///< Not written: the ring was full or disabled, the engine wedged, or bus
                         ///< mastering off.
  kRxNotificationsUnclaimed,  ///< Notifications written into the unused slot of a full ring; the
                              ///< tail does not advance.
  kRxNotificationHoles,       ///< Slots of buffer 0 skipped by head stores of disabled pipes.
  kRxHeadTriggers,            ///< Stores of a pipe's rx_head.
  kRxHeadTriggersLost,        ///< Stores of rx_head that found the trigger queue full.
  kTxFrames,                  ///< Frames cut from the byte stream.
  kTxBytes,                   ///< Bytes of the frames in kTxFrames, without MAC padding.
  kTxSlots,                   ///< Slots fetched, data and configuration.
  kTxConfigs,                 ///< Configuration commands, including unknown ones.
  kTxConfigsUnknown,          ///< Unknown configuration commands.
  kTxZeroLength,              ///< Slots of length 0, which wedge transmission.
  kTxOversize,       ///< Frames whose header gives a length above kMaxTxFrameFlits: deadlock.
  kFlowInsertsLost,  ///< Flow entries lost: all four rows were in use.
  kDmaFaults,        ///< Accesses outside the memory that the host registered.
  kWedged,           ///< 1 once a frame has wedged the DMA write engine.
  kCount,
};

inline constexpr uint32_t kEvents = static_cast<uint32_t>(Event::kCount);

/// Names in the order of Event.
inline constexpr std::array<std::string_view, kEvents> kEventNames = {"rx_frames",
                                                                      "rx_bytes",
                                                                      "rx_pipe_full",
                                                                      "rx_pipe_disabled",
                                                                      "rx_nb_disabled",
                                                                      "rx_no_fallback",
                                                                      "rx_oversize",
                                                                      "rx_empty",
                                                                      "rx_no_packet_buffer",
                                                                      "rx_stuck",
                                                                      "rx_notifications",
                                                                      "rx_notifications_lost",
                                                                      "rx_notifications_unclaimed",
                                                                      "rx_notification_holes",
                                                                      "rx_head_triggers",
                                                                      "rx_head_triggers_lost",
                                                                      "tx_frames",
                                                                      "tx_bytes",
                                                                      "tx_slots",
                                                                      "tx_configs",
                                                                      "tx_configs_unknown",
                                                                      "tx_zero_length",
                                                                      "tx_oversize",
                                                                      "flow_inserts_lost",
                                                                      "dma_faults",
                                                                      "wedged"};
static_assert(!kEventNames.back().empty());

class Tally {
 public:
  uint64_t& operator[](Event event) { return values_[static_cast<uint32_t>(event)]; }

 private:
  std::array<uint64_t, kEvents> values_{};
};

}  // namespace sluice::device::enso
