/*
 * row_target.h
 *		Which bucket and slot does a row go to?
 */
#ifndef MTS_ROW_TARGET_H
#define MTS_ROW_TARGET_H

#include "postgres.h"
#include "executor/tuptable.h"

#include "core/update/change.h"
#include "convert/to_bson.h"
#include "table/identity.h"

/* What placing the rows of a table needs; made once a statement */
typedef struct MtsTargeting
{
	const MtsTable *table;
	MtsIdentity *identity;
	MtsToBson **encoders; /* by column; NULL where nothing is written */
	Oid time_type;        /* of the time column, a domain's base type */
	bool has_read_only;   /* are there columns that can't be written? */
	MtsRange *last;       /* the bucket that a row went to last */
} MtsTargeting;

/* A row's place; what it points to is palloc'd */
typedef struct MtsRowTarget
{
	MtsTime time;         /* as it is stored */
	MtsTime start;        /* of its bucket */
	MtsChange write;      /* its slot and values */
	bson_value_t *values; /* the same, not const */
} MtsRowTarget;

extern MtsTargeting *mts_row_target_prepare(const MtsTable *table);
extern MtsRowTarget *mts_row_target_row(const MtsTargeting *placer,
										TupleTableSlot *slot,
										const MtsTime *start);
extern MtsTime mts_row_target_time(const MtsTargeting *placer,
								   TupleTableSlot *slot);
extern bool mts_row_target_is_timeless(const MtsTargeting *placer,
									   TupleTableSlot *slot);
extern bool mts_row_target_stays(const MtsTargeting *placer, MtsTime start,
								 Datum old_time, TupleTableSlot *new_row);
extern char *mts_row_target_text(const MtsTargeting *placer,
								 TupleTableSlot *slot, const MtsStep *step);
extern void mts_row_target_keys(const MtsTargeting *placer,
								TupleTableSlot *slot, bson_value_t *values);
extern void mts_row_target_check_new(const MtsTargeting *placer,
									 TupleTableSlot *slot);
extern MtsFieldValue *mts_row_target_identity(const MtsTargeting *placer,
											  MtsTime start,
											  const bson_value_t *values);
extern bson_t *mts_row_target_selector(const MtsTargeting *placer,
									   MtsTime start,
									   const bson_value_t *values);

/* The value of a layout's column in a row, whose values are all there */
static inline Datum
mts_row_target_value(const MtsTargeting *placer, TupleTableSlot *slot,
					 int column, bool *isnull)
{
	*isnull = slot->tts_isnull[column];
	return slot->tts_values[column];
}

#endif /* MTS_ROW_TARGET_H */
