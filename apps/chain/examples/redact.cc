// SPDX-License-Identifier: BSD-3-Clause
//
// An example of a custom stage. It redacts every number that has at least as many digits as an
// option specifies.
//
//   g++ -std=c++20 -O2 -fPIC -shared -Ilib apps/chain/examples/redact.cc -o redact.so
#include <algorithm>
#include <charconv>

#include "../executor.h"

namespace {

using sluice::chain_app::Executor, sluice::chain_app::Outcome;
using sluice::chain_app::StageOptions, sluice::chain_app::Work;

class Redact final : public Executor {
 public:
  explicit Redact(ptrdiff_t run) : run_(run) {}

  void Run(std::span<Work> batch) override {
    constexpr auto kIsDigit = [](uint8_t byte) { return byte >= '0' && byte <= '9'; };
    for (Work& work : batch) {
      work.outcome = Outcome::kRefused;
      if (work.input.size() > work.output.size()) continue;
      const auto text = work.output.first(work.input.size());
      std::ranges::copy(work.input, text.begin());
      work.key[0] = 0;  // Counts the redacted runs of digits.
      for (auto at = text.begin(); at != text.end();) {
        const auto begin = std::find_if(at, text.end(), kIsDigit);
        at = std::find_if_not(begin, text.end(), kIsDigit);
        if (at - begin < run_ || at == begin) continue;
        std::fill(begin, at, uint8_t{'#'});
        ++work.key[0];
      }
      work.length = static_cast<uint32_t>(text.size());
      work.outcome = Outcome::kDone;
    }
  }

 private:
  ptrdiff_t run_;
};

std::unique_ptr<Executor> Make(const StageOptions& options, std::string* error) {
  ptrdiff_t run = 0;
  const char* const end = options.text.data() + options.text.size();
  if (std::from_chars(options.text.data(), end, run).ptr == end && run > 0)
    return std::make_unique<Redact>(run);
  *error = "give the minimum number of digits of a redacted number, such as 7";
  return nullptr;
}

}  // namespace

SLUICE_STAGE({.name = "redact",
              .what = "replaces long numbers with #; the option is the minimum number of digits of "
                      "a long number",
              .make = Make,
              .refusals = {"too_long"}});
