// SPDX-License-Identifier: BSD-3-Clause
#include "swap/initiator.h"

namespace sluice::swap {
namespace {

State StateOf(Phase phase) {
  switch (phase) {
    case Phase::kOffer:
      return State::kOffer;
    case Phase::kCancel:
      return State::kCancel;
    case Phase::kCommit:
      return State::kCommit;
    case Phase::kAbort:
      return State::kAbort;
    case Phase::kIdle:
      return State::kIdle;
    default:
      return State::kSync;
  }
}

}  // namespace

Initiator Initiator::Resume(const Machine& machine, uint16_t epoch, const Message& own) {
  Initiator end(machine, epoch, own.incarnation);
  end.Recall(own, StateOf(own.phase));
  end.Publish();
  return end;
}

}  // namespace sluice::swap
