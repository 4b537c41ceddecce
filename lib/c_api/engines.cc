// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of sluice/engines.h. No exception propagates out of them.
#include "sluice/engines.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/random_seed.h"
#include "c_api/engine.h"
#include "c_api/worker.h"
#include "config/json_reader.h"

namespace {

using sluice::c_api::ConfigText;
using sluice::c_api::Errors;
using sluice::c_api::Kind;
using sluice::c_api::Options;

constexpr std::array kKinds{&sluice::c_api::kKv, &sluice::c_api::kLogmon, &sluice::c_api::kMaglev,
                            &sluice::c_api::kNeighbor, &sluice::c_api::kTelemetry};

/// The caller's buffer for an error message.
class ErrorText {
 public:
  ErrorText(char* text, size_t bytes) : text_(text), bytes_(text == nullptr ? 0 : bytes) {
    Write("");
  }

  void Write(std::string_view line) {
    if (bytes_ == 0) return;
    const size_t length = std::min(line.size(), bytes_ - 1);
    std::copy_n(line.data(), length, text_);
    text_[length] = '\0';
  }
  void Write(const Errors& errors) {
    std::string line = errors.empty() ? "invalid configuration" : errors.front();
    if (errors.size() > 1) line += " (and " + std::to_string(errors.size() - 1) + " more)";
    Write(line);
  }

 private:
  char* text_;
  size_t bytes_;
};

/// Returns the result of `function`. If it throws, writes the reason to `error` and returns
/// `failed`.
template <typename Function, typename Result>
Result Guard(ErrorText& error, Result failed, Function function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    error.Write("not enough memory");
  } catch (const std::exception& what) {
    error.Write(what.what());
  }
  return failed;
}

const Kind* Find(const char* name) {
  if (name == nullptr) return nullptr;
  const auto found = std::ranges::find(kKinds, std::string_view(name), &Kind::name);
  return found == kKinds.end() ? nullptr : *found;
}

/// Reads the options. If they are invalid, stores a message in `error` and returns nullopt.
std::optional<Options> Read(const sluice_options* given, ErrorText& error) {
  sluice_options options{};
  if (given != nullptr) {
    if (given->size < sizeof(sluice_options)) {
      error.Write("options: set size to sizeof(struct sluice_options)");
      return std::nullopt;
    }
    options = *given;
  }
  if (options.workers > SLUICE_MAX_WORKERS) {
    error.Write("options: give at most " + std::to_string(SLUICE_MAX_WORKERS) + " workers");
    return std::nullopt;
  }
  Options read;
  read.workers = std::max(options.workers, 1u);
  if (options.ticks_per_second != 0) read.ticks_per_second = options.ticks_per_second;
  read.now = options.now;
  read.seed = options.seed != 0 ? options.seed : sluice::base::RandomSeed();
  return read;
}

std::optional<std::string> ReadFile(const char* path, ErrorText& error) {
  Errors errors;
  auto text = sluice::config::ReadFile(path == nullptr ? "" : path, &errors);
  if (!text) error.Write(errors);
  return text;
}

sluice_engine* Create(const char* name, const ConfigText& config, const sluice_options* given,
                      ErrorText& error) {
  const Kind* const kind = Find(name);
  if (kind == nullptr) {
    error.Write("no such engine: give kv, logmon, maglev, neighbor or telemetry");
    return nullptr;
  }
  const std::optional<Options> options = Read(given, error);
  if (!options) return nullptr;
  Errors errors;
  std::unique_ptr<sluice_engine> engine = kind->make(config, *options, &errors);
  if (engine == nullptr) error.Write(errors);
  return engine.release();
}

int Replace(sluice_engine& engine, const ConfigText& config, ErrorText& error) {
  Errors errors;
  if (engine.Replace(config, &errors)) return 0;
  error.Write(errors);
  return -1;
}

std::string FolderOf(const char* path) { return std::filesystem::path(path).parent_path(); }

std::string_view TextOf(const char* configuration, size_t bytes) {
  return configuration == nullptr ? std::string_view() : std::string_view(configuration, bytes);
}

}  // namespace

uint32_t sluice_engines_version(void) { return SLUICE_ENGINES_MAJOR << 16 | SLUICE_ENGINES_MINOR; }

const char* sluice_engines_release(void) { return SLUICE_VERSION; }

const char* const* sluice_engine_kinds(void) {
  static const auto names = [] {
    std::array<const char*, kKinds.size() + 1> all{};
    std::ranges::transform(kKinds, all.begin(), &Kind::name);
    return all;
  }();
  return names.data();
}

sluice_engine* sluice_engine_create(const char* kind, const char* configuration, size_t bytes,
                                    const sluice_options* options, char* error,
                                    size_t error_bytes) {
  ErrorText error_text(error, error_bytes);
  return Guard(error_text, static_cast<sluice_engine*>(nullptr), [&] {
    return Create(kind, {TextOf(configuration, bytes), ""}, options, error_text);
  });
}

sluice_engine* sluice_engine_open(const char* kind, const char* path, const sluice_options* options,
                                  char* error, size_t error_bytes) {
  ErrorText error_text(error, error_bytes);
  return Guard(error_text, static_cast<sluice_engine*>(nullptr), [&]() -> sluice_engine* {
    const std::optional<std::string> text = ReadFile(path, error_text);
    return text ? Create(kind, {*text, FolderOf(path)}, options, error_text) : nullptr;
  });
}

void sluice_engine_destroy(sluice_engine* engine) { delete engine; }

int sluice_engine_replace(sluice_engine* engine, const char* configuration, size_t bytes,
                          char* error, size_t error_bytes) {
  ErrorText error_text(error, error_bytes);
  return Guard(error_text, -1, [&] {
    return Replace(*engine, {TextOf(configuration, bytes), ""}, error_text);
  });
}

int sluice_engine_replace_file(sluice_engine* engine, const char* path, char* error,
                               size_t error_bytes) {
  ErrorText error_text(error, error_bytes);
  return Guard(error_text, -1, [&] {
    const std::optional<std::string> text = ReadFile(path, error_text);
    return text ? Replace(*engine, {*text, FolderOf(path)}, error_text) : -1;
  });
}

const char* sluice_engine_kind(const sluice_engine* engine) { return engine->kind().name; }

uint32_t sluice_engine_workers(const sluice_engine* engine) {
  return static_cast<uint32_t>(engine->workers().size());
}

sluice_worker* sluice_engine_worker(sluice_engine* engine, uint32_t number) {
  return number < engine->workers().size() ? engine->workers()[number].get() : nullptr;
}

uint32_t sluice_engine_headroom(const sluice_engine* engine) { return engine->headroom(); }

const char* sluice_engine_reason(const sluice_engine* engine, uint32_t number) {
  return engine->Reason(number);
}

uint32_t sluice_engine_counters(const sluice_engine* engine, sluice_counter* counters,
                                uint32_t room) {
  ErrorText error_text(nullptr, 0);
  return Guard(error_text, uint32_t{0}, [&] {
    return engine->Counters({counters, counters == nullptr ? 0 : size_t{room}});
  });
}

char* sluice_engine_report(sluice_engine* engine) {
  ErrorText error_text(nullptr, 0);
  return Guard(error_text, static_cast<char*>(nullptr), [&]() -> char* {
    const std::optional<std::string> text = engine->Report();
    return text ? strdup(text->c_str()) : nullptr;
  });
}

void sluice_text_free(char* text) { std::free(text); }

void sluice_engine_finish(sluice_engine* engine, uint64_t now) {
  ErrorText error_text(nullptr, 0);
  Guard(error_text, 0, [&] {
    engine->Finish(now);
    return 0;
  });
}

void sluice_worker_process(sluice_worker* worker, sluice_frame* frames, uint32_t count,
                           uint64_t now) {
  worker->Process({frames, frames == nullptr ? 0 : size_t{count}}, now);
}

const sluice_frame* sluice_worker_sent(const sluice_worker* worker, uint32_t* count) {
  *count = static_cast<uint32_t>(worker->sent().size());
  return worker->sent().data();
}

const sluice_line* sluice_worker_lines(const sluice_worker* worker, uint32_t* count) {
  *count = static_cast<uint32_t>(worker->lines().size());
  return worker->lines().data();
}
