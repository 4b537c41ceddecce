/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The frame processing of sluice-maglev, sluice-telemetry, sluice-logmon and sluice-kv as a
 * library, without DPDK, threads or sockets. The input is frames and a time; the output is a
 * verdict per frame. The calling program receives and transmits the frames. docs/library.md
 * specifies frames, verdicts and headroom; examples/maglev_capture.c is a complete program.
 *
 *     pkg-config --cflags --libs sluice-engines
 *
 * Threads: only one thread at a time may use a worker. Any thread may call the functions of an
 * engine while workers run, except sluice_engine_finish and sluice_engine_destroy.
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

/** Version of this interface. A library supports programs that were compiled for the same major
 * version and for the same or a lower minor version. */
#define SLUICE_ENGINES_MAJOR 1
#define SLUICE_ENGINES_MINOR 0

/** Returns the interface version of the loaded library: major << 16 | minor. */
uint32_t sluice_engines_version(void);
/** Returns the Sluice release of the loaded library, for example "0.1.0". */
const char* sluice_engines_release(void);

/** An engine: its configuration and the state that its workers share. */
struct sluice_engine;
/** The state that one thread needs to process frames. */
struct sluice_worker;

/** Result of processing one frame. Every frame gets exactly one verdict. */
enum sluice_verdict {
  SLUICE_FORWARD = 0, /**< Transmit the changed frame through the port that received it. */
  SLUICE_CONSUME = 1, /**< The engine has consumed the frame: transmit nothing. */
  SLUICE_DROP = 2,    /**< Discard the frame; sluice_frame::reason is the reason. */
  SLUICE_PASS = 3     /**< The frame is not for this engine and is unchanged. */
};

/** A contiguous Ethernet frame without FCS. The engine may read and write the `headroom` bytes
 * before `data`, the `length` bytes of the frame, and the `tailroom` bytes after it, and no other
 * memory.
 */
struct sluice_frame {
  uint8_t* data;     /**< In: the Ethernet header. Out: the new first byte of the frame. */
  uint32_t length;   /**< In: bytes of the frame. Out: bytes of the changed frame. */
  uint32_t headroom; /**< In: writable bytes before `data`. Out: the bytes that remain. */
  uint32_t tailroom; /**< In: writable bytes after the frame. Out: the bytes that remain. */
  uint8_t verdict;   /**< Out: enum sluice_verdict. */
  uint8_t reason;    /**< Out, with SLUICE_DROP: argument for sluice_engine_reason. */
  uint8_t moved;     /**< Out. 1: the frame did not fit into its buffer. `data` then points to
                      * the worker's memory, valid until the worker's next call, without headroom
                      * or tailroom. */
  uint8_t reserved;
};

/** A log line that a filter matched (engine "logmon"). Texts may contain any bytes. They are in the
 * worker's memory and valid until the worker's next call. */
struct sluice_line {
  const char* text;   /**< The line without its line end; not NUL-terminated. */
  const char* source; /**< "syslog 192.0.2.1", "lines 192.0.2.1:40000", "tcp [2001:db8::1]:601". */
  uint64_t now;       /**< `now` of the call that delivered the last bytes of the line. */
  uint32_t bytes;     /**< Length of `text`. */
  uint32_t filter;    /**< Index in the configuration of the first filter that matched. */
  uint32_t truncated; /**< 1: the line was longer than `line_bytes`. */
  uint32_t reserved;
};

/** A counter; its value never decreases. */
struct sluice_counter {
  const char* name; /**< Valid while the engine exists. */
  uint64_t value;
};

/** Options for the creation of an engine. Set unused members to zero: later versions may add
 * members at the end. */
struct sluice_options {
  size_t size;      /**< sizeof(struct sluice_options). */
  uint32_t workers; /**< Number of workers, at most SLUICE_MAX_WORKERS; 0 means 1. */
  uint32_t reserved;
  uint64_t ticks_per_second; /**< Unit of every `now`; 0 means 10^9 (nanoseconds). */
  uint64_t now;              /**< Time of the creation of the engine, in ticks. */
  uint64_t seed;             /**< Seed of hashes that attackers must not predict; 0: random. */
};

#define SLUICE_MAX_WORKERS 256

/** Returns the NULL-terminated names of the kinds of engines: "kv", "logmon", "maglev", "neighbor",
 * "telemetry". */
const char* const* sluice_engine_kinds(void);

/**
 * Creates an engine from a JSON configuration; docs/library.md lists the members for each kind.
 *
 * @param kind           One of sluice_engine_kinds().
 * @param configuration  `bytes` bytes of text. Relative file names in it refer to the working
 * directory.
 * @param options        NULL means that all options are 0.
 * @param error          On failure, receives one line that describes the fault and its position, at
 * most `error_bytes` bytes including the NUL. May be NULL.
 * @return NULL on failure.
 */
struct sluice_engine* sluice_engine_create(const char* kind, const char* configuration,
                                           size_t bytes, const struct sluice_options* options,
                                           char* error, size_t error_bytes);
/** Like sluice_engine_create, but reads the configuration from the file `path`. Relative file names
 * in it refer to the folder of that file. */
struct sluice_engine* sluice_engine_open(const char* kind, const char* path,
                                         const struct sluice_options* options, char* error,
                                         size_t error_bytes);
/** Frees an engine and its workers. No worker may be in a call. Does nothing if `engine` is NULL.
 */
void sluice_engine_destroy(struct sluice_engine* engine);

/**
 * Replaces the configuration while workers run. Each worker uses the new configuration from its
 * next call on. The function waits for calls in progress and frees the old configuration before it
 * returns.
 *
 * "maglev": connections stay with backends that the new configuration still contains; table sizes
 * and timeouts cannot change. "logmon": incomplete lines and streams are discarded and start again.
 * The other kinds do not support replacement.
 *
 * @return 0 on success. On failure -1, with one line in `error`; the old configuration remains.
 */
int sluice_engine_replace(struct sluice_engine* engine, const char* configuration, size_t bytes,
                          char* error, size_t error_bytes);
/** Like sluice_engine_replace, but reads the configuration from the file `path`. */
int sluice_engine_replace_file(struct sluice_engine* engine, const char* path, char* error,
                               size_t error_bytes);

/** Returns the kind of the engine, for example "maglev". */
const char* sluice_engine_kind(const struct sluice_engine* engine);
/** Returns the number of workers of the engine. */
uint32_t sluice_engine_workers(const struct sluice_engine* engine);
/** Returns worker `number`, counted from 0, or NULL if the engine has fewer workers. */
struct sluice_worker* sluice_engine_worker(struct sluice_engine* engine, uint32_t number);
/** Returns the headroom in bytes with which every changed frame fits into its buffer. */
uint32_t sluice_engine_headroom(const struct sluice_engine* engine);
/** Returns the name of drop reason `number`, for example "no_backend", or NULL if `number` is not
 * a reason. */
const char* sluice_engine_reason(const struct sluice_engine* engine, uint32_t number);

/**
 * Reads the counters, for example "drop_no_backend", each as the sum over all workers. The order of
 * the counters never changes.
 *
 * @param counters  Receives the first `room` counters. May be NULL if `room` is 0.
 * @return The number of counters that the engine has.
 */
uint32_t sluice_engine_counters(const struct sluice_engine* engine, struct sluice_counter* counters,
                                uint32_t room);
/**
 * Returns the state of an engine that counters do not cover, as JSON (docs/library.md): VIPs and
 * their backends, filters, or, for "telemetry", the oldest unread epoch that all workers have
 * ended.
 *
 * @return A text to be freed with sluice_text_free. NULL if the engine has nothing to report, or if
 * no memory is available.
 */
char* sluice_engine_report(struct sluice_engine* engine);
/** Frees a text that sluice_engine_report returned. Does nothing if `text` is NULL. */
void sluice_text_free(char* text);
/** Ends open epochs and completes the unfinished lines of datagram sources; unfinished lines of TCP
 * streams are dropped. No worker may be in a call. The next report and sluice_worker_lines contain
 * the results. */
void sluice_engine_finish(struct sluice_engine* engine, uint64_t now);

/**
 * Processes a burst of frames in place and sets the verdict of each. Call it with `count` 0 when no
 * frames arrive: timeouts are processed only in this function.
 *
 * @param frames  `count` frames; NULL if `count` is 0.
 * @param now     Time in ticks; must not decrease between calls.
 */
void sluice_worker_process(struct sluice_worker* worker, struct sluice_frame* frames,
                           uint32_t count, uint64_t now);
/** Returns the additional frames that the engine has generated since the last call of
 * sluice_worker_process began, for example answers of several frames. Transmit them in this order.
 * They are in the worker's memory and valid until the worker's next call. */
const struct sluice_frame* sluice_worker_sent(const struct sluice_worker* worker, uint32_t* count);
/** Returns the lines that filters with `show` have matched since the last call of
 * sluice_worker_process began. They are valid until the worker's next call. */
const struct sluice_line* sluice_worker_lines(const struct sluice_worker* worker, uint32_t* count);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_ENGINES_H */
