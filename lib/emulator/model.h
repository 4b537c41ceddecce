// SPDX-License-Identifier: BSD-3-Clause
//
// The emulator's description of a device model. Each model is one constant (enso_model.h,
// ipu_model.h) in a separate library, so that a plugin links only its model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "bar/dma.h"
#include "device/device.h"
#include "emulator/attach.h"

namespace sluice::emulator {

struct GridProgram;

/// A setting that the hardware's management tool controls.
struct ModelSetting {
  std::string_view key;   ///< The corresponding flag of sluice-device.
  std::string_view help;  ///< Help text of that flag.
  /// Names of the values 0, 1, … If empty, the value is a number: a power of two from 2 to 2^20, or
  /// 0.
  std::span<const std::string_view> words;
  /// The driver must know this setting: a driver that does not set it conflicts with a device that
  /// does.
  bool driver_asks;

  /// Parses a value. Returns false if `text` is not a value of this setting.
  bool Read(std::string_view text, uint32_t* value) const;
  std::string Text(uint32_t value) const;
  /// Returns a hint that lists the valid values.
  std::string Choices() const;
};

struct ModelInfo {
  std::string_view name;                   ///< Name in --model and messages; at most 15 characters.
  std::string_view title;                  ///< Display name, for example "an Enso NIC".
  std::string_view driver;                 ///< Driver whose vdevs attach to the model.
  size_t bar_bytes;                        ///< Size of the model's register space in bytes.
  std::span<const ModelSetting> settings;  ///< At most kMaxModelSettings.
  /// Creates a device in its power-on state that accesses `memory`, which must outlive it. If the
  /// settings are invalid, returns null and sets `error` to a one-line message.
  std::unique_ptr<device::Device> (*make)(const SettingValues& values, const bar::DmaSpace& memory,
                                          std::string* error);
  /// The model as blocks on a card; may be null.
  const GridProgram* grid = nullptr;
};

/// Combines the device's and the host's values of a setting. A side that does not set the setting
/// accepts the peer's value, subject to driver_asks. Returns false if they conflict.
bool Agree(const ModelSetting& setting, uint32_t device, uint32_t host, uint32_t* agreed);

}  // namespace sluice::emulator
