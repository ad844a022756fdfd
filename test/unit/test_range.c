/*
 * test_range.c
 *		Proves that and, or, but not, and not of ranges are those of sets.
 *
 * Ranges are compared with bitmaps of small times.  The first and the last bit
 * stand for the open ends.
 */
#include "core/time/range.h"
#include "tap.h"

#define BITS 16
#define ITEMS (2 * BITS)

/*
 * A time is the number of its bit; earlier and later times belong to the ends
 */
static MtsTime
time_of_bit(int bit)
{
	return bit == 0 ? MTS_TIME_MIN : bit == BITS ? MTS_TIME_MAX : bit;
}

/* Return a time within a bit. */
static MtsTime
within(int bit)
{
	return bit == 0 ? -5 : bit;
}

static void
ranges_of(uint32_t bits, MtsRanges *ranges)
{
	ranges->n = 0;
	for (int i = 0; i < BITS; i++)
		if (bits & (1u << i))
			mts_ranges_add(ranges, time_of_bit(i), time_of_bit(i + 1));
}

static uint32_t
bits_of(const MtsRanges *ranges)
{
	uint32_t bits = 0;

	for (int i = 0; i < BITS; i++)
		if (mts_ranges_contain(ranges, within(i)))
			bits |= 1u << i;
	return bits;
}

/* The bits from <= bit < to */
static uint32_t
bits_between(int from, int to)
{
	return ((1u << to) - 1) & ~((1u << from) - 1);
}

/* Sorted, not empty, neither overlapping nor touching */
static bool
is_normal(const MtsRanges *ranges)
{
	for (int i = 0; i < ranges->n; i++)
		if (ranges->items[i].from >= ranges->items[i].to ||
			(i > 0 && ranges->items[i].from <= ranges->items[i - 1].to))
			return false;
	return true;
}

static void
check(const char *what, const MtsRanges *got, uint32_t want, uint32_t x,
	  uint32_t y)
{
	want &= (1u << BITS) - 1;
	if (bits_of(got) != want || !is_normal(got))
		tap_fault("%s of %x and %x: %x, not %x", what, x, y, bits_of(got),
				  want);
}

static bool
is_same(const MtsRanges *a, const MtsRanges *b)
{
	return a->n == b->n && (a->n == 0 || memcmp(a->items, b->items,
												a->n * sizeof(MtsRange)) == 0);
}

static void
test_algebra(void)
{
	MtsRange items[7][ITEMS];
	MtsRanges r[7];

	for (int i = 0; i < 7; i++)
		r[i] = (MtsRanges){0, items[i]};
	for (int turn = 0; turn < 20000; turn++)
	{
		uint32_t x = random_bits() & random_bits() & ((1u << BITS) - 1);
		uint32_t y = (random_bits() | random_bits()) & ((1u << BITS) - 1);

		ranges_of(x, &r[0]);
		ranges_of(y, &r[1]);
		mts_ranges_intersect(&r[0], &r[1], &r[2]);
		check("and", &r[2], x & y, x, y);
		mts_ranges_unite(&r[0], &r[1], &r[3]);
		check("or", &r[3], x | y, x, y);
		mts_ranges_complement(&r[0], &r[4]);
		check("not", &r[4], ~x, x, y);
		/* not (not x and not y) = x or y */
		mts_ranges_complement(&r[1], &r[5]);
		mts_ranges_intersect(&r[4], &r[5], &r[6]);
		mts_ranges_complement(&r[6], &r[5]);
		if (!is_same(&r[5], &r[3]))
			tap_fault("De Morgan of %x and %x", x, y);
		mts_ranges_complement(&r[4], &r[6]);
		if (!is_same(&r[6], &r[0]))
			tap_fault("not not %x", x);
		for (int i = 1; i <= BITS; i++)
			if (mts_ranges_cover(&r[1], time_of_bit(i / 2), time_of_bit(i)) !=
				((bits_between(i / 2, i) & ~y) == 0))
				tap_fault("%x covers %d to %d", y, i / 2, i);
		mts_ranges_subtract(&r[0], &r[1], &r[6]);
		check("but not", &r[6], x & ~y, x, y);
		if (mts_ranges_cover_all(&r[3]) != ((x | y) == (1u << BITS) - 1))
			tap_fault("all of %x", x | y);
	}
	tap_claim(
		"and, or, but not, and not are those of sets, and their results are normalized");
}

static void
test_normalize(void)
{
	MtsRange items[ITEMS];

	for (int turn = 0; turn < 20000; turn++)
	{
		MtsRanges r = {(int) random_below(9), items};
		uint32_t x = 0;

		for (int i = 0; i < r.n; i++)
		{
			int from = (int) random_below(BITS);
			int to = (int) random_between(0, BITS + 1);

			items[i] = (MtsRange){time_of_bit(from), time_of_bit(to)};
			if (from < to)
				x |= bits_between(from, to);
		}
		mts_ranges_normalize(&r);
		check("any ranges", &r, x, x, 0);
	}
	tap_claim("any ranges become the set of their instants");
}

static void
test_join(void)
{
	MtsRange items[1000];

	for (int max = 1; max <= 1000; max *= 10)
	{
		MtsRanges r = {0, items};
		bool covered = true;

		for (int i = 0; i < 1000; i++)
			items[i] = (MtsRange){i * MTS_DAY, i * MTS_DAY + MTS_HOUR};
		items[0].from = MTS_TIME_MIN;
		items[999].to = MTS_TIME_MAX;
		r.n = 1000;
		/* ten gaps begin before */
		mts_ranges_join(&r, max, 9 * MTS_DAY + 2 * MTS_HOUR);
		for (int i = 0; i < 1000; i++)
			covered = covered && mts_ranges_cover(&r, i * MTS_DAY,
												  i * MTS_DAY + MTS_HOUR);
		if (!covered || r.n != (max < 1000 ? 11 : 1000) ||
			mts_ranges_overlap(&r, MTS_HOUR, MTS_DAY) ||
			mts_ranges_overlap(&r, 9 * MTS_DAY + MTS_HOUR, 10 * MTS_DAY))
			tap_fault("%d of at most %d ranges", r.n, max);
	}
	{
		/* the longest gap stays */
		MtsRange some[] = {{0, 1},
						   {MTS_HOUR, MTS_DAY},
						   {3 * MTS_DAY, MTS_TIME_MAX}};
		MtsRanges r = {3, some};

		mts_ranges_join(&r, 2, MTS_TIME_MIN);
		if (r.n != 2 || some[0].to != MTS_DAY || some[1].from != 3 * MTS_DAY)
			tap_fault("the long gap is closed");
	}
	tap_claim("ranges are joined across their shortest gaps");
}

static void
test_overlap(void)
{
	MtsRange items[ITEMS];
	MtsRanges r = {0, items};

	for (int turn = 0; turn < 20000; turn++)
	{
		uint32_t x = random_bits() & random_bits() & ((1u << BITS) - 1);
		int from = (int) random_below(BITS),
			to = (int) random_between(from, BITS + 1);
		uint32_t mask = ((1u << to) - 1) & ~((1u << from) - 1);

		ranges_of(x, &r);
		if (from < to &&
			mts_ranges_overlap(&r, time_of_bit(from), time_of_bit(to)) !=
				((x & mask) != 0))
			tap_fault("%x and [%d, %d)", x, from, to);
	}
	tap_claim("ranges overlap if their bitmaps do");
}

int
main(void)
{
	MtsRange items[4];
	MtsRanges r = {0, items};
	MtsRanges none = {0, NULL};
	MtsRange all[1];
	MtsRanges complement = {0, all};

	tap_seed();
	mts_ranges_add(&r, 5, 5);
	mts_ranges_add(&r, 7, 6);
	is_int(r.n, 0, "an empty range adds nothing");
	mts_ranges_add(&r, 1, 3);
	mts_ranges_add(&r, 3, 4);
	mts_ranges_add(&r, 2, 3);
	ok(r.n == 1 && items[0].from == 1 && items[0].to == 4,
	   "adjacent ranges are joined, and an included range changes nothing");
	mts_ranges_add(&r, 5, 9);
	ok(r.n == 2 && !mts_ranges_contain(&r, 4) && mts_ranges_contain(&r, 5) &&
		   !mts_ranges_contain(&r, 9),
	   "the start belongs to a range, the end does not");
	mts_ranges_complement(&none, &complement);
	ok(mts_ranges_cover_all(&complement), "the complement of nothing is all");
	mts_ranges_complement(&complement, &r);
	is_int(r.n, 0, "the complement of all is nothing");
	ok(!mts_ranges_contain(&none, 0) && !mts_ranges_overlap(&none, 0, 1),
	   "nothing contains nothing");
	test_algebra();
	test_normalize();
	test_join();
	test_overlap();
	return tap_done();
}
