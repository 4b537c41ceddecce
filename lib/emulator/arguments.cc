// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/arguments.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "emulator/options.h"

namespace sluice::emulator {
namespace {

using std::string_view;
using Given = std::span<const std::pair<std::string, std::string>>;

constexpr std::array kKeys = {"wire", "device_cpu", "seed", "faults", "verify", "pause", "on"};

bool ReadKeys(Given given, std::string* error) {
  for (auto at = given.begin(); at != given.end(); ++at) {
    const auto& [key, value] = *at;
    if (std::ranges::find(kKeys, string_view(key)) == kKeys.end()) {
      return Refuse(key, value,
                    "unknown argument; use wire, on, device_cpu, seed, faults, verify or pause",
                    error);
    }
    const auto is_same = [&](const auto& other) { return other.first == at->first; };
    if (std::any_of(given.begin(), at, is_same)) {
      return Refuse(key, value, "the argument is given twice; give it once", error);
    }
  }
  return true;
}

bool ReadWire(string_view text, Arguments* out, std::string* error) {
  using Kind = Arguments::WireKind;
  const auto [kind, options] = Cut(text, ':');
  if (kind == "loopback" && options.empty()) {
    out->wire = Kind::kLoopback;
    return true;
  }
  if (kind == "gen") {
    out->wire = Kind::kGenerator;
    return out->generator.Read(options, error);
  }
  if (kind == "pcap") {
    out->wire = Kind::kReplay;
    return out->replay.Read(options, error);
  }
  if (kind == "port") {
    out->wire = Kind::kPort;
    out->port = options;
    return !options.empty() ||
           Refuse("wire", text, "give the name of an ethdev, as in port:net_tap0", error);
  }
  if (kind == "cable") {
    out->wire = Kind::kCable;
    out->cable = options;
    return !options.empty() ||
           Refuse("wire", text, "give a name for the cable, as in cable:lab", error);
  }
  if (kind == "library") {
    out->wire = Kind::kLibrary;
    return out->library.Read(options, error);
  }
  return Refuse("wire", text,
                "no such wire; use loopback, gen:OPTIONS, pcap:FILE, port:ETHDEV, cable:NAME or "
                "library:FILE.so+OPTIONS",
                error);
}

bool ReadVerify(string_view text, VerifyMode* mode) {
  *mode = text == "full"      ? VerifyMode::kFull
          : text == "sampled" ? VerifyMode::kSampled
                              : VerifyMode::kOff;
  return text == "full" || text == "sampled" || text == "off";
}

/// Sets the defaults that depend on the wire and on its faults.
void SetDefaults(Arguments* out) {
  const bool generator = out->wire == Arguments::WireKind::kGenerator;
  const bool replay = out->wire == Arguments::WireKind::kReplay;
  const double rate = generator ? out->generator.rate_pps : replay ? out->replay.rate_pps : 0;
  const bool ends = (generator && out->generator.count != 0) ||
                    (replay && (out->replay.count != 0 || out->replay.loop != 0));
  out->verify =
      rate > 0 || ends || out->faults.corrupt > 0 ? VerifyMode::kFull : VerifyMode::kSampled;
  out->pause = rate == 0;
}

/// Returns a one-line reason why a card cannot execute the model; empty if it can or if no card was
/// requested.
std::string WhyNotOnCard(const Arguments& arguments) {
  if (arguments.on.kind == OnOptions::Kind::kCpu) return "";
  using Kind = Arguments::WireKind;
  if (arguments.wire == Kind::kPort || arguments.wire == Kind::kCable) {
    return "wire: with on=gpu or on=threads the frames come from the card's memory: give "
           "wire=gen:OPTIONS, pcap:FILE, library:FILE.so or loopback";
  }
  if (arguments.faults.Any()) return "faults: conflicts with on=gpu and on=threads: omit faults";
  if (arguments.device_cpu || arguments.on_workers) {
    return "device_cpu: no CPU runs the model with on=gpu or on=threads: omit device_cpu";
  }
  return "";
}

}  // namespace

std::span<const char* const> KnownKeys() { return kKeys; }

std::optional<Arguments> ParseArguments(Given given, std::string* error) {
  Arguments out;
  /// Returns whether read(value) accepts the value given for `key`; true if no value was given.
  const auto take = [given](string_view key, auto read) {
    const auto found = std::ranges::find(given, key, &Given::value_type::first);
    return found == given.end() || read(string_view(found->second));
  };
  const auto read_or = [&](string_view key, string_view fix, auto read) {
    return take(key,
                [&](string_view value) { return read(value) || Refuse(key, value, fix, error); });
  };
  if (!ReadKeys(given, error)) return std::nullopt;
  uint64_t seed = 1;
  if (!read_or("seed", kSeedFix, [&](string_view value) { return ReadNumber(value, &seed); })) {
    return std::nullopt;
  }
  out.generator.seed = out.faults.seed = out.library.seed = seed;
  if (!take("wire", [&](string_view value) { return ReadWire(value, &out, error); }) ||
      !take("faults", [&](string_view value) { return out.faults.Read(value, error); }) ||
      !take("on", [&](string_view value) { return out.on.Read(value, error); })) {
    return std::nullopt;
  }
  SetDefaults(&out);
  const bool read =
      read_or("verify", "give full, sampled or off",
              [&](string_view value) { return ReadVerify(value, &out.verify); }) &&
      read_or("pause", "give on or off",
              [&](string_view value) {
                out.pause = value == "on";
                return value == "on" || value == "off";
              }) &&
      read_or("device_cpu", "give the number of a CPU, or worker", [&](string_view value) {
        out.on_workers = value == "worker";
        return out.on_workers || ReadNumber(value, 0, 1023, &out.device_cpu.emplace());
      });
  if (!read) return std::nullopt;
  if (const std::string wrong = WhyNotOnCard(out); !wrong.empty()) {
    *error = wrong;
    return std::nullopt;
  }
  return out;
}

}  // namespace sluice::emulator
