// SPDX-License-Identifier: BSD-3-Clause
//
// The models that sluice-device can run. A new model needs an entry here.
#pragma once

#include <array>

#include "emulator/enso_model.h"
#include "emulator/ipu_model.h"
#include "emulator/model.h"

namespace sluice::device_app {

/// The first one is the default.
inline constexpr auto kModels =
    std::to_array<const emulator::ModelInfo*>({&emulator::kIpuModel, &emulator::kEnsoModel});

}  // namespace sluice::device_app
