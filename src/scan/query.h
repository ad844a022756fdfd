/*
 * query.h
 *		The query of a scan: what it asks MongoDB for, and which points it
 *		wants.
 */
#ifndef MTS_QUERY_H
#define MTS_QUERY_H

#include "postgres.h"
#include "nodes/execnodes.h"

#include "core/query/filter.h"
#include "core/query/projection.h"
#include "pushdown/sort_order.h"
#include "table/table.h"

/* What is read of each bucket */
typedef enum MtsContent
{
	MTS_CONTENT_WHOLE,
	MTS_CONTENT_KEYS,    /* only slots with wanted keys of {column} slots */
	MTS_CONTENT_SLOTS,   /* .. that can have points of wanted times, too */
	MTS_CONTENT_HEADERS, /* pre-aggregates and bounds, but no points */
	MTS_CONTENT_COUNT    /* nothing: MongoDB counts documents that are rows */
} MtsContent;

/* A query is never changed. */
typedef struct MtsQuery
{
	const MtsTable *table;
	const bool *needed; /* by column of the layout */
	MtsContent content;
	bool is_possible; /* false if no bucket can match */
	bson_t *filter;
	bson_t *misfits; /* the filter of documents that match the conditions, but
					  * have another type in a field that MongoDB sorts by: to
					  * read one is an error, which is raised before the scan
					  * ends; or NULL */
	bson_t *projection;          /* empty for whole documents */
	bson_t *sort;                /* empty without an order */
	bson_t *group;               /* the stage that counts; or NULL */
	const MtsSortOrder *order;   /* of the rows; or NULL */
	bool unsorted_come_first;    /* documents without a time, in a descending
								* order, or without usable extremes */
	MtsRanges ranges;            /* of the wanted points */
	MtsSlotTexts texts;          /* their keys of {column} slots */
	bool accepts_null_time;      /* points without a time are wanted, too */
	int initial_batch_size;      /* in buckets */
	bool on_primary;             /* rows are read in order to change them, or
								  * are those of a roll-up with that state */
	const char *headers_problem; /* see MtsQuerySpec */
	const char *index; /* in which MongoDB skips by the term of index_skip.c;
						* or NULL */
	List *skipped;     /* the names of the fields of the index that it skips */

	/* the term of index_skip.c, in an array, for the query of the documents
	 * that come before the sorted ones; or NULL */
	const bson_t *unsorted_terms;
} MtsQuery;

/* What a query is made from, which stays the same for all executions */
typedef struct MtsQuerySpec
{
	bool *needed;              /* by column of the layout */
	List *quals;               /* of MtsQual: the pushed conditions */
	const MtsRanges *times;    /* only these are wanted; or NULL */
	const MtsSortOrder *order; /* or NULL */
	int initial_batch_size;    /* 0 for the table's fetch_size */
	bool on_primary;
	const MtsField **headers; /* fields that can replace the points of a
							   * bucket; or NULL */
	int nheaders;
	const char *headers_problem; /* why an aggregation has none, or NULL */
	bool counts_rows;            /* nothing but the number of rows is wanted */
} MtsQuerySpec;

extern MtsQuery *mts_query_make(const MtsTable *table,
								const MtsQuerySpec *spec,
								ExprContext *econtext);
extern MtsQuery *mts_query_of_filter(const MtsTable *table,
									 const MtsQuerySpec *spec,
									 const bson_t *filter);
extern MtsQuery *mts_query_of_ids(const MtsQuery *query, const bson_t *ids);
extern bson_t *mts_query_whole_projection(const MtsQuery *query);
extern bson_t *mts_query_project_field(const char *field);
extern bson_t *mts_query_restrict(const bson_t *filter, const bson_t *terms);
extern const bson_t *mts_query_sent_filter(const MtsTable *table,
										   const bson_t *filter);
extern bson_t *mts_query_sorted_terms(const MtsQuery *query, bool are_sorted);
extern bool mts_query_fixes_keys(const MtsTable *table, const bson_t *filter);

#endif /* MTS_QUERY_H */
