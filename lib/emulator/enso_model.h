// SPDX-License-Identifier: BSD-3-Clause
//
// The model of the Ensō FPGA NIC (lib/device/enso), for net_enso and sluice-device.
#pragma once

#include "device/enso/enso_nic.h"
#include "emulator/attach.h"

namespace sluice::emulator {

extern const ModelInfo kEnsoModel;

/// Returns the settings, which on the hardware are set over JTAG. Sizes must be powers of two; 0
/// selects the hardware's default.
SettingValues EnsoSettings(uint32_t pipe_flits, uint32_t nb_entries = 0,
                           bool notify_per_packet = false);

/// Converts settings to a device configuration. Returns null, or a one-line reason why the settings
/// are invalid (static storage).
const char* ReadEnsoSettings(const SettingValues& values, device::enso::EnsoConfig* config);

}  // namespace sluice::emulator
