// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/arguments.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>
#include <vector>

namespace sluice::emulator {
namespace {

using std::string_view;

/// The first thing that is wrong: what the user wrote, and what to write instead.
class Complaint {
 public:
  explicit Complaint(std::string* error) : error_(error) {}
  bool Say(string_view what, string_view given, string_view fix) {
    *error_ = std::string(what) + "=" + std::string(given) + ": " + std::string(fix);
    return false;
  }

 private:
  std::string* error_;
};

std::vector<string_view> Split(string_view text, char separator) {
  std::vector<string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// "key=value" or "key:value" at `separator`; value empty if there is none.
std::pair<string_view, string_view> Cut(string_view text, char separator) {
  const size_t at = text.find(separator);
  if (at == string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

template <typename T>
bool ReadInteger(string_view text, T least, T most, T* value) {
  T read = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (status != std::errc() || end != text.data() + text.size()) return false;
  if (read < least || read > most) return false;
  *value = read;
  return true;
}

/// A decimal number and what follows it; false unless it is finite and not negative.
bool ReadDecimal(string_view text, double* value, string_view* unit) {
  const auto [end, status] =
      std::from_chars(text.data(), text.data() + text.size(), *value, std::chars_format::fixed);
  if (status != std::errc() || !std::isfinite(*value) || std::signbit(*value)) return false;
  *unit = text.substr(static_cast<size_t>(end - text.data()));
  return true;
}

bool ReadProbability(string_view text, double* value) {
  string_view unit;
  return ReadDecimal(text, value, &unit) && unit.empty() && *value <= 1;
}

/// Between 1 packet in 1000 s and 10^12 packets/s.
bool ReadRate(string_view text, double* pps) {
  string_view unit;
  if (!ReadDecimal(text, pps, &unit)) return false;
  if (unit == "k")
    *pps *= 1e3;
  else if (unit == "M")
    *pps *= 1e6;
  else if (unit == "G")
    *pps *= 1e9;
  else if (!unit.empty())
    return false;
  return *pps >= 1e-3 && *pps <= 1e12;
}

/// At least 1 ns, at most an hour.
bool ReadDuration(string_view text, uint64_t* ns) {
  double value = 0;
  string_view unit;
  if (!ReadDecimal(text, &value, &unit)) return false;
  if (unit == "us")
    value *= 1e3;
  else if (unit == "ms")
    value *= 1e6;
  else if (unit == "s")
    value *= 1e9;
  else if (unit != "ns")
    return false;
  if (value < 1 || value > 3600e9) return false;
  *ns = static_cast<uint64_t>(value);
  return true;
}

constexpr string_view kRateFix = "give packets per second, such as 1000, 10k, 14.88M or 1G";
constexpr string_view kCountFix = "give a number of frames, 1 or more";

class Parser {
 public:
  Parser(Arguments& arguments, std::string* error) : out_(arguments), complaint_(error) {}

  bool Take(string_view key, string_view value) {
    if (!seen_.insert(key).second) return complaint_.Say(key, value, "given twice; give it once");
    if (key == "wire") return Wire(value);
    if (key == "faults") return Faults(value);
    if (key == "verify") return Verify(value);
    if (key == "pause") return Pause(value);
    if (key == "seed") return Seed("seed", value, &seed_);
    if (key == "device_cpu") return DeviceCpu(value);
    return complaint_.Say(key, value,
                          "unknown; use wire, device_cpu, seed, faults, verify or pause");
  }

  /// Defaults that depend on several arguments.
  bool Finish() {
    out_.faults.seed = out_.library.seed = seed_;
    if (!generator_seed_given_) out_.generator.seed = seed_;
    const bool generator = out_.wire == Arguments::WireKind::kGenerator;
    const bool replay = out_.wire == Arguments::WireKind::kReplay;
    const double rate = generator ? out_.generator.rate_pps : replay ? out_.replay.rate_pps : 0;
    const bool ends = (generator && out_.generator.count != 0) ||
                      (replay && (out_.replay.count != 0 || out_.replay.loop != 0));
    if (!verify_given_) {
      out_.verify =
          rate > 0 || ends || out_.faults.corrupt > 0 ? VerifyMode::kFull : VerifyMode::kSampled;
    }
    if (!pause_given_) out_.pause = rate == 0;
    return !generator || FinishGenerator();
  }

 private:
  bool Wire(string_view value) {
    const auto [kind, body] = Cut(value, ':');
    if (kind == "loopback" && body.empty()) {
      out_.wire = Arguments::WireKind::kLoopback;
      return true;
    }
    if (kind == "gen") {
      out_.wire = Arguments::WireKind::kGenerator;
      if (body.empty()) return true;
      for (const string_view option : Split(body, '+')) {
        if (!GeneratorOption(Cut(option, '='))) return false;
      }
      return true;
    }
    if (kind == "pcap") return Replay(body);
    if (kind == "port") {
      out_.wire = Arguments::WireKind::kPort;
      out_.port = body;
      return !body.empty() || complaint_.Say("wire", value, "name an ethdev, as in port:net_tap0");
    }
    if (kind == "library") return Library(body);
    return complaint_.Say("wire", value,
                          "no such wire; use loopback, gen:OPTIONS, pcap:FILE, port:ETHDEV or "
                          "library:FILE.so+OPTIONS");
  }

  bool Library(string_view body) {
    constexpr string_view kSuffix = ".so";
    out_.wire = Arguments::WireKind::kLibrary;
    // A file name may hold a '+': the first one behind the suffix ends it.
    const size_t end = body.find(".so+");
    out_.library.file = body.substr(0, end == string_view::npos ? end : end + kSuffix.size());
    if (end != string_view::npos) out_.library.options = body.substr(end + kSuffix.size() + 1);
    return out_.library.file.ends_with(kSuffix) ||
           complaint_.Say("wire=library", body, "name a shared library, as in library:wire.so");
  }

  bool GeneratorOption(std::pair<string_view, string_view> option) {
    const auto [key, value] = option;
    GeneratorOptions& gen = out_.generator;
    if (key == "size") return Sizes(value);
    if (key == "flows") {
      return ReadInteger(value, 1u, GeneratorOptions::kMaxFlows, &gen.flows) ||
             complaint_.Say("wire=gen: flows", value, "give 1…1048576");
    }
    if (key == "rate") {
      return ReadRate(value, &gen.rate_pps) || complaint_.Say("wire=gen: rate", value, kRateFix);
    }
    if (key == "count") {
      return ReadInteger<uint64_t>(value, 1, ~uint64_t{0}, &gen.count) ||
             complaint_.Say("wire=gen: count", value, kCountFix);
    }
    if (key == "seed")
      return Seed("wire=gen: seed", value, &gen.seed) && (generator_seed_given_ = true);
    if (key == "order" && (value == "random" || value == "rotate")) {
      gen.random_order = value == "random";
      return order_given_ = true;
    }
    if (key == "order") return complaint_.Say("wire=gen: order", value, "give random or rotate");
    if (key == "proto" && (value == "udp" || value == "tcp")) {
      gen.tcp = value == "tcp";
      return true;
    }
    if (key == "proto") return complaint_.Say("wire=gen: proto", value, "give udp or tcp");
    return complaint_.Say(std::string("wire=gen: ") + std::string(key), value,
                          "unknown; use size, flows, rate, count, order, proto or seed");
  }

  bool Sizes(string_view value) {
    GeneratorOptions& gen = out_.generator;
    if (value == "imix" || value == "random") {
      gen.sizes =
          value == "imix" ? GeneratorOptions::Sizes::kImix : GeneratorOptions::Sizes::kRandom;
      return true;
    }
    gen.sizes = GeneratorOptions::Sizes::kList;
    gen.list.clear();
    for (const string_view part : Split(value, '/')) {
      uint32_t size = 0;
      if (!ReadInteger(part, GeneratorOptions::kMinSize, GeneratorOptions::kMaxSize, &size)) {
        return complaint_.Say(
            "wire=gen: size", value,
            "give 64…9018 bytes (FCS included), a list 64/128/1518, imix or random");
      }
      gen.list.push_back(size);
    }
    return true;
  }

  bool FinishGenerator() {
    GeneratorOptions& gen = out_.generator;
    const bool list = gen.sizes == GeneratorOptions::Sizes::kList;
    if (!order_given_) gen.random_order = !list;
    const uint32_t smallest = *std::min_element(gen.list.begin(), gen.list.end());
    if (gen.tcp && list && smallest < GeneratorOptions::kMinTcpSize) {
      return complaint_.Say("wire=gen: size", std::to_string(smallest),
                            "too small for proto=tcp with its tag; give 76 or more");
    }
    return true;
  }

  bool Replay(string_view body) {
    out_.wire = Arguments::WireKind::kReplay;
    // A file name may hold a '+': options are what stands at the end and reads as one.
    for (;;) {
      const size_t plus = body.rfind('+');
      if (plus == string_view::npos) break;
      const auto [key, value] = Cut(body.substr(plus + 1), '=');
      if (key != "rate" && key != "count" && key != "loop") break;
      if (!ReplayOption(key, value)) return false;
      body = body.substr(0, plus);
    }
    out_.replay.file = body;
    return !body.empty() ||
           complaint_.Say("wire", "pcap:", "name a capture, as in pcap:trace.pcap");
  }

  bool ReplayOption(string_view key, string_view value) {
    if (key == "rate") {
      return ReadRate(value, &out_.replay.rate_pps) ||
             complaint_.Say("wire=pcap: rate", value, kRateFix);
    }
    if (key == "count") {
      return ReadInteger<uint64_t>(value, 1, ~uint64_t{0}, &out_.replay.count) ||
             complaint_.Say("wire=pcap: count", value, kCountFix);
    }
    return ReadInteger<uint64_t>(value, 0, ~uint64_t{0}, &out_.replay.loop) ||
           complaint_.Say("wire=pcap: loop", value, "give a number of times, or 0 for no end");
  }

  bool Faults(string_view value) {
    for (const string_view part : Split(value, '+')) {
      const auto [kind, amount] = Cut(part, ':');
      double* probability = kind == "drop"      ? &out_.faults.drop
                            : kind == "dup"     ? &out_.faults.duplicate
                            : kind == "reorder" ? &out_.faults.reorder
                            : kind == "corrupt" ? &out_.faults.corrupt
                                                : nullptr;
      if (probability != nullptr) {
        if (!ReadProbability(amount, probability)) {
          return complaint_.Say("faults", part, "give a probability 0…1, as in drop:0.01");
        }
      } else if (kind == "delay") {
        if (!ReadDuration(amount, &out_.faults.delay_ns)) {
          return complaint_.Say("faults", part, "give a time, as in delay:50us");
        }
      } else if (kind == "linkdown") {
        const auto [period, length] = Cut(amount, '/');
        if (!ReadDuration(period, &out_.faults.down_period_ns) ||
            !ReadDuration(length, &out_.faults.down_length_ns) ||
            out_.faults.down_length_ns >= out_.faults.down_period_ns) {
          return complaint_.Say("faults", part,
                                "give period/outage, the outage shorter, as in linkdown:1s/100ms");
        }
      } else {
        return complaint_.Say("faults", part,
                              "unknown; use drop, dup, reorder, corrupt, delay or linkdown");
      }
    }
    return true;
  }

  bool Verify(string_view value) {
    verify_given_ = true;
    if (value == "full")
      out_.verify = VerifyMode::kFull;
    else if (value == "sampled")
      out_.verify = VerifyMode::kSampled;
    else if (value == "off")
      out_.verify = VerifyMode::kOff;
    else
      return complaint_.Say("verify", value, "give full, sampled or off");
    return true;
  }

  bool Pause(string_view value) {
    pause_given_ = true;
    out_.pause = value == "on";
    return value == "on" || value == "off" || complaint_.Say("pause", value, "give on or off");
  }

  bool Seed(string_view what, string_view value, uint64_t* seed) {
    return ReadInteger<uint64_t>(value, 0, ~uint64_t{0}, seed) ||
           complaint_.Say(what, value, "give a number, 0…18446744073709551615");
  }

  bool DeviceCpu(string_view value) {
    uint32_t cpu = 0;
    if (!ReadInteger<uint32_t>(value, 0, 1023, &cpu)) {
      return complaint_.Say("device_cpu", value, "give the number of a CPU");
    }
    out_.device_cpu = cpu;
    return true;
  }

  Arguments& out_;
  Complaint complaint_;
  std::set<string_view> seen_;
  uint64_t seed_ = 1;
  bool generator_seed_given_ = false;
  bool order_given_ = false;
  bool verify_given_ = false;
  bool pause_given_ = false;
};

}  // namespace

std::span<const char* const> KnownKeys() {
  static constexpr std::array kKeys = {"wire", "device_cpu", "seed", "faults", "verify", "pause"};
  return kKeys;
}

std::optional<Arguments> ParseArguments(std::span<const std::pair<std::string, std::string>> given,
                                        std::string* error) {
  Arguments arguments;
  Parser parser(arguments, error);
  for (const auto& [key, value] : given) {
    if (!parser.Take(key, value)) return std::nullopt;
  }
  if (!parser.Finish()) return std::nullopt;
  return arguments;
}

}  // namespace sluice::emulator
