// SPDX-License-Identifier: BSD-3-Clause
//
// Says which digit an image shows: the network of digit_network.h, computed by oneDNN.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "../executor.h"
#include "digit_network.h"

namespace sluice::chain_app {

/// Without oneDNN, `make` says so. A message is the pixels of an image. The command says by how
/// many percent of a right digit's score the digit must be ahead to be sure; at most 100.
extern const StageKind kClassifyStage;

/// StageKind::refusals, by number.
enum class ClassifyRefusal : uint8_t {
  kBadImage,  ///< Not kImageBytes.
  kTooLong,   ///< There is no room for an answer.
  kBadCommand,
};

/// An answer: the digit, 1 if the network is sure of it, two zero bytes, and the scores, 4 bytes
/// each, little-endian.
inline constexpr uint32_t kAnswerBytes = 4 + 4 * kDigits;
struct Answer {
  uint8_t digit = 0;
  bool sure = false;
  Scores scores{};
  friend bool operator==(const Answer&, const Answer&) = default;
};
Answer AnswerOf(const Scores& scores, uint32_t command);
void WriteAnswer(const Answer& answer, std::span<uint8_t, kAnswerBytes> bytes);
/// Nothing: it is none.
std::optional<Answer> ReadAnswer(std::span<const uint8_t> bytes);

/// The first word of a message's key behind a classifier: bit 0: it is sure; bits 8 to 15: digit.
constexpr uint32_t KeyOf(const Answer& answer) {
  return (answer.sure ? 1u : 0u) | uint32_t{answer.digit} << 8;
}

}  // namespace sluice::chain_app
