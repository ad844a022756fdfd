/*
 * write.h
 *		What is to be written into one bucket, and where.
 */
#ifndef MTS_WRITE_H
#define MTS_WRITE_H

#include "core/layout.h"

/* Room for a dotted path whose slots are filled in, its NUL included */
#define MTS_MAX_DOTTED 2048
/* Room for a slot's key, its NUL included */
#define MTS_MAX_KEY 24
/* The columns of one container that are written together */
#define MTS_MAX_FIELDS 1664
/* The longest text of a {column} slot that is written, in bytes */
#define MTS_MAX_SLOT_TEXT 1000

typedef enum MtsWriteKind
{
	MTS_PUT,  /* set the values */
	MTS_ADD,  /* add the values to what is stored */
	MTS_CLEAR /* remove the point */
} MtsWriteKind;

/* What happens to one point */
typedef struct MtsWrite
{
	MtsWriteKind kind;
	MtsTime time;  /* of the point */
	int64_t order; /* in which the writes were asked for */
	int64_t index[MTS_MAX_SLOTS];
	const char *texts[MTS_MAX_SLOTS]; /* of {column} slots, in UTF-8 */
	const bson_value_t *values;       /* by column; those of type 0 (EOD) are
								 * left as they are */
} MtsWrite;

/* A value at a path of names; both are the caller's */
typedef struct MtsPlaced
{
	const MtsStep *steps;
	int nsteps;
	const bson_value_t *value;
} MtsPlaced;

typedef struct MtsFields
{
	MtsPlaced *items;
	int n;
} MtsFields;

/* What happens to one bucket.  All of it is the caller's. */
typedef struct MtsBucketWrite
{
	const MtsLayout *layout;
	MtsTime start;           /* of the bucket */
	bool is_insert;          /* are the points new ones, the arrays' too? */
	const MtsWrite **writes; /* sorted by mts_write_compare */
	int n;
	MtsFields attributes; /* of the bucket, if it is new */
	MtsFields lows;       /* bounds that go down to these */
	MtsFields highs;      /* and up to these */
	MtsFields sums;       /* counters that grow by these */
} MtsBucketWrite;

extern bool mts_step_same_name(const MtsStep *a, const MtsStep *b);
extern void mts_compose(const MtsPlaced *fields, int n, bson_t *doc);
extern int mts_write_compare(const MtsLayout *layout, const MtsWrite *a,
							 const MtsWrite *b);
extern size_t mts_write_key(int64_t n, char *buffer, const char **text);
extern size_t mts_write_path(const MtsStep *steps, int nsteps,
							 const MtsWrite *write, char *path);
extern int mts_write_tail(const MtsLayout *layout, const MtsColumn *column,
						  MtsPlaced *tail);
extern void mts_write_element(const MtsLayout *layout, int container,
							  const MtsWrite *write, bson_t *parent,
							  const char *key);
extern bson_value_t mts_missing_value(const MtsMissing *missing);
extern void mts_write_vacancy(const MtsLayout *layout, bson_value_t *values);

/* update.c */
extern int mts_update_array_level(const MtsLayout *layout);
extern bool mts_update_needs_pipeline(const MtsLayout *layout);
extern void mts_update_plain(const MtsBucketWrite *write, bson_t *update);
extern void mts_update_append_value(const MtsWrite *write,
									const MtsColumn *column,
									const bson_value_t *value,
									const char *source, bson_t *parent,
									const char *key);
extern void mts_update_pipeline(const MtsBucketWrite *write, bson_t *pipeline);

/* fresh.c */
extern bool mts_update_may_be_fresh(const MtsLayout *layout);
extern bool mts_update_fresh(const MtsBucketWrite *bucket, MtsFields identity,
							 MtsPlaced *fields, bson_t *doc);
extern void mts_update_shell(const MtsLayout *layout, MtsTime start,
							 const char *const *texts, void (*check)(void),
							 bson_value_t *values, bson_t *set);

/* arrays.c */
extern void mts_array_expression(const MtsBucketWrite *bucket, int container,
								 int level, const char *source,
								 const MtsWrite *const *writes, int n,
								 bson_t *parent, const char *key);

/* preaggregate.c */
extern bool mts_preaggregate_is_declared(const MtsLayout *layout);
extern void mts_preaggregate_stages(const MtsLayout *layout, bson_t *pipeline);

#endif /* MTS_WRITE_H */
