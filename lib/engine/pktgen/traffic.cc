// SPDX-License-Identifier: BSD-3-Clause
#include "engine/pktgen/traffic.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace sluice::engine::pktgen {

namespace {

/// Returns the total layer-1 bits of all frames.
double BitsOf(const FrameSet& frames) {
  return static_cast<double>(LayerOneBits(0)) * static_cast<double>(frames.size()) +
         8 * static_cast<double>(frames.layer_two_bytes());
}

/// Returns the average bits per second of a capture with its original times.
double BitsOf(const Offsets& offsets, const FrameSet& frames) {
  return BitsOf(frames) / static_cast<double>(offsets.period_ps) * kPsPerSecond;
}

/// Returns the bits per second of a phase; 0 if unlimited.
double BitsOf(const Rate& rate, const FrameSet& frames, uint64_t line_bps) {
  const double bits = BitsOf(frames) / static_cast<double>(frames.size());
  switch (rate.unit) {
    case Rate::Unit::kPackets:
      return rate.value * bits;
    case Rate::Unit::kBits:
      return rate.value;
    case Rate::Unit::kPercent:
      return rate.value / 100 * static_cast<double>(line_bps);
    default:
      return 0;
  }
}

std::string Giga(double bps) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g Gbps", bps / 1e9);
  return text;
}

}  // namespace

std::unique_ptr<Traffic> Traffic::Make(const std::vector<StreamSpec>& specs,
                                       const TrafficOptions& options, std::string* error) {
  std::unique_ptr<Traffic> traffic(new Traffic);
  traffic->options_ = options;
  for (const StreamSpec& spec : specs) {
    if (!traffic->Add(spec, error)) {
      error->insert(0, "stream \"" + spec.name + "\": ");
      return nullptr;
    }
  }
  traffic->end_ps_ = std::min(traffic->end_ps_, options.end_ps);
  if (options.line_bps == 0 || traffic->FitsTheLine(specs, error)) return traffic;
  return nullptr;
}

/// Returns true if the total rate of concurrent streams never exceeds the line rate. Otherwise,
/// returns false and sets `error`.
bool Traffic::FitsTheLine(const std::vector<StreamSpec>& specs, std::string* error) const {
  const auto line = static_cast<double>(options_.line_bps);
  const auto bits_at = [&](uint64_t ps) {
    double bits = 0;
    for (size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].offsets != nullptr) bits += BitsOf(*specs[i].offsets, *frames_[i]);
      for (const Phase& phase : specs[i].phases) {
        if (phase.start_ps > ps || phase.end_ps <= ps) continue;
        bits += BitsOf(phase.rate, *frames_[i], options_.line_bps);
      }
    }
    return bits;
  };
  const auto fits = [&](const StreamSpec& spec, uint64_t ps) {
    const double bits = bits_at(ps);
    if (bits <= line * (1 + 1e-9)) return true;
    *error = "stream \"" + spec.name + "\": its rate and those of concurrent streams total " +
             Giga(bits) + ", which exceeds the line rate of " + Giga(line) + ": use a lower rate" +
             (spec.offsets == nullptr ? "" : " or longer gaps");
    return false;
  };
  return std::ranges::all_of(specs, [&](const StreamSpec& spec) {
    if (spec.offsets != nullptr) return fits(spec, 0);
    return std::ranges::all_of(spec.phases,
                               [&](const Phase& phase) { return fits(spec, phase.start_ps); });
  });
}

bool Traffic::Add(const StreamSpec& spec, std::string* error) {
  const std::shared_ptr<const FrameSet> all = BuildFrames(spec, error);
  if (all == nullptr) return false;
  frames_.push_back(all);
  names_.push_back(spec.name);
  const uint32_t workers = options_.workers;
  uint64_t end_ps = 0;
  for (uint32_t worker = 0; worker < workers; ++worker) {
    std::vector<size_t> indices;
    FrameSet frames = PartOf(*all, worker, workers, &indices);
    // If there are fewer frames than workers, each worker has copies of all frames and sends a
    // share of 1 / `workers`.
    const bool copies = all->size() < workers;
    const uint64_t limit =
        copies ? spec.frames / workers + (worker < spec.frames % workers)
               : spec.frames / all->size() * indices.size() +
                     static_cast<uint64_t>(std::ranges::count_if(
                         indices, [&](size_t index) { return index < spec.frames % all->size(); }));
    const bool none = spec.frames > 0 && limit == 0;  // Other workers send all frames.
    if (indices.empty()) {
      shares_.push_back({std::move(frames), Departures({}, spec.arrivals, 0), 0});
      continue;
    }
    if (spec.offsets != nullptr) {
      auto offsets = std::make_shared<Offsets>();
      offsets->period_ps = spec.offsets->period_ps;
      for (const size_t index : indices) offsets->at_ps.push_back(spec.offsets->at_ps[index]);
      const uint64_t rounds = (spec.frames + all->size() - 1) / all->size();
      end_ps = spec.frames == 0 ? kNever : rounds * offsets->period_ps;
      shares_.push_back({none ? FrameSet() : std::move(frames),
                         Departures(std::move(offsets), options_.end_ps), limit});
      continue;
    }
    std::vector<Departures::Part> parts;
    for (const Phase& phase : spec.phases) {
      if (phase.rate.unit == Rate::Unit::kPercent && options_.line_bps == 0) {
        *error = "the line rate is unknown: a percentage requires --line_gbps";
        return false;
      }
      const Gap whole(phase.rate, options_.line_bps);
      const bool bits = phase.rate.unit != Rate::Unit::kPackets;
      const uint64_t part_cost =
          copies ? 1
          : bits ? LayerOneBits(0) * frames.size() + 8 * frames.layer_two_bytes()
                 : frames.size();
      const uint64_t whole_cost = copies ? workers
                                  : bits
                                      ? LayerOneBits(0) * all->size() + 8 * all->layer_two_bytes()
                                      : all->size();
      // Workers start at different times, so that they do not send simultaneously.
      const auto mean = static_cast<uint32_t>(all->layer_two_bytes() / all->size());
      parts.push_back({TicksOf(phase.start_ps) + whole.Behind(mean) * worker,
                       TicksOf(std::min(phase.end_ps, options_.end_ps)),
                       part_cost == whole_cost ? whole : whole.Share(part_cost, whole_cost),
                       phase.rate.unit == Rate::Unit::kUnlimited});
      end_ps = std::max(end_ps, phase.end_ps);
    }
    shares_.push_back({none ? FrameSet() : std::move(frames),
                       Departures(std::move(parts), spec.arrivals, spec.seed + worker), limit});
  }
  end_ps_ = std::max(end_ps_, end_ps);
  return true;
}

}  // namespace sluice::engine::pktgen
