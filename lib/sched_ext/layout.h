/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data that the BPF scheduler (threads.bpf.c) and its loader (bpf_kernel.cc) share. C, for both
 * compilers. The loader compares the numbers with engine/sched/abi.h. */
#pragma once

#ifdef __cplusplus
#include <cstdint>
namespace sluice::sched_ext {
#else
#include <stdint.h>
#endif

enum {
  kBpfMaxCpus = 64,
  /* A thread's identifier: its id in the kernel, and above it a number that makes the identifier
   * unique, since the kernel reuses ids. */
  kThreadIdBits = 22,
};

/* Messages (engine::sched::MessageType) and their flags. */
enum {
  kBpfDead = 64,
  kBpfBlocked = 65,
  kBpfWakeup = 66,
  kBpfNew = 67,
  kBpfPreempt = 68,
  kBpfDeparted = 70,
  kBpfAffinityChanged = 72,
  kBpfOnCpu = 73,

  kBpfWasLatched = 1 << 1,
};

/* Results of decisions: engine::sched::Status minus its first value. */
enum {
  kBpfComplete = 0,
  kBpfTargetOnCpu = 2,
  kBpfTargetStale = 3,
  kBpfTargetNotFound = 4,
  kBpfTargetNotRunnable = 5,
  kBpfCpuUnavailable = 8,
  kBpfNotPermitted = 11,
  kBpfInvalidCpu = 12,
  kBpfNoAgent = 13,
};

/* State of a thread. */
enum {
  kPhaseWaiting = 0,  /* Blocked, or not known to wait for a CPU. */
  kPhaseRunnable = 1, /* In the queue of waiting threads. */
  kPhaseDecided = 2,  /* In the queue of the CPU that the agent chose. */
  kPhaseOnCpu = 3,    /* On a CPU. A higher scheduling class may use the CPU meanwhile. */
};

/* An offload::Item. */
struct bpf_item {
  uint64_t word[5];
};

/* A managed thread. */
struct bpf_thread {
  uint64_t gtid;
  /* Barrier in the upper half; below it the CPU, shifted by 8, and the phase. One word, so that a
   * decision can compare and change it at once. */
  uint64_t word;
  uint64_t since;    /* Time in ns at which the thread began to wait, or last got a CPU. */
  uint64_t runtime;  /* Total CPU time in ns until `since`. */
  uint64_t affinity; /* CPUs 0 to 63 on which it may run. */
  uint32_t task_class;
  uint32_t reserved;
};

struct bpf_cpu {
  uint64_t current;       /* Managed thread on the CPU; 0 if there is none. */
  uint64_t running_since; /* Time at which `current` got the CPU. */
  uint64_t idle_since;    /* Time at which the CPU lost its managed thread. */
  uint64_t decided_at;    /* Time of the last decision for the CPU. */
  uint32_t seqnum;
  uint32_t reserved;
};

/* State of the scheduler, which user space maps. */
struct bpf_state {
  /* Set by user space before the start: */
  uint64_t fallback_ns; /* A thread that waits longer is scheduled without the agent. */
  uint32_t cpus;        /* CPUs 0 … cpus - 1 have a queue of decided threads. */
  uint32_t dry_run;     /* Decisions are checked but refused, and a FIFO schedules the threads. */
  /* Time in ns since which decisions are accepted, set by user space. BPF resets it to 0, which
   * means that there is no agent. */
  uint64_t attached;
  /* Set by BPF: */
  uint32_t overdue;         /* A waiting thread is overdue. */
  uint32_t ended;           /* The kernel ended the scheduler, for `reason`. */
  uint64_t decided_overdue; /* CPUs with overdue decided threads. */
  uint64_t threads_created; /* Makes identifiers unique. */
  uint64_t threads;
  uint64_t unmanaged; /* Times that a thread had no place, and the kernel chose its CPU. */
  uint64_t events;
  uint64_t events_lost;   /* The ring was full. */
  uint64_t fallbacks;     /* Overdue threads that BPF scheduled. */
  uint64_t local_choices; /* Threads that BPF scheduled because there is no agent. */
  uint64_t abandoned;     /* Times that BPF gave up the agent: attached became 0. */
  char reason[128];
  struct bpf_cpu cpu[kBpfMaxCpus];
};

/* Argument of the program `decide`. */
struct bpf_decision {
  uint64_t gtid;
  uint32_t barrier;
  uint32_t cpu;
  uint32_t do_not_preempt;
  /* Set by the program: */
  uint32_t status;
  uint64_t word;    /* bpf_thread::word afterwards; 0 if the thread does not exist. */
  uint64_t current; /* Thread on the CPU. */
  uint64_t age_ns;  /* Time since the thread's last change of state. */
  uint64_t time_ns;
  uint32_t cpu_seqnum;
  uint32_t reserved;
};

#ifdef __cplusplus
}
#endif
