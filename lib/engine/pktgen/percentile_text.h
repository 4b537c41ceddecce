// SPDX-License-Identifier: BSD-3-Clause
//
// A histogram as HdrHistogram's tools read and plot it (https://hdrhistogram.org, files named
// *.hgrm): what AbstractHistogram.outputPercentileDistribution prints with five ticks to each
// halving of the distance to 100 %.
#pragma once

#include <string>

#include "engine/workload/histogram.h"

namespace sluice::engine::pktgen {

/// Values are divided by `unit`: 1000 for ns in microseconds.
std::string PercentileText(const workload::Histogram& histogram, double unit);

}  // namespace sluice::engine::pktgen
