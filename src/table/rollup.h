/*
 * rollup.h
 *		Roll-ups: tables whose rows are the totals of the points of a series in
 *		an interval.
 */
#ifndef MTS_ROLLUP_H
#define MTS_ROLLUP_H

#include "postgres.h"

#include "driver/cursor.h"
#include "table/table.h"

/* The collection of the states of a database's roll-ups */
#define MTS_ROLLUP_STATES "mongo_ts_rollups"

/* Which total a column of a roll-up has */
typedef enum MtsRollupKind
{
	MTS_ROLLUP_COUNT,
	MTS_ROLLUP_SUM,
	MTS_ROLLUP_MIN,
	MTS_ROLLUP_MAX
} MtsRollupKind;

#define MTS_ROLLUP_NKINDS 4

/* The columns of a roll-up with the totals of one column; 0 without one */
typedef struct MtsRollupTotals
{
	AttrNumber of[MTS_ROLLUP_NKINDS];
} MtsRollupTotals;

/* A roll-up as its options declare it */
typedef struct MtsRollup
{
	const MtsTable *table; /* the roll-up itself */
	Oid source;            /* the table that it summarizes: points, or a finer
						  * roll-up */
	Oid points;            /* the table of the points */
	List *sources;         /* OIDs from source to points */
	MtsSpan interval;      /* of a row */
	const char *zone;      /* whose days and months it counts */
	MtsClock clock;        /* of the zone */
	MtsSpan lag;           /* it is complete up to now minus this, at most */
	bool drops_points;     /* older ones than retention may be removed */
	MtsSpan retention;
	bool by_application; /* which maintains it; otherwise it has a state */
	AttrNumber npoints;  /* the column with the number of points, or 0 */

	/* by column of the points' table */
	int ncolumns;
	AttrNumber *keys; /* the column with the same key, or the time; or 0 */
	MtsRollupTotals *totals;
} MtsRollup;

/* What the rows have in a field: a total of a column, or the points' number */
typedef struct MtsRollupField
{
	const char *name;
	int64 fingerprint; /* of the declarations by which it was computed */
	MtsTime since;     /* the first interval whose rows have it */
} MtsRollupField;

/*
 * What is complete.  The rows of intervals that end at or before until and
 * overlap no stale range have the totals of all points, in those fields that
 * are listed.  No row means no points.
 */
typedef struct MtsRollupState
{
	MtsTime until; /* the end of an interval; MTS_TIME_MIN if nothing is
						  * complete */
	int nfields;
	MtsRollupField *fields;
	MtsRanges stale;     /* of whole intervals, sorted */
	MtsRanges open;      /* of these, what no refresh has computed since */
	int64 generation;    /* grows when a refresh begins or ends */
	const char *problem; /* why nothing is complete although it has been
						  * refreshed, or why that is not known; or NULL */
	MtsTime refreshed;   /* when the last refresh ended; MTS_TIME_MIN if none
						* has */
	int64 took;          /* milliseconds, of that refresh */
	const char *error;   /* of a later refresh, which has failed; or NULL */
	/* if there is an error */
	MtsTime failed;       /* when that refresh failed */
	MtsTime failed_since; /* when the first one failed after refreshed */
} MtsRollupState;

/* Which roll-ups of a table are listed */
typedef enum MtsRollupsOf
{
	MTS_ROLLUPS_TO_READ,
	MTS_ROLLUPS_TO_MARK, /* by a write */
	MTS_ROLLUPS_NAMED    /* also those of other owners and servers */
} MtsRollupsOf;

/* A roll-up that a background worker refreshes */
typedef struct MtsRefreshedRollup
{
	Oid relid;
	Oid owner;
	int64 interval; /* from one refresh to the next one, in microseconds */
} MtsRefreshedRollup;

/* The problem of rows that were computed by other options */
extern const char mts_rollup_is_altered[];

extern const char *const mts_rollup_kinds[MTS_ROLLUP_NKINDS];

extern List *mts_rollup_list(Oid source, MtsRollupsOf use);
extern const char *mts_rollup_owner_problem(Oid rollup, Oid source);
extern MtsRollup *mts_rollup_describe(Relation relation, const char **problem);
extern List *mts_rollup_list_refreshed(void);
extern MtsRollup *mts_rollup_try_open(Relation relation, const char **problem);
extern bool mts_rollup_could_be_of(Oid relid, const MtsTable *points);
extern const MtsRollup *mts_rollup_open_to_mark(Relation relation,
												const MtsTable *points);
extern MtsRollup *mts_rollup_open(Relation relation);
extern const MtsRollup *mts_rollup_open_finer(const MtsRollup *rollup);
extern void mts_rollup_check_owner(Relation relation);
extern MtsTime mts_rollup_floor(const MtsRollup *rollup, MtsTime t);
extern MtsTime mts_rollup_ceil(const MtsRollup *rollup, MtsTime t);
extern bool mts_rollup_is_made_of(const MtsRollup *rollup,
								  const MtsRollup *finer, MtsRange range);
extern MtsTime mts_rollup_horizon(const MtsTable *points, TimestampTz now);
extern MtsTime mts_rollup_first_kept(const MtsRollup *rollup);
extern MtsTime mts_rollup_limit(const MtsRollup *rollup, TimestampTz now);
extern int64 mts_rollup_fingerprint(const MtsRollup *rollup);
extern bool mts_rollup_read_time(const bson_iter_t *at, MtsTime *t);
extern void mts_rollup_parse_state(const MtsRollup *rollup, const bson_t *doc,
								   MtsRollupState *state);
extern void mts_rollup_read_state(const MtsRollup *rollup, Oid userid,
								  MtsSnapshot *snapshot,
								  MtsRollupState *state);
extern bool mts_rollup_try_read_state(const MtsRollup *rollup, Oid userid,
									  MtsRollupState *state);

#endif /* MTS_ROLLUP_H */
