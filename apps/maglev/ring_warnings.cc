// SPDX-License-Identifier: BSD-3-Clause
#include "ring_warnings.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <cstdio>

#include "engine/maglev/profile.h"

namespace sluice::maglev {

using engine::maglev::BackendSetup;
using engine::maglev::VipSetup;

std::vector<std::string> RingWarnings(const engine::maglev::Setup& setup) {
  const size_t slots = setup.slots != 0 ? setup.slots : engine::maglev::DefaultSlots(setup.profile);
  std::vector<std::string> lines;
  for (const VipSetup& vip : setup.vips) {
    const auto weighty = static_cast<size_t>(std::ranges::count_if(
        vip.backends, [](const BackendSetup& backend) { return backend.weight != 0; }));
    if (weighty <= slots || lines.size() == kMostWarnings) continue;
    lines.push_back(
        absl::StrFormat("vip \"%s\": %d backends share %d slots: at least %d of them get no new "
                        "flows; set slots to a larger prime",
                        vip.name, weighty, slots, weighty - slots));
  }
  return lines;
}

void PrintRingWarnings(const engine::maglev::Setup& setup) {
  for (const std::string& line : RingWarnings(setup)) {
    std::fprintf(stderr, "warning: %s\n", line.c_str());
  }
}

}  // namespace sluice::maglev
