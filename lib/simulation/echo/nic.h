// SPDX-License-Identifier: BSD-3-Clause
//
// Common parts of the two simulated NICs: a wire, buffers in front of the link, and workers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "fabric/cpu.h"
#include "fabric/event_queue.h"
#include "simulation/echo/dma_link.h"
#include "simulation/echo/echo.h"
#include "simulation/echo/sizes.h"
#include "simulation/processor.h"

namespace sluice::simulation {

/// The transmit side of the wire. Frames leave one after another.
class WireOut {
 public:
  static constexpr Picoseconds kFrameTime =
      static_cast<Picoseconds>(kWireBytes * 8 * 1e12 / kWireBits);

  /// Latencies are recorded only for frames that arrive at `from` or later. The rate counts only
  /// frames that leave after `from` and no later than `until`. No frames arrive after `until`, so
  /// the remaining frames have the link to themselves and would leave faster.
  WireOut(Picoseconds from, Picoseconds until) : from_(from), until_(until) {}

  /// Sends a frame that arrived at the time `came`.
  void Leaves(Picoseconds now, Picoseconds came) {
    free_at_ = std::max(free_at_, now) + kFrameTime;
    ++left_;
    in_window_ += free_at_ > from_ && free_at_ <= until_;
    if (came >= from_) latencies_.push_back(free_at_ - came);
  }

  uint64_t left() const { return left_; }  ///< Includes frames that were not measured.
  std::vector<Picoseconds> ReleaseLatencies() { return std::move(latencies_); }
  double FramesPerSecond() const {
    return static_cast<double>(in_window_) / (static_cast<double>(until_ - from_) * 1e-12);
  }

 private:
  Picoseconds from_;
  Picoseconds until_;
  Picoseconds free_at_ = 0;
  uint64_t left_ = 0;
  uint64_t in_window_ = 0;
  std::vector<Picoseconds> latencies_;
};

/// A host core and its busy time.
class EchoWorker {
 public:
  explicit EchoWorker(fabric::EventQueue& queue) : cpu_(queue), processor_(queue, cpu_) {}

  void Work(Picoseconds duration) {
    busy_ += duration;
    processor_.Compute(duration);
  }
  Processor& processor() { return processor_; }
  Picoseconds busy() const { return busy_; }

 private:
  fabric::Cpu cpu_;
  Processor processor_;
  Picoseconds busy_ = 0;
};

/// Base class of the simulated NICs and their workers, which start when the NIC is constructed.
class EchoNic {
 public:
  EchoNic(fabric::EventQueue& queue, const EchoParameters& parameters, WireOut& wire)
      : parameters_(parameters),
        queue_(&queue),
        link_(queue, parameters.link, parameters.costs.pcie_oneway),
        wire_(&wire) {}
  virtual ~EchoNic() = default;
  EchoNic(const EchoNic&) = delete;
  EchoNic& operator=(const EchoNic&) = delete;

  /// Called when frame `number` arrives.
  virtual void Receive(uint32_t number) = 0;
  virtual Picoseconds WorkersBusy() const = 0;
  uint64_t dropped() const { return dropped_; }

 protected:
  /// Returns whether a buffer is free for a frame. If not, counts the frame as dropped.
  bool HasBuffer() {
    while (!waiting_.empty() && waiting_.front() <= queue_->now()) waiting_.pop_front();
    if (waiting_.size() < parameters_.buffers) return true;
    Drop();
    return false;
  }
  /// Writes a frame to host memory.
  void WriteFrame(uint32_t bytes) { waiting_.push_back(link_.DeviceWrites(bytes)); }
  void Drop() { ++dropped_; }

  const EchoParameters& parameters() const { return parameters_; }
  fabric::EventQueue& queue() { return *queue_; }
  DmaLink& link() { return link_; }
  WireOut& wire() { return *wire_; }

 private:
  EchoParameters parameters_;
  fabric::EventQueue* queue_;
  DmaLink link_;
  WireOut* wire_;
  std::deque<Picoseconds> waiting_;  ///< Time at which each frame begins to leave its buffer.
  uint64_t dropped_ = 0;
};

std::unique_ptr<EchoNic> MakePacketNic(fabric::EventQueue& queue, const EchoParameters& parameters,
                                       WireOut& wire);
std::unique_ptr<EchoNic> MakePipeNic(fabric::EventQueue& queue, const EchoParameters& parameters,
                                     WireOut& wire);

}  // namespace sluice::simulation
