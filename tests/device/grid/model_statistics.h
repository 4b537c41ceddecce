// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "emulator/hosted_model.h"

namespace sluice::device::grid {

/// A model's statistics by name.
class ModelStatistics {
 public:
  explicit ModelStatistics(emulator::HostedModel& model) : model_(model) {}
  void Update() { statistics_ = model_.Statistics(); }
  uint64_t operator()(std::string_view name) const {
    for (const emulator::Statistic& statistic : statistics_) {
      if (statistic.name == name) return statistic.value;
    }
    ADD_FAILURE() << name;
    return 0;
  }

 private:
  emulator::HostedModel& model_;
  std::vector<emulator::Statistic> statistics_;
};

}  // namespace sluice::device::grid
