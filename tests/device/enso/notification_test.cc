// SPDX-License-Identifier: BSD-3-Clause
//
// Tests reactive notifications (docs/enso-hardware.md, "Receiving") beyond the table of receive
// vectors.
#include "host.h"

namespace sluice::device::enso {
namespace {

constexpr uint32_t kEntries = 32;

class EnsoNotification : public testing::Test {
 protected:
  explicit EnsoNotification(bool per_packet = false)
      : host({.pipe_flits = 64, .nb_entries = kEntries, .notify_per_packet = per_packet}) {
    host.OpenFallback(1, 0);
  }
  uint32_t Notifications() { return host.NbTail(0); }
  /// Frees all notification slots.
  void Drain() { host.Write32(NbPage(0) + kRxHead, host.NbTail(0)); }
  /// Fills the ring: each head store with pending data causes one notification.
  void FillRing() {
    ASSERT_TRUE(host.Receive(MakeFrame(64)));
    while (Notifications() != kEntries - 1) host.StoreHead(0, 0);
  }

  Host host;
};

TEST_F(EnsoNotification, ReadingTheNotificationDoesNotReArmThePipeOnlyItsHeadDoes) {
  ASSERT_TRUE(host.Receive(MakeFrame(64)));
  Drain();
  ASSERT_TRUE(host.Receive(MakeFrame(64)));
  EXPECT_EQ(Notifications(), 1u);
}

TEST_F(EnsoNotification, APacketDroppedByAFullPipeSetsTheStatusAndIsNotNotified) {
  host.StoreHead(0, 0);                     // Clears the status.
  host.Write32(PipePage(0) + kRxTail, 63);  // Full: tail + 1 == head; no trigger.
  ASSERT_TRUE(host.Receive(MakeFrame(64)));
  ASSERT_EQ(host.Count("rx_pipe_full"), 1u);
  EXPECT_EQ(Notifications(), 0u);
  host.Write32(PipePage(0) + kRxTail, 0);  // The ring has free slots again; no trigger.
  ASSERT_TRUE(host.Receive(MakeFrame(64)));
  EXPECT_EQ(Notifications(), 0u) << "mute until its head is stored";
  host.StoreHead(0, 0);
  ASSERT_EQ(Notifications(), 1u);
  ExpectNotification(host.Slot(0, 0), 0, 1);
}

TEST_F(EnsoNotification, AHeadStoreOnANotificationBufferFreesSlotsAndTriggersNothing) {
  ASSERT_TRUE(host.Receive(MakeFrame(64)));
  Drain();
  EXPECT_EQ(Notifications(), 1u);
  EXPECT_EQ(host.Count("rx_head_triggers"), 2u) << "the two of OpenPipe";
}

TEST_F(EnsoNotification, TheRingWraps) {
  for (uint32_t i = 0; i < kEntries + 5; ++i) {
    ASSERT_TRUE(host.Receive(MakeFrame(64)));
    ASSERT_EQ(Notifications(), (i + 1) % kEntries);
    ExpectNotification(host.Slot(0, i % kEntries), 0, (i + 1) % 64);
    Drain();
    host.StoreHead(0, host.Tail(0));
  }
}

TEST_F(EnsoNotification, AHeadStoreWithAFullRingWritesTheGapSlotWithoutAdvancing) {
  FillRing();
  host.StoreHead(0, 0);
  EXPECT_EQ(Notifications(), kEntries - 1) << "the tail does not move";
  ExpectNotification(host.Slot(0, kEntries - 1), 0, 1);
  EXPECT_EQ(host.Count("rx_notifications_unclaimed"), 1u);
  // The next notification overwrites the unclaimed one.
  ASSERT_TRUE(host.Receive(MakeFrame(64)));
  Drain();
  host.StoreHead(0, 0);
  ExpectNotification(host.Slot(0, kEntries - 1), 0, 2);
}

TEST_F(EnsoNotification, WithoutMasteringAHeadStoreWritesNothing) {
  FillRing();
  Drain();
  const Bytes before(host.At(Host::kBus), host.At(Host::kBus) + host.allocated());
  host.nic->SetMastering(false);
  for (uint32_t i = 0; i < 2 * kEntries; ++i) host.StoreHead(0, 0);
  EXPECT_EQ(host.Count("rx_notifications_lost"), kEntries - 1);
  EXPECT_EQ(std::memcmp(before.data(), host.At(Host::kBus), before.size()), 0);
  host.nic->SetMastering(true);
  Drain();
  const uint32_t slot = Notifications();
  host.StoreHead(0, 0);
  ExpectNotification(host.Slot(0, slot), 0, 1);
  EXPECT_EQ(host.Count("rx_notifications_lost"), kEntries - 1);
}

TEST_F(EnsoNotification, ABufferOutsideRegisteredMemoryIsACountedFault) {
  host.Write64(NbPage(0) + kRxMemLo, 0xdead'0000'0000);
  ASSERT_TRUE(host.Receive(MakeFrame(64)));
  EXPECT_EQ(host.Count("dma_faults"), 1u);
}

class EnsoPerPacket : public EnsoNotification {
 protected:
  EnsoPerPacket() : EnsoNotification(true) {}
};

TEST_F(EnsoPerPacket, APacketAfterADropOrAHeadStoreIsNotifiedAllTheSame) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(host.Receive(MakeFrame(1536)));
  ASSERT_EQ(host.Count("rx_pipe_full"), 1u);
  ASSERT_EQ(Notifications(), 2u);
  host.StoreHead(0, 24);
  ASSERT_EQ(Notifications(), 3u);
  ASSERT_TRUE(host.Receive(MakeFrame(64)));
  ASSERT_EQ(Notifications(), 4u);
  ExpectNotification(host.Slot(0, 3), 0, 49);
}

}  // namespace
}  // namespace sluice::device::enso
