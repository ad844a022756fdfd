/*
 * unfold.h
 *		Which points does this bucket hold?
 */
#ifndef MTS_UNFOLD_H
#define MTS_UNFOLD_H

#include "core/layout/layout.h"

/* Which slot a point stands in: the number that its key or index is, or, of
 * a {column} slot, the key's text (in the document, NUL-terminated) */
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
	MtsElement *elements; /* what each container has there; type 0: nothing */
} MtsPoint;

typedef enum MtsUnfolded
{
	MTS_POINT,
	MTS_DONE,
	MTS_INVALID /* see error and where; the next call goes on */
} MtsUnfolded;

/* One level of slots on the way down into a container */
typedef struct MtsLevel
{
	MtsElementCursor cursor;
	int64_t next;  /* the index of the array's next element */
	MtsTime start; /* of what encloses the level's slots */
	MtsTime end;
	MtsTime at; /* of the slot that the cursor has read */
	MtsTime until;
	MtsSlotKey key; /* of that slot */
} MtsLevel;

typedef struct MtsWalk
{
	const MtsContainer *container;
	int slot_step[MTS_MAX_SLOTS]; /* each slot's place in the path */
	int depth;                    /* of the current level; -1 at the end */
	MtsLevel levels[MTS_MAX_SLOTS];
} MtsWalk;

typedef struct MtsCell MtsCell;

typedef struct MtsUnfold
{
	const MtsLayout *layout;
	const MtsRanges *ranges; /* the instants that are wanted */
	void *(*resize)(void *memory, size_t size);
	bool accepts_null_time; /* is a point without a time wanted, too? */
	bool headers_only; /* have buckets been fetched without their points? */

	/* the current bucket */
	MtsElement document;
	MtsTime start;
	MtsTime end;
	bool has_no_points; /* has it nothing that holds points? */
	MtsTime first;      /* declared bounds of its points' times */
	MtsTime last;
	MtsWalk *walks; /* one a container */
	int walking;    /* the container being collected, or flat: 0
								 * before its point */
	struct MtsCells
	{
		MtsCell *items;
		size_t n;
		size_t room;
		size_t next;
	} * collected; /* collected points, one a container */

	/* after MTS_INVALID, or false from mts_unfold_start */
	MtsError error;
	char where[256]; /* the path of what is invalid */
} MtsUnfold;

extern void mts_unfold_init(MtsUnfold *unfold, const MtsLayout *layout,
							const MtsRanges *ranges,
							void *(*resize)(void *memory, size_t size));
extern bool mts_unfold_start(MtsUnfold *unfold, const uint8_t *bucket,
							 size_t size);
extern MtsUnfolded mts_unfold_next(MtsUnfold *unfold, MtsPoint *point);
extern MtsFound mts_unfold_value(MtsUnfold *unfold, const MtsPoint *point,
								 const MtsColumn *column, MtsElement *element);
extern bool mts_unfold_is_missing(const MtsMissing *missing,
								  const MtsElement *element);
extern void mts_unfold_locate(MtsUnfold *unfold, const MtsPoint *point,
							  const MtsColumn *column);

/* What a bucket's own fields say of its points */

/* How many of a bucket's points lie in the ranges that are wanted */
typedef enum MtsCoverage
{
	MTS_COVERED_NONE,
	MTS_COVERED_SOME, /* or all, or none: their times decide */
	MTS_COVERED_ALL
} MtsCoverage;

extern bool mts_unfold_header_is_worthwhile(const MtsLayout *layout,
											const MtsRanges *ranges);
extern MtsCoverage mts_unfold_header_coverage(const MtsUnfold *unfold,
											  MtsTime *first, MtsTime *last);
extern bool mts_unfold_header_find(const MtsUnfold *unfold,
								   const MtsField *field, MtsElement *element);
extern bool mts_unfold_header_double(const MtsElement *element, double *d);

/* So many values of a bucket of doubles are read at once */
#define MTS_DOUBLES_ROOM 4096

extern bool mts_unfold_doubles_supported(const MtsLayout *layout);
extern int mts_unfold_doubles_read(const MtsUnfold *unfold, double *values,
								   int64_t *keys, int room);

#endif /* MTS_UNFOLD_H */
