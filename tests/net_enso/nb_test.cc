// SPDX-License-Identifier: BSD-3-Clause
//
// Tests a notification buffer with a NIC that the test simulates slot by slot: the order and values
// of register stores, and that hostile values have no effect.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "net_enso/enso_nb.h"
#include "net_enso/nb_fixture.h"
#include "net_enso/rte_pmd_enso.h"

namespace sluice::net_enso {
namespace {

TEST_F(NbTest, BringUpContinuesFromTheNicsTransmitTail) {
  Open(77);
  EXPECT_EQ(bar_.Read32(NbPage(kNb) + kTxHead), 77u);
  EXPECT_EQ(TxTail(), 77u) << "resetting it would complete slots that were not sent";
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_TX);
  ASSERT_EQ(rte_pmd_enso_send(pipe, pipe->memory, 64, 0), 0);
  rte_pmd_enso_flush(nb_);
  EXPECT_EQ(TxSlot(77).signal, 1u);
  EXPECT_EQ(TxTail(), 78u);
  Complete(77);
}

TEST_F(NbTest, PipeAddressCarriesItsBuffersId) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_RX);
  EXPECT_EQ(pipe->id, 8191u) << "other than fallback pipes: ids from the top";
  const uint64_t rx_mem = bar_.Read64(PipePage(pipe->id) + kRxMemLo);
  EXPECT_EQ(rx_mem & 0x3ff, kNb);
  EXPECT_EQ(rx_mem & ~uint64_t{0x3ff}, reinterpret_cast<uintptr_t>(pipe->memory));
}

TEST_F(NbTest, PollReturnsWhatWasNotifiedAndFreesTheSlot) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_RX);
  EXPECT_TRUE(Poll().empty());
  Notify(pipe->id, 3);
  const auto spans = Poll();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].pipe, pipe);
  EXPECT_EQ(spans[0].data, pipe->memory);
  EXPECT_EQ(spans[0].bytes, 3u * 64);
  EXPECT_EQ(RxSlot(0).signal, 0u);
  EXPECT_EQ(bar_.Read32(NbPage(kNb) + kRxHead), 1u);
  EXPECT_TRUE(Poll().empty());
}

TEST_F(NbTest, SeveralNotificationsOfAPipeAreOneSpan) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_RX);
  Notify(pipe->id, 3);
  Notify(pipe->id, 3);
  Notify(pipe->id, 8);
  const auto spans = Poll();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].bytes, 8u * 64);
  EXPECT_EQ(bar_.Read32(NbPage(kNb) + kRxHead), 3u);
}

TEST_F(NbTest, LimitsSplitSpansAndLoseNothing) {
  Open();
  Pipe* first = OpenPipe(RTE_PMD_ENSO_RX);
  Pipe* second = OpenPipe(RTE_PMD_ENSO_RX);
  Notify(first->id, 5);
  Notify(second->id, 2);
  auto spans = Poll(1);
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].pipe, first);
  spans = Poll(1);
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].pipe, second);
  Notify(first->id, 10);
  uint32_t bytes = 0;
  for (int i = 0; i < 3; ++i) {
    spans = Poll(16, 128);
    ASSERT_EQ(spans.size(), 1u);
    EXPECT_LE(spans[0].bytes, 128u);
    EXPECT_EQ(spans[0].data, first->memory + 5 * 64 + bytes);
    bytes += spans[0].bytes;
  }
  EXPECT_EQ(bytes, 5u * 64);
  EXPECT_TRUE(Poll(16, 128).empty());
}

TEST_F(NbTest, ReleaseStoresTheHeadWithTheNextFlush) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_RX);
  Notify(pipe->id, 10);
  Poll();
  rte_pmd_enso_release(pipe, 4 * 64);
  rte_pmd_enso_release(pipe, 2 * 64);
  EXPECT_EQ(RxHead(pipe), 0u);
  rte_pmd_enso_flush(nb_);
  EXPECT_EQ(RxHead(pipe), 6u);
  rte_pmd_enso_release(pipe, 100 * 64);
  rte_pmd_enso_flush(nb_);
  EXPECT_EQ(RxHead(pipe), 10u) << "no more than was returned";
}

TEST_F(NbTest, SpanAcrossTheRingsEndIsContiguous) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_RX);
  Notify(pipe->id, 1020);
  Poll();
  rte_pmd_enso_release(pipe, 1020 * 64);
  rte_pmd_enso_flush(nb_);
  std::memcpy(pipe->memory, "first flit of the ring", 22);
  Notify(pipe->id, 6);
  const auto spans = Poll();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].bytes, 10u * 64);
  EXPECT_EQ(std::memcmp(spans[0].data + 4 * 64, "first flit of the ring", 22), 0);
}

TEST_F(NbTest, SendOverTheRingsEndTakesTwoSlotsAndOneTailStore) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_RXTX);
  Notify(pipe->id, 1020);
  Poll();
  rte_pmd_enso_release(pipe, 1020 * 64);
  Notify(pipe->id, 6);
  rte_pmd_enso_flush(nb_);
  const auto spans = Poll();
  ASSERT_EQ(spans.size(), 1u);
  ASSERT_EQ(rte_pmd_enso_send(pipe, spans[0].data, spans[0].bytes, spans[0].bytes), 0);
  EXPECT_EQ(TxTail(), 0u) << "nothing is published before the flush";
  rte_pmd_enso_flush(nb_);
  EXPECT_EQ(TxTail(), 2u);
  EXPECT_EQ(TxSlot(0).address, reinterpret_cast<uintptr_t>(pipe->memory) + 1020 * 64);
  EXPECT_EQ(TxSlot(0).length, 4u * 64);
  EXPECT_EQ(TxSlot(1).address, reinterpret_cast<uintptr_t>(pipe->memory));
  EXPECT_EQ(TxSlot(1).length, 6u * 64);
  EXPECT_EQ(rte_pmd_enso_tx_pending(nb_), 10u * 64);
  Complete(0);
  Poll();
  EXPECT_EQ(RxHead(pipe), 1020u) << "released by the send's last slot";
  Complete(1);
  Poll();
  EXPECT_EQ(RxHead(pipe), 6u);
  EXPECT_EQ(rte_pmd_enso_tx_pending(nb_), 0u);
}

TEST_F(NbTest, ReleaseOnARxTxPipeWaitsForEarlierSends) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_RXTX);
  Notify(pipe->id, 8);
  const auto spans = Poll();
  ASSERT_EQ(rte_pmd_enso_send(pipe, spans[0].data, 3 * 64, 3 * 64), 0);
  rte_pmd_enso_release(pipe, 5 * 64);
  rte_pmd_enso_flush(nb_);
  EXPECT_EQ(RxHead(pipe), 0u);
  Complete(0);
  Poll();
  EXPECT_EQ(RxHead(pipe), 8u);
}

TEST_F(NbTest, TxPipeIsARingOfFreeBytes) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_TX);
  uint8_t* data = nullptr;
  EXPECT_EQ(rte_pmd_enso_tx_room(pipe, &data), kPipeBytes);
  EXPECT_EQ(data, pipe->memory);
  ASSERT_EQ(rte_pmd_enso_send(pipe, data, kPipeBytes - 64, 0), 0);
  EXPECT_EQ(rte_pmd_enso_tx_room(pipe, &data), 64u);
  EXPECT_EQ(data, pipe->memory + kPipeBytes - 64);
  EXPECT_EQ(rte_pmd_enso_send(pipe, data, 128, 0), -EINVAL) << "more than the room";
  rte_pmd_enso_flush(nb_);
  Complete(0);
  EXPECT_EQ(rte_pmd_enso_tx_room(pipe, &data), kPipeBytes);
}

TEST_F(NbTest, SendRefusesWhatTheNicCannotTransfer) {
  Open();
  Pipe* tx = OpenPipe(RTE_PMD_ENSO_TX);
  Pipe* rx = OpenPipe(RTE_PMD_ENSO_RX);
  Pipe* both = OpenPipe(RTE_PMD_ENSO_RXTX);
  EXPECT_EQ(rte_pmd_enso_send(rx, rx->memory, 64, 0), -EINVAL) << "a receive pipe";
  EXPECT_EQ(rte_pmd_enso_send(tx, tx->memory, 65, 0), -EINVAL) << "part of a flit";
  EXPECT_EQ(rte_pmd_enso_send(tx, tx->memory + 64, 64, 0), -EINVAL) << "not its position";
  EXPECT_EQ(rte_pmd_enso_send(both, both->memory + 1, 64, 0), -EINVAL) << "not on a flit";
  EXPECT_EQ(rte_pmd_enso_send(both, both->memory - 64, 64, 0), -EINVAL) << "before the memory";
  EXPECT_EQ(rte_pmd_enso_send(both, both->memory + 2 * kPipeBytes, 64, 0), -EINVAL) << "behind it";
  EXPECT_EQ(rte_pmd_enso_send(both, both->memory, kPipeBytes + 64, 0), -EINVAL) << "more than it";
  EXPECT_EQ(rte_pmd_enso_send(both, both->memory, 64, 64), -EINVAL)
      << "releases bytes that were not received";
  rte_pmd_enso_flush(nb_);
  EXPECT_EQ(TxTail(), 0u);
}

TEST_F(NbTest, FullSlotRingAsksToTryAgain) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_TX);
  uint32_t sent = 0;
  while (rte_pmd_enso_send(pipe, pipe->memory + sent * 64, 64, 0) == 0) ++sent;
  EXPECT_EQ(rte_pmd_enso_send(pipe, pipe->memory + sent * 64, 64, 0), -EAGAIN);
  EXPECT_LT(sent, kGeometry.nb_entries) << "tail never meets head";
  EXPECT_GT(sent, kGeometry.nb_entries - 8);
  rte_pmd_enso_flush(nb_);
  for (uint32_t i = 0; i < sent; ++i) Complete(i);
  Poll();
  EXPECT_EQ(rte_pmd_enso_send(pipe, pipe->memory + sent * 64, 64, 0), 0);
  rte_pmd_enso_flush(nb_);
  Complete(sent);
}

TEST_F(NbTest, HostileNotificationsAreCountedAndNotObeyed) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_RX);
  Pipe* tx = OpenPipe(RTE_PMD_ENSO_TX);
  Notify(pipe->id - 1, 5);  // A pipe that is not open.
  Notify(tx->id, 5);        // A TX pipe, which the NIC does not know.
  Notify(8192, 5);          // A number beyond the last pipe.
  Notify(~uint64_t{0}, 5);
  Notify(pipe->id, 1024);  // The tail equals the size of the ring.
  Notify(pipe->id, ~uint64_t{0});
  Notify(pipe->id, 5, 7);  // The signal is not that of a notification.
  EXPECT_TRUE(Poll().empty());
  EXPECT_EQ(device_.Counted(Event::kBadNotification), 7u);
  EXPECT_EQ(bar_.Read32(NbPage(kNb) + kRxHead), 7u) << "their slots are free again";
  Notify(pipe->id, 5);
  EXPECT_EQ(Poll().size(), 1u) << "and an honest one is believed";
}

TEST_F(NbTest, PipeOfAnotherBufferIsHostile) {
  Open();
  NotificationBuffer* other = nullptr;
  Pipe* pipe = nullptr;
  {
    const std::scoped_lock lock(device_.mutex());
    ASSERT_EQ(device_.OpenNb(&other), 0);
    ASSERT_EQ(device_.OpenPipe(other, RTE_PMD_ENSO_RX, false, FallbackOwner::kNative, &pipe), 0);
  }
  Notify(pipe->id, 4);
  EXPECT_TRUE(Poll().empty());
  EXPECT_EQ(device_.Counted(Event::kBadNotification), 1u);
}

TEST_F(NbTest, TailThatOverrunsUnreleasedBytesIsHostile) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_RX);
  Notify(pipe->id, 1000);
  ASSERT_EQ(Poll().size(), 1u);
  Notify(pipe->id, 10);  // This would be 34 flits after 1000; the ring has 23 free flits.
  EXPECT_TRUE(Poll().empty());
  EXPECT_EQ(device_.Counted(Event::kBadNotification), 1u);
}

TEST_F(NbTest, GarbageNeverLeadsOutOfThePipesMemory) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_RXTX);
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    RxNotification slot{.signal = random() % 4,
                        .pipe = random() % 3 == 0 ? random() : pipe->id,
                        .tail = random() % 2 == 0 ? random() % 1024 : random(),
                        .reserved = {}};
    if (slot.signal == 0) slot.signal = 1;
    RxSlot(notified_++) = slot;
    for (const rte_pmd_enso_span& span : Poll()) {
      ASSERT_EQ(span.pipe, pipe);
      ASSERT_GE(span.data, pipe->memory);
      ASSERT_LE(span.data + span.bytes, pipe->memory + 2 * kPipeBytes);
      ASSERT_EQ(span.bytes % 64, 0u);
      rte_pmd_enso_release(pipe, span.bytes);
    }
  }
  EXPECT_GT(device_.Counted(Event::kBadNotification), 0u);
}

TEST_F(NbTest, CompletionWithAnotherAddressFreesNothing) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_TX);
  ASSERT_EQ(rte_pmd_enso_send(pipe, pipe->memory, 64, 0), 0);
  rte_pmd_enso_flush(nb_);
  const TxNotification sent = TxSlot(0);
  TxSlot(0) = {.signal = 0, .address = sent.address + 64, .length = sent.length, .reserved = {}};
  for (int i = 0; i < 3; ++i) Poll();
  EXPECT_EQ(rte_pmd_enso_tx_pending(nb_), 64u);
  EXPECT_EQ(device_.Counted(Event::kBadCompletion), 1u) << "counted once";
  TxSlot(0) = {.signal = 0, .address = sent.address, .length = sent.length, .reserved = {}};
  Poll();
  EXPECT_EQ(rte_pmd_enso_tx_pending(nb_), 0u);
}

TEST_F(NbTest, CompletionOutOfOrderWaitsForTheEarlierOne) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_TX);
  ASSERT_EQ(rte_pmd_enso_send(pipe, pipe->memory, 64, 0), 0);
  ASSERT_EQ(rte_pmd_enso_send(pipe, pipe->memory + 64, 64, 0), 0);
  rte_pmd_enso_flush(nb_);
  Complete(1);
  for (uint32_t i = 0; i < 2 * NotificationBuffer::kIdlePolls; ++i) Poll();
  EXPECT_EQ(rte_pmd_enso_tx_pending(nb_), 128u);
  EXPECT_EQ(device_.Counted(Event::kBadCompletion), 1u);
  Complete(0);
  Poll();
  EXPECT_EQ(rte_pmd_enso_tx_pending(nb_), 0u);
}

TEST_F(NbTest, QuietPipeIsWokenInCaseItsNotificationWasLost) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_RX);
  constexpr uint32_t kMarker = 0xabcd;
  bar_.Write32(PipePage(pipe->id) + kRxHead, kMarker);
  for (uint32_t i = 0; i < NotificationBuffer::kIdlePolls; ++i) Poll();
  EXPECT_EQ(RxHead(pipe), 0u) << "the unchanged head was stored once more";
}

/// The pipe's tail register includes data that the NIC has not notified.
TEST_F(NbTest, CatchingUpFindsWhatWasNotNotified) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_RX);
  const auto store_tail = [&](uint32_t tail) { bar_.Write32(PipePage(pipe->id) + kRxTail, tail); };
  store_tail(7);
  EXPECT_TRUE(Poll().empty());
  nb_->CatchUp(pipe);
  auto spans = Poll();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].data, pipe->memory);
  EXPECT_EQ(spans[0].bytes, 7u * 64);
  nb_->CatchUp(pipe);
  EXPECT_TRUE(Poll().empty()) << "once";
  // Wraps around the end of the ring: the head is 1020, and the tail is 1024 + 3.
  Notify(pipe->id, 1020);
  ASSERT_EQ(Poll().size(), 1u);
  rte_pmd_enso_release(pipe, 1020 * 64);
  rte_pmd_enso_flush(nb_);
  store_tail(3);
  nb_->CatchUp(pipe);
  spans = Poll();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].data, pipe->memory + 1020 * 64);
  EXPECT_EQ(spans[0].bytes, 7u * 64);
  EXPECT_EQ(device_.Counted(Event::kBadNotification), 0u);
}

/// Frames arrive while the register is read, so the notifications are newer than its value.
TEST_F(NbTest, CatchingUpNeverGoesBack) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_RX);
  Notify(pipe->id, 5);
  Notify(pipe->id, 9);
  bar_.Write32(PipePage(pipe->id) + kRxTail, 5);
  nb_->CatchUp(pipe);
  const auto spans = Poll();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].bytes, 9u * 64);
  EXPECT_EQ(bar_.Read32(NbPage(kNb) + kRxHead), 2u);
  nb_->CatchUp(pipe);
  EXPECT_TRUE(Poll().empty());
  EXPECT_EQ(device_.Counted(Event::kBadNotification), 0u);
}

/// The register returns a tail that no NIC stores, as it does when a read is no longer answered.
TEST_F(NbTest, CatchingUpWithGarbageChangesNothing) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_RX);
  Notify(pipe->id, 2);
  bar_.Write32(PipePage(pipe->id) + kRxTail, ~0u);
  nb_->CatchUp(pipe);
  const auto spans = Poll();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].bytes, 2u * 64);
}

TEST_F(NbTest, WhatAClosedPipeWasNotToldOfIsCounted) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_RX);
  Notify(pipe->id, 2);
  bar_.Write32(PipePage(pipe->id) + kRxTail, 5);
  const std::scoped_lock lock(device_.mutex());
  device_.ClosePipe(pipe);
  EXPECT_EQ(device_.Counted(Event::kUnreadFlits), 5u);
}

class PrefetchingNbTest : public NbTest {
 protected:
  PrefetchingNbTest()
      : NbTest({.pipe_flits = kGeometry.pipe_flits,
                .nb_entries = kGeometry.nb_entries,
                .notify_per_packet = false,
                .prefetches = true}) {}
};

/// A poll that returns data from a pipe stores the pipe's unchanged head, so that the NIC sends a
/// notification if more data arrives meanwhile. The poll does not store the head of a pipe without
/// data.
TEST_F(PrefetchingNbTest, APipeThatIsReturnedIsAskedForItsNextNotification) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_RX);
  Pipe* silent = OpenPipe(RTE_PMD_ENSO_RX);
  constexpr uint32_t kMarker = 0xabcd;
  for (const Pipe* each : {pipe, silent}) bar_.Write32(PipePage(each->id) + kRxHead, kMarker);
  Notify(pipe->id, 3);
  const auto spans = Poll();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].bytes, 3 * 64u);
  EXPECT_EQ(RxHead(pipe), 0u);
  EXPECT_EQ(RxHead(silent), kMarker);
  // The notification that answers the poll's store repeats the tail, so the next poll returns no
  // span and requests no further notification.
  bar_.Write32(PipePage(pipe->id) + kRxHead, kMarker);
  Notify(pipe->id, 3);
  EXPECT_TRUE(Poll().empty());
  EXPECT_EQ(RxHead(pipe), kMarker);
}

/// If the NIC finds a notification buffer full, that buffer remains out of sync permanently.
TEST_F(NbTest, HeadIsNotStoredWhenItsAnswerMightFindNoSlot) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_RX);
  // The NIC has written 900 slots that have not been read. The trigger queue and the pipe may need
  // the rest, so no slot is free.
  bar_.Write32(NbPage(kNb) + kRxTail, 900);
  constexpr uint32_t kMarker = 0xabcd;
  uint32_t stores = 0;
  for (; stores < 2000; ++stores) {
    bar_.Write32(PipePage(pipe->id) + kRxHead, kMarker);
    rte_pmd_enso_prefetch(pipe);
    if (RxHead(pipe) == kMarker) break;
  }
  EXPECT_LT(stores, kGeometry.nb_entries - kHeadTriggerDepth);
  bar_.Write32(NbPage(kNb) + kRxTail, 0);
  rte_pmd_enso_prefetch(pipe);
  EXPECT_EQ(RxHead(pipe), 0u) << "stored again once the slots were read";
}

/// The wait for transmissions is bounded, and later completions must not access the pipe. In
/// particular, they must not store its rx_head: a disabled pipe responds to such a store with a
/// hole.
TEST_F(NbTest, ASendThatOutlivesItsPipeIsForgotten) {
  Open();
  Pipe* pipe = OpenPipe(RTE_PMD_ENSO_RXTX);
  const uint32_t id = pipe->id;
  Notify(id, 2);
  const auto spans = Poll();
  ASSERT_EQ(spans.size(), 1u);
  ASSERT_EQ(rte_pmd_enso_send(pipe, spans[0].data, 128, 128), 0);
  rte_pmd_enso_flush(nb_);
  {
    const std::scoped_lock lock(device_.mutex());
    device_.ClosePipe(pipe);
  }
  EXPECT_EQ(device_.Counted(Event::kStuckRings), 1u) << "the NIC still reads the pipe's memory";
  EXPECT_EQ(rte_pmd_enso_tx_pending(nb_), 128u);
  constexpr uint32_t kMarker = 0xabcd;
  bar_.Write32(PipePage(id) + kRxHead, kMarker);
  Complete(0);
  Poll();
  Poll();
  EXPECT_EQ(rte_pmd_enso_tx_pending(nb_), 0u);
  EXPECT_EQ(bar_.Read32(PipePage(id) + kRxHead), kMarker);
}

TEST_F(NbTest, PipesThatWouldOverfillTheRingAreRefused) {
  Open();
  const std::scoped_lock lock(device_.mutex());
  uint32_t opened = 0;
  int result = 0;
  while (true) {
    Pipe* pipe = nullptr;
    result = device_.OpenPipe(nb_, RTE_PMD_ENSO_RX, false, FallbackOwner::kNative, &pipe);
    if (result != 0) break;
    ++opened;
  }
  EXPECT_EQ(result, -ENOSPC);
  EXPECT_LT(opened + kHeadTriggerDepth, kGeometry.nb_entries);
  EXPECT_GT(opened, kGeometry.nb_entries / 2);
}

TEST_F(NbTest, DeadNicFailsTheOpenInsteadOfHanging) {
  // A read that is not answered returns all ones.
  bar_.Write32(NbPage(kNb) + kTxTail, 0xffff'ffff);
  const std::scoped_lock lock(device_.mutex());
  EXPECT_EQ(device_.OpenNb(&nb_), -EIO);
}

}  // namespace
}  // namespace sluice::net_enso
