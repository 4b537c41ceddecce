// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/total_statistics.h"

#include <algorithm>
#include <string>
#include <utility>

namespace sluice::emulator {

void TotalStatistics::Merge(const std::vector<Statistic>& fresh, bool returned) {
  if (values_.empty()) {
    for (const Statistic& statistic : fresh) values_.push_back({statistic.name, 0});
    counted_.resize(fresh.size());
  }
  // A restarted device may have other counters, but the names of this list are constant.
  std::vector<uint64_t> counts = counted_;
  bool anew = false;
  for (size_t i = 0; i < values_.size(); ++i) {
    const std::string& name = values_[i].name;
    auto found = i < fresh.size() && fresh[i].name == name
                     ? fresh.begin() + static_cast<ptrdiff_t>(i)
                     : std::find_if(fresh.begin(), fresh.end(),
                                    [&](const Statistic& s) { return s.name == name; });
    if (found != fresh.end()) counts[i] = found->value;
    // A reset preserves a device's counters; a new process starts at 0.
    anew = anew || (returned && name.starts_with("model_") && counts[i] < counted_[i]);
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    values_[i].value += counts[i] - (anew ? 0 : counted_[i]);
  }
  counted_ = std::move(counts);
}

}  // namespace sluice::emulator
