// SPDX-License-Identifier: BSD-3-Clause
//
// A pipe between the register block, to which a driver stores its head, and a block that receives.
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
  /// The driver was notified of one frame, and has not stored the head.
  void HoldOneFrame() { Hold(tail_ - 1); }
  /// As before, of as many as there is room for.
  void Fill() { Hold(tail_ + 1); }

  /// The register block: all up to flit `head` is read.
  void StoreHead(uint32_t head) {
    Store(&pipe().head, head & card_->pipe_mask);
    HeadStored(*card_, kId, head & card_->pipe_mask, ignored_);
  }
  /// The block that receives: one more flit.
  void Accept() { FramesAccepted(*card_, kId, (tail_ + 1) & card_->pipe_mask, 0); }
  void Drop() { FramesDropped(*card_, kId, 1); }

  /// One notification is under way; then the next round begins.
  void ExpectOneNotification() {
    ASSERT_EQ(Notifications(), 1u);
    ASSERT_EQ(pipe().status, 1u);
    ++tail_;
  }
  /// None is, and the next frame will be notified; then the next round begins.
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
  /// Slots that were claimed since the last call.
  uint32_t Notifications() {
    const uint32_t claimed = (buffer().rx_tail - buffer().rx_head) & card_->nb_mask;
    buffer().rx_head = buffer().rx_tail;
    return claimed;
  }

  std::unique_ptr<EnsoCard> card_ = std::make_unique<EnsoCard>();
  Ignored ignored_;
};

}  // namespace sluice::device::grid
