// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/pcre2_regex.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <new>

namespace sluice::engine::logmon {
namespace {

constexpr uint32_t kMaxMatchDepth = 10'000;
constexpr uint32_t kMaxHeapKiB = 1024;
constexpr size_t kMinStackBytes = 32 << 10, kMaxStackBytes = 1 << 20;

template <typename T>
T* NotNull(T* pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

PCRE2_SPTR Units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data() != nullptr ? text.data() : "");
}

}  // namespace

void Pcre2Memory::Free::operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
void Pcre2Memory::Free::operator()(pcre2_match_context* context) const {
  pcre2_match_context_free(context);
}
void Pcre2Memory::Free::operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
void Pcre2Regex::Free::operator()(pcre2_code* code) const { pcre2_code_free(code); }

Pcre2Memory::Pcre2Memory()
    : data_(NotNull(pcre2_match_data_create(Pcre2Regex::kMaxGroups + 1, nullptr))),
      context_(NotNull(pcre2_match_context_create(nullptr))),
      stack_(pcre2_jit_stack_create(kMinStackBytes, kMaxStackBytes, nullptr)) {
  pcre2_set_match_limit(context_.get(), Pcre2Regex::kMaxSteps);
  pcre2_set_depth_limit(context_.get(), kMaxMatchDepth);
  pcre2_set_heap_limit(context_.get(), kMaxHeapKiB);
  pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
}

std::unique_ptr<const Pcre2Regex> Pcre2Regex::Compile(std::string_view expression,
                                                      std::string* error) {
  int code = 0;
  PCRE2_SIZE offset = 0;
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      NotNull(pcre2_compile_context_create(nullptr)), pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  std::unique_ptr<Pcre2Regex> regex(new Pcre2Regex);
  regex->code_.reset(
      pcre2_compile(Units(expression), expression.size(), 0, &code, &offset, context.get()));
  if (regex->code_ == nullptr) {
    std::array<PCRE2_UCHAR, 256> words{};
    pcre2_get_error_message(code, words.data(), words.size());
    *error = absl::StrCat(absl::CHexEscape(reinterpret_cast<const char*>(words.data())),
                          ", at byte ", offset + 1);
    return nullptr;
  }
  pcre2_pattern_info(regex->code_.get(), PCRE2_INFO_CAPTURECOUNT, &regex->groups_);
  if (regex->groups_ > kMaxGroups) {
    *error = absl::StrCat("more than ", kMaxGroups, " groups");
    return nullptr;
  }
  // If the system forbids executable memory, PCRE2 uses its interpreter.
  pcre2_jit_compile(regex->code_.get(), PCRE2_JIT_COMPLETE);
  uint32_t count = 0, entry_bytes = 0;
  PCRE2_SPTR table = nullptr;
  pcre2_pattern_info(regex->code_.get(), PCRE2_INFO_NAMECOUNT, &count);
  pcre2_pattern_info(regex->code_.get(), PCRE2_INFO_NAMEENTRYSIZE, &entry_bytes);
  pcre2_pattern_info(regex->code_.get(), PCRE2_INFO_NAMETABLE, &table);
  for (uint32_t i = 0; i < count; ++i, table += entry_bytes) {
    regex->names_.emplace(reinterpret_cast<const char*>(table + 2), table[0] << 8 | table[1]);
  }
  return regex;
}

bool Pcre2Regex::Matches(std::string_view text, Pcre2Memory& memory) const {
  const int found = pcre2_match(code_.get(), Units(text), text.size(), 0, 0, memory.data_.get(),
                                memory.context_.get());
  // Text and options are valid, so any other error is an exceeded limit.
  if (found < 0 && found != PCRE2_ERROR_NOMATCH) ++memory.given_up_;
  return found >= 0;
}

bool Pcre2Regex::Search(std::string_view text, Pcre2Memory& memory,
                        std::vector<std::string_view>* groups) const {
  if (!Matches(text, memory)) return false;
  const PCRE2_SIZE* const at = pcre2_get_ovector_pointer(memory.data_.get());
  groups->resize(groups_ + 1);
  for (uint32_t i = 0; i <= groups_; ++i) {
    const bool is_set = at[2 * i] != PCRE2_UNSET;
    (*groups)[i] = is_set ? std::string_view(text.data() + at[2 * i], at[2 * i + 1] - at[2 * i])
                          : std::string_view();
  }
  return true;
}

}  // namespace sluice::engine::logmon
