// SPDX-License-Identifier: BSD-3-Clause
//
// An endpoint of cache lines in place of a queue pair's rings: frames from the wire go into the
// line that the host loads, or will load next; what the host returns in lines is sent.
//
//   the host's last load is n      the line of n             the other line
//   n waits                        is filled, and answered   may hold frames to send
//   n was answered                 is the host's             is filled for n + 1 once its frames
//                                                            have left
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
  /// Takes up the endpoint in [base, base + bytes). False, and there is none, if no sound one for
  /// frames lies there.
  bool Enable(const bar::DmaSpace& dma, uint64_t base, uint64_t bytes, uint64_t now_ns);
  /// Closes it, for ever: its memory is not touched any more. Frames in it are counted, but for
  /// those that the host knows it has not got rid of.
  void Disable(Statistics& statistics);
  /// The same when the host is gone: all that it held is counted, none of its memory is touched.
  void Abandon(Statistics& statistics);
  bool enabled() const { return end_ != nullptr; }
  /// Whether all of its memory is still there.
  bool Reachable(const bar::DmaSpace& dma) const { return dma.Translate(base_, bytes_) != nullptr; }

  // The rest only while enabled.

  /// Looks what the host loads, takes what it returns and answers it with what there is. A host
  /// that breaks the protocol has its endpoint closed: then it is not enabled any more.
  void Serve(uint64_t now_ns, Statistics& statistics);

  uint32_t MaxFrame() const { return max_frame_; }
  /// Writes one frame of at most MaxFrame() bytes, to be answered with by the next Serve or
  /// Answer. False: no line has room.
  bool Write(const WireFrame& frame, Statistics& statistics);
  /// The same for leading frames of kMinFrameBytes to `max_length` bytes. Returns their number
  /// and adds their lengths to `bytes`.
  uint32_t WritePlain(std::span<const WireFrame> frames, uint32_t max_length, uint64_t* bytes,
                      Statistics& statistics);
  /// Answers a load that waits with what was written.
  void Answer(Statistics& statistics);

  bool pending() const { return sending_[0].busy || sending_[1].busy; }
  /// Gathers about `budget` > 0 frames that came back into `staging`. Returns their number.
  uint32_t Run(TxStaging& staging, FrameSink& sink, Statistics& statistics, uint32_t budget);

 private:
  /// What came back in a line of a pair and has not left.
  struct Sending {
    std::span<uint8_t> payload;
    coherent::FrameWalker frames{{}, 0};
    bool busy = false;
  };

  Sending& Of(coherent::Pair pair) { return sending_[static_cast<size_t>(pair)]; }
  /// False: the endpoint was closed.
  bool Look(coherent::Pair pair, uint64_t now_ns, Statistics& statistics);
  void Take(coherent::Pair pair, Statistics& statistics);
  /// Begins a line, if one is free.
  bool Begin();
  /// Room for a frame; null: none.
  uint8_t* Reserve(uint32_t length, Statistics& statistics);

  uint64_t base_ = 0;  ///< Of memory_, as bus address.
  uint64_t bytes_ = 0;
  coherent::EndpointMemory memory_;
  std::unique_ptr<coherent::NicEnd> end_;
  uint32_t max_frame_ = 0;
  uint32_t fill_bytes_ = 0;           ///< Of a line's payload: what frames from the wire may take.
  coherent::FrameWriter writer_{{}};  ///< Of the line that is filled, while filling_.
  bool filling_ = false;
  uint32_t lent_ = 0;  ///< Frames that the last answer held, until the line comes back.
  std::array<Sending, coherent::kPairs> sending_;
};

}  // namespace sluice::device::ipu
