// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/model.h"

#include <algorithm>
#include <bit>

#include "emulator/options.h"

namespace sluice::emulator {
namespace {

constexpr uint32_t kMostNumber = 1u << 20;

}  // namespace

bool ModelSetting::Read(std::string_view text, uint32_t* value) const {
  if (!words.empty()) {
    const auto found = std::ranges::find(words, text);
    *value = static_cast<uint32_t>(found - words.begin());
    return found != words.end();
  }
  return ReadNumber(text, value) &&
         (*value == 0 || (*value >= 2 && *value <= kMostNumber && std::has_single_bit(*value)));
}

std::string ModelSetting::Text(uint32_t value) const {
  return value < words.size() ? std::string(words[value]) : std::to_string(value);
}

std::string ModelSetting::Choices() const {
  if (words.empty()) {
    return "give a power of two, 2 to " + std::to_string(kMostNumber) +
           ", or 0 for the host's value";
  }
  std::string choices = "give ";
  for (size_t i = 0; i < words.size(); ++i) {
    choices += (i == 0 ? "" : " or ") + std::string(words[i]);
  }
  return choices;
}

bool Agree(const ModelSetting& setting, uint32_t device, uint32_t host, uint32_t* agreed) {
  *agreed = device != 0 ? device : host;
  return device == 0 || device == host || (host == 0 && !setting.driver_asks);
}

}  // namespace sluice::emulator
