// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the register window (docs/enso-hardware.md, "Identity and registers").
#include "host.h"

namespace sluice::device::enso {
namespace {

TEST(EnsoRegisters, ReadBackWhatWasLastStored) {
  Host host;
  for (const uint32_t pipe : {0u, 1u, 8191u}) {
    for (const uint32_t reg : {kRxTail, kRxHead, kRxMemLo, kRxMemHi}) {
      host.Write32(PipePage(pipe) + reg, 0x1000'0000 + pipe * 256 + reg);
    }
  }
  for (const uint32_t nb : {0u, 1u, 1023u}) {
    for (const uint32_t reg :
         {kRxTail, kRxHead, kRxMemLo, kRxMemHi, kTxTail, kTxHead, kTxMemLo, kTxMemHi}) {
      host.Write32(NbPage(nb) + reg, 0x2000'0000 + nb * 256 + reg);
    }
  }
  for (const uint32_t pipe : {0u, 1u, 8191u}) {
    for (const uint32_t reg : {kRxTail, kRxHead, kRxMemLo, kRxMemHi}) {
      EXPECT_EQ(host.Read32(PipePage(pipe) + reg), 0x1000'0000 + pipe * 256 + reg);
    }
  }
  for (const uint32_t nb : {0u, 1u, 1023u}) {
    for (const uint32_t reg :
         {kRxTail, kRxHead, kRxMemLo, kRxMemHi, kTxTail, kTxHead, kTxMemLo, kTxMemHi}) {
      EXPECT_EQ(host.Read32(NbPage(nb) + reg), 0x2000'0000 + nb * 256 + reg);
    }
  }
}

TEST(EnsoRegisters, PagesAreFourKibApartAndNotificationBuffersFollowThePipes) {
  Host host;
  host.Write32(8191 * 4096 + 0x08, 11);
  host.Write32(8192 * 4096 + 0x08, 22);
  EXPECT_EQ(host.Read32(PipePage(8191) + kRxMemLo), 11u);
  EXPECT_EQ(host.Read32(NbPage(0) + kRxMemLo), 22u);
}

TEST(EnsoRegisters, PipePagesHaveNoTransmitRegisters) {
  Host host;
  for (const uint32_t reg : {kTxTail, kTxHead, kTxMemLo, kTxMemHi}) {
    host.Write32(PipePage(3) + reg, 7);
    EXPECT_EQ(host.Read32(PipePage(3) + reg), 0u) << reg;
  }
}

TEST(EnsoRegisters, StoresOfOneOrTwoBytesAreIgnored) {
  Host host;
  host.Write32(NbPage(2) + kRxMemLo, 0x1234'5678);
  for (uint32_t byte = 0; byte < 4; ++byte) {
    host.nic->WriteRegister(NbPage(2) + kRxMemLo + byte, 1, 0xff);
    host.nic->WriteRegister(NbPage(2) + kRxMemLo + byte, 2, 0xffff);
  }
  EXPECT_EQ(host.Read32(NbPage(2) + kRxMemLo), 0x1234'5678u);
  EXPECT_EQ(host.Read32(NbPage(2) + kRxMemHi), 0u);
}

TEST(EnsoRegisters, ARegisterIsWrittenOnlyIfAllFourOfItsBytesAre) {
  Host host;
  // Bytes 10 to 17: the second half of 0x08, all of 0x0c, half of 0x10.
  host.nic->WriteRegister(NbPage(2) + kRxMemLo + 2, 8, 0x1111'2233'4455'6677);
  EXPECT_EQ(host.Read32(NbPage(2) + kRxMemLo), 0u);
  EXPECT_EQ(host.Read32(NbPage(2) + kRxMemHi), 0x2233'4455u);
  EXPECT_EQ(host.Read32(NbPage(2) + kTxTail), 0u);
  host.nic->WriteRegister(NbPage(2) + kTxMemLo + 1, 4, 0xffff'ffff);
  EXPECT_EQ(host.Read32(NbPage(2) + kTxMemLo), 0u);
  EXPECT_EQ(host.Read32(NbPage(2) + kTxMemHi), 0u);
}

TEST(EnsoRegisters, OneEightByteStoreUpdatesTwoRegistersAtomically) {
  Host host;
  host.OpenNb(0);
  host.OpenPipe(0, 0);
  // The head store triggers a check. If both words are stored before the check, it sees head ==
  // tail == 5, so there is no notification.
  host.Write64(PipePage(0) + kRxTail, uint64_t{5} << 32 | 5);
  EXPECT_EQ(host.Read32(PipePage(0) + kRxTail), 5u);
  EXPECT_EQ(host.Read32(PipePage(0) + kRxHead), 5u);
  EXPECT_EQ(host.NbTail(0), 0u);
  // One store writes the head and the lower address half; the trigger must see both.
  host.Write64(PipePage(0) + kRxHead, uint64_t{host.Read32(PipePage(0) + kRxMemLo)} << 32 | 9);
  EXPECT_EQ(host.NbTail(0), 1u);
  EXPECT_EQ(host.nic->ReadRegister(PipePage(0) + kRxTail, 8), (uint64_t{9} << 32 | 5));
}

TEST(EnsoRegisters, AddressBitsSixToElevenAreIgnored) {
  Host host;
  for (const uint32_t alias : {0x040u, 0x400u, 0x800u, 0xfc0u}) {
    host.Write32(NbPage(4) + alias + kRxMemLo, alias + 1);
    EXPECT_EQ(host.Read32(NbPage(4) + kRxMemLo), alias + 1);
    EXPECT_EQ(host.Read32(NbPage(4) + (alias ^ 0xfc0) + kRxMemLo), alias + 1);
  }
}

TEST(EnsoRegisters, ReadsBeyondTheDecodedRegionNeverCompleteAndReadAsAllOnes) {
  Host host;
  EXPECT_EQ(host.nic->ReadRegister(kBarBytes, 4), 0xffff'ffffu);
  EXPECT_EQ(host.nic->ReadRegister(kBarBytes, 8), ~uint64_t{0});
  EXPECT_EQ(host.nic->ReadRegister((1u << 30) - 4, 4), 0xffff'ffffu);
  EXPECT_EQ(host.nic->ReadRegister(0xffff'fffc, 4), 0xffff'ffffu);
  EXPECT_EQ(host.nic->ReadRegister(kBarBytes - 4, 4), 0u) << "the last decoded register";
}

TEST(EnsoRegisters, StoresBeyondTheDecodedRegionAliasOntoNotificationBuffers) {
  Host host;
  host.Write32(kBarBytes + kRxMemLo, 77);  // page 9216 = 8192 + 1024
  EXPECT_EQ(host.Read32(NbPage(0) + kRxMemLo), 77u);
}

TEST(EnsoRegisters, AccessesBeyondTheBarTouchNothing) {
  Host host;
  host.Write64(0xffff'fff8, ~uint64_t{0});
  host.Write64(1u << 30, ~uint64_t{0});
  for (uint32_t reg = 0; reg < 0x20; reg += 4) {
    EXPECT_EQ(host.Read32(reg), 0u);
    EXPECT_EQ(host.Read32(NbPage(0) + reg), 0u);
  }
}

TEST(EnsoConfigTest, AllowsPowersOfTwoUpToTwoToTheTwentiethAndCredits256To1000) {
  EXPECT_EQ(EnsoConfig{}.Error(), nullptr);
  EXPECT_EQ((EnsoConfig{.pipe_flits = 1u << 20}.Error()), nullptr);
  EXPECT_NE((EnsoConfig{.pipe_flits = 1u << 21}.Error()), nullptr);
  EXPECT_NE((EnsoConfig{.pipe_flits = 0}.Error()), nullptr);
  EXPECT_NE((EnsoConfig{.pipe_flits = 1000}.Error()), nullptr);
  EXPECT_NE((EnsoConfig{.nb_entries = 1000}.Error()), nullptr);
  EXPECT_NE((EnsoConfig{.tx_credits = 255}.Error()), nullptr);
  EXPECT_EQ((EnsoConfig{.tx_credits = 256}.Error()), nullptr);
  EXPECT_EQ((EnsoConfig{.tx_credits = 1000}.Error()), nullptr);
  EXPECT_NE((EnsoConfig{.tx_credits = 1001}.Error()), nullptr);
}

TEST(EnsoConfigTest, DefaultsAreThoseOfTheManagementTool) {
  EXPECT_EQ(EnsoConfig{}.pipe_flits, 32768u);
  EXPECT_EQ(EnsoConfig{}.nb_entries, 16384u);
  EXPECT_EQ(EnsoConfig{}.tx_credits, 500u);
  EXPECT_FALSE(EnsoConfig{}.notify_per_packet);
}

}  // namespace
}  // namespace sluice::device::enso
