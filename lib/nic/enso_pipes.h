// SPDX-License-Identifier: BSD-3-Clause
//
// The pipes of one worker on an Ensō NIC, through the native API of net_enso. Frames are received
// and sent in place, without mbufs. Implements the concept PipeSet (pipe_set.h), which
// StreamingQueue uses.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "net_enso/rte_pmd_enso.h"
#include "nic/mbuf_transmitter.h"
#include "nic/pipe_set.h"
#include "nic/tap.h"

namespace sluice::nic {

/// One notification buffer (NB) with RX/TX pipes that share the NIC's fallback traffic, and one TX
/// pipe in which frames are composed. Used by one worker. Must be opened and closed while no worker
/// polls the port.
class EnsoPipes {
 public:
  /// The NIC's design limit: 24 flits.
  static constexpr uint32_t kMaxFrameBytes = 24 * RTE_PMD_ENSO_FLIT_BYTES;
  static_assert(packet::Frame::kSpareBytes <= kMaxFrameBytes,
                "a frame that fits into Frame::spare must not exceed kMaxFrameBytes");

  /// Opens 1 to kMaxPipesPerWorker pipes on a net_enso port. If `exception` has a value, it sends
  /// frames that exceed kMaxFrameBytes and frames from whose headers the NIC would derive a wrong
  /// length. On failure returns std::nullopt and sets `error` to one line.
  static std::optional<EnsoPipes> Open(uint16_t port, uint32_t pipes,
                                       std::optional<MbufTransmitter> exception,
                                       std::string* error);

  uint32_t Receive(std::span<Span> spans, QueueCounters& counters);
  FrameTotals Send(uint32_t pipe, const uint8_t* data, uint32_t bytes, uint32_t release_bytes);
  void Release(uint32_t pipe, uint32_t bytes);
  SendResult SendCopy(const uint8_t* frame, uint32_t length);
  uint8_t* spare() const { return spare_; }
  bool SendBuilt(uint32_t length) {
    if (!packet::TotalLengthCutsWell(spare_, length)) [[unlikely]]
      return false;
    Compose(packet::FlitSpan(length));
    return true;
  }
  template <FrameSource Source>
  FrameTotals Emit(const Source& source, uint32_t count);
  bool CanEmit(const uint8_t* frame, uint32_t length) const {
    return length <= kMaxFrameBytes && packet::TotalLengthCutsWell(frame, length);
  }
  FrameTotals Flush();
  void Drain();
  uint64_t waited_cycles() const { return patience_.waited_cycles(); }
  bool LinkUp() const { return rte_pmd_enso_link_up(nb_.get()); }
  void set_tap(SpanTap tap) { tap_ = tap; }

 private:
  struct CloseNb {
    void operator()(rte_pmd_enso_nb* nb) const { rte_pmd_enso_nb_close(nb); }
  };
  struct ClosePipe {
    void operator()(rte_pmd_enso_pipe* pipe) const { rte_pmd_enso_pipe_close(pipe); }
  };
  using Pipe = std::unique_ptr<rte_pmd_enso_pipe, ClosePipe>;

  EnsoPipes() = default;
  bool TrySend(rte_pmd_enso_pipe* pipe, const uint8_t* data, uint32_t bytes,
               uint32_t release_bytes);
  bool MakeRoom(uint32_t step);
  void SendComposed();
  bool SendEmitted(uint32_t bytes);
  SendResult SendException(const uint8_t* frame, uint32_t length);
  uint32_t AskForRoom();
  void FindSpare() {
    const bool fits = composed_bytes_ + packet::Frame::kSpareBytes <= room_bytes_;
    spare_ = fits ? room_ + composed_bytes_ : nullptr;
  }
  /// Records that the next `step` bytes of the room contain a frame.
  void Compose(uint32_t step) {
    PrefetchAhead(room_ + composed_bytes_, step);
    composed_bytes_ += step;
    FindSpare();
  }
  /// Prefetches the room ahead of the `step` bytes at `at`, which are about to be written.
  static void PrefetchAhead(const uint8_t* at, uint32_t step) {
    const uint8_t* ahead = at + kPrefetchAheadBytes;
    for (const uint8_t* const end = ahead + step; ahead != end; ahead += packet::kFlitBytes) {
      __builtin_prefetch(ahead, 1);
    }
  }

  std::unique_ptr<rte_pmd_enso_nb, CloseNb> nb_;  // Must outlive the NB's pipes.
  std::vector<Pipe> pipes_;
  Pipe composer_;
  /// Maximum total size of composed frames that are not sent yet. The limit lets the NIC send
  /// frames and free room while the worker continues.
  static constexpr uint32_t kComposedBytes = 32 * 1024;

  /// Distance at which the composer's cache lines are prefetched for writing. The NIC accessed them
  /// last, so without the prefetch a copy waits for each line.
  static constexpr uint32_t kPrefetchAheadBytes = 16 * packet::kFlitBytes;

  uint8_t* room_ = nullptr;      ///< Free room in the composer.
  uint32_t room_bytes_ = 0;      ///< Known free bytes at room_; if 0, room must be requested.
  uint32_t composed_bytes_ = 0;  ///< Unsent bytes at the start of room_.
  uint8_t* spare_ = nullptr;     ///< End of the unsent bytes if kSpareBytes fit there, else null.
  Patience patience_;            ///< Limits waits for NB slots and composer room.
  std::optional<MbufTransmitter> exception_;
  /// Totals of frames that were accepted since the last Send or Flush but could not be sent.
  FrameTotals unsent_;
  SpanTap tap_;
};

template <FrameSource Source>
FrameTotals EnsoPipes::Emit(const Source& source, uint32_t count) {
  if (composed_bytes_ > 0) SendComposed();
  const uint32_t room_bytes = AskForRoom();
  FrameTotals left;
  uint32_t at = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t length = source.length(i);
    const uint32_t step = packet::FlitSpan(length);
    if (at + step > room_bytes) break;
    PrefetchAhead(room_ + at, step);
    source.Write(i, room_ + at);
    at += step;
    ++left.pkts;
    left.bytes += length;
  }
  if (at == 0 || !SendEmitted(at)) return {};
  return left;
}

}  // namespace sluice::nic
