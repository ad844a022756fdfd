/*
 * change.h
 *		The changes of the points of one bucket.
 */
#ifndef MTS_CHANGE_H
#define MTS_CHANGE_H

#include "core/layout/layout.h"
#include "core/layout/slot_key.h"

/* The columns of one container that are written together */
#define MTS_MAX_FIELDS 1664
/* The longest text of a {column} slot that is written, in bytes */
#define MTS_MAX_SLOT_TEXT 1000

typedef enum MtsChangeKind
{
	MTS_CHANGE_SET,   /* the values are set */
	MTS_CHANGE_ADD,   /* the values are added to what is stored */
	MTS_CHANGE_REMOVE /* the point is removed */
} MtsChangeKind;

/* The change of one point */
typedef struct MtsChange
{
	MtsChangeKind kind;
	MtsTime time;        /* of the point */
	int64_t order;       /* of the statement's rows */
	int64_t *index;      /* by slot: of units and array elements */
	const char **texts;  /* by slot: of {column} slots, in UTF-8 */
	bson_value_t *items; /* by MtsColumn.place; see mts_change_value */
} MtsChange;

/* A value at a path of names; both are the caller's */
typedef struct MtsFieldValue
{
	const MtsStep *steps;
	int nsteps;
	const bson_value_t *value;
} MtsFieldValue;

typedef struct MtsFields
{
	MtsFieldValue *items;
	int n;
} MtsFields;

/* The change of one bucket; all that it points to is the caller's */
typedef struct MtsBucketChange
{
	const MtsLayout *layout;
	MtsTime start;             /* of the bucket */
	bool points_are_new;       /* array elements are appended */
	bool may_overwrite;        /* new points may replace stored ones, so
								* pre-aggregates are recomputed */
	const MtsChange **changes; /* sorted by mts_change_compare */
	int n;
	MtsFields attributes;  /* set when the bucket is made */
	bool attributes_agree; /* an attribute that is not null must be that of the
							* bucket, or the bucket has none and gets it */
	bool hides_stored;     /* the refusal does not show the bucket's value */
	MtsFields lows;        /* lower bounds, which only decrease */
	MtsFields highs;       /* upper bounds, which only increase */
	MtsFields sums;        /* increments of counters */
} MtsBucketChange;

extern bool mts_change_share(const MtsFieldValue *a, const MtsFieldValue *b,
							 int depth);
extern void mts_change_compose(const MtsFieldValue *fields, int n,
							   bson_t *doc);
extern void mts_change_append_fields(MtsFields fields, bson_t *doc);
extern int mts_change_compare(const MtsLayout *layout, const MtsChange *a,
							  const MtsChange *b);
extern size_t mts_change_path(const MtsStep *steps, int nsteps,
							  const MtsChange *change, char *path);
extern int mts_change_tail(const MtsLayout *layout, const MtsColumn *column,
						   MtsFieldValue *tail);
extern void mts_change_element(const MtsLayout *layout, int container,
							   const MtsChange *change, bson_t *parent,
							   const char *key);
extern int mts_change_array_level(const MtsLayout *layout);
extern void mts_change_empty_slot(const MtsLayout *layout,
								  bson_value_t *values);

/*
 * The value of a column; BSON_TYPE_EOD leaves the stored value as it is, and
 * is that of a column that points do not have.
 */
static inline const bson_value_t *
mts_change_value(const MtsChange *change, const MtsColumn *column)
{
	static const bson_value_t absent = {.value_type = BSON_TYPE_EOD};

	return column->place < 0 ? &absent : &change->items[column->place];
}

#endif /* MTS_CHANGE_H */
