// SPDX-License-Identifier: BSD-3-Clause
#include "etcd/messages.h"

#include <absl/strings/escaping.h>
#include <absl/strings/numbers.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "config/json_reader.h"

namespace sluice::etcd {

namespace {

using Json = nlohmann::json;

// Returns null, which has no members, if the text is not JSON or is nested deeper than any etcd
// answer. A tree of nested brackets would need many times as much memory as its text. The code that
// receives the answer limits its size.
Json Parse(std::string_view json) {
  config::Errors errors;
  return config::ParseJson(json, &errors, json.size()).value_or(Json());
}

std::string Base64(const std::string& bytes) { return absl::Base64Escape(bytes); }

// Returns the first key after all keys that begin with `prefix`, or "\0" if none exists (etcd's
// range_end).
std::string EndOf(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');
  ++prefix.back();
  return prefix;
}

const Json* Member(const Json& json, const char* name) {
  if (!json.is_object()) return nullptr;
  const auto it = json.find(name);
  return it == json.end() ? nullptr : &*it;
}

// As in protocol buffers, absent members are 0, false or empty.
bool ReadNumber(const Json* json, int64_t* number) {
  if (json == nullptr) return true;
  return json->is_string() && absl::SimpleAtoi(json->get_ref<const std::string&>(), number);
}

bool ReadFlag(const Json* json, bool* flag) {
  if (json == nullptr) return true;
  if (!json->is_boolean()) return false;
  *flag = json->get<bool>();
  return true;
}

bool ReadBytes(const Json* json, std::string* bytes) {
  if (json == nullptr) return true;
  return json->is_string() && absl::Base64Unescape(json->get_ref<const std::string&>(), bytes);
}

bool ReadKey(const Json* pair, const std::string& prefix, std::string* key, std::string* value) {
  return pair != nullptr && pair->is_object() && ReadBytes(Member(*pair, "key"), key) &&
         ReadBytes(Member(*pair, "value"), value) && key->starts_with(prefix);
}

bool ReadPairs(const Json* pairs, const std::string& prefix, Keys* keys) {
  if (pairs == nullptr) return true;
  if (!pairs->is_array()) return false;
  for (const Json& pair : *pairs) {
    std::string key, value;
    if (!ReadKey(&pair, prefix, &key, &value)) return false;
    if (!keys->emplace(std::move(key), std::move(value)).second) return false;
  }
  return true;
}

bool ReadEvents(const Json* events, const std::string& prefix, std::vector<WatchEvent>* list) {
  if (events == nullptr) return true;
  if (!events->is_array()) return false;
  for (const Json& event : *events) {
    WatchEvent read;
    std::string value;
    if (!ReadKey(Member(event, "kv"), prefix, &read.key, &value)) return false;
    const Json* const type = Member(event, "type");
    if (type == nullptr || *type == "PUT") {
      read.value = std::move(value);
    } else if (*type != "DELETE") {
      return false;
    }
    list->push_back(std::move(read));
  }
  return true;
}

constexpr char kForeign[] = "the answer is not from etcd: check that etcd runs at this address";

std::optional<Lease> LeaseOf(const Json* json, std::string* error) {
  Lease lease;
  if (json == nullptr || !json->is_object() || !ReadNumber(Member(*json, "ID"), &lease.id) ||
      !ReadNumber(Member(*json, "TTL"), &lease.seconds) || lease.id <= 0 || lease.seconds < 0) {
    *error = kForeign;
    return std::nullopt;
  }
  return lease;
}

}  // namespace

std::string RangeRequest(const std::string& prefix, size_t limit) {
  return Json{{"key", Base64(prefix)},
              {"range_end", Base64(EndOf(prefix))},
              {"limit", std::to_string(limit)}}
      .dump();
}

std::string WatchRequest(const std::string& prefix, int64_t revision) {
  const Json create = {{"key", Base64(prefix)},
                       {"range_end", Base64(EndOf(prefix))},
                       {"start_revision", std::to_string(revision)}};
  return Json{{"create_request", create}}.dump();
}

std::optional<RangeAnswer> ReadRange(std::string_view json, const std::string& prefix,
                                     std::string* error) {
  const Json answer = Parse(json);
  const Json* const header = Member(answer, "header");
  RangeAnswer range;
  if (header == nullptr || !ReadNumber(Member(*header, "revision"), &range.revision) ||
      range.revision <= 0 || range.revision == INT64_MAX ||
      !ReadPairs(Member(answer, "kvs"), prefix, &range.keys)) {
    *error = kForeign;
    return std::nullopt;
  }
  return range;
}

std::optional<WatchAnswer> ReadWatch(std::string_view json, const std::string& prefix,
                                     std::string* error) {
  const Json answer = Parse(json);
  const Json* const result = Member(answer, "result");
  WatchAnswer watch;
  if (result == nullptr || !result->is_object() ||
      !ReadFlag(Member(*result, "created"), &watch.created) ||
      !ReadFlag(Member(*result, "canceled"), &watch.canceled) ||
      !ReadNumber(Member(*result, "compact_revision"), &watch.compacted) ||
      !ReadEvents(Member(*result, "events"), prefix, &watch.events)) {
    *error = "the answer to the watch is not from etcd";
    return std::nullopt;
  }
  return watch;
}

std::string GrantRequest(uint32_t seconds) { return Json{{"TTL", std::to_string(seconds)}}.dump(); }

std::string LeaseRequest(int64_t lease) { return Json{{"ID", std::to_string(lease)}}.dump(); }

std::string PutRequest(const std::string& key, const std::string& value, int64_t lease) {
  return Json{{"key", Base64(key)}, {"value", Base64(value)}, {"lease", std::to_string(lease)}}
      .dump();
}

std::optional<Lease> ReadGrant(std::string_view json, std::string* error) {
  const Json answer = Parse(json);
  auto lease = LeaseOf(&answer, error);
  if (lease && lease->seconds == 0) {
    *error = kForeign;
    return std::nullopt;
  }
  return lease;
}

std::optional<Lease> ReadKeepAlive(std::string_view json, std::string* error) {
  const Json answer = Parse(json);
  return LeaseOf(Member(answer, "result"), error);
}

bool IsAnswer(std::string_view json, std::string* error) {
  const Json answer = Parse(json);
  const Json* const header = Member(answer, "header");
  if (header != nullptr && header->is_object()) return true;
  *error = kForeign;
  return false;
}

}  // namespace sluice::etcd
