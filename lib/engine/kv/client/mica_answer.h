// SPDX-License-Identifier: BSD-3-Clause
//
// Extracts the answer from a MICA message.
#pragma once

#include "engine/kv/client/messages.h"
#include "engine/kv/mica_format.h"

namespace sluice::engine::kv::client {

inline Answer AnswerOf(const MicaMessage& message) {
  Answer answer{.id = message.opaque, .outcome = Outcome::kError, .value = message.value};
  const bool get = message.operation == MicaOperation::kGet;
  if (message.result == MicaResult::kSuccess) {
    answer.outcome = get ? Outcome::kHit : Outcome::kStored;
  } else if (get && message.result == MicaResult::kNotFound) {
    answer.outcome = Outcome::kMiss;
  }
  return answer;
}

}  // namespace sluice::engine::kv::client
