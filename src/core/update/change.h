/*
 * change.h
 *		What is to be written into one bucket, and where.
 */
#ifndef MTS_CHANGE_H
#define MTS_CHANGE_H

#include "core/layout/layout.h"

/* Room for a dotted path whose slots are filled in, its NUL included */
#define MTS_MAX_DOTTED 2048
/* Room for a slot's key, its NUL included */
#define MTS_MAX_KEY 24
/* The columns of one container that are written together */
#define MTS_MAX_FIELDS 1664
/* The longest text of a {column} slot that is written, in bytes */
#define MTS_MAX_SLOT_TEXT 1000

typedef enum MtsChangeKind
{
	MTS_CHANGE_SET,   /* set the values */
	MTS_CHANGE_ADD,   /* add the values to what is stored */
	MTS_CHANGE_REMOVE /* remove the point */
} MtsChangeKind;

/* What happens to one point */
typedef struct MtsChange
{
	MtsChangeKind kind;
	MtsTime time;  /* of the point */
	int64_t order; /* in which the changes were asked for */
	int64_t index[MTS_MAX_SLOTS];
	const char *texts[MTS_MAX_SLOTS]; /* of {column} slots, in UTF-8 */
	const bson_value_t *values;       /* by column; those of type 0 (EOD) are
								 * left as they are */
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

/* What happens to one bucket.  All of it is the caller's. */
typedef struct MtsBucketChange
{
	const MtsLayout *layout;
	MtsTime start;             /* of the bucket */
	bool points_are_new;       /* are the points new ones, the arrays' too? */
	const MtsChange **changes; /* sorted by mts_change_compare */
	int n;
	MtsFields attributes; /* of the bucket, if it is new */
	MtsFields lows;       /* bounds that go down to these */
	MtsFields highs;      /* and up to these */
	MtsFields sums;       /* counters that grow by these */
} MtsBucketChange;

extern void mts_change_compose(const MtsFieldValue *fields, int n,
							   bson_t *doc);
extern void mts_change_append_fields(MtsFields fields, bson_t *doc);
extern int mts_change_compare(const MtsLayout *layout, const MtsChange *a,
							  const MtsChange *b);
extern size_t mts_change_key(int64_t n, char *buffer, const char **text);
extern size_t mts_change_path(const MtsStep *steps, int nsteps,
							  const MtsChange *change, char *path);
extern int mts_change_tail(const MtsLayout *layout, const MtsColumn *column,
						   MtsFieldValue *tail);
extern void mts_change_element(const MtsLayout *layout, int container,
							   const MtsChange *change, bson_t *parent,
							   const char *key);
extern int mts_change_array_level(const MtsLayout *layout);
extern bson_value_t mts_change_missing_value(const MtsMissing *missing);
extern void mts_change_empty_slot(const MtsLayout *layout,
								  bson_value_t *values);

#endif /* MTS_CHANGE_H */
