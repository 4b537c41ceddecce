// SPDX-License-Identifier: BSD-3-Clause
//
// The packetized NIC as blocks of a card (lib/device/grid). A test runs the blocks' turns one at a
// time, so that tests of the CPU's model can run on it. The card's memory belongs to the test.
// Register stores pass through a bar::PostedQueue. The tags that a card writes to the frames of its
// wire are removed before it copies the frames, so that frames arrive unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bar/dma.h"
#include "bar/posted_queue.h"
#include "device/device.h"
#include "device/grid/ipu_card.h"
#include "device/grid/ipu_sent.h"
#include "device/grid/roles.h"

namespace sluice::device::grid {

class IpuCardNic final : public Device, private bar::DmaObserver {
 public:
  explicit IpuCardNic(const bar::DmaSpace& dma);
  ~IpuCardNic() override;
  IpuCardNic(const IpuCardNic&) = delete;
  IpuCardNic& operator=(const IpuCardNic&) = delete;

  void WriteRegister(uint32_t offset, uint32_t bytes, uint64_t value) override;
  uint64_t ReadRegister(uint32_t offset, uint32_t bytes) override;
  void SetTime(uint64_t now_ns) override;
  /// Receives as many frames at once as the rings allow.
  uint32_t Receive(std::span<const WireFrame> frames, bool pause) override;
  /// Runs turns of all queues until `budget` frames are sent or no block makes progress.
  uint32_t Transmit(FrameSink& sink, uint32_t budget) override;
  void HostDied(FrameSink& sink) override;
  std::span<const Counter> Counters() override;

  IpuCard& card() { return *card_; }

 private:
  /// One transmit block and one exchange block per queue.
  static constexpr Roles kRoles = {.receivers = 1, .senders = kIpuQueues, .exchangers = kIpuQueues};
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };
  struct Block {
    std::vector<std::max_align_t> memory;
    bool begun = false;
  };

  void RangesChanged(const std::vector<bar::DmaMapping>& ranges) override;
  void RunTurn(uint32_t number, Block& block);
  /// Delivers the frames of the `done` descriptors that the sender's last turn consumed from a
  /// queue.
  uint32_t Deliver(uint32_t queue, uint32_t done, FrameSink& sink) const;
  /// Runs a turn of the exchange block of a queue with a link. Adds the frames that it sends to
  /// `exchanged_`. Returns true if the link has made progress.
  bool Exchange(uint32_t queue);
  /// Runs turns of the exchange blocks of all queues with endpoints until they make no progress.
  /// Adds the frames that they send to `exchanged_`.
  void ServeEndpoints();
  /// Adds the frames that the block of a queue has checked in its last turn to `exchanged_`.
  void KeepSent(uint32_t queue, const IpuSentMemory& memory, uint32_t count);
  uint32_t DeliverExchanged(FrameSink& sink);

  const bar::DmaSpace& dma_;
  std::unique_ptr<IpuCard> card_;
  std::unique_ptr<uint8_t, Free> staging_;
  std::unique_ptr<bar::PostedQueue> queue_ = std::make_unique<bar::PostedQueue>();
  std::unique_ptr<Control> control_ = std::make_unique<Control>();
  std::unique_ptr<Report> report_ = std::make_unique<Report>();
  Block registers_, receiver_, sender_, exchanger_;
  std::vector<std::string> exchanged_;
  uint32_t posted_ = 0;
  std::vector<Counter> counters_;
};

}  // namespace sluice::device::grid
