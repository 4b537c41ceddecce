// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the C API from a program's point of view, for all kinds of engines: creation, hostile
// frames, headroom and tailroom, and errors for invalid configurations.
#include "sluice/engines.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "program.h"

namespace sluice::test {
namespace {

TEST(Library, KnowsItsVersionAndKinds) {
  EXPECT_EQ(sluice_engines_version(), SLUICE_ENGINES_MAJOR << 16 | SLUICE_ENGINES_MINOR);
  EXPECT_STREQ(sluice_engines_release(), SLUICE_VERSION);
  size_t known = 0;
  for (const char* const* kind = sluice_engine_kinds(); *kind != nullptr; ++kind, ++known) {
    ASSERT_LT(known, std::size(kAllKinds));
    EXPECT_STREQ(*kind, kAllKinds[known].kind);
  }
  EXPECT_EQ(known, std::size(kAllKinds));
}

TEST(Library, SaysWhatIsWrongWithAConfigurationAndWhere) {
  const struct {
    const char* kind;
    std::string_view configuration;
    const char* error;
  } kCases[] = {
      {"router", "{}", "no such engine"},
      {nullptr, "{}", "no such engine"},
      {"maglev", "", "not JSON"},
      {"maglev", "{}", "vips: is missing"},
      {"maglev", R"({"vips": [{"address": "10.0.0.1", "backends": [{"address": "x"}]}]})",
       "vips[0].backends[0].address"},
      {"telemetry", R"({"rows": 2})", "rows: give 3 to 16"},
      {"telemetry", R"({"keys": "flows"})", "keys: \"flows\": give 5-tuple"},
      {"telemetry", R"({"speed": 1})", "speed: unknown"},
      {"telemetry", R"({"epoch_s": 0})", "epoch_s"},
      {"logmon", "{}", "filters: is missing"},
      {"logmon", R"({"filters": [{"pattern": "%["}]})", "filters[0].pattern"},
      {"logmon", R"({"filters": [], "line_ports": [0]})", "line_ports[0]: give a port"},
      {"logmon", R"({"filters": [], "line_ports": [514]})",
       "line_ports: a port is also in syslog_ports"},
      {"kv", "{}", "mac: give the port's MAC address"},
      {"kv", R"({"any_destination": true, "memory_mb": 3})", "memory_mb"},
      {"kv", R"({"any_destination": true, "memory_mb": 1048576, "items": 68719476736})",
       "MiB available"},
      {"kv", R"({"any_destination": true, "mica_port": 5, "memcached_port": 5})",
       "memcached_port: conflicts"},
      {"neighbor", R"({"mac": "02:00:00:00:00:02"})", "ip: is missing"},
      {"neighbor", R"({"ip": "10.0.0.2"})", "mac: missing"},
      {"neighbor", R"({"mac": "2", "ip": "10.0.0.2"})", "mac: \"2\": give a MAC address"},
      {"neighbor", R"({"mac": "02:00:00:00:00:02", "ip": "10.0.0"})", "ip: "},
  };
  for (const auto& wrong : kCases) {
    std::string error;
    EXPECT_EQ(TryMake(wrong.kind, wrong.configuration, &error), nullptr) << wrong.configuration;
    EXPECT_NE(error.find(wrong.error), std::string::npos) << error;
  }
}

TEST(Library, SaysWhatIsWrongWithOptionsAndFiles) {
  std::array<char, 16> small{};
  EXPECT_EQ(sluice_engine_open("maglev", "/nonexistent", nullptr, small.data(), small.size()),
            nullptr);
  // The text is truncated to the size of the buffer.
  EXPECT_STREQ(small.data(), "/nonexistent: N");
  EXPECT_EQ(sluice_engine_open("maglev", nullptr, nullptr, nullptr, 0), nullptr);
  sluice_options options{};
  EXPECT_EQ(sluice_engine_create("telemetry", "{}", 2, &options, nullptr, 0), nullptr);
  options.size = sizeof(options);
  options.workers = SLUICE_MAX_WORKERS + 1;
  EXPECT_EQ(sluice_engine_create("telemetry", "{}", 2, &options, nullptr, 0), nullptr);
  sluice_engine_destroy(nullptr);
  sluice_text_free(nullptr);
}

TEST(Library, HasTheWorkersThatWereAskedFor) {
  for (const auto& [kind, configuration] : kAllKinds) {
    if (std::string_view(kind) == "kv") continue;  // kv needs at least 4 MiB per partition.
    const Engine engine = Make(kind, configuration, 3);
    EXPECT_STREQ(sluice_engine_kind(engine.get()), kind);
    EXPECT_EQ(sluice_engine_workers(engine.get()), 3u);
    std::set<sluice_worker*> workers;
    for (uint32_t i = 0; i < 3; ++i) workers.insert(sluice_engine_worker(engine.get(), i));
    EXPECT_EQ(workers.size(), 3u);
    EXPECT_FALSE(workers.contains(nullptr));
    EXPECT_EQ(sluice_engine_worker(engine.get(), 3), nullptr);
  }
}

TEST(Library, CountsEveryFrameUnderOneEnding) {
  std::vector<Bytes> frames;
  for (const Fixture& fixture : kFixtures) frames.push_back(*fixture.bytes);
  for (const auto& [kind, configuration] : kAllKinds) {
    SCOPED_TRACE(kind);
    const Engine engine = Make(kind, configuration);
    FramesOfCall call(frames);
    call.Process(engine);
    uint64_t endings[SLUICE_PASS + 1] = {};
    for (size_t i = 0; i < call.size(); ++i) ++endings[call[i].verdict];
    EXPECT_EQ(CounterOf(engine, "frames"), frames.size());
    EXPECT_EQ(CounterOf(engine, "forwarded"), endings[SLUICE_FORWARD]);
    EXPECT_EQ(CounterOf(engine, "consumed"), endings[SLUICE_CONSUME]);
    EXPECT_EQ(CounterOf(engine, "passed"), endings[SLUICE_PASS]);
    uint64_t drops = 0;
    for (uint32_t i = 0; const char* const name = sluice_engine_reason(engine.get(), i); ++i) {
      drops += CounterOf(engine, std::string("drop_") + name);
    }
    EXPECT_EQ(drops, endings[SLUICE_DROP]);
  }
}

TEST(Library, CallsWithoutFramesAreAllowed) {
  for (const auto& [kind, configuration] : kAllKinds) {
    const Engine engine = Make(kind, configuration);
    sluice_worker* const worker = sluice_engine_worker(engine.get(), 0);
    for (uint64_t now = 0; now < 5; ++now) {
      sluice_worker_process(worker, nullptr, 0, now * kTicksPerSecond);
    }
    uint32_t count = 1;
    sluice_worker_sent(worker, &count);
    EXPECT_EQ(count, 0u);
    sluice_engine_finish(engine.get(), 6 * kTicksPerSecond);
    EXPECT_EQ(CounterOf(engine, "frames"), 0u);
  }
}

/// Uses every fixture truncated at every length, then all fixtures with random bytes changed. Each
/// allocation has exactly the size of the frame, its headroom and its tailroom.
TEST(Library, FramesOfStrangersEndAndHarmNobody) {
  std::vector<Bytes> cut, bent;
  std::mt19937 random(7);
  for (const Fixture& fixture : kFixtures) {
    for (size_t length = 0; length <= fixture.bytes->size(); ++length) {
      cut.emplace_back(fixture.bytes->begin(),
                       fixture.bytes->begin() + static_cast<ptrdiff_t>(length));
    }
    for (int i = 0; i < 200; ++i) {
      Bytes frame = *fixture.bytes;
      for (int change = 0; change < 1 + i % 3; ++change) {
        frame[random() % frame.size()] = static_cast<uint8_t>(random());
      }
      bent.push_back(std::move(frame));
    }
  }
  for (const auto& [kind, configuration] : kAllKinds) {
    SCOPED_TRACE(kind);
    const Engine engine = Make(kind, configuration);
    uint64_t now = 0;
    for (const std::vector<Bytes>& frames : {cut, bent}) {
      for (const auto& [headroom, tailroom] : {std::pair{0u, 0u}, {64u, 0u}, {0u, 64u}}) {
        for (size_t begin = 0; begin < frames.size(); begin += 48) {
          const size_t end = std::min(begin + 48, frames.size());
          FramesOfCall call({frames.begin() + static_cast<ptrdiff_t>(begin),
                             frames.begin() + static_cast<ptrdiff_t>(end)},
                            headroom, tailroom);
          call.Process(engine, now += kTicksPerSecond / 10);
          for (size_t i = 0; i < call.size(); ++i) call.Check(engine, i);
        }
      }
    }
    sluice_engine_finish(engine.get(), now);
    EXPECT_EQ(CounterOf(engine, "frames"), 3 * (cut.size() + bent.size()));
    EXPECT_EQ(CounterOf(engine, "drop_no_memory"), 0u);
  }
}

TEST(Library, ResultsDoNotDependOnBursts) {
  std::vector<Bytes> frames;
  for (const Fixture& fixture : kFixtures) frames.push_back(*fixture.bytes);
  for (const auto& [kind, configuration] : kAllKinds) {
    SCOPED_TRACE(kind);
    const Engine together = Make(kind, configuration), alone = Make(kind, configuration);
    FramesOfCall all(frames);
    all.Process(together);
    for (size_t i = 0; i < frames.size(); ++i) {
      FramesOfCall one({frames[i]});
      one.Process(alone);
      EXPECT_EQ(one[0].verdict, all[i].verdict) << kFixtures[i].name;
      if (one[0].verdict != SLUICE_FORWARD) continue;
      EXPECT_EQ(one.bytes(0), all.bytes(i)) << kFixtures[i].name;
    }
  }
}

}  // namespace
}  // namespace sluice::test
