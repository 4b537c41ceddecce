// SPDX-License-Identifier: BSD-3-Clause
//
// Answers of one burst that cannot leave from where their frames lay, and those of the frames
// behind them, which must not overtake them: copies, until the burst has been handed over. Used by
// CoherentQueue.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sluice::nic {

/// Used by one worker. Takes memory when it is needed first, and keeps it.
class LateAnswers {
 public:
  bool empty() const { return answers_.empty(); }

  /// Takes a copy of the answer to the burst's frame `number`, which it has not had. In any order.
  void Add(uint32_t number, const uint8_t* frame, uint32_t length) {
    answers_.push_back({number, static_cast<uint32_t>(bytes_.size()), length});
    bytes_.insert(bytes_.end(), frame, frame + length);
  }
  /// The least number. Only if not empty.
  uint32_t First() const { return std::ranges::min(answers_, {}, &Answer::number).number; }

  /// Calls leave(frame, length) for all, in the order of their frames, and forgets them.
  template <typename Leave>
  void Empty(Leave leave) {
    std::ranges::sort(answers_, {}, &Answer::number);
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
