/* Records on their way to the harness.
 *
 * A record is a 32-bit size and words, each ended by a NUL: its kind, the time, and the fields of its kind. Records are
 * gathered and written together, at the latest after FLUSH_MS. The guard never waits for the harness: while the buffer is
 * more than half full it looks at nothing new, so that whoever acts waits; what does not fit even so is counted, and the
 * count is sent as soon as there is room. Attempts and reads that repeat are sent once, and then as a count every
 * REPEAT_MS. Of attempts that do not repeat a burst passes; what is beyond it is counted by its code.
 */
#include "guard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_BYTES (2 << 20)
#define FLUSH_MS 20
#define REPEAT_MS 1000
#define BURST 2000
#define PER_SECOND 500
#define SLOTS 256
#define MAX_REPEATED 4096
#define MAX_CODES 64

struct slot {
    uint64_t hash;
    size_t size;
    long long repeats;
    char body[MAX_REPEATED];
};

static char buffer[BUFFER_BYTES];
static size_t filled;
static int64_t oldest;  /* when the first byte of the buffer came */
static int urgent;
static long long lost;
static struct slot slots[SLOTS];
static long long repeats_waiting;
static int64_t repeats_since;
static struct {
    char code[32];
    long long count;
} beyond[MAX_CODES];

int64_t clock_ns(int clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

void add_words(struct record *record, const char *words, size_t size)
{
    if (record->size + size <= sizeof record->bytes) {
        memcpy(record->bytes + record->size, words, size);
        record->size += size;
    }
}

void add_word(struct record *record, const char *word) { add_words(record, word, strlen(word) + 1); }

void add_number(struct record *record, long long value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", value);
    add_word(record, text);
}

/* The kind and fields without the time: that is what two records are compared by. */
void begin(struct record *record, const char *kind)
{
    record->size = 0;
    add_word(record, kind);
}

static int put(const char *body, size_t size, long long count)
{
    char head[64];
    uint32_t whole;
    int head_size = snprintf(head, sizeof head, "%lld %lld", (long long)clock_ns(CLOCK_REALTIME), count) + 1;
    whole = head_size + size;
    if (filled + sizeof whole + whole > sizeof buffer)
        return -1;
    if (!filled)
        oldest = clock_ns(CLOCK_MONOTONIC);
    memcpy(buffer + filled, &whole, sizeof whole);
    memcpy(buffer + filled + sizeof whole, head, head_size);
    memcpy(buffer + filled + sizeof whole + head_size, body, size);
    filled += sizeof whole + whole;
    return 0;
}

static void put_or_count(const char *body, size_t size, long long count)
{
    if (put(body, size, count) < 0) {
        write_records(1);
        if (put(body, size, count) < 0)
            lost += count;
    }
}

void tell(const struct record *record) { put_or_count(record->bytes, record->size, 1); }

/* Whether another record that is new may pass. */
static int passes(void)
{
    static double allowance = BURST;
    static int64_t last;
    int64_t now = clock_ns(CLOCK_MONOTONIC);
    allowance += (now - last) / 1e9 * PER_SECOND;
    last = now;
    if (allowance > BURST)
        allowance = BURST;
    if (allowance < 1)
        return 0;
    allowance -= 1;
    return 1;
}

static void count_beyond(const struct record *record)
{
    const char *kind = record->bytes, *code = kind + strlen(kind) + 1;
    if (strcmp(kind, "attempt"))
        code = kind;
    for (int i = 0; i < MAX_CODES; i++)
        if (!*beyond[i].code || !strcmp(beyond[i].code, code)) {
            memcpy(beyond[i].code, code, strnlen(code, sizeof beyond[i].code - 1));
            beyond[i].count++;
            break;
        }
    if (!repeats_waiting++)
        repeats_since = clock_ns(CLOCK_MONOTONIC);
}

static void tell_bounded(const struct record *record, int bounded)
{
    uint64_t hash = 14695981039346656037ULL;
    for (size_t i = 0; i < record->size; i++)
        hash = (hash ^ (unsigned char)record->bytes[i]) * 1099511628211ULL;
    struct slot *slot = &slots[hash % SLOTS];
    if (slot->hash == hash && slot->size == record->size && !memcmp(slot->body, record->bytes, record->size)) {
        slot->repeats++;
        if (!repeats_waiting++)
            repeats_since = clock_ns(CLOCK_MONOTONIC);
        return;
    }
    if (bounded && !passes()) {
        count_beyond(record);
        return;
    }
    put_or_count(record->bytes, record->size, 1);
    if (record->size > sizeof slot->body)
        return;
    if (slot->repeats)
        put_or_count(slot->body, slot->size, slot->repeats);
    *slot = (struct slot){.hash = hash, .size = record->size};
    memcpy(slot->body, record->bytes, record->size);
}

void tell_counted(const struct record *record) { tell_bounded(record, 1); }

void tell_once(const struct record *record) { tell_bounded(record, 0); }

void tell_repeats(void)
{
    static struct record record;
    if (!repeats_waiting)
        return;
    for (int i = 0; i < SLOTS; i++)
        if (slots[i].repeats) {
            put_or_count(slots[i].body, slots[i].size, slots[i].repeats);
            slots[i].repeats = 0;
        }
    for (int i = 0; i < MAX_CODES && *beyond[i].code; i++)
        if (beyond[i].count) {
            begin(&record, "more");
            add_word(&record, beyond[i].code);
            put_or_count(record.bytes, record.size, beyond[i].count);
            beyond[i].count = 0;
        }
    repeats_waiting = 0;
}

void hurry(void) { urgent = 1; }

int records_are_many(void) { return filled > sizeof buffer / 2; }

int records_wait_ms(void)
{
    int64_t now = clock_ns(CLOCK_MONOTONIC), wait = -1;
    if (filled)
        wait = urgent ? 0 : FLUSH_MS - (now - oldest) / 1000000;
    if (repeats_waiting) {
        int64_t until = REPEAT_MS - (now - repeats_since) / 1000000;
        if (until <= 0)
            tell_repeats();
        if (wait < 0 || until < wait)
            wait = until;
    }
    return wait < 0 && !filled ? -1 : wait < 0 ? 0 : wait;
}

static void tell_lost(void)
{
    static struct record record;
    if (!lost || filled > sizeof buffer / 2)
        return;
    begin(&record, "lost");
    if (put(record.bytes, record.size, lost) == 0)
        lost = 0;
}

void write_records(int now)
{
    if (!filled || (!now && records_wait_ms() > 0 && filled < sizeof buffer / 16))
        return;
    size_t done = 0;
    while (done < filled) {
        ssize_t size = write(plan.records, buffer + done, filled - done);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && errno != EAGAIN)
            _exit(0); /* the harness is gone */
        if (size <= 0)
            break;
        done += size;
    }
    memmove(buffer, buffer + done, filled - done);
    filled -= done;
    urgent = 0;
    oldest = clock_ns(CLOCK_MONOTONIC);
    tell_lost();
}
