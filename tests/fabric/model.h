// SPDX-License-Identifier: BSD-3-Clause
//
// Common parts of the tests of windows in virtual time.
#pragma once

#include "fabric/window.h"

namespace sluice::fabric {

using bar::Line;

inline Line Numbered(uint64_t number) {
  Line line;
  for (uint64_t i = 0; i < line.word.size(); ++i) line.word[i] = number * 1000 + i;
  line.word[7] &= 0xffff'ffff;
  return line;
}

struct Model {
  explicit Model(const WindowParameters& parameters = {}) : pair(queue, parameters) {}
  EventQueue queue;
  WindowPair pair;
  HostEnd& host = pair.host();
  NicEnd& nic = pair.nic();
};

inline WindowParameters With(HostStores stores, NicLines lines) {
  WindowParameters parameters;
  parameters.lines = 4;
  parameters.host_stores = stores;
  parameters.nic_lines = lines;
  return parameters;
}

}  // namespace sluice::fabric
