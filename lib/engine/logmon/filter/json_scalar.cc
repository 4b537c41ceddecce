// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/json_scalar.h"

#include <charconv>

namespace sluice::engine::logmon {
namespace {

using Type = simdjson::dom::element_type;

template <typename Number>
std::string_view NumberText(Number number, ScalarRoom& room) {
  return {room.data(), std::to_chars(room.data(), room.data() + room.size(), number).ptr};
}

}  // namespace

std::optional<std::string_view> ScalarText(const simdjson::dom::element& value, ScalarRoom& room) {
  switch (value.type()) {
    case Type::STRING:
      return value.get_string().value_unsafe();
    case Type::INT64:
      return NumberText(value.get_int64().value_unsafe(), room);
    case Type::UINT64:
      return NumberText(value.get_uint64().value_unsafe(), room);
    case Type::DOUBLE:
      return NumberText(value.get_double().value_unsafe(), room);
    case Type::BOOL:
      return value.get_bool().value_unsafe() ? "true" : "false";
    default:
      return std::nullopt;
  }
}

std::optional<long double> ScalarNumber(const simdjson::dom::element& value) {
  switch (value.type()) {
    case Type::INT64:
      return value.get_int64().value_unsafe();
    case Type::UINT64:
      return value.get_uint64().value_unsafe();
    case Type::DOUBLE:
      return value.get_double().value_unsafe();
    default:
      return std::nullopt;
  }
}

}  // namespace sluice::engine::logmon
