// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/vfio_user/version.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "emulator/vfio_user/protocol.h"

namespace sluice::emulator::vfio_user {
namespace {

using nlohmann::json;

constexpr size_t kMaxCapabilityBytes = 4096;

/// Returns the value of a client capability, raised to `least` if it is smaller, or `fallback` if
/// the capability is missing.
uint64_t Number(const json& capabilities, const char* key, uint64_t least, uint64_t fallback) {
  const auto found = capabilities.find(key);
  if (found == capabilities.end() || !found->is_number_unsigned()) return fallback;
  return std::max(found->get<uint64_t>(), least);
}

}  // namespace

const char* ReadVersion(std::span<const uint8_t> payload, Agreement* agreement) {
  VersionMessage version;
  if (payload.size() < sizeof(version)) return "the client's version message is too short";
  std::memcpy(&version, payload.data(), sizeof(version));
  if (version.major != 0) return "the client's protocol version is not 0";
  *agreement = {.max_transfer_bytes = kMaxTransferBytes, .write_multiple = false};
  payload = payload.subspan(sizeof(version));
  if (payload.empty()) return nullptr;
  if (payload.size() > kMaxCapabilityBytes) return "the client's capabilities are too long";
  if (payload.back() != 0) return "the client's capabilities do not end with a NUL";
  const std::string_view text(reinterpret_cast<const char*>(payload.data()), payload.size() - 1);
  const json document = json::parse(text.begin(), text.end(), nullptr, false);
  if (document.is_discarded()) return "the client's capabilities are not JSON";
  if (!document.is_object()) return nullptr;
  const auto found = document.find("capabilities");
  if (found == document.end() || !found->is_object()) return nullptr;
  agreement->max_transfer_bytes = static_cast<uint32_t>(std::min<uint64_t>(
      Number(*found, "max_data_xfer_size", 64, kMaxTransferBytes), kMaxTransferBytes));
  const auto multiple = found->find("write_multiple");
  agreement->write_multiple =
      multiple != found->end() && multiple->is_boolean() && multiple->get<bool>();
  return nullptr;
}

std::vector<uint8_t> WriteVersion(const Agreement& agreement, size_t max_maps, size_t most) {
  const VersionMessage version{0, 0};
  std::vector<uint8_t> payload(sizeof(version));
  std::memcpy(payload.data(), &version, sizeof(version));
  std::string text;
  const auto try_with = [&](const json& capabilities) {
    const std::string larger = json{{"capabilities", capabilities}}.dump();
    const bool fits = sizeof(version) + larger.size() + 1 <= most;
    if (fits) text = larger;
    return fits;
  };
  // Adds the most useful capability first.
  json capabilities = json::object();
  if (agreement.write_multiple) capabilities["write_multiple"] = true;
  bool fits = try_with(capabilities);
  for (const auto& [name, value] : {std::pair("max_dma_maps", uint64_t{max_maps}),
                                    {"max_msg_fds", kMaxMessageFiles},
                                    {"max_data_xfer_size", kMaxTransferBytes}}) {
    capabilities[name] = value;
    fits = fits && try_with(capabilities);
  }
  if (!text.empty()) payload.insert(payload.end(), text.c_str(), text.c_str() + text.size() + 1);
  return payload;
}

}  // namespace sluice::emulator::vfio_user
