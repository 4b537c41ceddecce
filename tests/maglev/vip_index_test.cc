// SPDX-License-Identifier: BSD-3-Clause
//
// Tests prefixes and the lookup of the VIP for a destination. The reference is a linear search that
// this test implements.
#include "engine/maglev/vip_index.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "engine/maglev/prefix_map.h"
#include "engine/maglev/tables.h"

namespace sluice::engine::maglev {
namespace {

IpAddress Address(const std::string& text) { return *IpAddress::Parse(text); }
IpPrefix Prefix(const std::string& text) { return *IpPrefix::Parse(text); }

TEST(IpPrefix, IsReadAndShown) {
  struct Case {
    const char* text;
    const char* first;
    int host_bits;
    const char* last;
    const char* shown;
  };
  constexpr Case kCases[] = {
      {"192.0.2.1", "192.0.2.1", 0, "192.0.2.1", "192.0.2.1"},
      {"192.0.2.1/32", "192.0.2.1", 0, "192.0.2.1", "192.0.2.1"},
      {"192.0.2.0/24", "192.0.2.0", 8, "192.0.2.255", "192.0.2.0/24"},
      {"192.0.2.128/25", "192.0.2.128", 7, "192.0.2.255", "192.0.2.128/25"},
      {"192.0.2.254/31", "192.0.2.254", 1, "192.0.2.255", "192.0.2.254/31"},
      {"192.0.0.0/15", "192.0.0.0", 17, "192.1.255.255", "192.0.0.0/15"},
      {"128.0.0.0/1", "128.0.0.0", 31, "255.255.255.255", "128.0.0.0/1"},
      {"0.0.0.0/0", "0.0.0.0", 32, "255.255.255.255", "0.0.0.0/0"},
      {"2001:db8::1", "2001:db8::1", 0, "2001:db8::1", "2001:db8::1"},
      {"2001:db8::1/128", "2001:db8::1", 0, "2001:db8::1", "2001:db8::1"},
      {"2001:db8::/61", "2001:db8::", 67, "2001:db8:0:7:ffff:ffff:ffff:ffff", "2001:db8::/61"},
      {"::/0", "::", 128, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::/0"},
  };
  for (const Case& test : kCases) {
    const auto prefix = IpPrefix::Parse(test.text);
    ASSERT_TRUE(prefix) << test.text;
    EXPECT_EQ(prefix->address, Address(test.first)) << test.text;
    EXPECT_EQ(prefix->host_bits, test.host_bits) << test.text;
    EXPECT_EQ(prefix->Last(), Address(test.last)) << test.text;
    EXPECT_EQ(prefix->ToString(), test.shown);
    EXPECT_TRUE(prefix->Contains(prefix->address) && prefix->Contains(prefix->Last()));
  }
  for (const char* const text :
       {"", "/", "/24", "192.0.2.0/", "192.0.2.0/33", "192.0.2.0/-1", "192.0.2.0/+8",
        "192.0.2.0/24x", "192.0.2.0/24 ", "192.0.2.0/2/4", "192.0.2.1/31", "192.0.2/24",
        "2001:db8::/129", "2001:db8::1/127", "2001:db8::/4294967328", "192.0.2.0/4294967320"}) {
    EXPECT_FALSE(IpPrefix::Parse(text)) << text;
  }
}

TEST(IpPrefix, EndsAtItsBits) {
  EXPECT_TRUE(Prefix("192.0.2.128/25").Contains(Address("192.0.2.128")));
  EXPECT_FALSE(Prefix("192.0.2.128/25").Contains(Address("192.0.2.127")));
  EXPECT_FALSE(Prefix("192.0.2.0/24").Contains(Address("192.0.3.0")));
  EXPECT_FALSE(Prefix("0.0.0.0/0").Contains(Address("::")));
  EXPECT_FALSE(Prefix("::/0").Contains(Address("0.0.0.0")));
  // If there are more host bits than address bits, all bits are cleared.
  EXPECT_EQ(WithoutHostBits(Address("192.0.2.1"), 33), Address("0.0.0.0"));
  EXPECT_EQ(WithoutHostBits(Address("2001:db8::1"), 4000), Address("::"));
}

/// Returns a random address from a small range in which prefixes overlap.
IpAddress RandomAddress(std::mt19937* random, bool ipv6) {
  IpAddress address = Address(ipv6 ? "2001:db8::" : "10.0.0.0");
  uint8_t* const end = address.bytes.data() + (ipv6 ? 16 : 4);
  end[-1] = static_cast<uint8_t>((*random)() % 4 * 85);
  end[-2] = static_cast<uint8_t>((*random)() % 3);
  return address;
}

IpPrefix RandomPrefix(std::mt19937* random, bool ipv6) {
  const auto bits = static_cast<uint8_t>((*random)() % 18);
  return {WithoutHostBits(RandomAddress(random, ipv6), bits), bits};
}

/// Compares the prefix bit by bit.
bool IsIn(const IpAddress& address, const IpPrefix& prefix) {
  if (address.ipv6 != prefix.address.ipv6) return false;
  const int bits = (address.ipv6 ? 128 : 32) - prefix.host_bits;
  for (int bit = 0; bit < bits; ++bit) {
    const int difference = address.bytes[bit / 8] ^ prefix.address.bytes[bit / 8];
    if ((difference >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

TEST(PrefixMap, FindsTheLongest) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    PrefixMap map;
    std::map<IpPrefix, uint16_t> all;
    EXPECT_TRUE(map.empty());
    for (uint16_t value = 0; value < 12; ++value) {
      const IpPrefix prefix = RandomPrefix(&random, random() % 2 == 0);
      EXPECT_EQ(map.Add(prefix, value), all.try_emplace(prefix, value).second);
    }
    EXPECT_FALSE(map.empty());
    for (int i = 0; i < 50; ++i) {
      const IpAddress address = RandomAddress(&random, i % 2 == 0);
      std::optional<uint16_t> wanted;
      int best = 129;
      for (const auto& [prefix, value] : all) {
        if (!IsIn(address, prefix) || prefix.host_bits >= best) continue;
        best = prefix.host_bits;
        wanted = value;
      }
      const uint16_t* const found = map.Find(address);
      ASSERT_EQ(found != nullptr ? std::optional(*found) : std::nullopt, wanted)
          << address.ToString();
    }
  }
}

VipSetup MakeVip(const IpPrefix& prefix, uint16_t port, uint8_t protocol) {
  VipSetup vip;
  vip.name = prefix.ToString() + " " + std::to_string(port) + " " + std::to_string(protocol);
  vip.address = prefix.address;
  vip.host_bits = prefix.host_bits;
  vip.port = port;
  vip.protocol = protocol;
  return vip;
}

std::string NameOf(const Tables& tables, const Vip* vip) {
  return vip == nullptr ? "" : tables.VipName(vip->index);
}

std::string Found(const Tables& tables, const IpAddress& address, uint16_t port, uint8_t protocol) {
  const uint16_t port_be = __builtin_bswap16(port);
  const std::string name = NameOf(tables, tables.index().Find(address, port_be, protocol));
  if (!address.ipv6) {
    // The source port is in the middle of the word and must not matter.
    const uint64_t destination = packet::Load<uint32_t>(address.bytes.data()) |
                                 uint64_t{0xbeef} << 32 | uint64_t{port_be} << 48;
    const uint64_t key = VipIndex::Ipv4Key(destination, protocol);
    EXPECT_EQ(NameOf(tables, tables.index().FindIpv4(key)), name);
  }
  return name;
}

TEST(VipIndex, TheLongestPrefixWithTheServiceComesFirst) {
  maglev::Setup setup;
  for (const auto& [prefix, port] : {std::pair("192.0.2.0/24", 80),
                                     {"192.0.2.0/25", 0},
                                     {"192.0.2.7", 443},
                                     {"192.0.2.0/24", 0},
                                     {"2001:db8::/64", 80},
                                     {"2001:db8::/65", 0},
                                     {"2001:db8::7", 443},
                                     {"2001:db8::/64", 0}}) {
    setup.vips.push_back(MakeVip(Prefix(prefix), static_cast<uint16_t>(port), 6));
  }
  const auto tables = Tables::Build(setup, nullptr);
  const auto found = [&](const char* address, uint16_t port, uint8_t protocol = 6) {
    return Found(*tables, Address(address), port, protocol);
  };
  EXPECT_EQ(found("192.0.2.7", 443), "192.0.2.7 443 6");
  EXPECT_EQ(found("192.0.2.7", 80), "192.0.2.0/25 0 6") << "any port of a longer prefix";
  EXPECT_EQ(found("192.0.2.0", 80), "192.0.2.0/25 0 6");
  EXPECT_EQ(found("192.0.2.128", 80), "192.0.2.0/24 80 6");
  EXPECT_EQ(found("192.0.2.255", 81), "192.0.2.0/24 0 6");
  EXPECT_EQ(found("192.0.2.255", 0), "192.0.2.0/24 0 6");
  EXPECT_EQ(found("192.0.2.7", 443, 17), "");
  EXPECT_EQ(found("192.0.3.0", 80), "");
  EXPECT_EQ(found("2001:db8::7", 443), "2001:db8::7 443 6");
  EXPECT_EQ(found("2001:db8::7", 80), "2001:db8::/65 0 6");
  EXPECT_EQ(found("2001:db8:0:0:8000::", 80), "2001:db8::/64 80 6");
  EXPECT_EQ(found("2001:db8:0:0:ffff::", 81), "2001:db8::/64 0 6");
  EXPECT_EQ(found("2001:db8:0:1::", 80), "");
  EXPECT_TRUE(tables->index().Covers(Address("192.0.2.255")));
  EXPECT_FALSE(tables->index().Covers(Address("192.0.3.0")));
  EXPECT_TRUE(tables->index().Covers(Address("2001:db8:0:0:ffff::")));
  EXPECT_FALSE(tables->index().Covers(Address("2001:db8:0:1::")));
}

// A prefix and its first address have the same bytes.
TEST(VipIndex, APrefixAndItsFirstAddressAreTwo) {
  maglev::Setup setup;
  setup.vips = {MakeVip(Prefix("192.0.2.0/24"), 80, 6), MakeVip(Prefix("192.0.2.0"), 80, 6)};
  const auto tables = Tables::Build(setup, nullptr);
  EXPECT_EQ(Found(*tables, Address("192.0.2.0"), 80, 6), "192.0.2.0 80 6");
  EXPECT_EQ(Found(*tables, Address("192.0.2.1"), 80, 6), "192.0.2.0/24 80 6");
}

TEST(VipIndex, AgreesWithASearchThroughAllVips) {
  std::mt19937 random(2);
  constexpr uint16_t kPorts[] = {0, 80, 443};
  constexpr uint8_t kProtocols[] = {6, 17};
  for (int round = 0; round < 100; ++round) {
    maglev::Setup setup;
    std::map<std::tuple<IpPrefix, uint16_t, uint8_t>, std::string> all;
    for (int i = 0; i < 16; ++i) {
      const VipSetup vip = MakeVip(RandomPrefix(&random, random() % 2 == 0), kPorts[random() % 3],
                                   kProtocols[random() % 2]);
      if (all.try_emplace({vip.prefix(), vip.port, vip.protocol}, vip.name).second) {
        setup.vips.push_back(vip);
      }
    }
    const auto tables = Tables::Build(setup, nullptr);
    for (int i = 0; i < 100; ++i) {
      const IpAddress address = RandomAddress(&random, i % 2 == 0);
      const uint16_t port = kPorts[random() % 3];
      const uint8_t protocol = kProtocols[random() % 2];
      std::string wanted;
      std::pair<int, bool> best{129, true};
      bool covered = false;
      for (const auto& [key, name] : all) {
        const auto& [prefix, of_port, of_protocol] = key;
        if (!IsIn(address, prefix)) continue;
        covered = true;
        const std::pair<int, bool> rank{prefix.host_bits, of_port == 0};
        if (of_protocol != protocol || (of_port != 0 && of_port != port) || rank >= best) continue;
        best = rank;
        wanted = name;
      }
      ASSERT_EQ(Found(*tables, address, port, protocol), wanted)
          << address.ToString() << " " << port;
      ASSERT_EQ(tables->index().Covers(address), covered) << address.ToString();
    }
  }
}

}  // namespace
}  // namespace sluice::engine::maglev
