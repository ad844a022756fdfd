/*
 * index_use.h
 *		How MongoDB can use an index for a filter, and what that costs.
 */
#ifndef MTS_INDEX_USE_H
#define MTS_INDEX_USE_H

#include "core/bson/bson.h"

/* The key of an index costs as much as this number of documents in a scan of
 * the collection: MongoDB looks for it, and fetches its document. */
#define MTS_INDEX_KEY_COST 4.0

/* What a condition selects by a field */
typedef struct MtsFieldUse
{
	bool is_bounded; /* not all values satisfy it */
	bool has_low;    /* the values have a least one */
	bool has_high;
	double nvalues; /* the number of values that satisfy it; 0 if not known */
	double ndistinct; /* different values in all documents; 0 if not known */
	double share;     /* of the documents that satisfy it; 0 if not known */
} MtsFieldUse;

/* Describes the use of a field of an index. */
typedef MtsFieldUse (*MtsFieldUseFunction)(void *arg, const char *field);

/* The dotted fields of an index, in their order */
typedef struct MtsIndexFields
{
	const char **fields;
	int nfields;
	bool is_unique; /* no two documents have the same values */
} MtsIndexFields;

/* The use of an index */
typedef struct MtsIndexUse
{
	int nfields;     /* up to the last one with a condition; 0 if none has */
	bool needs_term; /* the first field has no condition */
	double cost;     /* in documents of a scan of the collection; without a
					  * use, that of the scan */
} MtsIndexUse;

extern MtsFieldUse mts_index_use_both(MtsFieldUse a, MtsFieldUse b);
extern MtsFieldUse mts_index_use_either(MtsFieldUse a, MtsFieldUse b);
extern MtsFieldUse mts_index_use_bounds(const bson_t *filter,
										const char *field);
extern MtsIndexUse mts_index_use_find(const bson_t *keys, double documents,
									  MtsFieldUseFunction describe, void *arg);
extern MtsIndexUse mts_index_use_cheapest(const bson_t *indexes,
										  double documents,
										  MtsFieldUseFunction describe,
										  void *arg, bson_iter_t *index);
extern void mts_index_use_push_term(bson_t *terms, const char *field);

#endif /* MTS_INDEX_USE_H */
