// SPDX-License-Identifier: BSD-3-Clause
#include "stress_log.h"

#include <unordered_map>

namespace sluice::swap::test {
namespace {

std::string Broken(const char* what, uint64_t serial) {
  return std::string(what) + " at transaction " + std::to_string(serial);
}

/// Checks the initiator's log alone: each offer must have one result, before the next offer. Only a
/// commit may replace the initiator's token.
std::string JudgeInitiator(const Log& log, std::unordered_map<uint64_t, Entry>& results) {
  uint64_t cell = 0;
  uint64_t open = 0;
  for (const Entry& entry : log) {
    if (entry.did == EventKind::kOffered) {
      if (open != 0) return Broken("S4: offered before the last one was resolved", entry.serial);
      if (cell != 0 && entry.token != cell)
        return Broken("S5: offered another token", entry.serial);
      open = entry.serial;
      cell = entry.token;
      continue;
    }
    if (entry.did == EventKind::kForgot) {
      open = 0;
      cell = entry.token;
      continue;
    }
    if (open != entry.serial) return Broken("S3: a second result", entry.serial);
    open = 0;
    if (entry.did != EventKind::kRejected) cell = entry.token;
    results.emplace(entry.serial, entry);
  }
  return {};
}

/// Checks the responder's log alone: each transaction must have one outcome, in order. A commit
/// must give away the token that the responder received last.
std::string JudgeResponder(const Log& log, std::unordered_map<uint64_t, Entry>& outcomes) {
  uint64_t cell = 0;
  uint64_t last = 0;
  for (const Entry& entry : log) {
    if (entry.did == EventKind::kForgot) {
      cell = entry.token;
      continue;
    }
    if (entry.serial <= last) return Broken("S3: a second outcome", entry.serial);
    last = entry.serial;
    outcomes.emplace(entry.serial, entry);
    if (entry.did == EventKind::kRefused) continue;
    if (!entry.condition_held) return Broken("S2: committed against its condition", entry.serial);
    if (cell != 0 && entry.token != cell) return Broken("S5: gave another token", entry.serial);
    cell = entry.received;
  }
  return {};
}

}  // namespace

std::string Judge(const Log& initiator, const Log& responder, bool four_messages) {
  std::unordered_map<uint64_t, Entry> results, outcomes;
  if (std::string broken = JudgeInitiator(initiator, results); !broken.empty()) return broken;
  if (std::string broken = JudgeResponder(responder, outcomes); !broken.empty()) return broken;
  for (const auto& [serial, result] : results) {
    const auto outcome = outcomes.find(serial);
    if (result.did == EventKind::kCommitted) {
      // A missing record is a violation with two messages. With four messages, it means that the
      // responder never confirmed because it restarted without state or was orphaned.
      if (outcome == outcomes.end()) {
        if (!four_messages) return Broken("S2: committed without a record", serial);
        continue;
      }
      if (outcome->second.did != EventKind::kResponderCommitted)
        return Broken("S1: C here, X there", serial);
      if (outcome->second.token != result.token) return Broken("S5: got another token", serial);
    }
    if (result.did == EventKind::kRejected && outcome != outcomes.end() &&
        outcome->second.did == EventKind::kResponderCommitted) {
      return Broken("S1: X here, C there", serial);
    }
  }
  return {};
}

}  // namespace sluice::swap::test
