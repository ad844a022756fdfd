/*
 * series_set.h
 *		Number the series of points by their keys.
 */
#ifndef MTS_SERIES_SET_H
#define MTS_SERIES_SET_H

#include "core/arena.h"
#include "core/bson/element.h"

/* A series that is known */
typedef struct MtsKnownSeries
{
	uint32_t hash; /* of its keys */
	int next;      /* the series of the point that followed its last one */
	int place;     /* for the user of the set; -1 at first */
} MtsKnownSeries;

/*
 * The series that are known, numbered in the order in which they were found.
 * Their keys are values of columns, or texts of slots' keys, whose type is 0.
 */
typedef struct MtsSeriesSet
{
	int nkeys; /* of each series */
	int n;
	int room;
	MtsKnownSeries *series;
	MtsElement *keys; /* by series and key: values without names */
	int last;         /* the series that was found last */
	int nslots;       /* a power of two, of at least twice the room */
	int *slots;       /* by hash: a series, or -1 */
	uint8_t *bytes;   /* of keys */
	size_t nbytes;
	size_t bytes_room;
	const MtsArena *arena;
} MtsSeriesSet;

extern void mts_series_set_init(MtsSeriesSet *set, int nkeys,
								const MtsArena *arena);
extern int mts_series_set_find(MtsSeriesSet *set, const MtsElement *keys);
extern bool mts_series_set_is_large(const MtsSeriesSet *set);
extern void mts_series_set_clear(MtsSeriesSet *set);

/* The keys of a series */
static inline const MtsElement *
mts_series_set_keys(const MtsSeriesSet *set, int series)
{
	return set->keys + (size_t) series * set->nkeys;
}

#endif /* MTS_SERIES_SET_H */
