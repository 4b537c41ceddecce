// SPDX-License-Identifier: BSD-3-Clause
//
// Helpers for tests of the C API: engines that are destroyed automatically, frames in memory of
// exactly their size, and checks of the results.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "packet/fixtures.h"
#include "sluice/engines.h"

namespace sluice::test {

struct DestroyEngine {
  void operator()(sluice_engine* engine) const { sluice_engine_destroy(engine); }
};
using Engine = std::unique_ptr<sluice_engine, DestroyEngine>;

inline constexpr uint64_t kTicksPerSecond = 1'000'000'000;

/// Returns null and sets `error` if the engine cannot be created.
inline Engine TryMake(const char* kind, std::string_view configuration, std::string* error,
                      uint32_t workers = 1) {
  std::array<char, 256> text{};
  const sluice_options options{.size = sizeof(options),
                               .workers = workers,
                               .reserved = 0,
                               .ticks_per_second = kTicksPerSecond,
                               .now = 0,
                               .seed = 1};
  Engine engine(sluice_engine_create(kind, configuration.data(), configuration.size(), &options,
                                     text.data(), text.size()));
  *error = text.data();
  return engine;
}

inline Engine Make(const char* kind, std::string_view configuration, uint32_t workers = 1) {
  std::string error;
  Engine engine = TryMake(kind, configuration, &error, workers);
  EXPECT_NE(engine, nullptr) << kind << ": " << error;
  EXPECT_EQ(error, "");
  return engine;
}

/// Returns the error message, or "" on success.
inline std::string Replace(const Engine& engine, std::string_view configuration) {
  std::array<char, 256> text{};
  const int result = sluice_engine_replace(engine.get(), configuration.data(), configuration.size(),
                                           text.data(), text.size());
  EXPECT_EQ(result == 0, text[0] == '\0');
  return text.data();
}

inline uint64_t CounterOf(const Engine& engine, std::string_view name) {
  std::vector<sluice_counter> counters(sluice_engine_counters(engine.get(), nullptr, 0));
  sluice_engine_counters(engine.get(), counters.data(), static_cast<uint32_t>(counters.size()));
  for (const sluice_counter& counter : counters) {
    if (counter.name == name) return counter.value;
  }
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

/// Returns null if the engine has no report.
inline nlohmann::json ReportOf(const Engine& engine) {
  char* const text = sluice_engine_report(engine.get());
  if (text == nullptr) return nullptr;
  nlohmann::json report = nlohmann::json::parse(text);
  sluice_text_free(text);
  return report;
}

/// The frames of one call, each in a separate allocation.
class FramesOfCall {
 public:
  explicit FramesOfCall(const std::vector<Bytes>& frames, uint32_t headroom = 0,
                        uint32_t tailroom = 0) {
    for (const Bytes& frame : frames) {
      auto& memory = memory_.emplace_back(new uint8_t[headroom + frame.size() + tailroom]());
      std::copy(frame.begin(), frame.end(), memory.get() + headroom);
      frames_.push_back({memory.get() + headroom, static_cast<uint32_t>(frame.size()), headroom,
                         tailroom, 0xff, 0xff, 0xff, 0});
    }
    given_ = frames_;
  }

  void Process(const Engine& engine, uint64_t now = 0, uint32_t worker = 0) {
    sluice_worker_process(sluice_engine_worker(engine.get(), worker), frames_.data(),
                          static_cast<uint32_t>(frames_.size()), now);
  }

  size_t size() const { return frames_.size(); }
  const sluice_frame& operator[](size_t i) const { return frames_[i]; }
  Bytes bytes(size_t i) const { return {frames_[i].data, frames_[i].data + frames_[i].length}; }
  /// Checks what the C API guarantees about a processed frame.
  void Check(const Engine& engine, size_t i) const {
    const sluice_frame& frame = frames_[i];
    const sluice_frame& given = given_[i];
    ASSERT_LE(frame.verdict, SLUICE_PASS);
    if (frame.verdict == SLUICE_DROP) {
      EXPECT_NE(sluice_engine_reason(engine.get(), frame.reason), nullptr);
      return;
    }
    EXPECT_EQ(frame.reason, 0);
    if (frame.verdict == SLUICE_CONSUME) return;
    if (frame.moved != 0) {
      EXPECT_EQ(frame.headroom + frame.tailroom, 0u);
      EXPECT_EQ(bytes(i).size(), frame.length);  // Reads all bytes.
      return;
    }
    EXPECT_EQ(frame.data - frame.headroom, given.data - given.headroom);
    EXPECT_EQ(frame.data + frame.length + frame.tailroom,
              given.data + given.length + given.tailroom);
  }

 private:
  std::vector<std::unique_ptr<uint8_t[]>> memory_;
  std::vector<sluice_frame> frames_, given_;
};

/// A balancer configuration for the addresses in packet/fixtures.h.
inline constexpr std::string_view kBalancer = R"({"next_hop": "02:00:00:00:00:09", "mtu": 1600,
  "connections": 1024, "fragments": 64, "vips": [
    {"name": "udp", "address": "10.0.0.2", "port": 2000, "protocol": "udp",
     "backends": [{"address": "192.0.2.1"}]},
    {"name": "udp6", "address": "fd00::2", "port": 2000, "protocol": "udp",
     "encapsulation": "gue", "backends": [{"address": "2001:db8::1"}]},
    {"name": "tcp", "address": "10.0.0.2", "port": 443, "encapsulation": "nat",
     "backends": [{"address": "192.0.2.2"}]}]})";
inline constexpr std::string_view kStore = R"({"memory_mb": 4, "items": 1000, "mica_port": 1024,
  "memcached_port": 2000, "any_source_port": true, "mac": "02:00:00:00:00:02",
  "ip": "10.0.0.2,fd00::2"})";
inline constexpr std::string_view kFilters = R"({"line_ports": [2000], "tcp_ports": [443],
  "sources": 16, "idle_s": 1, "mac": "02:00:00:00:00:02", "ip": "10.0.0.2,fd00::2",
  "filters": [{"name": "all", "pattern": "", "show": true},
              {"name": "failed", "pattern": "failed"}]})";
inline constexpr std::string_view kMeter =
    R"({"rows": 3, "columns": 256, "pace": "fixed", "probability": 1})";
inline constexpr std::string_view kHost =
    R"({"mac": "02:00:00:00:00:02", "ip": "10.0.0.2,fd00::2"})";

struct KindAndConfig {
  const char* kind;
  std::string_view configuration;
};
inline constexpr KindAndConfig kAllKinds[] = {{"kv", kStore},
                                              {"logmon", kFilters},
                                              {"maglev", kBalancer},
                                              {"neighbor", kHost},
                                              {"telemetry", kMeter}};

}  // namespace sluice::test
