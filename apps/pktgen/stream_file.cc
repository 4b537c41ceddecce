// SPDX-License-Identifier: BSD-3-Clause
#include "stream_file.h"

#include <arpa/inet.h>
#include <rte_ether.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "capture.h"
#include "config/json_reader.h"
#include "engine/pktgen/field.h"
#include "packet/ethernet.h"
#include "settings.h"

namespace sluice::pktgen {

namespace {

using config::Errors;
using config::ObjectReader;
using engine::pktgen::Field;
using engine::pktgen::HeaderSpec;
using engine::pktgen::Phase;
using engine::pktgen::Rate;
using engine::pktgen::StreamSpec;
using engine::pktgen::VlanTag;
using engine::pktgen::VxlanSpec;
using engine::workload::Arrivals;
using nlohmann::json;

// Header fields in JSON: a value, a list [values] whose elements are used in turn, {"from", "to",
// "step"}, or {"from", "to", "random": true, "seed"}. Numbers are JSON numbers; addresses are
// strings.

enum class FieldKind : uint8_t { kNumber, kMac, kIpv4, kIpv6 };

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
  // A NUL is rejected, because C functions would treat it as the end of the text.
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

/// If `value` does not describe a field, returns nullopt and sets `fix`.
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

/// Reads a header field. Does not change `field` if the member is absent or wrong.
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

/// Reads sizes from `least` to 1518: a field of numbers, or "imix", "random" or a list such as
/// "64,1518".
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

constexpr uint64_t kMax16 = 0xffff;

void ReadEthernet(const json& value, const std::string& path, Errors* errors, HeaderSpec* headers) {
  ObjectReader reader(value, path, errors);
  ReadField(reader, "source", FieldKind::kMac, &headers->source_mac);
  ReadField(reader, "destination", FieldKind::kMac, &headers->destination_mac);
  reader.Finish();
}

VlanTag ReadTag(const json& value, const std::string& path, Errors* errors) {
  ObjectReader reader(value, path, errors);
  VlanTag tag;
  ReadField(reader, "id", FieldKind::kNumber, &tag.id);
  if (tag.id.most() > 4095) reader.Complain("id", "give 0 ... 4095");
  reader.Whole("priority", 0, 7, &tag.priority);
  bool service = false;
  if (reader.Flag("service", &service) && service) tag.ethertype = packet::kEtherTypeQinQ;
  reader.Finish();
  return tag;
}

void ReadIp(const json& value, const std::string& path, Errors* errors, uint8_t version,
            HeaderSpec* headers) {
  ObjectReader reader(value, path, errors);
  const FieldKind kind = version == 6 ? FieldKind::kIpv6 : FieldKind::kIpv4;
  headers->ip_version = version;
  if (version == 6) {
    reader.Require("source");
    reader.Require("destination");
  }
  ReadField(reader, "source", kind, &headers->source);
  ReadField(reader, "destination", kind, &headers->destination);
  ReadField(reader, "service", FieldKind::kNumber, &headers->service);
  if (headers->service.most() > 255) reader.Complain("service", "give 0 ... 255");
  reader.Whole("hops", 0, 255, &headers->hops);
  reader.Finish();
}

void ReadUpper(const json& value, const std::string& path, Errors* errors, uint8_t protocol,
               HeaderSpec* headers) {
  ObjectReader reader(value, path, errors);
  const bool icmp = protocol == packet::kProtocolIcmp;
  headers->protocol = protocol;
  ReadField(reader, icmp ? "identifier" : "source_port", FieldKind::kNumber, &headers->source_port);
  ReadField(reader, icmp ? "sequence" : "destination_port", FieldKind::kNumber,
            &headers->destination_port);
  if (protocol == packet::kProtocolTcp) reader.Whole("flags", 0, 255, &headers->tcp_flags);
  if (headers->source_port.most() > kMax16 || headers->destination_port.most() > kMax16) {
    config::AddError(errors, path + ": give ports from 0 ... 65535");
  }
  reader.Finish();
}

constexpr std::array<std::pair<std::string_view, uint8_t>, 3> kUpper{
    {{"udp", packet::kProtocolUdp},
     {"tcp", packet::kProtocolTcp},
     {"icmp", packet::kProtocolIcmp}}};

/// Reads the header members of a stream or of a tunnel.
void ReadHeaders(ObjectReader& reader, Errors* errors, HeaderSpec* headers) {
  std::string at;
  if (const json* const ethernet = reader.Member("ethernet", &at)) {
    ReadEthernet(*ethernet, at, errors, headers);
  }
  reader.Array("vlans", packet::kMaxVlanTags, [&](const json& item, const std::string& path) {
    headers->tags.push_back(ReadTag(item, path, errors));
  });
  const json* const ipv4 = reader.Member("ipv4", &at);
  if (ipv4 != nullptr) ReadIp(*ipv4, at, errors, 4, headers);
  if (const json* const ipv6 = reader.Member("ipv6", &at)) {
    if (ipv4 != nullptr) reader.Complain("ipv6", "conflicts with ipv4: omit one of them");
    ReadIp(*ipv6, at, errors, 6, headers);
  }
  std::string_view found;
  for (const auto& [name, protocol] : kUpper) {
    const json* const upper = reader.Member(name, &at);
    if (upper == nullptr) continue;
    if (!found.empty())
      reader.Complain(name, "conflicts with " + std::string(found) + ": omit one of them");
    found = name;
    ReadUpper(*upper, at, errors, protocol, headers);
  }
}

VxlanSpec ReadVxlan(const json& value, const std::string& path, Errors* errors) {
  ObjectReader reader(value, path, errors);
  VxlanSpec vxlan;
  vxlan.outer.destination_port = VxlanSpec::kPort;
  ReadField(reader, "network", FieldKind::kNumber, &vxlan.network);
  if (vxlan.network.most() >> 24 != 0) reader.Complain("network", "give 0 ... 16777215");
  ReadHeaders(reader, errors, &vxlan.outer);
  if (vxlan.outer.ip_version != 4 || vxlan.outer.protocol != packet::kProtocolUdp) {
    config::AddError(errors, path + ": the outer headers must be ipv4 and udp: omit all others");
  }
  reader.Finish();
  return vxlan;
}

Phase ReadPhase(const json& value, const std::string& path, Errors* errors) {
  ObjectReader reader(value, path, errors);
  double start_s = 0;
  double duration_s = 0;
  Phase phase;
  reader.Real("start_s", 0, 1e6, &start_s);
  reader.Require("duration_s");
  reader.Real("duration_s", 1e-6, 1e6, &duration_s);
  reader.Require("rate");
  reader.Parsed("rate", engine::pktgen::kRateFix, engine::pktgen::ParseRate, &phase.rate);
  reader.Finish();
  phase.start_ps = static_cast<uint64_t>(std::llround(start_s * 1e12));
  phase.end_ps = phase.start_ps + static_cast<uint64_t>(std::llround(duration_s * 1e12));
  return phase;
}

/// Reads "rate", or "schedule", which is either text as for the flag or phases. Returns whether one
/// of them is present.
bool ReadTimes(ObjectReader& reader, Errors* errors, StreamSpec* stream) {
  std::string at;
  Rate rate;
  const bool has_rate =
      reader.Parsed("rate", engine::pktgen::kRateFix, engine::pktgen::ParseRate, &rate);
  if (has_rate) stream->phases = {Phase{0, engine::pktgen::kNever, rate}};
  const json* const schedule = reader.Member("schedule", &at);
  if (schedule == nullptr) return has_rate;
  if (has_rate) reader.Complain("schedule", "conflicts with rate: omit one of them");
  std::vector<Phase> phases;
  std::string fix;
  if (schedule->is_string()) {
    auto parsed = engine::pktgen::ParseSchedule(schedule->get<std::string>(), &fix);
    if (parsed) phases = *std::move(parsed);
  } else {
    const size_t before = errors->size();
    reader.Array("schedule", 1000, [&](const json& item, const std::string& path) {
      phases.push_back(ReadPhase(item, path, errors));
    });
    fix = engine::pktgen::OrderPhases(&phases);
    if (phases.empty() && errors->size() == before)
      fix = "give phases, or a text such as \"10Mpps:10s,pause:1s\"";
    if (!fix.empty() && !phases.empty())
      fix += ": each start_s must be after the end of the previous phase";
  }
  if (!fix.empty()) reader.Complain("schedule", fix);
  stream->phases = std::move(phases);
  return true;
}

/// Reads a capture, which replaces headers and sizes.
void ReadCaptured(const std::string& file, bool has_times, ObjectReader& reader,
                  StreamSpec* stream) {
  uint64_t loops = 0;
  std::optional<double> factor;
  std::string gaps = "none";
  reader.Whole("loops", 0, engine::pktgen::kMaxLoops, &loops);
  reader.Text("gaps", &gaps);
  if (gaps != "none") {
    factor = ParseGaps(gaps);
    if (!factor) reader.Complain("gaps", "give none, original or original:FACTOR");
    if (has_times) reader.Complain("gaps", "conflicts with rate or schedule: omit one of them");
  }
  Captured captured;
  std::string fix;
  if (!LoadCapture(file, factor, &captured, &fix)) {
    reader.Complain("pcap", "\"" + file + "\": " + fix);
    return;
  }
  captured.SetFramesOf(stream, loops);
}

StreamSpec ReadStream(const json& value, const std::string& path, Errors* errors, size_t number) {
  ObjectReader reader(value, path, errors);
  StreamSpec stream;
  stream.name = "stream" + std::to_string(number);
  if (reader.Text("name", &stream.name) && (stream.name.empty() || stream.name.size() > 64 ||
                                            !std::ranges::all_of(stream.name, [](unsigned char c) {
                                              return std::isalnum(c) || c == '_' || c == '-' ||
                                                     c == '.';
                                            }))) {
    reader.Complain("name", "give at most 64 letters, digits, '_', '-' and '.'");
  }
  reader.Whole("seed", 0, UINT64_MAX, &stream.seed);
  const bool has_times = ReadTimes(reader, errors, &stream);
  constexpr std::array<std::pair<std::string_view, Arrivals>, 2> kArrivals{
      {{"constant", Arrivals::kConstant}, {"poisson", Arrivals::kPoisson}}};
  reader.Parsed(
      "arrivals", "constant or poisson",
      [&](std::string_view text) -> std::optional<Arrivals> {
        for (const auto& [name, arrivals] : kArrivals) {
          if (name == text) return arrivals;
        }
        return std::nullopt;
      },
      &stream.arrivals);
  std::string file;
  if (reader.Text("pcap", &file)) {
    ReadCaptured(file, has_times, reader, &stream);
  } else {
    reader.Whole("frames", 0, uint64_t{1} << 60, &stream.frames);
    ReadHeaders(reader, errors, &stream.headers);
    std::string at;
    if (const json* const vxlan = reader.Member("vxlan", &at)) {
      stream.vxlan = ReadVxlan(*vxlan, at, errors);
    }
    stream.sizes = stream.least_size();
    ReadSizes(reader, "frame_size", stream.least_size(), stream.seed, &stream.sizes);
  }
  reader.Finish();
  return stream;
}

}  // namespace

std::optional<std::vector<StreamSpec>> ParseStreams(std::string_view text, Errors* errors) {
  const size_t before = errors->size();
  const std::optional<json> root = config::ParseJson(text, errors);
  if (!root) return std::nullopt;
  std::vector<StreamSpec> streams;
  ObjectReader reader(*root, "", errors);
  reader.Require("streams");
  reader.Array("streams", engine::pktgen::kMaxStreams,
               [&](const json& item, const std::string& path) {
                 streams.push_back(ReadStream(item, path, errors, streams.size()));
               });
  reader.Finish();
  if (streams.empty() && errors->size() == before)
    reader.Complain("streams", "give at least one stream");
  for (size_t i = 0; i < streams.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (streams[i].name != streams[j].name) continue;
      config::AddError(errors, "streams[" + std::to_string(i) + "].name: \"" + streams[i].name +
                                   "\" is also the name of streams[" + std::to_string(j) +
                                   "]: give unique names");
    }
  }
  if (errors->size() != before) return std::nullopt;
  return streams;
}

std::optional<std::vector<StreamSpec>> ReadStreams(const std::string& path, Errors* errors) {
  const std::optional<std::string> text = config::ReadFile(path, errors);
  return text ? ParseStreams(*text, errors) : std::nullopt;
}

}  // namespace sluice::pktgen
