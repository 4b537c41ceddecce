// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the configuration space byte by byte according to the PCI Express Base Specification:
// header type 0, the capability list, and BAR sizes, which are found by writing ones.
#include "emulator/vfio_user/config_space.h"

#include <gtest/gtest.h>

#include <map>

#include "emulator/enso_model.h"
#include "emulator/ipu_model.h"
#include "regs/enso.h"
#include "regs/pci_function.h"

namespace sluice::emulator::vfio_user {
namespace {

class Config {
 public:
  explicit Config(const ModelInfo& model, bool interrupts = true)
      : space_(*FunctionOf(model, interrupts)) {}

  uint32_t Read(uint32_t offset, uint32_t bytes) const {
    uint32_t value = 0;
    space_.Read(offset, {reinterpret_cast<uint8_t*>(&value), bytes});
    return value;
  }
  bool Write(uint32_t offset, uint32_t bytes, uint32_t value) {
    return space_.Write(offset, {reinterpret_cast<const uint8_t*>(&value), bytes});
  }
  ConfigSpace& space() { return space_; }

  /// Returns the capabilities' offsets by id.
  std::map<uint32_t, uint32_t> Capabilities() const {
    std::map<uint32_t, uint32_t> found;
    for (uint32_t at = Read(0x34, 1); at != 0 && found.size() < 48; at = Read(at + 1, 1)) {
      found[Read(at, 1)] = at;
    }
    return found;
  }
  /// Returns the size of a BAR and its type bits.
  std::pair<uint64_t, uint32_t> SizeOf(int bar) {
    const uint32_t at = 0x10 + 4 * static_cast<uint32_t>(bar);
    const uint32_t type = Read(at, 4) & 0xf;
    Write(at, 4, ~0u);
    uint64_t mask = Read(at, 4) & ~0xfu;
    if ((type & 4) != 0) {
      Write(at + 4, 4, ~0u);
      mask |= uint64_t{Read(at + 4, 4)} << 32;
    } else if (mask != 0) {
      mask |= uint64_t{0xffff'ffff} << 32;
    }
    return {~mask + 1, type};
  }

 private:
  ConfigSpace space_;
};

TEST(ConfigSpace, OfEnsoIsTheHardwares) {
  Config config(kEnsoModel);
  EXPECT_EQ(config.Read(0x00, 4), 0x0000'1172u);
  EXPECT_EQ(config.Read(0x08, 4) >> 8, 0x02'0000u) << "an Ethernet controller";
  EXPECT_EQ(config.Read(0x0e, 1), 0u);
  EXPECT_EQ(config.Read(0x3d, 1), 0u) << "no interrupt pin";
  EXPECT_EQ(config.SizeOf(2), std::pair(uint64_t{64} << 20, 0xcu)) << "64-bit, prefetchable";
  for (const int bar : {0, 1, 4, 5}) EXPECT_EQ(config.SizeOf(bar).first, 0u) << bar;
  const auto capabilities = config.Capabilities();
  EXPECT_EQ(capabilities.size(), 1u) << "no MSI-X";
  EXPECT_TRUE(capabilities.contains(0x10));
}

TEST(ConfigSpace, OfNetIpuHasThreeBarsAndMsix) {
  Config config(kIpuModel);
  EXPECT_EQ(config.Read(0x00, 4), 0x10f0'1af4u);
  EXPECT_EQ(config.Read(0x2c, 4), 0x10f0'1af4u);
  EXPECT_EQ(config.SizeOf(0), std::pair(uint64_t{128} << 10, 0u));
  EXPECT_EQ(config.SizeOf(2), std::pair(uint64_t{64} << 20, 0xcu));
  EXPECT_EQ(config.SizeOf(4), std::pair(uint64_t{4096}, 0u));
  const auto capabilities = config.Capabilities();
  ASSERT_TRUE(capabilities.contains(0x10));
  ASSERT_TRUE(capabilities.contains(0x11));
  const uint32_t msix = capabilities.at(0x11);
  EXPECT_EQ(config.Read(msix + 2, 2) & 0x7ff, 31u) << "vectors, less one";
  EXPECT_EQ(config.Read(msix + 4, 4), 4u) << "the table: BAR 4, offset 0";
  EXPECT_EQ(config.Read(msix + 8, 4), 0x804u) << "the pending bits";
  config.Write(msix + 2, 2, 0xffff);
  EXPECT_EQ(config.Read(msix + 2, 2), 0xc000u | 31) << "enable and mask alone";
}

TEST(ConfigSpace, WithoutInterruptsThereIsNoMsixAndNoBarForIt) {
  const Config with(kIpuModel);
  Config without(kIpuModel, false);
  EXPECT_FALSE(without.Capabilities().contains(0x11));
  EXPECT_EQ(without.SizeOf(4).first, 0u);
  EXPECT_EQ(without.SizeOf(0).first, uint64_t{128} << 10);
  EXPECT_EQ(without.Read(0x00, 4), with.Read(0x00, 4)) << "else the same";
}

TEST(ConfigSpace, ExpressSaysWhatTheFunctionIs) {
  const Config config(kIpuModel);
  const uint32_t express = config.Capabilities().at(0x10);
  EXPECT_EQ(config.Read(express + 2, 2), 2u) << "version 2, endpoint";
  EXPECT_NE(config.Read(express + 4, 4) & 1u << 28, 0u) << "function-level reset";
  EXPECT_EQ(config.Read(express + 0x12, 2), 0x103u) << "8 GT/s, 16 lanes";
  EXPECT_EQ(config.Read(0x06, 2) & 0x10, 0x10u) << "has a list of capabilities";
  EXPECT_EQ(config.Read(0x100, 4), 0u) << "no extended ones";
}

TEST(ConfigSpace, TheCommandRegisterSaysWhatTheFunctionMayDo) {
  Config config(kIpuModel);
  EXPECT_FALSE(config.space().memory_enabled());
  EXPECT_FALSE(config.space().bus_master());
  config.Write(4, 2, 2);
  EXPECT_TRUE(config.space().memory_enabled());
  EXPECT_FALSE(config.space().bus_master());
  config.Write(4, 2, 6);
  EXPECT_TRUE(config.space().bus_master());
  config.Write(4, 2, 0xffff);
  EXPECT_EQ(config.Read(4, 2), 0x0546u) << "no I/O, no special cycles";
  config.Write(5, 1, 0);
  EXPECT_EQ(config.Read(4, 2), 0x0046u) << "bytes by themselves";
}

TEST(ConfigSpace, WhatIsReadOnlyStays) {
  Config config(kIpuModel);
  const uint32_t express = config.Capabilities().at(0x10);
  for (const uint32_t offset :
       {0x00u, 0x08u, 0x2cu, 0x34u, 0x3cu, 0x100u, 0xffcu, express, express + 4, express + 0xc}) {
    const uint32_t before = config.Read(offset, 4);
    config.Write(offset, 4, ~0u);
    const uint32_t line = offset == 0x3c ? 0xff : 0;  // Software can write the interrupt line.
    EXPECT_EQ(config.Read(offset, 4), before | line) << offset;
  }
}

TEST(ConfigSpace, AFunctionLevelResetIsAskedForAndForgets) {
  Config config(kIpuModel);
  const uint32_t control = config.Capabilities().at(0x10) + 8;
  const uint32_t at_power_on = config.Read(control, 2);
  config.Write(4, 2, 6);
  config.Write(0x10, 4, 0xfebf'0000);
  EXPECT_EQ(config.Read(0x10, 4), 0xfebe'0000u) << "128 KiB";
  EXPECT_EQ(config.space().BarAddress(0), 0xfebe'0000u);
  config.Write(0x18, 4, 0x1200'0000);
  config.Write(0x1c, 4, 0x38);
  EXPECT_EQ(config.space().BarAddress(2), 0x38'1000'0000u) << "64 MiB";
  EXPECT_FALSE(config.Write(control, 2, 0x10));
  EXPECT_TRUE(config.Write(control, 2, 0x8010));
  EXPECT_EQ(config.Read(control, 2), 0x10u) << "the request itself reads as 0";
  EXPECT_TRUE(config.Write(control + 1, 1, 0x80));
  EXPECT_FALSE(config.Write(control - 2, 4, 0));
  EXPECT_TRUE(config.Write(control - 2, 4, 0x8000'0000)) << "wherever the store begins";
  config.space().Reset();
  EXPECT_EQ(config.Read(control, 2), at_power_on);
  EXPECT_EQ(config.Read(0x10, 4), 0u);
  EXPECT_FALSE(config.space().bus_master());
}

}  // namespace
}  // namespace sluice::emulator::vfio_user
