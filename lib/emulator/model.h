// SPDX-License-Identifier: BSD-3-Clause
//
// What the emulator knows of a device model. Each model is one constant (enso_model.h,
// ipu_model.h) in a library of its own, so that a plugin links its own model alone.
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

/// One thing that the hardware's own management tool would set.
struct ModelSetting {
  std::string_view key;   ///< Flag of sluice-device.
  std::string_view help;  ///< Of that flag.
  /// What the values 0, 1, … are called; empty: the value is a number, a power of two from 2
  /// to 2^20, or 0.
  std::span<const std::string_view> words;
  /// A driver has to know this setting: one that leaves it open is not overruled.
  bool driver_asks;

  /// False if `text` is no value of this setting.
  bool Read(std::string_view text, uint32_t* value) const;
  std::string Text(uint32_t value) const;
  /// What to give instead of a bad value.
  std::string Choices() const;
};

struct ModelInfo {
  std::string_view name;                   ///< Of --model and in messages; at most 15 characters.
  std::string_view title;                  ///< For people: "an Enso NIC".
  std::string_view driver;                 ///< Whose vdevs attach to it.
  size_t bar_bytes;                        ///< Of its registers.
  std::span<const ModelSetting> settings;  ///< At most kMaxModelSettings.
  /// A device in its power-on state that reaches `memory`, which outlives it. Null, with one line
  /// in `error`, if none has such settings.
  std::unique_ptr<device::Device> (*make)(const SettingValues& values, const bar::DmaSpace& memory,
                                          std::string* error);
  /// The same model as blocks of a card; null: it has no such form.
  const GridProgram* grid = nullptr;
};

/// What both sides want of a setting, if they agree: where one leaves it open the other decides.
bool Agree(const ModelSetting& setting, uint32_t device, uint32_t host, uint32_t* agreed);

}  // namespace sluice::emulator
