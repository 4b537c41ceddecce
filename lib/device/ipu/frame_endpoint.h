// SPDX-License-Identifier: BSD-3-Clause
//
// A cache-line endpoint, which replaces a queue pair's rings. Frames from the wire are written to
// the line that the host has loaded or will load next; frames that the host returns in lines are
// sent.
//
//   state of load n (the last)     the line of n                the other line
//   waits for its answer           is filled and delivered      may hold frames to send
//   was answered                   belongs to the host          is filled for n + 1 once its frames
//                                                               are sent
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "bar/dma.h"
#include "coherent/endpoint_memory.h"
#include "coherent/frames.h"
#include "coherent/nic_end.h"
#include "device/device.h"
#include "device/ipu/statistics.h"
#include "device/ipu/tx_queue.h"

namespace sluice::device::ipu {

class FrameEndpoint {
 public:
  /// Opens the endpoint in [base, base + bytes). Returns false and opens nothing if the memory does
  /// not contain a valid endpoint for frames.
  bool Enable(const bar::DmaSpace& dma, uint64_t base, uint64_t bytes, uint64_t now_ns);
  /// Closes the endpoint; its memory is not accessed again before the next Enable. Frames in it are
  /// counted as discarded, except those that the host still owns because its load is pending.
  void Disable(Statistics& statistics);
  /// Closes the endpoint of a dead host: without accessing the endpoint's memory, counts all frames
  /// that the host held.
  void Abandon(Statistics& statistics);
  bool enabled() const { return end_ != nullptr; }
  /// Returns whether all memory of the endpoint is still mapped.
  bool Reachable(const bar::DmaSpace& dma) const { return dma.Translate(base_, bytes_) != nullptr; }

  // The methods below may be called only while enabled() is true.

  /// Polls the host's loads, accepts the lines that the host returns, and delivers received frames.
  /// Disables the endpoint if the host violates the protocol.
  void Serve(uint64_t now_ns, Statistics& statistics);

  uint32_t MaxFrame() const { return max_frame_; }
  /// Writes one frame of at most MaxFrame() bytes. Serve or Answer delivers the frame once a load
  /// is pending. Returns false if no line has room.
  bool Write(const WireFrame& frame, Statistics& statistics);
  /// Writes frames until it reaches one whose length is not between kMinFrameBytes and
  /// min(`max_length`, MaxFrame()), or for which there is no room. Returns the number of written
  /// frames and adds their lengths to `bytes`.
  uint32_t WritePlain(std::span<const WireFrame> frames, uint32_t max_length, uint64_t* bytes,
                      Statistics& statistics);
  /// Delivers the written frames if a load is pending.
  void Answer(Statistics& statistics);

  bool pending() const { return sending_[0].busy || sending_[1].busy; }
  /// Copies at most `budget` returned frames into `staging`, which delivers full bursts to `sink`.
  /// Returns their number.
  uint32_t Run(TxStaging& staging, FrameSink& sink, Statistics& statistics, uint32_t budget);

 private:
  /// Frames that the host returned in a line of one pair and that have not been sent yet.
  struct Sending {
    std::span<uint8_t> payload;
    coherent::FrameWalker frames{{}, 0};
    bool busy = false;
  };

  Sending& Of(coherent::Pair pair) { return sending_[static_cast<size_t>(pair)]; }
  /// Handles the loads and returned lines of one pair. Returns false if this has closed the
  /// endpoint.
  bool Look(coherent::Pair pair, uint64_t now_ns, Statistics& statistics);
  void AcceptReturn(coherent::Pair pair, Statistics& statistics);
  /// Begins to fill a line. Returns false if no line is free.
  bool Begin();
  /// Returns the address for a frame of `length` bytes in the current line, or null if no line has
  /// room.
  uint8_t* Reserve(uint32_t length, Statistics& statistics);

  uint64_t base_ = 0;  ///< Bus address of memory_.
  uint64_t bytes_ = 0;
  coherent::EndpointMemory memory_;
  std::unique_ptr<coherent::NicEnd> end_;
  uint32_t max_frame_ = 0;
  uint32_t fill_bytes_ = 0;           ///< Payload bytes of a line that received frames may use.
  coherent::FrameWriter writer_{{}};  ///< Writes to the current line, while filling_.
  bool filling_ = false;
  uint32_t lent_ = 0;  ///< Frames in the delivered line, until the host returns it.
  std::array<Sending, coherent::kPairs> sending_;
};

}  // namespace sluice::device::ipu
