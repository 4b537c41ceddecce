// SPDX-License-Identifier: BSD-3-Clause
#include "pattern.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

namespace sluice::chain_app {
namespace {

constexpr uint32_t kDefaultBytes = 64;

/// Messages of pseudorandom words, computed from seed, message number and position by SplitMix64
/// (Steele, Lea and Flood, 2014).
class Pattern final : public Traffic {
 public:
  Pattern(uint64_t seed, uint32_t bytes) : seed_(seed), bytes_(bytes) {}

  uint32_t Write(uint64_t number, std::span<uint8_t> room) override {
    Fill(number, room.first(bytes_));
    return bytes_;
  }
  bool Right(uint64_t number, std::span<const uint8_t> answer,
             const std::array<uint32_t, 2>&) override {
    uint64_t state = seed_ ^ number << 20;
    if (answer.size() != bytes_) return false;
    for (size_t at = 0; at < answer.size(); at += sizeof(uint64_t)) {
      const uint64_t word = Next(state);
      if (std::memcmp(&answer[at], &word, std::min(sizeof word, answer.size() - at)) != 0)
        return false;
    }
    return true;
  }

 private:
  static uint64_t Next(uint64_t& state) {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  void Fill(uint64_t number, std::span<uint8_t> message) const {
    uint64_t state = seed_ ^ number << 20;
    for (size_t at = 0; at < message.size(); at += sizeof(uint64_t)) {
      const uint64_t word = Next(state);
      std::memcpy(&message[at], &word, std::min(sizeof word, message.size() - at));
    }
  }

  uint64_t seed_;
  uint32_t bytes_;
};

std::unique_ptr<Traffic> Make(const TrafficOptions& options, std::string* error) {
  uint32_t bytes = std::min(kDefaultBytes, options.max_message);
  constexpr std::string_view kBytes = "bytes=";
  if (!options.text.empty()) {
    const char* const end = options.text.data() + options.text.size();
    const auto [stop, fault] = options.text.starts_with(kBytes)
                                   ? std::from_chars(&options.text[kBytes.size()], end, bytes)
                                   : std::from_chars_result{nullptr, std::errc::invalid_argument};
    if (fault != std::errc() || stop != end || bytes > options.max_message) {
      *error = "give bytes=N with N at most the chain's max_message, " +
               std::to_string(options.max_message);
      return nullptr;
    }
  }
  return std::make_unique<Pattern>(options.seed, bytes);
}

}  // namespace

const TrafficKind kPatternTraffic = {
    .name = "pattern",
    .what = "bytes derived from the message's number, which the chain must return unchanged",
    .make = Make};

}  // namespace sluice::chain_app
