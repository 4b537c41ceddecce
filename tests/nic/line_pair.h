// SPDX-License-Identifier: BSD-3-Clause
//
// Both ends of an endpoint in one thread: the host's end for a CoherentQueue, and the NIC's end for
// the test. The ends and the memory layout are real; only the driver and the rest of the device
// model are absent.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bar/dma.h"
#include "coherent/frame_host.h"
#include "device/ipu/frame_endpoint.h"
#include "nic/frame_queue.h"

namespace sluice::nic_test {

/// Implements the concept FrameLines (nic/coherent.h) for a CoherentQueue.
class LinePair : private device::FrameSink {
 public:
  struct Frame {
    uint8_t* data;
    uint32_t length, headroom, tailroom;
  };
  static constexpr uint32_t kMinFrameBytes = coherent::kMinFrameBytes;
  static constexpr uint32_t kMaxFrameBytes = coherent::kMaxFrameBytes;
  static constexpr uint32_t kMaxFrames = coherent::FrameHost::kMaxFrames;

  /// Each control line is followed by `overflow_lines` lines of 128 bytes.
  explicit LinePair(uint32_t headroom_bytes = 0, uint32_t overflow_lines = 256) {
    const coherent::Geometry geometry{.overflow_lines = overflow_lines,
                                      .headroom_bytes = headroom_bytes};
    bytes_ = (geometry.Bytes() + 4095) / 4096 *
             4096;  // aligned_alloc requires a size that is a multiple of the alignment.
    data_.reset(static_cast<uint8_t*>(std::aligned_alloc(4096, bytes_)));
    std::memset(data_.get(), 0, bytes_);
    host_.emplace(coherent::EndpointMemory::Format({data_.get(), bytes_}, geometry));
    dma_->Add(kBus, data_.get(), bytes_);
    if (!nic_.Enable(*dma_, kBus, bytes_, 0)) std::abort();
  }

  // Methods of the host's end. If `answers` is set, the NIC serves the endpoint whenever the host
  // calls a method.
  uint32_t Wait(Frame* frames) {
    if (answers) Serve();
    return host_->Wait(frames);
  }
  void Answer(const Frame* frames, uint32_t count) { host_->Answer(frames, count); }
  uint8_t* GrownRoom(uint32_t length) { return host_->GrownRoom(length); }
  void CommitGrown(uint32_t length) { host_->CommitGrown(length); }
  uint8_t* Room(uint32_t length) {
    if (answers) Serve();
    return host_->Room(length);
  }
  void Send(uint32_t length) { host_->Send(length); }
  void Flush() { host_->Flush(); }
  std::span<const uint8_t> memory() const { return {data_.get(), bytes_}; }
  nic::FrameTotals Outstanding() {
    if (answers && nic_.enabled()) {
      now_ns += coherent::kTryAgainNs;
      Serve();
    }
    const coherent::HandedOver outstanding = host_->Outstanding();
    return {outstanding.frames, outstanding.bytes};
  }
  void Withdraw() {
    nic_.Disable(statistics);
    host_->Withdraw();
  }
  bool LinkUp() const { return !host_->faulted(); }

  // Methods of the NIC's end.
  void Serve() {
    nic_.Serve(now_ns, statistics);
    while (nic_.enabled() && nic_.pending()) {
      nic_.Run(staging_, *this, statistics, 64);
      nic_.Serve(now_ns, statistics);
    }
  }
  /// Serves the endpoint once and then sends at most `budget` frames.
  void ServeOnce(uint32_t budget) {
    nic_.Serve(now_ns, statistics);
    nic_.Run(staging_, *this, statistics, budget);
  }
  /// Writes a frame to the host's current or next line. Returns false if the line is full.
  bool Write(std::span<const uint8_t> frame) {
    return nic_.Write({frame.data(), static_cast<uint32_t>(frame.size())}, statistics);
  }
  /// Writes a frame and answers a waiting load.
  bool Receive(std::span<const uint8_t> frame) {
    const bool written = Write(frame);
    nic_.Answer(statistics);
    return written;
  }
  /// Returns the frames sent since the last call.
  std::vector<std::vector<uint8_t>> Sent() {
    Serve();
    staging_.Flush(*this);
    return std::exchange(sent_, {});
  }
  /// Returns the number of frames sent since the last call. From now on, frame contents are not
  /// recorded.
  uint64_t SkipSent() {
    skips_ = true;
    Serve();
    staging_.Flush(*this);
    return std::exchange(skipped_, 0);
  }
  device::ipu::FrameEndpoint& nic() { return nic_; }
  const coherent::FrameHost& host() const { return *host_; }

  bool answers = true;
  uint64_t now_ns = 0;
  device::ipu::Statistics statistics{};

 private:
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };
  static constexpr uint64_t kBus = 0x4000'0000;

  void Deliver(std::span<const device::WireFrame> frames) override {
    skipped_ += frames.size();
    if (skips_) return;
    for (const device::WireFrame& frame : frames) {
      sent_.emplace_back(frame.data, frame.data + frame.length);
    }
  }

  size_t bytes_ = 0;
  std::unique_ptr<uint8_t[], Free> data_;
  std::unique_ptr<bar::DmaSpace> dma_ = std::make_unique<bar::DmaSpace>();
  std::optional<coherent::FrameHost> host_;
  device::ipu::FrameEndpoint nic_;
  device::ipu::TxStaging staging_;
  std::vector<std::vector<uint8_t>> sent_;
  uint64_t skipped_ = 0;
  bool skips_ = false;
};

}  // namespace sluice::nic_test
