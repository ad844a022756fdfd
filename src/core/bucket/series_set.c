/*
 * series_set.c
 *		Number the series of points by their keys.
 *
 * Most buckets have the same series in the same order.  So a point most often
 * belongs to the series that followed that of the point before, when this was
 * last seen, perhaps in another bucket.  One comparison of keys finds out.
 * Otherwise a hash table is searched.
 */
#include "core/bucket/series_set.h"

#include <string.h>

/* The series, and bytes of keys, that there is room for at first */
#define FIRST_ROOM 16
#define FIRST_BYTES 1024

/* A set with more series, or bytes of keys, is large. */
#define LARGE_SERIES 16384
#define LARGE_BYTES 524288

/* The most bytes of keys; a series that requires more is not added. */
#define MAX_BYTES 1048576

/* Forget where series are in the table. */
static void
clear_slots(MtsSeriesSet *set)
{
	memset(set->slots, -1, set->nslots * sizeof(int));
}

static void
make_slots(MtsSeriesSet *set)
{
	set->nslots = 2 * set->room;
	set->slots = mts_arena_allocate(set->arena, set->nslots * sizeof(int));
	clear_slots(set);
}

/* mts_series_set_init: make an empty set of series with so many keys. */
void
mts_series_set_init(MtsSeriesSet *set, int nkeys, const MtsArena *arena)
{
	*set = (MtsSeriesSet){.nkeys = nkeys,
						  .arena = arena,
						  .room = FIRST_ROOM,
						  .bytes_room = FIRST_BYTES};
	set->series =
		mts_arena_allocate(arena, set->room * sizeof(MtsKnownSeries));
	set->keys =
		mts_arena_allocate(arena, set->room * nkeys * sizeof(MtsElement));
	set->bytes = mts_arena_allocate(arena, set->bytes_room);
	make_slots(set);
}

/*
 * mts_series_set_is_large
 *		Tell whether a set should be cleared, to limit its memory.
 */
bool
mts_series_set_is_large(const MtsSeriesSet *set)
{
	return set->n > LARGE_SERIES || set->nbytes > LARGE_BYTES;
}

/* mts_series_set_clear: remove all series. */
void
mts_series_set_clear(MtsSeriesSet *set)
{
	set->n = set->last = 0;
	set->nbytes = 0;
	clear_slots(set);
}

/* Return the hash of the bytes of a key, and of a hash before. */
static uint64_t
hash_key(uint64_t hash, const MtsElement *key)
{
	const uint8_t *at = key->value;
	uint32_t left = key->size;

	hash ^= (uint64_t) key->size << 8 | key->type;
	for (;;)
	{
		uint64_t word = 0;
		uint32_t n = BSON_MIN(left, (uint32_t) sizeof(word));

		memcpy(&word, at, n);
		hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
		hash ^= hash >> 32;
		at += n;
		left -= n;
		if (left == 0)
			return hash;
	}
}

static uint32_t
hash_keys(const MtsSeriesSet *set, const MtsElement *keys)
{
	uint64_t hash = 0;

	for (int i = 0; i < set->nkeys; i++)
		hash = hash_key(hash, &keys[i]);
	return (uint32_t) hash;
}

/* Tell whether a series has these keys. */
static bool
has_keys(const MtsSeriesSet *set, int series, const MtsElement *keys)
{
	const MtsElement *a = mts_series_set_keys(set, series);

	for (int i = 0; i < set->nkeys; i++)
		if (a[i].type != keys[i].type || a[i].size != keys[i].size ||
			memcmp(a[i].value, keys[i].value, keys[i].size) != 0)
			return false;
	return true;
}

/* Find the slot of a series in the table, or the empty one for it. */
static int *
find_slot(const MtsSeriesSet *set, uint32_t hash, const MtsElement *keys)
{
	uint32_t i = hash;

	for (;; i++)
	{
		int *slot = &set->slots[i & (set->nslots - 1)];

		if (*slot < 0 ||
			(set->series[*slot].hash == hash && has_keys(set, *slot, keys)))
			return slot;
	}
}

/* Make room for twice as many series. */
static void
grow(MtsSeriesSet *set)
{
	size_t series = set->room * sizeof(MtsKnownSeries);
	size_t keys = set->room * set->nkeys * sizeof(MtsElement);

	set->room *= 2;
	set->series = mts_arena_grow(set->arena, set->series, series, 2 * series);
	set->keys = mts_arena_grow(set->arena, set->keys, keys, 2 * keys);
	make_slots(set);
	for (int i = 0; i < set->n; i++)
		*find_slot(set, set->series[i].hash, mts_series_set_keys(set, i)) = i;
}

/*
 * Make room for the bytes of keys.  Those of other series stay where they are.
 * False if there are too many.
 */
static bool
reserve_bytes(MtsSeriesSet *set, size_t size)
{
	if (size > MAX_BYTES - set->nbytes)
		return false;
	if (set->nbytes + size <= set->bytes_room)
		return true;
	while (set->nbytes + size > set->bytes_room)
		set->bytes_room *= 2;
	set->bytes = mts_arena_allocate(set->arena, set->bytes_room);
	return true;
}

/* Add a series; -1 if its keys are too long. */
static int
add_series(MtsSeriesSet *set, uint32_t hash, const MtsElement *keys)
{
	MtsElement *copy;
	size_t size = 0;

	for (int i = 0; i < set->nkeys; i++)
		size += keys[i].size + 1;
	if (!reserve_bytes(set, size))
		return -1;
	if (set->n == set->room)
		grow(set);
	*find_slot(set, hash, keys) = set->n;
	set->series[set->n] = (MtsKnownSeries){.hash = hash, .place = -1};
	copy = set->keys + (size_t) set->n * set->nkeys;
	for (int i = 0; i < set->nkeys; i++)
	{
		uint8_t *bytes = set->bytes + set->nbytes;

		/* documents go before the set; a slot's key ends with a NUL */
		copy[i] = (MtsElement){.key = "",
							   .type = keys[i].type,
							   .size = keys[i].size};
		copy[i].value = memcpy(bytes, keys[i].value, keys[i].size);
		bytes[keys[i].size] = '\0';
		set->nbytes += keys[i].size + 1;
	}
	return set->n++;
}

/*
 * mts_series_set_find
 *		Find the series of a point, or add it; -1 if its keys are too long.
 *
 * The values of keys are not NULL.
 */
int
mts_series_set_find(MtsSeriesSet *set, const MtsElement *keys)
{
	int i = set->n > 0 ? set->series[set->last].next : 0;

	if (i >= set->n || !has_keys(set, i, keys))
	{
		uint32_t hash = hash_keys(set, keys);

		i = *find_slot(set, hash, keys);
		if (i < 0)
			i = add_series(set, hash, keys);
		if (i < 0)
			return -1;
	}
	set->series[set->last].next = i;
	set->last = i;
	return i;
}
