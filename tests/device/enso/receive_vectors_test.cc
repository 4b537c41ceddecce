// SPDX-License-Identifier: BSD-3-Clause
//
// Reception vectors from a simulation of the Ensō RTL (v0.4.6, github.com/crossroadsfpga/enso).
// Each table starts from reset; rings have their default sizes unless the table sets others. The
// stimulus of most rows is a packet of a given number of flits, or a store to a pipe's rx_head.
#include "vector_bench.h"

namespace sluice::device::enso {
namespace {

TEST(EnsoReceiveVectors, ReactiveNotifications) {
  VectorBench nic;
  nic.Enable(5);
  Play(nic, {
                {"1a", Packets(5, 1), "N[0]{5,1} D(5,0)"},
                {"1b", Packets(5, 1), "D(5,1)"},
                {"1c", Head(5, 1), "N[1]{5,2}"},
                {"1d", Head(5, 1), "N[2]{5,2}"},
                {"1e", Head(5, 2), ""},
                {"1f", Head(5, 2), ""},
                {"1g", Packets(5, 3), "N[3]{5,5} D(5,2..4)"},
            });
  // Register values after these stimuli:
  EXPECT_EQ(nic.Read32(PipePage(5) + kRxTail), 5u);
  EXPECT_EQ(nic.Read32(PipePage(5) + kRxHead), 2u);
  EXPECT_EQ(nic.Read32(NbPage(0) + kRxTail), 4u);
  EXPECT_EQ(nic.Read32(PipePage(5) + 0x40), 5u);
  EXPECT_EQ(nic.Read32(PipePage(5) + 0x10), 0u);
}

TEST(EnsoReceiveVectors, PacketsBackToBack) {
  VectorBench nic;
  nic.Enable(5);
  Play(nic, {
                {"2", Packets(5, 1, /*count=*/4), "N[0]{5,1} D(5,0..3)"},
                {"2, head", Head(5, 1), "N[1]{5,4}"},
            });
}

TEST(EnsoReceiveVectors, AFullPipe) {
  VectorBench nic({.pipe_flits = 16, .nb_entries = 16});
  nic.Enable(5);
  Play(nic, {{"3a", Packets(5, 1, /*count=*/20), "N[0]{5,1} D(5,0..14)"}});
  EXPECT_EQ(nic.Count("rx_pipe_full"), 5u) << "3a";
  Play(nic, {
                {"3b", Head(5, 3), "N[1]{5,15}"},
                {"3c", Packets(5, 2), "D(5,15) D(5,0)"},
                {"3d", Packets(5, 2), ""},
                {"3e", Head(5, 15), "N[2]{5,1}"},
                {"3f", Packets(5, 8), "D(5,1..8)"},
            });
}

TEST(EnsoReceiveVectors, APipeThatDroppedAPacketWhileItWasDisabledStaysMute) {
  VectorBench nic;
  nic.Steer(7);
  Play(nic, {
                {"4a", Packets(7, 1), ""},
                {"4b, enable", [](VectorBench& n) { return n.EnableByAddressAlone(7); }, ""},
                {"4b", Packets(7, 1), "D(7,0)"},
                {"4b, again", Packets(7, 1), "D(7,1)"},
                {"4c", Head(7, 0), "N[0]{7,2}"},
            });
}

/// Checks that after the wedge a packet to a healthy pipe causes no writes, and a TX slot is never
/// completed.
void ExpectWedged(VectorBench& nic, const char* number) {
  Play(nic, {{number, Packets(9, 2), ""}, {number, Packets(5, 1), ""}});
  nic.PutSlot(0, 0, nic.Data("A", {MakeFrame(64)}), 64);
  EXPECT_EQ(nic.Publish(0, 1).find('C'), std::string::npos) << number;
}

TEST(EnsoReceiveVectors, APacketOfTwoFlitsToADisabledPipeWedgesTheEngine) {
  VectorBench nic;
  nic.Enable(5);
  nic.Steer(9);
  ExpectWedged(nic, "5");
}

TEST(EnsoReceiveVectors, APacketOfTwoFlitsForADisabledNotificationBufferWedgesTheEngine) {
  VectorBench nic;
  nic.Enable(5);
  nic.Enable(9, /*nb=*/3);
  ExpectWedged(nic, "5b");
}

TEST(EnsoReceiveVectors, AFullNotificationRing) {
  VectorBench nic({.pipe_flits = 32768, .nb_entries = 4});
  std::vector<Bytes> one_each;
  for (uint16_t pipe = 10; pipe <= 15; ++pipe) {
    nic.Enable(pipe);
    one_each.push_back(MakeFrame(64, {.dst_port = pipe}));
  }
  Play(nic, {{"6a", [&](VectorBench& n) { return n.Arrive(one_each); },
              "N[0]{10,1} N[1]{11,1} N[2]{12,1} "
              "D(10,0) D(11,0) D(12,0) D(13,0) D(14,0) D(15,0)"}});
  EXPECT_EQ(nic.NbTail(0), 3u) << "6a";
  EXPECT_EQ(nic.Count("rx_notifications_lost"), 3u) << "6a";
  Play(nic, {{"6b", Head(13, 0), "N[3]{13,1}"}});
  EXPECT_EQ(nic.NbTail(0), 3u) << "6b";
  nic.Write32(NbPage(0) + kRxHead, 3);
  Play(nic, {
                {"6c", Packets(14, 1), "D(14,1)"},
                {"6d", Head(14, 0), "N[3]{14,2}"},
            });
}

TEST(EnsoReceiveVectors, ANotificationForEveryPacket) {
  VectorBench nic({.notify_per_packet = true});
  nic.Enable(5);
  Play(nic, {{"7", Packets(5, 1, /*count=*/3), "N[0]{5,1} N[1]{5,2} N[2]{5,3} D(5,0..2)"}});
}

TEST(EnsoReceiveVectors, ADropWhileTheStatusIsSet) {
  VectorBench nic({.pipe_flits = 16, .nb_entries = 16384});
  nic.Enable(5);
  Play(nic, {
                {"8", Packets(5, 15), "N[0]{5,15} D(5,0..14)"},
                {"8, dropped", Packets(5, 1), ""},
                {"8, head", Head(5, 15), ""},
                {"8, last", Packets(5, 1), "N[1]{5,0} D(5,15)"},
            });
}

TEST(EnsoReceiveVectors, AStoreOfHalfARegister) {
  VectorBench nic;
  nic.Enable(5);
  Play(nic, {{"9",
              [](VectorBench& n) {
                n.nic->WriteRegister(PipePage(5) + kRxHead, 2, 0x55);
                return n.Answer();
              },
              ""}});
  EXPECT_EQ(nic.Read32(PipePage(5) + kRxHead), 0u) << "9";
}

}  // namespace
}  // namespace sluice::device::enso
