/*
 * walk.h
 *		Iterate over the points in one container of a bucket.
 */
#ifndef MTS_WALK_H
#define MTS_WALK_H

#include "core/bucket/compressed.h"
#include "core/layout/layout.h"
#include "core/layout/slot_key.h"

/* A slot: the number that its key or index is or, of a {column} slot, the
 * key's text, which is NUL-terminated in the document */
typedef struct MtsSlotKey
{
	int64_t index;
	const char *text;
	uint32_t len;
} MtsSlotKey;

typedef struct MtsPoint
{
	MtsTime time;
	bool time_is_null; /* in a flat collection only */
	MtsSlotKey slots[MTS_MAX_SLOTS];
	MtsElement *elements; /* the point's value in each container; of type 0 if
						   * a container has none */
} MtsPoint;

/* Why a bucket is invalid, and where */
typedef struct MtsInvalid
{
	MtsError error;
	char where[256]; /* a dotted path */
} MtsInvalid;

typedef enum MtsUnfolded
{
	MTS_POINT,
	MTS_DONE,
	MTS_INVALID /* the next call continues after the invalid element */
} MtsUnfolded;

typedef enum MtsVerdict
{
	MTS_ACCEPTED,
	MTS_SKIPPED, /* not a point, or none that is wanted */
	MTS_REFUSED  /* invalid */
} MtsVerdict;

/* The slots of one level, on the way down into a container */
typedef struct MtsLevel
{
	MtsElement holder; /* the array, subdocument or compressed column */
	MtsElementCursor cursor;
	bool has_keys;      /* it is a subdocument */
	bool is_compressed; /* it is a compressed column */
	int64_t next_index; /* of the next element */
	int64_t first_key;  /* with which keys that count units begin */
	/* the interval of the enclosing slot, on the slots' clock */
	MtsTime start;
	MtsTime end;
	MtsTime slot_start; /* the interval of the slot that the cursor read */
	MtsTime slot_end;
	MtsSlotKey key; /* of that slot */
} MtsLevel;

typedef struct MtsWalk
{
	const MtsLayout *layout;
	const MtsContainer *container;
	const MtsRanges *ranges;   /* the wanted times */
	bool wants_all;            /* .. contain those of all slots */
	const MtsSlotClock *slots; /* the clock of the bucket's slots */
	MtsTime time;              /* of the current point's slots */
	MtsInvalid *invalid;
	bool is_beside_time;          /* another container has the points' times */
	MtsCompressed *column;        /* reads compressed columns; or NULL */
	int slot_step[MTS_MAX_SLOTS]; /* each slot's index in the path */
	int number_slot;              /* mts_layout_number_slot */
	int depth;                    /* the current level; -1 at the end */
	MtsLevel levels[MTS_MAX_SLOTS];
} MtsWalk;

extern void mts_walk_init(MtsWalk *walk, const MtsLayout *layout,
						  const MtsContainer *container, MtsInvalid *invalid,
						  const MtsArena *arena);
extern MtsVerdict mts_walk_start(MtsWalk *walk, const MtsElement *bucket,
								 const MtsSlotClock *slots,
								 const MtsRanges *ranges);
extern MtsUnfolded mts_walk_next_level(MtsWalk *walk);
extern MtsUnfolded mts_walk_next_in_level(MtsWalk *walk, MtsElement *element);
extern MtsUnfolded mts_walk_next(MtsWalk *walk, MtsElement *element);
extern MtsVerdict mts_walk_read_slot(MtsWalk *walk, const MtsElement *element);
extern void mts_walk_append_step(MtsInvalid *invalid, const MtsStep *step,
								 const MtsSlotKey *key);

/* The current level, which is the innermost after mts_walk_next_level */
static inline const MtsLevel *
mts_walk_level(const MtsWalk *walk)
{
	return &walk->levels[walk->depth];
}

/* Tell whether elements of the current level are innermost levels. */
static inline bool
mts_walk_holds_innermost(const MtsWalk *walk)
{
	int next = walk->depth + 1;

	return next == walk->layout->nslots - 1 &&
		   walk->slot_step[next] == walk->slot_step[next - 1] + 1;
}

/* Leave the current level, whose elements have been read. */
static inline void
mts_walk_leave_level(MtsWalk *walk)
{
	walk->depth--;
}

/* The time of the current point's slots */
static inline MtsTime
mts_walk_time(const MtsWalk *walk)
{
	return walk->time;
}

/* Copy the keys of the current point's slots. */
static inline void
mts_walk_slots(const MtsWalk *walk, MtsSlotKey *slots)
{
	for (int i = 0; i < walk->layout->nslots; i++)
		slots[i] = walk->levels[i].key;
}

#endif /* MTS_WALK_H */
