// SPDX-License-Identifier: BSD-3-Clause
//
// Writes a histogram in the format of the HdrHistogram tools (https://hdrhistogram.org, files named
// *.hgrm): the output of AbstractHistogram.outputPercentileDistribution with five ticks per halving
// of the distance to 100 %.
#pragma once

#include <string>

#include "engine/workload/histogram.h"

namespace sluice::engine::pktgen {

/// Returns the text. Values are divided by `unit`, e.g. 1000 to convert ns to microseconds.
std::string PercentileText(const workload::Histogram& histogram, double unit);

}  // namespace sluice::engine::pktgen
