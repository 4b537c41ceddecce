// SPDX-License-Identifier: BSD-3-Clause
//
// A fixture for tests of one pipe that two blocks share: the register block, which handles the
// driver's head stores, and a receiving block.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "device/grid/enso_notify.h"

namespace sluice::device::grid {

class PipeBench : public testing::Test {
 protected:
  PipeBench() {
    card_->pipe_mask = 63;
    card_->nb_mask = 63;
    buffer().rx_memory = 1;
    pipe().memory = 1024;
  }
  /// Simulates a driver that was notified of one frame, and has not stored the head.
  void HoldOneFrame() { Hold(tail_ - 1); }
  /// Simulates a driver that was notified of frames that fill the pipe, and has not stored the
  /// head.
  void Fill() { Hold(tail_ + 1); }

  /// Simulates the register block's handling of a head store: the driver has read all flits before
  /// `head`.
  void StoreHead(uint32_t head) {
    Store(&pipe().head, head & card_->pipe_mask);
    HeadStored(*card_, kId, head & card_->pipe_mask, ignored_);
  }
  /// Simulates the receiving block's acceptance of one more flit.
  void Accept() { FramesAccepted(*card_, kId, (tail_ + 1) & card_->pipe_mask, 0); }
  void Drop() { FramesDropped(*card_, kId, 1); }

  /// Expects one notification in flight, then starts the next round.
  void ExpectOneNotification() {
    ASSERT_EQ(Notifications(), 1u);
    ASSERT_EQ(pipe().status, 1u);
    ++tail_;
  }
  /// Expects that no notification is in flight and that the next frame causes one. Then starts the
  /// next round.
  void ExpectArmed() {
    ASSERT_EQ(Notifications(), 0u);
    ASSERT_EQ(pipe().status, 0u);
    ++tail_;
  }

  uint32_t tail_ = 1;

 private:
  struct Ignored {
    void Append(const SlotWrite&) {}
  };
  static constexpr uint32_t kId = 5;

  EnsoPipe& pipe() { return card_->pipes[kId]; }
  EnsoBuffer& buffer() { return card_->buffers[0]; }
  void Hold(uint32_t head) {
    pipe().tail = tail_ & card_->pipe_mask;
    pipe().head = head & card_->pipe_mask;
    pipe().status = 1;
  }
  /// Returns the number of slots claimed since the last call.
  uint32_t Notifications() {
    const uint32_t claimed = (buffer().rx_tail - buffer().rx_head) & card_->nb_mask;
    buffer().rx_head = buffer().rx_tail;
    return claimed;
  }

  std::unique_ptr<EnsoCard> card_ = std::make_unique<EnsoCard>();
  Ignored ignored_;
};

}  // namespace sluice::device::grid
