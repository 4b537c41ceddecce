// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace sluice::engine::maglev {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr packet::MacAddress kRouter{0x02, 0, 0, 0, 0, 0x01};

IpAddress Address(const char* text) { return *IpAddress::Parse(text); }

BackendSetup Backend(const char* name, const char* address) {
  BackendSetup backend;
  backend.name = name;
  backend.address = Address(address);
  return backend;
}

VipSetup WebVip(const char* name, const char* address, uint16_t port = 80) {
  VipSetup vip;
  vip.name = name;
  vip.address = Address(address);
  vip.port = port;
  return vip;
}

/// Returns a valid setup with one VIP per address family and two backends each.
Setup Good() {
  Setup setup;
  setup.next_hop = kRouter;
  setup.vips.push_back(WebVip("web", "192.0.2.80"));
  setup.vips[0].backends = {Backend("a", "10.0.0.1"), Backend("b", "10.0.0.2")};
  setup.vips.push_back(WebVip("web6", "2001:db8::80"));
  setup.vips[1].backends = {Backend("a", "fd00::1"), Backend("b", "fd00::2")};
  return setup;
}

/// Returns the errors in a valid setup after `change` has been applied.
std::vector<std::string> After(const std::function<void(Setup&)>& change) {
  Setup setup = Good();
  change(setup);
  return Check(setup);
}

TEST(Check, FindsNothingInAGoodSetup) { EXPECT_THAT(Check(Good()), IsEmpty()); }

TEST(Check, AllowsEmptyAndDrainedPools) {
  EXPECT_THAT(Check(maglev::Setup{}), IsEmpty());
  EXPECT_THAT(After([](auto& setup) {
                setup.vips[0].backends.clear();
                for (BackendSetup& backend : setup.vips[1].backends) backend.weight = 0;
              }),
              IsEmpty());
}

TEST(Check, AllowsWhatOnlyLooksLikeAConflict) {
  EXPECT_THAT(After([](auto& setup) {
                setup.vips.push_back(WebVip("tls", "192.0.2.80", 443));
                setup.vips.push_back(WebVip("rest", "192.0.2.80", 0));
                setup.vips.push_back(WebVip("quic", "192.0.2.80", 80));
                setup.vips.back().protocol = 17;
                setup.vips.back().quic = true;
                for (VipSetup& vip : setup.vips) {
                  if (vip.backends.empty()) vip.backends = setup.vips[0].backends;
                }
              }),
              IsEmpty());
  EXPECT_THAT(After([](auto& setup) {
                setup.vips[0].backends[1].address = setup.vips[0].backends[0].address;
              }),
              IsEmpty());
}

// --- Errors of the balancer.

TEST(Check, WantsAPrimeNumberOfSlots) {
  EXPECT_THAT(After([](auto& setup) { setup.slots = 65536; }),
              ElementsAre("65536 slots are not prime: use 65537"));
  EXPECT_THAT(After([](auto& setup) { setup.slots = 1; }),
              ElementsAre("1 slots are not prime: use 2"));
  EXPECT_THAT(After([](auto& setup) { setup.slots = 1 << 24; }),
              ElementsAre(HasSubstr("16777216 slots are too many")));
  EXPECT_THAT(After([](auto& setup) { setup.slots = 0xffffffff; }),
              ElementsAre(HasSubstr("4294967295 slots are too many")));
  EXPECT_THAT(After([](auto& setup) { setup.slots = kLargeRing; }), IsEmpty());
}

TEST(Check, WantsNumbersWithinTheirLimits) {
  EXPECT_THAT(After([](auto& setup) { setup.mtu = 65536; }),
              ElementsAre("the MTU is 65536, but must be 576 ... 65535"));
  EXPECT_THAT(After([](auto& setup) { setup.mtu = 0; }), ElementsAre(StartsWith("the MTU is 0")));
  EXPECT_THAT(After([](auto& setup) { setup.gue_port = 0; }),
              ElementsAre(StartsWith("the GUE port is 0")));
  EXPECT_THAT(After([](auto& setup) { setup.connections = kMaxConnections + 1; }),
              ElementsAre(StartsWith("the number of connections is 268435457")));
  EXPECT_THAT(After([](auto& setup) { setup.fragments = kMaxFragments + 1; }),
              ElementsAre(StartsWith("the number of fragments is 16777217")));
  EXPECT_THAT(After([](auto& setup) { setup.timeouts.tcp_s = 32768; }),
              ElementsAre("the timeout of TCP is 32768, but must be 1 ... 32767"));
  EXPECT_THAT(After([](auto& setup) {
                setup.timeouts = {0, 0, 0, 0, 0};
              }),
              ElementsAre(StartsWith("the timeout of TCP is 0"),
                          StartsWith("the timeout of opening TCP is 0"),
                          StartsWith("the timeout of closing TCP is 0"),
                          StartsWith("the timeout of UDP is 0"),
                          StartsWith("the timeout of fragments is 0")));
}

TEST(Check, WantsRoomForTheSmallestPacketsInTheMtu) {
  // RFC 8200: an IPv6 packet of 1280 bytes must fit; the outer header has 40 bytes.
  EXPECT_THAT(After([](auto& setup) { setup.mtu = 1320; }), IsEmpty());
  EXPECT_THAT(After([](auto& setup) {
                setup.mtu = 1319;
                setup.vips[1].backends.pop_back();
              }),
              ElementsAre("vip \"web6\": backend \"a\": an MTU of 1319 is too small for IPv6 with "
                          "encapsulation ip: give at least 1320"));
  EXPECT_THAT(After([](auto& setup) {
                setup.mtu = 1327;
                setup.vips[1].encapsulation = Encapsulation::kGue;
                setup.vips[1].backends.pop_back();
              }),
              ElementsAre(HasSubstr("at least 1328")));
  EXPECT_THAT(After([](auto& setup) {
                setup.vips.pop_back();
                setup.vips[0].encapsulation = Encapsulation::kGre;
                setup.mtu = 600;
              }),
              IsEmpty());
}

TEST(Mtu, IsTheProfilesUnlessItIsSaid) {
  maglev::Setup setup;
  EXPECT_EQ(MtuOf(setup), 1500u);
  setup.profile =
      Profile::kKatran;  // 1514 bytes including the Ethernet header, encapsulated in IPv6 and UDP.
  EXPECT_EQ(MtuOf(setup), 1500u + 40 + 8);
  setup.mtu = 1600;
  EXPECT_EQ(MtuOf(setup), 1600u);
  EXPECT_EQ(MaxInnerBytes(Profile::kKatran), 1500u);
  EXPECT_EQ(MaxInnerBytes(Profile::kSluice), 65535u);
}

TEST(Check, WantsOuterSourcesOfTheirFamily) {
  EXPECT_THAT(After([](auto& setup) { setup.source_ipv4 = Address("fd00::9"); }),
              ElementsAre("the outer source fd00::9 is not an IPv4 address"));
  EXPECT_THAT(After([](auto& setup) { setup.source_ipv6 = Address("10.0.0.9"); }),
              ElementsAre("the outer source 10.0.0.9 is not an IPv6 address"));
  EXPECT_THAT(After([](auto& setup) { setup.source_ipv4 = Address("224.0.0.1"); }),
              ElementsAre("the outer source 224.0.0.1 is not the address of a host"));
}

TEST(Check, WantsANextHopForEveryBackend) {
  EXPECT_THAT(
      After([](auto& setup) {
        setup.next_hop.reset();
        setup.vips.pop_back();
        setup.vips[0].backends[0].mac = kRouter;
      }),
      ElementsAre(AllOf(StartsWith("vip \"web\": backend \"b\": the next hop is unknown"))));
  EXPECT_THAT(After([](auto& setup) { setup.next_hop = packet::MacAddress{}; }),
              ElementsAre(HasSubstr("MAC address is 0 or a group address")));
  EXPECT_THAT(After([](auto& setup) {
                setup.vips[0].backends[0].mac = packet::MacAddress{0x01, 0, 0x5e, 0, 0, 1};
              }),
              ElementsAre(AllOf(StartsWith("vip \"web\": backend \"a\": "),
                                HasSubstr("MAC address is 0 or a group address"))));
}

TEST(Check, WantsThisBalancerAmongAllAndAWayToTheOthers) {
  const auto with_balancers = [](auto& setup) {
    setup.balancers = {Address("fd00::101"), Address("fd00::102")};
    setup.own_address = setup.balancers[0];
  };
  EXPECT_THAT(After(with_balancers), IsEmpty());
  EXPECT_THAT(After([&](auto& setup) {
                with_balancers(setup);
                setup.own_address = Address("fd00::103");
              }),
              ElementsAre("the address of this balancer, fd00::103, is not among the balancers: "
                          "add the address to balancers"));
  EXPECT_THAT(After([&](auto& setup) {
                with_balancers(setup);
                setup.own_address.reset();
              }),
              ElementsAre(HasSubstr("but the address of this balancer is missing")));
  EXPECT_THAT(After([&](auto& setup) {
                with_balancers(setup);
                setup.balancers.push_back(setup.balancers[1]);
              }),
              ElementsAre("balancer fd00::102 is listed twice"));
  EXPECT_THAT(After([&](auto& setup) {
                with_balancers(setup);
                setup.next_hop.reset();
                for (VipSetup& vip : setup.vips) {
                  for (BackendSetup& backend : vip.backends) backend.mac = kRouter;
                }
              }),
              ElementsAre(StartsWith("the next hop to the other balancers is unknown")));
  EXPECT_THAT(After([&](auto& setup) {
                with_balancers(setup);
                setup.balancers[1] = Address("10.0.0.102");
              }),
              ElementsAre(HasSubstr("fragments of the IPv6 VIP \"web6\" cannot reach balancers")));
}

TEST(Check, LimitsVipsAndBackends) {
  EXPECT_THAT(After([](auto& setup) {
                setup.vips.clear();
                for (uint32_t i = 0; i <= kMaxVips; ++i) {
                  setup.vips.push_back(
                      WebVip(std::to_string(i).c_str(), "192.0.2.1", static_cast<uint16_t>(i + 1)));
                }
              }),
              ElementsAre("4097 VIPs exceed the limit of 4096"));
  EXPECT_THAT(After([](auto& setup) {
                setup.vips[0].backends.clear();
                for (uint32_t i = 0; i < kMaxBackends - 1; ++i) {
                  setup.vips[0].backends.push_back(Backend(std::to_string(i).c_str(), "10.0.0.1"));
                }
              }),
              ElementsAre("65536 backends of all VIPs exceed the limit of 65535"));
}

// --- Errors of a VIP.

TEST(Check, WantsVipsThatDiffer) {
  EXPECT_THAT(After([](auto& setup) { setup.vips[1].name = "web"; }),
              ElementsAre("vip \"web\": another VIP has this name"));
  EXPECT_THAT(After([](auto& setup) { setup.vips.push_back(WebVip("other", "192.0.2.80")); }),
              ElementsAre("vip \"other\": vip \"web\" already serves TCP 192.0.2.80:80"));
  EXPECT_THAT(After([](auto& setup) {
                setup.vips[0].port = 0;
                setup.vips[0].protocol = 17;
                setup.vips.push_back(setup.vips[0]);
                setup.vips[2].name = "other";
              }),
              ElementsAre("vip \"other\": vip \"web\" already serves UDP 192.0.2.80:any"));
  EXPECT_THAT(After([](auto& setup) { setup.vips.push_back(WebVip("six", "2001:db8::80")); }),
              ElementsAre("vip \"six\": vip \"web6\" already serves TCP [2001:db8::80]:80"));
}

TEST(Check, WantsTcpOrUdpToAHostsAddress) {
  EXPECT_THAT(After([](auto& setup) { setup.vips[0].protocol = 132; }),
              ElementsAre("vip \"web\": protocol 132 is neither TCP (6) nor UDP (17)"));
  EXPECT_THAT(After([](auto& setup) { setup.vips[0].quic = true; }),
              ElementsAre("vip \"web\": QUIC needs UDP"));
  for (const char* address : {"0.0.0.0", "0.1.2.3", "127.0.0.1", "224.0.0.1", "240.0.0.1",
                              "255.255.255.255", "::", "::1", "::ffff:192.0.2.1", "ff02::1"}) {
    EXPECT_THAT(After([&](auto& setup) {
                  setup.vips[0].address = Address(address);
                  setup.vips[0].backends.clear();
                }),
                ElementsAre(HasSubstr("is not the address of a host")))
        << address;
  }
}

TEST(Check, WantsPrefixesOfHosts) {
  const auto with_prefix = [](const char* text, Encapsulation encapsulation = Encapsulation::kIp) {
    return After([&](auto& setup) {
      const IpPrefix prefix = *IpPrefix::Parse(text);
      VipSetup& vip = setup.vips[prefix.address.ipv6 ? 1 : 0];
      vip.address = prefix.address;
      vip.host_bits = prefix.host_bits;
      vip.encapsulation = encapsulation;
    });
  };
  EXPECT_THAT(with_prefix("192.0.2.0/24"), IsEmpty());
  EXPECT_THAT(with_prefix("2001:db8::/32"), IsEmpty());
  for (const char* const text : {"0.0.0.0/0", "0.0.0.0/1", "128.0.0.0/1", "112.0.0.0/4",
                                 "224.0.0.0/4", "::/0", "::/96", "8000::/1", "ff00::/8"}) {
    EXPECT_THAT(with_prefix(text), Contains(HasSubstr("is not the address of a host"))) << text;
  }
  EXPECT_THAT(
      with_prefix("10.0.0.0/24"),
      ElementsAre("vip \"web\": backend \"a\": address 10.0.0.1 is a VIP: packets would loop",
                  HasSubstr("backend \"b\": address 10.0.0.2 is a VIP")));
  EXPECT_THAT(with_prefix("192.0.2.0/24", Encapsulation::kNat),
              ElementsAre("vip \"web\": nat requires a single address, not 192.0.2.0/24"));
  EXPECT_THAT(
      After([](auto& setup) { setup.vips[0].host_bits = 8; }),
      ElementsAre("vip \"web\": address 192.0.2.80 is not the first address of its prefix"));
  // A prefix within another prefix is a different VIP. The same prefix is a duplicate.
  EXPECT_THAT(After([](auto& setup) {
                setup.vips.push_back(WebVip("net", "192.0.2.0"));
                setup.vips.back().host_bits = 8;
                setup.vips.push_back(WebVip("half", "192.0.2.0"));
                setup.vips.back().host_bits = 7;
                setup.vips.push_back(WebVip("again", "192.0.2.0"));
                setup.vips.back().host_bits = 8;
              }),
              ElementsAre("vip \"again\": vip \"net\" already serves TCP 192.0.2.0/24:80"));
}

TEST(Check, WantsNamesThatCanBePrinted) {
  for (const std::string& name : {std::string(), std::string(256, 'x'), std::string("a\nb"),
                                  std::string("a\"b"), std::string("a\\b"), std::string("a\0b", 3),
                                  std::string("\x1b[2J"), std::string("\xc3\xa4")}) {
    const auto of_vip = After([&](auto& setup) { setup.vips[0].name = name; });
    ASSERT_THAT(of_vip, ElementsAre(HasSubstr("a name must have 1 ... 255 printable ASCII")));
    EXPECT_EQ(of_vip[0].find_first_of(std::string("\n\x1b\0\xc3", 4)), std::string::npos);
    EXPECT_THAT(After([&](auto& setup) { setup.vips[0].backends[0].name = name; }),
                ElementsAre(HasSubstr("a name must have 1 ... 255 printable ASCII")));
  }
  EXPECT_THAT(
      After([](auto& setup) { setup.vips[0].backends[0].name = "[10.0.0.1:80/TCP,State:active]"; }),
      IsEmpty());
}

// --- Errors of a backend.

TEST(Check, WantsBackendsThatDiffer) {
  EXPECT_THAT(After([](auto& setup) { setup.vips[0].backends[1].name = "a"; }),
              ElementsAre("vip \"web\": backend \"a\": another backend of this VIP has this name"));
  EXPECT_THAT(After([](auto& setup) {
                setup.profile = Profile::kKatran;
                setup.vips[0].backends[1].address = setup.vips[0].backends[0].address;
              }),
              ElementsAre("vip \"web\": backend \"b\": backend \"a\" has this address too; "
                          "Katran's ring identifies backends by address"));
  EXPECT_THAT(After([](auto& setup) {
                for (BackendSetup& backend : setup.vips[0].backends) backend.quic_ids = {7};
              }),
              ElementsAre("vip \"web\": backend \"b\": backend \"a\" has the QUIC server id 7 "
                          "too"));
}

TEST(Check, WantsQuicServerIdsThatNameOneBackend) {
  EXPECT_THAT(After([](auto& setup) {
                setup.vips[0].backends[0].quic_ids = {1, 2, 70000};
                setup.vips[0].backends[1].quic_ids = {3, 4};
                setup.vips[1].backends[0].quic_ids = {1};
              }),
              IsEmpty());
  EXPECT_THAT(After([](auto& setup) {
                setup.vips[0].backends[0].quic_ids = {1, 2};
                setup.vips[0].backends[1].quic_ids = {3, 2, 0};
              }),
              ElementsAre("vip \"web\": backend \"b\": backend \"a\" has the QUIC server id 2 "
                          "too",
                          "vip \"web\": backend \"b\": 0 is not a valid QUIC server id"));
  EXPECT_THAT(After([](auto& setup) {
                setup.vips[0].backends[0].quic_ids = {5, 5};
              }),
              ElementsAre("vip \"web\": backend \"a\": backend \"a\" has the QUIC server id 5 "
                          "too"));
}

SourceSetup Source(const char* prefix, const char* backend) {
  return {*IpPrefix::Parse(prefix), backend};
}

TEST(Check, WantsSourcesThatNameABackendOnce) {
  EXPECT_THAT(After([](auto& setup) {
                setup.vips[0].sources = {Source("198.51.100.0/24", "a"),
                                         Source("198.51.100.0/25", "b"),
                                         Source("198.51.100.0", "a"), Source("0.0.0.0/0", "b")};
                setup.vips[1].sources = {Source("2001:db8::/32", "a")};
              }),
              IsEmpty());
  EXPECT_THAT(
      After([](auto& setup) {
        setup.vips[0].sources = {Source("198.51.100.0/24", "c"), Source("2001:db8::/32", "a"),
                                 Source("198.51.100.0/24", "b")};
      }),
      ElementsAre(
          "vip \"web\": source 198.51.100.0/24: the VIP has no backend with the name \"c\"",
          "vip \"web\": source 2001:db8::/32: a source must have an IPv4 address, like the VIP",
          "vip \"web\": source 198.51.100.0/24: the source is listed twice"));
  EXPECT_THAT(After([](auto& setup) {
                setup.vips[0].sources = {{{Address("198.51.100.1"), 8}, "a"}};
              }),
              ElementsAre(HasSubstr("the address is not the first address of its prefix")));
}

TEST(Check, WantsWeightsInRange) {
  EXPECT_THAT(After([](auto& setup) { setup.vips[0].backends[0].weight = 65536; }),
              ElementsAre("vip \"web\": backend \"a\": weight is 65536, but must be 0 ... 65535"));
  EXPECT_THAT(After([](auto& setup) { setup.vips[0].backends[0].weight = 65535; }), IsEmpty());
}

TEST(Check, WantsBackendsThatCanBeReached) {
  EXPECT_THAT(
      After([](auto& setup) { setup.vips[0].backends[0].address = Address("0.0.0.0"); }),
      ElementsAre("vip \"web\": backend \"a\": address 0.0.0.0 is not the address of a host"));
  EXPECT_THAT(After([](auto& setup) {
                setup.vips[0].backends[0].address = Address("127.0.0.1");
                setup.vips[1].backends[0].address = Address("::1");
              }),
              IsEmpty())
      << "health checks reach this machine";
  // This is the address of another VIP, which is later in the list.
  EXPECT_THAT(
      After([](auto& setup) { setup.vips[0].backends[0].address = Address("2001:db8::80"); }),
      ElementsAre(HasSubstr("address 2001:db8::80 is a VIP")));
}

TEST(Check, WantsFamiliesThatCanMeet) {
  for (const Encapsulation encapsulation :
       {Encapsulation::kIp, Encapsulation::kGue, Encapsulation::kGre}) {
    EXPECT_THAT(After([&](auto& setup) {
                  setup.vips[1].encapsulation = encapsulation;
                  setup.vips[1].backends[0].address = Address("10.0.0.1");
                }),
                ElementsAre("vip \"web6\": backend \"a\": an IPv6 VIP cannot be tunneled over "
                            "IPv4: use the backend's IPv6 address"));
    EXPECT_THAT(After([&](auto& setup) {
                  setup.vips[0].encapsulation = encapsulation;
                  setup.vips[0].backends[0].address = Address("fd00::1");
                }),
                IsEmpty());
  }
  EXPECT_THAT(
      After([](auto& setup) {
        setup.vips[0].encapsulation = Encapsulation::kNat;
        setup.vips[0].backends[0].address = Address("fd00::1");
      }),
      ElementsAre(
          "vip \"web\": backend \"a\": nat cannot translate from an IPv4 VIP to an IPv6 address"));
}

TEST(Check, WantsTheMacAddressOfABackendThatIsReachedByIt) {
  constexpr packet::MacAddress kMac{0x02, 0, 0, 0, 0, 0x77};
  EXPECT_THAT(
      After([](auto& setup) { setup.vips[0].encapsulation = Encapsulation::kMac; }),
      ElementsAre(
          "vip \"web\": backend \"a\": encapsulation mac requires the backend's MAC address",
          StartsWith("vip \"web\": backend \"b\": encapsulation mac requires")))
      << "the router would send it back";
  const auto with_macs = [&](const std::function<void(maglev::Setup&)>& change) {
    return After([&](auto& setup) {
      setup.next_hop.reset();
      for (VipSetup& vip : setup.vips) {
        vip.encapsulation = Encapsulation::kMac;
        for (BackendSetup& backend : vip.backends) backend.mac = kMac;
      }
      change(setup);
    });
  };
  EXPECT_THAT(with_macs([](auto&) {}), IsEmpty());
  EXPECT_THAT(with_macs([](auto& setup) {
                setup.vips[0].backends[0].address = Address("fd00::1");
                setup.vips[1].backends[0].address = Address("10.0.0.1");
              }),
              IsEmpty())
      << "the address is in no packet";
  EXPECT_THAT(with_macs([](auto& setup) {
                setup.vips[0].address = Address("192.0.2.0");
                setup.vips[0].host_bits = 8;
              }),
              IsEmpty());
  EXPECT_THAT(
      with_macs([](auto& setup) { setup.vips[0].backends[0].mac = packet::MacAddress{0x03}; }),
      ElementsAre(HasSubstr("MAC address is 0 or a group address")));
  EXPECT_THAT(with_macs([](auto& setup) { setup.vips[0].backends[0].port = 8080; }),
              ElementsAre(HasSubstr("port 8080 requires encapsulation nat, not mac")));
  EXPECT_THAT(
      with_macs([](auto& setup) { setup.mtu = 1279; }),
      ElementsAre(
          HasSubstr(
              "an MTU of 1279 is too small for IPv6 with encapsulation mac: give at least 1280"),
          HasSubstr("at least 1280")));
}

TEST(Check, WantsPortsOnlyWhereTheyAreRewritten) {
  EXPECT_THAT(
      After([](auto& setup) { setup.vips[0].backends[0].port = 8080; }),
      ElementsAre("vip \"web\": backend \"a\": port 8080 requires encapsulation nat, not ip"));
  EXPECT_THAT(After([](auto& setup) {
                setup.vips[0].encapsulation = Encapsulation::kNat;
                setup.vips[0].backends[0].port = 8080;
              }),
              IsEmpty());
  EXPECT_THAT(
      After([](auto& setup) {
        setup.vips[0].encapsulation = Encapsulation::kNat;
        setup.vips[0].port = 0;
        setup.vips[0].backends[0].port = 8080;
      }),
      ElementsAre(HasSubstr("a VIP that serves all ports cannot be rewritten to port 8080")));
}

/// Returns the errors of two NAT VIPs that share a host.
std::vector<std::string> AfterNat(uint16_t vip_port, uint16_t port, uint16_t other_vip_port,
                                  uint16_t other_port) {
  return After([&](auto& setup) {
    setup.vips = {WebVip("one", "192.0.2.1", vip_port), WebVip("two", "192.0.2.2", other_vip_port)};
    for (VipSetup& vip : setup.vips) {
      vip.encapsulation = Encapsulation::kNat;
      vip.backends = {Backend("a", "10.0.0.1")};
    }
    setup.vips[0].backends[0].port = port;
    setup.vips[1].backends[0].port = other_port;
  });
}

TEST(Check, WantsAWayBackForNatAnswers) {
  const auto with_macs = [](Encapsulation encapsulation) {
    return After([=](auto& setup) {
      setup.next_hop.reset();
      setup.vips.resize(1);
      setup.vips[0].encapsulation = encapsulation;
      for (BackendSetup& backend : setup.vips[0].backends) backend.mac = kRouter;
    });
  };
  EXPECT_THAT(with_macs(Encapsulation::kIp), IsEmpty());
  EXPECT_THAT(
      with_macs(Encapsulation::kNat),
      ElementsAre(
          "vip \"web\": nat requires a next hop to clients: give the router's MAC address"));
}

TEST(Check, WantsNatAnswersThatBelongToOneVip) {
  const auto conflict = [](const char* where) {
    return ElementsAre("vip \"two\": backend \"a\": vip \"one\" also rewrites to TCP 10.0.0.1:" +
                       std::string(where) + ", so replies would be ambiguous");
  };
  EXPECT_THAT(AfterNat(80, 0, 81, 0), IsEmpty());
  EXPECT_THAT(AfterNat(80, 8080, 80, 8081), IsEmpty());
  EXPECT_THAT(AfterNat(80, 0, 80, 0), conflict("80"));
  EXPECT_THAT(AfterNat(80, 8080, 8080, 0), conflict("8080"));
  EXPECT_THAT(AfterNat(0, 0, 80, 0), conflict("any"));
  EXPECT_THAT(AfterNat(80, 0, 0, 0), conflict("80"));
  EXPECT_THAT(AfterNat(0, 0, 0, 0), conflict("any"));
}

TEST(Check, FindsEverythingAtOnce) {
  EXPECT_THAT(After([](auto& setup) {
                setup.slots = 4;
                setup.vips[0].protocol = 1;
                setup.vips[1].backends[0].weight = 70000;
                setup.vips[1].backends[1].name = "a";
              }),
              ElementsAre(StartsWith("4 slots"), StartsWith("vip \"web\": protocol 1"),
                          StartsWith("vip \"web6\": backend \"a\": weight is 70000"),
                          StartsWith("vip \"web6\": backend \"a\": another")));
}

TEST(Encapsulations, HaveNames) {
  EXPECT_EQ(EncapsulationName(Encapsulation::kIp), "ip");
  EXPECT_EQ(EncapsulationName(Encapsulation::kGue), "gue");
  EXPECT_EQ(EncapsulationName(Encapsulation::kGre), "gre");
  EXPECT_EQ(EncapsulationName(Encapsulation::kNat), "nat");
  EXPECT_EQ(EncapsulationName(Encapsulation::kMac), "mac");
}

}  // namespace
}  // namespace sluice::engine::maglev
