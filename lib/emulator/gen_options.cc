// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/gen_options.h"

#include <algorithm>

#include "emulator/options.h"
#include "packet/quantity.h"

namespace sluice::emulator {
namespace {

using std::string_view;

bool ReadSizes(string_view text, GeneratorOptions* gen) {
  using Sizes = GeneratorOptions::Sizes;
  gen->sizes = text == "imix" ? Sizes::kImix : text == "random" ? Sizes::kRandom : Sizes::kList;
  if (gen->sizes != Sizes::kList) return true;
  gen->list.clear();
  return ReadList(text, '/', [gen](string_view part) {
    return ReadNumber(part, GeneratorOptions::kMinSize, GeneratorOptions::kMaxSize,
                      &gen->list.emplace_back());
  });
}

/// Parses one option. Returns an empty string, or a hint about the correct form.
string_view ReadOption(string_view key, string_view value, GeneratorOptions* gen) {
  const auto fix_unless = [](bool read, string_view fix) { return read ? string_view() : fix; };
  if (key == "size") {
    return fix_unless(ReadSizes(value, gen),
                      "give 64…9018 bytes (FCS included), a list 64/128/1518, imix or random");
  }
  if (key == "flows") {
    return fix_unless(ReadNumber(value, 1, GeneratorOptions::kMaxFlows, &gen->flows),
                      "give 1…1048576");
  }
  if (key == "rate") {
    return fix_unless(packet::ReadPacketRate(value, &gen->rate_pps), kRateFix);
  }
  if (key == "count") return fix_unless(ReadCount(value, &gen->count), kCountFix);
  if (key == "seed") return fix_unless(ReadNumber(value, &gen->seed), kSeedFix);
  if (key == "order") {
    gen->random_order = value == "random";
    return fix_unless(value == "random" || value == "rotate", "give random or rotate");
  }
  if (key == "proto") {
    gen->tcp = value == "tcp";
    return fix_unless(value == "tcp" || value == "udp", "give udp or tcp");
  }
  return "unknown option; use size, flows, rate, count, order, proto or seed";
}

}  // namespace

bool GeneratorOptions::Read(string_view text, std::string* error) {
  bool order_given = false;
  const auto read = [&](string_view key, string_view value) {
    order_given |= key == "order";
    const string_view fix = ReadOption(key, value, this);
    return fix.empty() || Refuse(std::string("wire=gen: ").append(key), value, fix, error);
  };
  if (!ReadOptions(text, read, error)) return false;
  if (!order_given) random_order = sizes != Sizes::kList;
  const uint32_t smallest = *std::ranges::min_element(list);
  if (!tcp || sizes != Sizes::kList || smallest >= kMinTcpSize) return true;
  return Refuse("wire=gen: size", std::to_string(smallest),
                "too small for the tag with proto=tcp: give 76 or more", error);
}

}  // namespace sluice::emulator
