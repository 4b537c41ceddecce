// SPDX-License-Identifier: BSD-3-Clause
//
// Runs stages for Python tests, which compare them with other programs.
//
//   stage_runner KIND OPTIONS COMMAND   reads messages from standard input, each as 4 bytes of
//                                       length (little-endian) and the bytes. Writes for each to
//                                       standard output: outcome and refusal, one byte each; the
//                                       words of the key and the length, 4 bytes each; the result.
//                                       The first 8 bytes of the state count messages from 0.
//   stage_runner digits SEED COUNT      writes COUNT images: a byte with the digit, then the pixels
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "all.h"
#include "digit_image.h"
#include "executor.h"

namespace {

using sluice::chain_app::Executor;
using sluice::chain_app::Outcome;
using sluice::chain_app::StageKind;
using sluice::chain_app::Work;

constexpr uint32_t kMaxMessage = 100000;

uint64_t Number(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void Put(uint64_t number, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; ++i) std::putchar(static_cast<int>(number >> 8 * i & 0xff));
}

int Draw(uint64_t seed, uint64_t count) {
  std::array<uint8_t, sluice::chain_app::kImageBytes> image{};
  for (uint64_t number = 0; number < count; ++number) {
    Put(sluice::chain_app::DrawDigit(seed, number, image), 1);
    std::fwrite(image.data(), 1, image.size(), stdout);
  }
  return 0;
}

int RunMessages(Executor& executor, uint32_t command) {
  const std::vector<char> read{std::istreambuf_iterator<char>(std::cin), {}};
  const std::span<const uint8_t> all(reinterpret_cast<const uint8_t*>(read.data()), read.size());
  std::vector<uint8_t> room(kMaxMessage);
  uint64_t messages = 0;
  for (size_t at = 0; all.size() - at >= 4; ++messages) {
    uint32_t length = 0;
    for (size_t i = 0; i < 4; ++i) length |= uint32_t{all[at + i]} << 8 * i;
    Work work{.input = all.subspan(at + 4, length), .output = room, .command = command};
    for (size_t i = 0; i < 8; ++i) work.state[i] = static_cast<uint8_t>(messages >> 8 * i);
    at += 4 + length;
    executor.Run({&work, 1});
    const uint32_t bytes = work.outcome == Outcome::kDone ? work.length : 0;
    Put(static_cast<uint8_t>(work.outcome), 1);
    Put(work.refusal, 1);
    for (const uint32_t word : {work.key[0], work.key[1], bytes}) Put(word, 4);
    std::fwrite(room.data(), 1, bytes, stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string_view kind = argv[1];
  if (kind == "digits") return Draw(Number(argv[2]), Number(argv[3]));
  for (const StageKind* built_in : sluice::chain_app::BuiltInStages()) {
    if (kind != built_in->name) continue;
    std::string error;
    const auto executor = built_in->make({argv[2], kMaxMessage}, &error);
    if (executor != nullptr) return RunMessages(*executor, static_cast<uint32_t>(Number(argv[3])));
    std::fprintf(stderr, "%s\n", error.c_str());
  }
  return 2;
}
