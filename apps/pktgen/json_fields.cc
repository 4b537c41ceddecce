// SPDX-License-Identifier: BSD-3-Clause
#include "json_fields.h"

#include <arpa/inet.h>
#include <rte_ether.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/pktgen/stream.h"
#include "settings.h"

namespace sluice::pktgen {

namespace {

using engine::pktgen::Field;
using nlohmann::json;

constexpr size_t kMostValues = 65536;

template <size_t kBytes>
Field::Value ValueOf(const std::array<uint8_t, kBytes>& bytes) {
  Field::Value value = 0;
  for (const uint8_t byte : bytes) value = value << 8 | byte;
  return value;
}

std::string_view FixOf(FieldKind kind) {
  switch (kind) {
    case FieldKind::kMac:
      return "a MAC address such as 02:00:00:00:00:01";
    case FieldKind::kIpv4:
      return "an IPv4 address";
    case FieldKind::kIpv6:
      return "an IPv6 address";
    default:
      return "a whole number, 0 or more";
  }
}

std::optional<Field::Value> ReadValue(const json& value, FieldKind kind) {
  if (kind == FieldKind::kNumber) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > UINT32_MAX) return std::nullopt;
    return value.get<uint64_t>();
  }
  if (!value.is_string()) return std::nullopt;
  const std::string text = value.get<std::string>();
  // A NUL is rejected, because C functions would end the text there.
  if (text.find('\0') != std::string::npos) return std::nullopt;
  if (kind == FieldKind::kMac) {
    rte_ether_addr mac{};
    if (rte_ether_unformat_addr(text.c_str(), &mac) != 0) return std::nullopt;
    return ValueOf(std::to_array(mac.addr_bytes));
  }
  std::array<uint8_t, 16> bytes{};
  if (inet_pton(kind == FieldKind::kIpv6 ? AF_INET6 : AF_INET, text.c_str(), bytes.data()) != 1) {
    return std::nullopt;
  }
  const Field::Value all = ValueOf(bytes);
  return kind == FieldKind::kIpv6 ? all : all >> 96;
}

/// Returns nullopt, with `fix` set, if `value` does not describe a field.
std::optional<Field> MakeField(const json& value, FieldKind kind, std::string* fix) {
  *fix = "give " + std::string(FixOf(kind)) +
         ", a list, or a range: {\"from\", \"to\", \"step\"} or {\"from\", \"to\", \"random\": "
         "true, \"seed\"}";
  if (value.is_array()) {
    std::vector<Field::Value> values;
    for (const json& item : value) {
      const auto one = ReadValue(item, kind);
      if (!one) return std::nullopt;
      values.push_back(*one);
    }
    if (values.empty() || values.size() > kMostValues) return std::nullopt;
    return Field::List(std::move(values));
  }
  if (!value.is_object()) {
    const auto one = ReadValue(value, kind);
    return one ? std::optional(Field(*one)) : std::nullopt;
  }
  std::optional<Field::Value> from, to;
  uint64_t step = 1;
  uint64_t seed = 1;
  bool random = false;
  for (const auto& [key, member] : value.items()) {
    if (key == "from") {
      from = ReadValue(member, kind);
    } else if (key == "to") {
      to = ReadValue(member, kind);
    } else if (key == "step" && member.is_number_unsigned() && member.get<uint64_t>() > 0) {
      step = member.get<uint64_t>();
    } else if (key == "seed" && member.is_number_unsigned()) {
      seed = member.get<uint64_t>();
    } else if (key == "random" && member.is_boolean()) {
      random = member.get<bool>();
    } else {
      return std::nullopt;
    }
  }
  if (!from || !to || *from > *to || value.contains(random ? "step" : "seed")) return std::nullopt;
  return random ? Field::Random(*from, *to, seed) : Field::Range(*from, *to, step);
}

}  // namespace

void ReadField(config::ObjectReader& reader, std::string_view key, FieldKind kind, Field* field) {
  std::string at;
  const json* const member = reader.Member(key, &at);
  if (member == nullptr) return;
  std::string fix;
  if (auto made = MakeField(*member, kind, &fix)) {
    *field = *std::move(made);
  } else {
    reader.Complain(key, fix);
  }
}

void ReadSizes(config::ObjectReader& reader, std::string_view key, uint32_t least, uint64_t seed,
               Field* sizes) {
  std::string at;
  const json* const member = reader.Member(key, &at);
  if (member == nullptr) return;
  std::string fix;
  const auto made = member->is_string() ? ParseSizes(member->get<std::string>(), least, seed)
                                        : MakeField(*member, FieldKind::kNumber, &fix);
  // The values of ranges and lists are checked when frames are built.
  if (made && made->most() <= engine::pktgen::kMaxSize) {
    *sizes = *made;
  } else {
    reader.Complain(key, "give sizes of " + std::to_string(least) +
                             " ... 1518, headers and tag "
                             "included: a number, a list, a range, imix or random");
  }
}

}  // namespace sluice::pktgen
