/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Balances a capture: reads frames, processes them with Sluice's load balancer, and writes the
 * forwarded ones. The output has the frames and times of
 *
 *     sluice-maglev --config=FILE --pcap=IN --out_pcap=OUT
 *
 *     cc maglev_capture.c -o maglev_capture $(pkg-config --cflags --libs sluice-engines)
 *     ./maglev_capture CONFIG.json IN.pcap OUT.pcap
 */
#include <sluice/engines.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BURST 32
#define HEADROOM 128 /* The engine requires 64 (sluice_engine_headroom()). */
#define MAX_FRAME 65557
#define NS 1000000000u

/* The classic pcap format: this header, followed by records. */
struct file_header {
	uint32_t magic; /* 0xa1b23c4d: nanoseconds; 0xa1b2c3d4: microseconds. */
	uint16_t major, minor;
	uint32_t zone, accuracy, snap_bytes, link_type;
};
struct record {
	uint32_t seconds, fraction, captured, length;
};

static uint8_t memory[BURST][HEADROOM + MAX_FRAME];

static void fail(const char *what)
{
	fprintf(stderr, "maglev_capture: %s\n", what);
	exit(1);
}

/* Reads a record into `memory[place]`. Returns 0 at the end of the file. */
static int read_frame(FILE *in, const struct file_header *header, int place, uint64_t *now,
		      struct sluice_frame *frame)
{
	struct record record;
	uint8_t *const data = memory[place] + HEADROOM;

	if (fread(&record, sizeof(record), 1, in) != 1)
		return 0;
	if (record.captured > record.length || record.length > MAX_FRAME)
		fail("a record is too long");
	if (fread(data, 1, record.captured, in) != record.captured)
		fail("the capture ends inside of a record");
	memset(data + record.captured, 0, record.length - record.captured);
	*now = (uint64_t)record.seconds * NS +
	       record.fraction * (header->magic == 0xa1b23c4d ? 1u : 1000u);
	memset(frame, 0, sizeof(*frame));
	frame->data = data;
	frame->length = record.length;
	frame->headroom = HEADROOM;
	frame->tailroom = MAX_FRAME - record.length;
	return 1;
}

static void write_frame(FILE *out, const struct sluice_frame *frame, uint64_t now)
{
	const struct record record = {(uint32_t)(now / NS), (uint32_t)(now % NS), frame->length,
				      frame->length};

	if (fwrite(&record, sizeof(record), 1, out) != 1 ||
	    fwrite(frame->data, 1, frame->length, out) != frame->length)
		fail("the output cannot be written");
}

static void balance(struct sluice_worker *worker, FILE *in, const struct file_header *header,
		    FILE *out)
{
	struct sluice_frame frames[BURST], next;
	uint64_t times[BURST], next_time = 0;
	int more = read_frame(in, header, 0, &next_time, &next);

	while (more) {
		uint32_t count = 0;

		/* A burst has a single time. Connections age by seconds, so it must not span two. */
		do {
			frames[count] = next;
			times[count++] = next_time;
			more = count < BURST && read_frame(in, header, (int)count, &next_time, &next);
		} while (more && next_time / NS == times[0] / NS);
		sluice_worker_process(worker, frames, count, times[0]);
		for (uint32_t i = 0; i < count; i++)
			if (frames[i].verdict == SLUICE_FORWARD)
				write_frame(out, &frames[i], times[i]);
		if (more) { /* Already read; belongs to the next second. */
			memcpy(memory[0], memory[count], sizeof(memory[0]));
			next.data = memory[0] + HEADROOM;
		} else {
			more = read_frame(in, header, 0, &next_time, &next);
		}
	}
}

static void print_counters(const struct sluice_engine *engine)
{
	struct sluice_counter counters[128];
	const uint32_t room = sizeof(counters) / sizeof(counters[0]);
	uint32_t count = sluice_engine_counters(engine, counters, room);

	for (uint32_t i = 0; i < count && i < room; i++)
		if (counters[i].value != 0)
			printf("%s %llu\n", counters[i].name, (unsigned long long)counters[i].value);
}

int main(int argc, char **argv)
{
	/* Same format as sluice-maglev's: nanoseconds, Ethernet. */
	const struct file_header written = {0xa1b23c4d, 2, 4, 0, 0, MAX_FRAME, 1};
	struct sluice_options options = {.size = sizeof(options), .seed = 1};
	struct file_header header;
	struct sluice_engine *engine;
	char error[256];
	FILE *in, *out;

	if (argc != 4)
		fail("give CONFIG.json IN.pcap OUT.pcap");
	engine = sluice_engine_open("maglev", argv[1], &options, error, sizeof(error));
	if (engine == NULL)
		fail(error);
	in = fopen(argv[2], "rb");
	if (in == NULL || fread(&header, sizeof(header), 1, in) != 1 ||
	    (header.magic != 0xa1b23c4d && header.magic != 0xa1b2c3d4) || header.link_type != 1)
		fail("give a capture of Ethernet in pcap's classic format, of this byte order");
	out = fopen(argv[3], "wb");
	if (out == NULL || fwrite(&written, sizeof(written), 1, out) != 1)
		fail("the output cannot be written");
	balance(sluice_engine_worker(engine, 0), in, &header, out);
	print_counters(engine);
	fclose(in);
	if (fclose(out) != 0)
		fail("the output cannot be written");
	sluice_engine_destroy(engine);
	return 0;
}
