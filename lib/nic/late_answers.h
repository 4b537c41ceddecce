// SPDX-License-Identifier: BSD-3-Clause
//
// Copies of frames that must be sent after the current burst has been handed over: answers that do
// not fit in place, frames that the engine sent meanwhile, and later answers, which must not
// overtake these frames. Used by CoherentQueue and BilateralQueue.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice::nic {

/// Collects the copies of one burst. Used by one worker. Allocates memory on first use and keeps
/// it.
class LateAnswers {
 public:
  bool empty() const { return answers_.empty(); }
  /// Returns the total size of all frames.
  size_t bytes() const { return bytes_.size(); }

  /// Copies the answer to frame `number` of the burst, or a frame that the engine sent before that
  /// answer. Numbers may come in any order. Frames with the same number are sent in the order in
  /// which they were added.
  void Add(uint32_t number, const uint8_t* frame, uint32_t length) {
    answers_.push_back({number, static_cast<uint32_t>(bytes_.size()), length});
    bytes_.insert(bytes_.end(), frame, frame + length);
  }
  /// Returns the lowest frame number that was added. Must not be called if empty.
  uint32_t First() const { return std::ranges::min(answers_, {}, &Answer::number).number; }

  /// Calls leave(frame, length) for all frames in the order of their numbers. Then removes the
  /// frames.
  template <typename Leave>
  void Empty(Leave leave) {
    std::ranges::sort(answers_, {}, [](const Answer& answer) {
      return std::pair(answer.number, answer.at);  // `at` increases in the order of addition.
    });
    for (const Answer& answer : answers_) leave(&bytes_[answer.at], answer.length);
    answers_.clear();
    bytes_.clear();
  }

 private:
  struct Answer {
    uint32_t number, at, length;
  };

  std::vector<Answer> answers_;
  std::vector<uint8_t> bytes_;
};

}  // namespace sluice::nic
