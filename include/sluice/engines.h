/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sluice's engines in your own program: what sluice-maglev, sluice-telemetry, sluice-logmon and
 * sluice-kv do to frames, without DPDK, threads or sockets. Frames and a time go in, verdicts come
 * out; who received the frames, and how they leave, is the program's affair. docs/library.md is the
 * contract of frames, verdicts and room; examples/maglev_capture.c is a whole program.
 *
 *     pkg-config --cflags --libs sluice-engines
 *
 * Threads: a worker belongs to one thread at a time. Functions of an engine may be called by any
 * thread while workers work, but for sluice_engine_finish and sluice_engine_destroy.
 */
#ifndef SLUICE_ENGINES_H
#define SLUICE_ENGINES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/** Version of this interface. A library serves programs that were compiled for the same major
 * version and at most its own minor one. */
#define SLUICE_ENGINES_MAJOR 1
#define SLUICE_ENGINES_MINOR 0

/** Version of the interface of the library in use: major << 16 | minor. */
uint32_t sluice_engines_version(void);
/** Release of Sluice that the library is of, "0.1.0". */
const char* sluice_engines_release(void);

/** An engine: its configuration, and what its workers share. */
struct sluice_engine;
/** What one thread works with. */
struct sluice_worker;

/** How a frame ends. Every frame has one ending. */
enum sluice_verdict {
  SLUICE_FORWARD = 0, /**< Leaves through the port it came from, as it now is. */
  SLUICE_CONSUME = 1, /**< The engine kept what it wanted: nothing leaves. */
  SLUICE_DROP = 2,    /**< Discarded; sluice_frame::reason says why. */
  SLUICE_PASS = 3     /**< Not for this engine, and as it came. */
};

/** An Ethernet frame without FCS, in one piece. The engine may read and write `headroom` bytes
 * before `data`, the `length` bytes of the frame, and `tailroom` bytes behind them; nothing else.
 */
struct sluice_frame {
  uint8_t* data;     /**< In: the Ethernet header. Out: where the frame begins now. */
  uint32_t length;   /**< Bytes. Out: of the frame as it leaves. */
  uint32_t headroom; /**< In: writable bytes before `data`. Out: what is left of them. */
  uint32_t tailroom; /**< In: writable bytes behind the frame. Out: what is left of them. */
  uint8_t verdict;   /**< Out: enum sluice_verdict. */
  uint8_t reason;    /**< Out, with SLUICE_DROP: number of sluice_engine_reason. */
  uint8_t moved;     /**< Out. 1: the frame outgrew its room. `data` is in the worker's memory,
                      * valid until its next call; there is no room around it. */
  uint8_t reserved;
};

/** A line of a log that filters matched (engine "logmon"). Texts may hold any bytes; they are in
 * the worker's memory, valid until its next call. */
struct sluice_line {
  const char* text;   /**< Without its end; not terminated by a NUL. */
  const char* source; /**< "syslog 192.0.2.1", "lines 192.0.2.1:40000", "tcp [2001:db8::1]:601". */
  uint64_t now;       /**< Of the call that brought its last bytes. */
  uint32_t bytes;     /**< Of `text`. */
  uint32_t filter;    /**< The first that matched, by its place in the configuration. */
  uint32_t truncated; /**< 1: the line was longer than `line_bytes`. */
  uint32_t reserved;
};

/** A counter; it only grows. */
struct sluice_counter {
  const char* name; /**< As long as the engine exists. */
  uint64_t value;
};

/** What is chosen when an engine is made. Zero the rest: members may be added behind the last. */
struct sluice_options {
  size_t size;      /**< sizeof(struct sluice_options). */
  uint32_t workers; /**< Threads; 0: one. At most SLUICE_MAX_WORKERS. */
  uint32_t reserved;
  uint64_t ticks_per_second; /**< Of every `now`; 0: 10^9, nanoseconds. */
  uint64_t now;              /**< The time at which the engine is made. */
  uint64_t seed;             /**< Of hashes that strangers must not foresee; 0: a random one. */
};

#define SLUICE_MAX_WORKERS 256

/** Kinds of engines by name, "kv", "logmon", "maglev", "neighbor", "telemetry"; NULL ends them. */
const char* const* sluice_engine_kinds(void);

/**
 * Makes an engine of a configuration: JSON, whose members docs/library.md lists for each kind.
 *
 * @param kind           One of sluice_engine_kinds().
 * @param configuration  `bytes` bytes of text; files that it names are found from the working
 * folder.
 * @param options        NULL: all 0.
 * @param error          On failure, a line that says what is wrong and where; at most
 * `error_bytes`, NUL included. May be NULL.
 * @return NULL on failure.
 */
struct sluice_engine* sluice_engine_create(const char* kind, const char* configuration,
                                           size_t bytes, const struct sluice_options* options,
                                           char* error, size_t error_bytes);
/** The same of a file; files that it names are found from its folder. */
struct sluice_engine* sluice_engine_open(const char* kind, const char* path,
                                         const struct sluice_options* options, char* error,
                                         size_t error_bytes);
/** Ends an engine and its workers, none of which is in a call. NULL: nothing. */
void sluice_engine_destroy(struct sluice_engine* engine);

/**
 * Swaps the configuration while workers work. Each takes up the new one with its next call; what
 * the old one was compiled to is freed before this returns, which waits for calls that are under
 * way.
 *
 * "maglev": connections stay where their backends stay; tables and timeouts cannot change.
 * "logmon": lines and streams that are not whole yet begin anew. Others cannot be swapped.
 *
 * @return 0; -1, with a line in `error`: all is as before.
 */
int sluice_engine_replace(struct sluice_engine* engine, const char* configuration, size_t bytes,
                          char* error, size_t error_bytes);
/** The same of a file. */
int sluice_engine_replace_file(struct sluice_engine* engine, const char* path, char* error,
                               size_t error_bytes);

/** Its kind, "maglev". */
const char* sluice_engine_kind(const struct sluice_engine* engine);
/** Workers that it has. */
uint32_t sluice_engine_workers(const struct sluice_engine* engine);
/** Worker `number`, from 0 on; NULL: there are fewer. */
struct sluice_worker* sluice_engine_worker(struct sluice_engine* engine, uint32_t number);
/** Bytes of headroom with which no frame has to move. */
uint32_t sluice_engine_headroom(const struct sluice_engine* engine);
/** Name of a reason for drops, "no_backend"; NULL: `number` is none. */
const char* sluice_engine_reason(const struct sluice_engine* engine, uint32_t number);

/**
 * What all workers have counted, "drop_no_backend" among it. Each has its place: always the same.
 *
 * @param counters  Filled in, at most `room` of them. May be NULL if `room` is 0.
 * @return How many there are.
 */
uint32_t sluice_engine_counters(const struct sluice_engine* engine, struct sluice_counter* counters,
                                uint32_t room);
/**
 * What there is besides counters, as JSON (docs/library.md): VIPs and their backends, filters, or,
 * of "telemetry", the oldest epoch that all workers have ended and nobody has read yet.
 *
 * @return For sluice_text_free; NULL: there is nothing, or no memory.
 */
char* sluice_engine_report(struct sluice_engine* engine);
/** Frees what sluice_engine_report returned. NULL: nothing. */
void sluice_text_free(char* text);
/** Ends what is under way while no worker is in a call: epochs, and lines whose sources fall
 * silent. What comes of it is in the next report, and in sluice_worker_lines. */
void sluice_engine_finish(struct sluice_engine* engine, uint64_t now);

/**
 * Handles frames that arrived together, in place, and says how each ends. Call it with none when
 * nothing arrives: what has to happen in time, happens in it.
 *
 * @param frames  `count` of them; NULL if there are none.
 * @param now     Ticks, never fewer than in the call before.
 */
void sluice_worker_process(struct sluice_worker* worker, struct sluice_frame* frames,
                           uint32_t count, uint64_t now);
/** Frames that the engine sends of its own accord since the last call of sluice_worker_process
 * began, to be transmitted in this order: answers of several frames. They are in the worker's
 * memory until its next call. */
const struct sluice_frame* sluice_worker_sent(const struct sluice_worker* worker, uint32_t* count);
/** Lines that matched since the last call of sluice_worker_process began, of filters with `show`;
 * until the worker's next call. */
const struct sluice_line* sluice_worker_lines(const struct sluice_worker* worker, uint32_t* count);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_ENGINES_H */
