/*
 * layout.h
 *		The layout of a collection's documents: where the points are, which
 *		units their slots count, and which fields belong to the bucket.
 *
 * The caller fills in the columns, the fields and the clock; mts_layout_build
 * completes the layout, which is constant from then on.  Everything it points
 * to is the caller's.
 */
#ifndef MTS_LAYOUT_H
#define MTS_LAYOUT_H

#include "core/layout/path.h"
#include "core/time/format.h"
#include "core/time/slot_clock.h"

typedef enum MtsRole
{
	MTS_ROLE_KEY,       /* a field of the bucket that identifies its series */
	MTS_ROLE_ATTRIBUTE, /* another field of the bucket */
	MTS_ROLE_TIME,
	MTS_ROLE_VALUE, /* a field of the points */
	MTS_ROLE_SLOT /* the keys of a {column} slot, or of one that is the time */
} MtsRole;

/* Where a point has its time */
typedef enum MtsTimeKind
{
	MTS_TIME_FLAT,  /* a document is a point, with its time or without */
	MTS_TIME_SLOTS, /* the time of the bucket plus the keys of the slots */
	MTS_TIME_POINT  /* a field of the point, or a key above it */
} MtsTimeKind;

/* How points are stored; a layout allows some of these */
typedef enum MtsWriteMode
{
	MTS_WRITE_SET,       /* the value of a slot is replaced */
	MTS_WRITE_INCREMENT, /* a value is added to that of a slot */
	MTS_WRITE_PUSH,      /* a point is appended to an array */
	MTS_WRITE_INSERT     /* a point is a document of its own */
} MtsWriteMode;

/* A stored value that means "no reading" */
typedef struct MtsMissing
{
	enum
	{
		MTS_MISSING_NONE,
		MTS_MISSING_NUMBER,
		MTS_MISSING_TEXT,
		MTS_MISSING_NULL
	} kind;
	double number;
	const char *text;
} MtsMissing;

/* A field of the bucket that an option names */
typedef struct MtsField
{
	bool is_set;
	MtsPath path;
	MtsFormat format;
} MtsField;

typedef struct MtsColumn
{
	const char *name;
	MtsPath path; /* unused by a ROLE_SLOT column */
	MtsRole role;
	MtsFormat format; /* of a time */
	MtsMissing missing;
	MtsField sum; /* pre-aggregates of the column, fields of the bucket */
	MtsField min;
	MtsField max;
	bool may_be_nan; /* its type has a NaN */
	bool is_wide;    /* an integer whose sum may require 64 bits */
	int container;   /* index of its container; -1 if it is the bucket's */
	int slot;        /* index of the slot of a ROLE_SLOT column */
	int place;       /* of its value among a point's; -1 if points have none */
} MtsColumn;

/* The array or subdocument that holds the points of some columns: of those
 * whose paths are equal up to the last slot */
typedef struct MtsContainer
{
	const MtsPath *path;
	int nsteps;    /* up to and including the last slot */
	bool is_value; /* a column is the whole value in the last slot */
	bool is_tuple; /* a column is an element of an array in the last slot */
} MtsContainer;

typedef struct MtsLayout
{
	/* filled by the caller */
	int ncolumns;
	MtsColumn *columns;
	MtsContainer *containers; /* room for ncolumns */
	int time_column;          /* index in columns; -1 without one */
	MtsField bucket_time;
	MtsField first; /* bounds of the times of a bucket's points */
	MtsField last;
	MtsSpan span;       /* of a bucket; zero if not declared */
	bool truncate;      /* round times down to microseconds */
	MtsField count;     /* of a bucket's points */
	MtsField version;   /* of a native bucket's format */
	int64_t max_points; /* of a bucket; 0 without a limit */
	MtsWriteMode write_mode;
	bool assume_write_once; /* no slot is written twice */
	MtsSpan reach; /* of a native bucket: its start and its times lie less than
					* this apart; zero for other buckets */
	bool slots_are_local; /* slots count the local time of the clock's zone */
	bool ids_are_ordered; /* the _ids of native buckets sort as their starts */
	bool time_is_date;    /* MongoDB stores no other time: the points are those
						   * of a time-series collection */
	MtsClock clock;

	/* completed by mts_layout_build */
	MtsTimeKind time_kind;
	int nslots;
	const MtsStep *slots[MTS_MAX_SLOTS]; /* the levels, outermost first */
	int ncontainers;
	int nplaces;          /* the columns that points have */
	bool has_missing;     /* some column declares a missing value */
	MtsFormat key_format; /* of a slot whose keys are the time */
} MtsLayout;

extern bool mts_layout_build(MtsLayout *layout, MtsError *error);
extern bool mts_layout_needs_container(const MtsLayout *layout, int container,
									   const bool *needed);
extern bool mts_layout_narrow(MtsLayout *layout, const bool *needed);
extern const MtsColumn *mts_layout_time_column(const MtsLayout *layout);
extern double mts_layout_capacity(const MtsLayout *layout);
extern bool mts_layout_has_bounds(const MtsLayout *layout);
extern bson_value_t mts_layout_missing_value(const MtsMissing *missing);
extern bool mts_layout_time_is_key(const MtsLayout *layout);
extern int mts_layout_number_slot(const MtsLayout *layout);
extern bool mts_layout_counts_units(const MtsLayout *layout);
extern bool mts_layout_slot_clock(const MtsLayout *layout, MtsTime start,
								  MtsSlotClock *slots);
extern bool mts_layout_bucket_end(const MtsLayout *layout, MtsTime start,
								  MtsTime *end);
extern MtsTime mts_layout_last_time(const MtsLayout *layout, MtsTime end);
extern bool mts_layout_is_aligned(const MtsLayout *layout, MtsTime start);
extern MtsRange mts_layout_bucket_range(const MtsLayout *layout,
										MtsRange range);
extern MtsRange mts_layout_reach(const MtsLayout *layout, MtsRange range);
extern bool mts_layout_instant(const MtsLayout *layout,
							   const MtsSlotClock *slots, const int64_t *keys,
							   MtsTime *t);
extern bool mts_layout_slot_time(const MtsLayout *layout, MtsTime start,
								 const int64_t *keys, MtsTime *t);
extern bool mts_layout_slot_index(const MtsLayout *layout, MtsTime start,
								  MtsTime t, int64_t *keys,
								  MtsTime *slot_time);
extern int64_t mts_layout_max_keys(const MtsLayout *layout, int i);
extern bool mts_layout_slot_index_in(const MtsLayout *layout,
									 const MtsSlotClock *slots, MtsTime t,
									 int64_t *keys, MtsTime *slot_time);
extern bool mts_layout_slots_are_numbered(const MtsLayout *layout);
extern int64_t mts_layout_slot_number(const MtsLayout *layout,
									  const int64_t *keys);
extern bool mts_layout_first_key(const MtsClock *clock, const MtsStep *level,
								 MtsTime start, MtsTime *end, int64_t *key);
extern bool mts_layout_keys(const MtsLayout *layout, MtsTime start,
							const int64_t *keys, int level, int64_t *first_key,
							int64_t *end_key);

#endif /* MTS_LAYOUT_H */
