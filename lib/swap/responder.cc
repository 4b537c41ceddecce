// SPDX-License-Identifier: BSD-3-Clause
#include "swap/responder.h"

namespace sluice::swap {

Responder Responder::Resume(const Machine& machine, uint16_t epoch, const Message& own) {
  Responder end(machine, epoch, own.incarnation);
  end.Recall(own, own.phase == Phase::kReflected ? State::kTentative
                  : own.phase >= Phase::kReady   ? State::kReady
                                                 : State::kSync);
  end.Publish(end.state_ == State::kSync ? Phase::kSync : own.phase);
  return end;
}

}  // namespace sluice::swap
