/*
 * fold_private.h
 *		A fold as its files see it.
 */
#ifndef MTS_FOLD_PRIVATE_H
#define MTS_FOLD_PRIVATE_H

#include "fold.h"
#include "fold_state.h"

/* An expression of time that never goes back */
typedef struct MtsFoldStep
{
	ExprState *state;
	bool byval; /* of its type */
	int16 len;
	Datum value; /* of the current group */
	bool is_null;
} MtsFoldStep;

/* An expression that is grouped by; if it is of time, steps tell its value */
typedef struct MtsGrouping
{
	ExprState *state;
	bool is_of_time;
	int step;    /* which is the expression itself; -1: none, it is a label */
	Datum value; /* of the current group */
	bool is_null;
} MtsGrouping;

/* A group that was entered not long ago, at times for which the expressions
 * of time are what they are */
typedef struct MtsRecent
{
	Datum *values; /* by grouping, of those that are not of time */
	bool *nulls;
	MtsState *states;
} MtsRecent;

/* So many of these are kept */
#define MTS_FOLD_RECENT 8

typedef struct MtsHeaders MtsHeaders;

struct MtsFold
{
	MtsScan *scan;       /* that has the bucket: the plan's, but see headers */
	MtsHeaders *headers; /* NULL: values must be read */
	TupleTableSlot *row; /* the point */
	ExprContext *econtext; /* has the row */
	int time;              /* the time's attribute, from 0; or -1 */
	int ncolumns;          /* of what the scan gives */
	int *columns;          /* a grouping's number, or -1 - an aggregate's */
	int ngroupings;
	MtsGrouping *groupings;
	int naggregates;
	MtsAggregate *aggregates;
	List *zones; /* MtsSteady */
	int nsteps;
	MtsFoldStep *steps;
	MtsTime steady_from; /* these are known for from <= t <= to */
	MtsTime steady_to;
	MemoryContext steady_memory; /* has their values */

	/* the conditions that stay here */
	ExprState *bucket_filter; /* the first, of columns of the bucket */
	ExprState *filter;        /* the others */
	int64 judged;             /* the scan's count of the bucket that was */
	bool is_off;              /* is that bucket out? */

	/* the groups */
	MemoryContext memory; /* of all of them */
	TupleHashTable table; /* NULL: there is but one group */
	TupleTableSlot *key;
	TupleTableSlot *given; /* a group that is given */
	TupleHashIterator next;
	MtsState *only; /* of the one group */
	bool is_giving;
	bool has_given; /* have groups been given before? */
	bool is_done;

	double *values; /* of a bucket at once; NULL: they are never read so */

	MtsRecent recent[MTS_FOLD_RECENT];
	int nrecent;
	int latest; /* the one that was entered last */
	MemoryContext recent_memory;

	/* the group of the last point, and as long as it is that */
	MtsState *current;
	int64 bucket; /* the scan's count when it was found */
	MtsTime from; /* it is the group of from <= t <= to in this bucket */
	MtsTime to;
};

/* What became of a bucket that was entered whole */
typedef enum MtsEntry
{
	MTS_ENTRY_GROUP,   /* its points are of the current group */
	MTS_ENTRY_REFUSED, /* a condition leaves all of them out */
	MTS_ENTRY_SEVERAL  /* they may be of several groups */
} MtsEntry;

/* What is to be done with the next bucket */
typedef enum MtsTurn
{
	MTS_TURN_POINTS, /* fold its points */
	MTS_TURN_NOTHING,
	MTS_TURN_END /* there is none */
} MtsTurn;

/* fold_filter.c */
extern void mts_fold_init_filters(MtsFold *fold, List *clauses);
extern bool mts_fold_wants_bucket(MtsFold *fold);
extern bool mts_fold_wants_point(MtsFold *fold);

/* fold_group.c */
extern void mts_fold_begin_groups(MtsFold *fold);
extern void mts_fold_forget_bucket(MtsFold *fold);
extern void mts_fold_enter_point(MtsFold *fold);
extern MtsEntry mts_fold_enter_bucket(MtsFold *fold, MtsTime first,
									  MtsTime last);

/* fold_steady.c */
extern void mts_fold_forget_steady(MtsFold *fold);
extern void mts_fold_find_steady(MtsFold *fold, MtsTime t, MtsTime first,
								 MtsTime last);

/* fold_header.c */
extern void mts_fold_init_headers(MtsFold *fold, TupleDesc desc,
								  List *attnums);
extern MtsTurn mts_fold_next_bucket(MtsFold *fold);
extern void mts_fold_reset_headers(MtsFold *fold);
extern MtsScan *mts_fold_headers_scan(const MtsFold *fold);

#endif /* MTS_FOLD_PRIVATE_H */
