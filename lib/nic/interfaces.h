// SPDX-License-Identifier: BSD-3-Clause
//
// The interfaces of this build. To add an interface, add an alternative here. Flags, reports,
// listings, scripts and tests read this table.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <variant>

#include "nic/bilateral_binding.h"
#include "nic/coherent_binding.h"
#include "nic/interface.h"
#include "nic/packetized_binding.h"
#include "nic/streaming_binding.h"

namespace sluice::nic {

/// The binding that a run uses, chosen once.
using AnyBinding =
    std::variant<PacketizedBinding, StreamingBinding, BilateralBinding, CoherentBinding>;

/// The interfaces in the order of AnyBinding's alternatives.
inline constexpr auto kInterfaces = []<typename... B>(std::type_identity<std::variant<B...>>) {
  static_assert((Binding<B> && ...));
  return std::array{InterfaceInfo(B::kInfo)...};
}(std::type_identity<AnyBinding>());

/// Returns the interface with that name, or null.
constexpr const InterfaceInfo* FindInterface(std::string_view name) {
  const auto* const found = std::ranges::find(kInterfaces, name, &InterfaceInfo::name);
  return found != kInterfaces.end() ? found : nullptr;
}

/// Sets `binding` to an unopened binding of `interface`, which must be an element of kInterfaces.
inline void Emplace(const InterfaceInfo& interface, AnyBinding& binding) {
  const auto index = static_cast<size_t>(&interface - kInterfaces.data());
  [&]<size_t... I>(std::index_sequence<I...>) {
    ((I == index ? static_cast<void>(binding.emplace<I>()) : void()), ...);
  }
  (std::make_index_sequence<std::variant_size_v<AnyBinding>>());
}

}  // namespace sluice::nic
