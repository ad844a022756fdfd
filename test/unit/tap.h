/*
 * tap.h
 *		Prints results in the TAP format, and makes reproducible random
 *		numbers.
 *
 * A program calls ok() for each test and returns tap_done() from main.  A test
 * of many random cases calls tap_fault() for each case that fails, and
 * tap_claim() at the end, which prints the first of them.
 */
#ifndef TAP_H
#define TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_count;
static int tap_failed;
static int tap_faults;
static char tap_first_fault[4096];
static uint64_t tap_state;

static inline bool __attribute__((format(printf, 2, 3)))
ok(bool passed, const char *format, ...)
{
	va_list args;

	printf("%sok %d - ", passed ? "" : "not ", ++tap_count);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	tap_failed += !passed;
	return passed;
}

/* Print a diagnostic, with "#" before each line. */
static inline void
diag(const char *text)
{
	printf("# ");
	for (; *text; text++)
	{
		putchar(*text);
		if (*text == '\n')
			printf("# ");
	}
	putchar('\n');
}

static inline bool
is_text(const char *got, const char *want, const char *name)
{
	bool same = strcmp(got, want) == 0;

	ok(same, "%s", name);
	if (!same)
		printf("#  got: %s\n# want: %s\n", got, want);
	return same;
}

static inline bool
is_int(int64_t got, int64_t want, const char *name)
{
	bool same = got == want;

	ok(same, "%s", name);
	if (!same)
		printf("#  got: %lld\n# want: %lld\n", (long long) got,
			   (long long) want);
	return same;
}

/* Record that a random case fails. */
static inline void __attribute__((format(printf, 1, 2)))
tap_fault(const char *format, ...)
{
	va_list args;

	if (tap_faults++ > 0)
		return;
	va_start(args, format);
	vsnprintf(tap_first_fault, sizeof(tap_first_fault), format, args);
	va_end(args);
}

/* Report as one test that no case has failed since the last call. */
static inline bool
tap_claim(const char *name)
{
	bool passed = ok(tap_faults == 0, "%s", name);

	if (!passed)
	{
		printf("# %d faults, the first:\n", tap_faults);
		diag(tap_first_fault);
	}
	tap_faults = 0;
	return passed;
}

static inline int
tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed > 0;
}

/* Seed the random numbers: SEED in the environment repeats a run. */
static inline void
tap_seed(void)
{
	const char *seed = getenv("SEED");
	uint64_t where = (uint64_t) (uintptr_t) &seed;

	/* the address of the stack is random enough for a test */
	tap_state = seed ? strtoull(seed, NULL, 10) : (where >> 4) % 1000000007;
	printf("# SEED=%llu\n", (unsigned long long) tap_state);
}

/* splitmix64 */
static inline uint64_t
random_bits(void)
{
	uint64_t z = (tap_state += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* 0 <= result < n */
static inline int64_t
random_below(int64_t n)
{
	return n > 0 ? (int64_t) (random_bits() % (uint64_t) n) : 0;
}

/* from <= result < to */
static inline int64_t
random_between(int64_t from, int64_t to)
{
	return from + random_below(to - from);
}

#endif /* TAP_H */
