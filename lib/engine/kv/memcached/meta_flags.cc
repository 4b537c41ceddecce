// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/memcached/meta_flags.h"

#include <bitset>

#include "engine/kv/memcached/base64.h"
#include "engine/kv/memcached/numbers.h"

namespace sluice::engine::kv::memcached {
namespace {

constexpr std::string_view kBadFlags = "CLIENT_ERROR bad command line format";
constexpr std::string_view kBadToken = "CLIENT_ERROR bad token in command line format";
constexpr std::string_view kInvalid = "CLIENT_ERROR invalid flag";
constexpr std::string_view kDuplicate = "CLIENT_ERROR duplicate flag";

template <typename To, typename From>
bool Assign(const From& number, To* to) {
  if (number) *to = static_cast<To>(*number);
  return number.has_value();
}

}  // namespace

// Unknown and repeated flags end the parsing. If several tokens are bad, the last one is reported;
// a bad token for F is reported only if no other token is bad.
std::string_view MetaFlags::Read(std::string_view key, std::string_view refused) {
  std::copy(key.begin(), key.end(), key_bytes.begin());
  key_size = key.size();
  std::ranges::copy(key, key_chars.begin());
  key_text_size = key.size();
  std::bitset<128> seen;
  std::string_view error;
  for (size_t i = 0; i < words.count; ++i) {
    const std::string_view flag = words.at[i];
    const auto letter = static_cast<uint8_t>(flag[0]);
    if (letter >= 127 || seen[letter]) return kDuplicate;
    seen[letter] = true;
    if (refused.find(flag[0]) != std::string_view::npos) return kInvalid;
    const std::string_view mistake = ReadOne(flag, key);
    if (mistake == kInvalid) return mistake;
    if (!mistake.empty() && (error.empty() || mistake != kBadFlags)) error = mistake;
  }
  return error;
}

std::string_view MetaFlags::ReadOne(std::string_view flag, std::string_view key) {
  const std::string_view token = flag.substr(1);
  switch (flag[0]) {
    case 'b': {
      const auto bytes = DecodeBase64(key, key_bytes);
      key_size = bytes.value_or(0);
      binary_key = true;
      key_text_size = EncodeBase64(this->key(), key_chars);
      return bytes ? "" : "CLIENT_ERROR error decoding key";
    }
    case 'N':
      creates = true;
      return Assign(ParseSigned(token), &created_ttl) ? "" : kBadToken;
    case 'T':
      has_ttl = true;
      return Assign(ParseSigned(token), &ttl) ? "" : kBadToken;
    case 'R':
      return ParseSigned(token) ? "" : kBadToken;
    case 'F':
      return Assign(ParseUnsigned(token), &client_flags) ? "" : kBadFlags;
    case 'C':
      compares = true;
      return Assign(ParseUnsigned(token), &compare) ? "" : kBadToken;
    case 'D':
      return Assign(ParseUnsigned(token), &delta) ? "" : "CLIENT_ERROR invalid numeric delta value";
    case 'J':
      return Assign(ParseUnsigned(token), &initial) ? ""
                                                    : "CLIENT_ERROR invalid numeric initial value";
    case 'M':
      if (token.size() != 1) return "CLIENT_ERROR incorrect length for M token";
      mode = token[0];
      return "";
    case 'q':
      quiet = true;
      return "";
    case 'v':
      value = true;
      return "";
    // These flags are answered elsewhere, are ignored, or are meant for proxies (P, L).
    case 'I':
    case 'L':
    case 'O':
    case 'P':
    case 'c':
    case 'f':
    case 'h':
    case 'k':
    case 'l':
    case 's':
    case 't':
    case 'u':
      return "";
    default:
      return kInvalid;
  }
}

void MetaLine::AddNumber(char flag, uint64_t number) { Add(flag, Digits(number).text()); }

void MetaLine::AddNumber(char flag, int64_t number) {
  if (number < 0) {
    Add(flag, "-");
    Add(Digits(-static_cast<uint64_t>(number)).text());
  } else {
    AddNumber(flag, static_cast<uint64_t>(number));
  }
}

void MetaLine::AddCommon(std::string_view flag, const MetaFlags& flags) {
  if (flag[0] == 'k') {
    Add('k', flags.key_text());
    if (flags.binary_key) Add('b', "");
  } else if (flag[0] == 'O') {
    Add('O', flag.substr(1));
  }
}

}  // namespace sluice::engine::kv::memcached
