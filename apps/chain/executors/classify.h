// SPDX-License-Identifier: BSD-3-Clause
//
// Recognizes the digit in an image with the network of digit_network.h, computed by oneDNN.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "../executor.h"
#include "digit_network.h"

namespace sluice::chain_app {

/// If the program was built without oneDNN, `make` returns an error. A message consists of the
/// pixels of an image. The command is a percentage of kDigitScale, 0 to 100: an answer is certain
/// if the best digit's score exceeds the next digit's by at least this much.
extern const StageKind kClassifyStage;

/// Indices into StageKind::refusals.
enum class ClassifyRefusal : uint8_t {
  kBadImage,  ///< Length differs from kImageBytes.
  kTooLong,   ///< The output buffer is too small for an answer.
  kBadCommand,
};

/// Format of an answer: the digit (1 byte), 1 if the network is certain of the digit (1 byte), two
/// zero bytes, and the scores (4 bytes each, little-endian).
inline constexpr uint32_t kAnswerBytes = 4 + 4 * kDigits;
struct Answer {
  uint8_t digit = 0;
  bool sure = false;
  Scores scores{};
  friend bool operator==(const Answer&, const Answer&) = default;
};
Answer AnswerOf(const Scores& scores, uint32_t command);
void WriteAnswer(const Answer& answer, std::span<uint8_t, kAnswerBytes> bytes);
/// Returns nullopt if the bytes are not an answer.
std::optional<Answer> ReadAnswer(std::span<const uint8_t> bytes);

/// Returns the first word of the key that a classifier sets for its result. Bit 0: the answer is
/// certain; bits 8 to 15: the digit.
constexpr uint32_t KeyOf(const Answer& answer) {
  return (answer.sure ? 1u : 0u) | uint32_t{answer.digit} << 8;
}

}  // namespace sluice::chain_app
