// SPDX-License-Identifier: BSD-3-Clause
//
// Tests device arguments: arguments that the driver parses or passes on, and one-line errors that
// name the key and the fix.
#include <gtest/gtest.h>

#include <string>

#include "net_enso/enso_args.h"

namespace sluice::net_enso {
namespace {

constexpr const char* kWireKeys[] = {"wire", "seed"};

TEST(Arguments, DefaultsAreOneReactivePipe) {
  Arguments arguments;
  std::string error;
  for (const char* text : {static_cast<const char*>(nullptr), ""}) {
    ASSERT_TRUE(ParseArguments(text, kWireKeys, &arguments, &error));
    EXPECT_EQ(arguments.pipes, 1u);
    EXPECT_FALSE(arguments.notify_per_packet);
    EXPECT_FALSE(arguments.notify_prefetched);
    EXPECT_TRUE(arguments.passed_on.empty());
  }
}

TEST(Arguments, OwnKeysAreParsedAndTheModelsPassedOn) {
  Arguments arguments;
  std::string error;
  ASSERT_TRUE(ParseArguments("pipes=4,wire=gen:size=64+flows=8,notify=packet,seed=3", kWireKeys,
                             &arguments, &error));
  EXPECT_EQ(arguments.pipes, 4u);
  EXPECT_TRUE(arguments.notify_per_packet);
  ASSERT_EQ(arguments.passed_on.size(), 2u);
  EXPECT_EQ(arguments.passed_on[0], emulator::Argument("wire", "gen:size=64+flows=8"));
  EXPECT_EQ(arguments.passed_on[1], emulator::Argument("seed", "3"));
}

TEST(Arguments, NotificationsMayBePrefetched) {
  Arguments arguments;
  Geometry geometry;
  std::string error;
  ASSERT_TRUE(ParseArguments("notify=prefetch", kWireKeys, &arguments, &error)) << error;
  EXPECT_FALSE(arguments.notify_per_packet);
  ASSERT_TRUE(ModelGeometry(arguments, &geometry, &error)) << error;
  EXPECT_TRUE(geometry.prefetches);
  EXPECT_EQ(geometry.pipe_flits, 32768u);
}

TEST(Arguments, RefusalsNameTheKeyAndTheFix) {
  struct Case {
    const char* text;
    const char* names;
    const char* fixes;
  };
  for (const Case& bad : {
           Case{"colour=red", "colour", "pipes, notify, pipe_flits, exception, wire, seed"},
           Case{"exception=", "exception=", "give the name of the ethdev"},
           Case{"pipe_flits=1000", "pipe_flits=1000", "a power of two from 256 to 1048576"},
           Case{"pipe_flits=128", "pipe_flits=128", "a power of two from 256 to 1048576"},
           Case{"pipe_flits=2097152", "pipe_flits=2097152", "256 to 1048576"},
           Case{"pipe_flits=4k", "pipe_flits=4k", "256 to 1048576"},
           Case{"pipes=0", "pipes=0", "1 to 8192"},
           Case{"pipes=8193", "pipes=8193", "1 to 8192"},
           Case{"pipes=2x", "pipes=2x", "1 to 8192"},
           Case{"pipes=", "pipes=", "1 to 8192"},
           Case{"pipes=99999999999999999999", "pipes=999", "1 to 8192"},
           Case{"notify=often", "notify=often", "reactive, packet or prefetch"},
           Case{"pipes", "pipes", "key=value"},
           Case{"=4", "=4", "key=value"},
       }) {
    Arguments arguments;
    std::string error;
    EXPECT_FALSE(ParseArguments(bad.text, kWireKeys, &arguments, &error)) << bad.text;
    EXPECT_NE(error.find(bad.names), std::string::npos) << error;
    EXPECT_NE(error.find(bad.fixes), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST(Geometry, PipesOfAModelHaveTheFlitsAskedForAndItsBuffersTheHardwaresSlots) {
  for (const uint32_t flits : {0u, 256u, 32768u, 1u << 20}) {
    Arguments arguments;
    arguments.pipes = 8192;
    arguments.pipe_flits = flits;
    Geometry geometry;
    std::string error;
    ASSERT_TRUE(ModelGeometry(arguments, &geometry, &error));
    EXPECT_EQ(geometry.pipe_flits, flits != 0 ? flits : 32768u);
    EXPECT_EQ(geometry.nb_entries, 16384u);
  }
}

/// Each one-flit packet can cause a notification, and stores to rx_head can cause more.
TEST(Geometry, EveryPacketOfAQueuesPipesFindsANotificationSlot) {
  for (const uint32_t pipes : {1u, 2u, 3u, 16u, 63u}) {
    Geometry geometry;
    std::string error;
    Arguments arguments;
    arguments.pipes = pipes;
    arguments.notify_per_packet = true;
    ASSERT_TRUE(ModelGeometry(arguments, &geometry, &error)) << error;
    EXPECT_GT(geometry.nb_entries, 2 * pipes * geometry.pipe_flits);
    EXPECT_LE(geometry.nb_entries, 1u << 20);
    EXPECT_EQ(geometry.nb_entries & (geometry.nb_entries - 1), 0u);
  }
  Geometry geometry;
  std::string error;
  Arguments too_many;
  too_many.pipes = 64;
  too_many.notify_per_packet = true;
  EXPECT_FALSE(ModelGeometry(too_many, &geometry, &error));
  EXPECT_NE(error.find("at most 63"), std::string::npos) << error;
}

}  // namespace
}  // namespace sluice::net_enso
