// SPDX-License-Identifier: BSD-3-Clause
#include "classify.h"

namespace sluice::chain_app {

Answer AnswerOf(const Scores& scores, uint32_t command) {
  const Reading reading = Read(scores);
  return {reading.digit, reading.ahead_percent >= static_cast<int64_t>(command), scores};
}

void WriteAnswer(const Answer& answer, std::span<uint8_t, kAnswerBytes> bytes) {
  bytes[0] = answer.digit;
  bytes[1] = answer.sure ? 1 : 0;
  bytes[2] = bytes[3] = 0;
  for (size_t i = 0; i < kDigits; ++i)
    for (size_t byte = 0; byte < 4; ++byte)
      bytes[4 + 4 * i + byte] =
          static_cast<uint8_t>(static_cast<uint32_t>(answer.scores[i]) >> 8 * byte);
}

std::optional<Answer> ReadAnswer(std::span<const uint8_t> bytes) {
  if (bytes.size() != kAnswerBytes || bytes[0] >= kDigits || bytes[1] > 1 || bytes[2] != 0 ||
      bytes[3] != 0)
    return std::nullopt;
  Answer answer{bytes[0], bytes[1] == 1, {}};
  for (size_t i = 0; i < kDigits; ++i) {
    uint32_t score = 0;
    for (size_t byte = 0; byte < 4; ++byte) score |= uint32_t{bytes[4 + 4 * i + byte]} << 8 * byte;
    answer.scores[i] = static_cast<int32_t>(score);
  }
  return answer;
}

}  // namespace sluice::chain_app
