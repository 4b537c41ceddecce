// SPDX-License-Identifier: BSD-3-Clause
//
// Answers of one burst that cannot leave from where their frames lay, frames that the engine sent
// meanwhile, and answers to the frames behind them, which must not overtake them: copies, until the
// burst has been handed over. Used by CoherentQueue and BilateralQueue.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice::nic {

/// Used by one worker. Takes memory when it is needed first, and keeps it.
class LateAnswers {
 public:
  bool empty() const { return answers_.empty(); }
  /// Of all frames.
  size_t bytes() const { return bytes_.size(); }

  /// Copies a frame that leaves with the answer to the burst's frame `number`, or is the answer. In
  /// any order of numbers; those of one number leave in the order in which they were added.
  void Add(uint32_t number, const uint8_t* frame, uint32_t length) {
    answers_.push_back({number, static_cast<uint32_t>(bytes_.size()), length});
    bytes_.insert(bytes_.end(), frame, frame + length);
  }
  /// The least number. Only if not empty.
  uint32_t First() const { return std::ranges::min(answers_, {}, &Answer::number).number; }

  /// Calls leave(frame, length) for all, in the order of their frames, and forgets them.
  template <typename Leave>
  void Empty(Leave leave) {
    std::ranges::sort(answers_, {}, [](const Answer& answer) {
      return std::pair(answer.number, answer.at);  // Bytes are added at the end.
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
