// SPDX-License-Identifier: BSD-3-Clause
//
// The Ensō NIC as blocks of a card (lib/device/grid). A test runs the blocks' turns one at a time,
// so that every test of the CPU's model can run on it. The card's memory belongs to the test.
// Register stores pass through a bar::PostedQueue. A batch is one frame unless SetBatch sets
// another size.
// The card writes a tag (a number and its complement) to the end of every frame that its wire
// sends. Frames of MakeFrame contain a tag; other frames arrive with four bytes changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bar/dma.h"
#include "bar/posted_queue.h"
#include "device/device.h"
#include "device/enso/counters.h"
#include "device/enso/enso_nic.h"
#include "device/grid/enso_card.h"
#include "device/grid/roles.h"

namespace sluice::device::grid {

class CardNic final : public Device, private bar::DmaObserver {
 public:
  CardNic(const bar::DmaSpace& dma, const enso::EnsoConfig& config);
  ~CardNic() override;
  CardNic(const CardNic&) = delete;
  CardNic& operator=(const CardNic&) = delete;

  void WriteRegister(uint32_t offset, uint32_t bytes, uint64_t value) override;
  uint64_t ReadRegister(uint32_t offset, uint32_t bytes) override;
  /// Does nothing: the card uses the clock of SetCardClock.
  void SetTime(uint64_t) override {}
  uint32_t Receive(std::span<const WireFrame> frames, bool pause) override;
  /// Runs turns of all buffers until `budget` frames are sent or no block makes progress.
  uint32_t Transmit(FrameSink& sink, uint32_t budget) override;
  std::span<const Counter> Counters() override;

  EnsoCard& card() { return *card_; }
  /// Sets the number of frames that a block processes at once.
  void SetBatch(uint32_t frames) { batch_ = frames; }

 private:
  /// Enough for two blocks per listed buffer: one reads the bytes, the other splits them into
  /// frames.
  static constexpr Roles kRoles = {.receivers = 1,
                                   .senders = 2 * regs::enso::kMaxNotificationBuffers};
  struct Block {
    std::vector<std::max_align_t> memory;
  };

  void RangesChanged(const std::vector<bar::DmaMapping>& ranges) override;
  void RunTurn(uint32_t number, Block& block);
  uint32_t Handled() const;
  void Deliver(uint64_t frames, uint64_t bytes, FrameSink& sink);

  const bar::DmaSpace& dma_;
  std::unique_ptr<EnsoCard> card_;
  std::unique_ptr<bar::PostedQueue> queue_ = std::make_unique<bar::PostedQueue>();
  std::unique_ptr<Control> control_ = std::make_unique<Control>();
  std::unique_ptr<Report> report_ = std::make_unique<Report>();
  struct Staging;
  std::unique_ptr<Staging> staging_;
  Block registers_, receiver_, sender_, framer_;
  uint32_t posted_ = 0;
  uint32_t batch_ = 1;
  std::vector<Counter> counters_;
};

/// Sets the constant clock of all cards in the test.
void SetCardClock(uint64_t ns);

}  // namespace sluice::device::grid
