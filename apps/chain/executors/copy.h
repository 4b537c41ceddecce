// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "../executor.h"

namespace sluice::chain_app {

extern const StageKind kCopyStage;

}  // namespace sluice::chain_app
