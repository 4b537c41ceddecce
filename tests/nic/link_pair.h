// SPDX-License-Identifier: BSD-3-Clause
//
// Both ends of a link in one thread: the host's end for a BilateralQueue, and the NIC's end for the
// test. The ends and the memory layout are real; only the driver and the rest of the device model
// are absent.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "net_ipu/ipu_region.h"
#include "nic/held_region.h"
#include "swap/host_link.h"
#include "swap/nic_link.h"

namespace sluice::nic_test {

/// Implements the concept SwapLink (nic/bilateral.h) for a BilateralQueue.
class LinkPair {
 public:
  explicit LinkPair(const swap::Geometry& geometry = {})
      : bytes_(swap::LinkMemory::BytesFor(geometry)),
        data_(static_cast<uint8_t*>(std::aligned_alloc(4096, bytes_))) {
    std::memset(data_.get(), 0, bytes_);
    memory_ = swap::LinkMemory::Format({data_.get(), bytes_}, geometry);
    host_ = swap::HostLink::Open(memory_, ~uint64_t{0});
    nic_ = swap::NicLink::Open({data_.get(), bytes_}, host_->epoch());
    for (uint32_t round = 0; round < 4; ++round) {  // Connects the two ends.
      nic_->Serve();
      host_->Poll(0);
    }
  }

  // Methods of the host's end. If `answers` is set, the NIC answers whenever the host polls.
  bool Region(nic::HeldRegion& region) {
    if (!host_->holding()) return false;
    region = net_ipu::DescribeRegion(*host_);
    return true;
  }
  void Give(uint32_t frames, bool wait_for_frames) {
    given_regions.push_back({frames, wait_for_frames});
    host_->Give(frames, wait_for_frames);
  }
  bool Poll(uint64_t now, nic::HeldRegion& region) {
    if (answers) nic_->Serve();
    return host_->Poll(now) && Region(region);
  }
  bool Cancel() {
    answers = answers || answers_cancel;
    return host_->Cancel();
  }
  bool LinkUp() const { return !host_->faulted(); }
  uint32_t headroom_bytes() const { return host_->geometry().headroom_bytes; }

  // Methods of the NIC's end.
  bool Receive(std::span<const uint8_t> frame) {
    uint8_t* const room = nic_->Reserve(static_cast<uint32_t>(frame.size()));
    if (room == nullptr) return false;
    std::memcpy(room, frame.data(), frame.size());
    nic_->Publish(static_cast<uint32_t>(frame.size()));
    return true;
  }
  /// Returns all frames that the host gave to the NIC for sending.
  std::vector<std::vector<uint8_t>> Send() {
    std::vector<std::vector<uint8_t>> sent;
    swap::FrameToSend frames[32];
    while (nic_->Sending()) {
      const uint32_t count = nic_->DequeueFrames(frames, 32);
      for (const swap::FrameToSend& frame : std::span(frames).first(count)) {
        sent.emplace_back(frame.data, frame.data + frame.length);
      }
    }
    return sent;
  }
  /// Like Send, but does not read the frames. Returns the number of frames.
  uint64_t SkipToSend() {
    uint64_t sent = 0;
    swap::FrameToSend frames[64];
    while (nic_->Sending()) sent += nic_->DequeueFrames(frames, 64);
    return sent;
  }
  swap::NicLink& nic() { return *nic_; }
  const swap::HostLink& host() const { return *host_; }
  swap::LinkMemory& memory() { return memory_; }

  struct GivenRegion {
    uint32_t frames;
    bool wait_for_frames;
    friend bool operator==(const GivenRegion&, const GivenRegion&) = default;
  };
  std::vector<GivenRegion> given_regions;  ///< Regions that the host gave to the NIC, in order.
  bool answers = true;
  bool answers_cancel = true;  ///< If set, the NIC resumes answering once the host has cancelled.

 private:
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };

  size_t bytes_;
  std::unique_ptr<uint8_t[], Free> data_;
  swap::LinkMemory memory_;
  std::unique_ptr<swap::HostLink> host_;
  std::unique_ptr<swap::NicLink> nic_;
};

}  // namespace sluice::nic_test
