/*
 * row_target.h
 *		The bucket, the slot and the stored values of a row.
 */
#ifndef MTS_ROW_TARGET_H
#define MTS_ROW_TARGET_H

#include "postgres.h"
#include "executor/tuptable.h"

#include "core/update/change.h"
#include "convert/to_bson.h"
#include "table/identity.h"

/* Computes the targets of a table's rows; made once for each statement */
typedef struct MtsTargeting
{
	const MtsTable *table;
	MtsIdentity *identity;
	MtsToBson **encoders; /* by column; NULL for the time column */
	Oid time_type;        /* of the time column, a domain's base type */
	bool has_read_only;   /* some columns cannot be written */
	bool needs_settings;  /* see mts_to_bson_value */
	bool hides_stored;    /* messages show no stored values; see
						   * mts_table_shows_values */
	bool omits_null;      /* a document that is a row has no field for NULL */
	bool has_text_slots;  /* some slots are named by columns */
	bool time_is_key;     /* the name of a slot is the time */
	bool has_own_time;    /* points have a field of the time, or documents */
	int *values;          /* the columns that are values of points */
	int nvalues;
	struct MtsLastRow *last; /* see row_target.c */
} MtsTargeting;

/* Where a row is stored */
typedef struct MtsRowTarget
{
	MtsTime start; /* of the bucket; MTS_TIME_MIN for a flat document, or if
					* the layout has no bucket time */
	MtsChange *change;
} MtsRowTarget;

extern MtsTargeting *mts_row_target_prepare(const MtsTable *table);
extern MtsChange *mts_row_target_new_change(const MtsLayout *layout);
extern MtsRowTarget mts_row_target_make(const MtsTargeting *targeting,
										TupleTableSlot *slot,
										const MtsTime *start);
extern void mts_row_target_copy_values(int n, const bson_value_t *values,
									   bson_value_t *copy);
extern MtsChange *mts_row_target_copy_change(const MtsLayout *layout,
											 const MtsChange *change);
extern bool mts_row_target_is_timeless(const MtsTargeting *targeting,
									   TupleTableSlot *slot);
extern bool mts_row_target_stays(const MtsTargeting *targeting, MtsTime start,
								 Datum old_time, TupleTableSlot *new_row);
extern _Noreturn void
mts_row_target_refuse_bucket(const MtsTargeting *targeting, MtsTime t);
extern const char *mts_row_target_key_problem(const char *key, size_t len);
extern _Noreturn void mts_row_target_refuse_key(const MtsTargeting *targeting,
												int column, int sqlstate,
												const char *problem);
extern char *mts_row_target_slot_key(const MtsTargeting *targeting,
									 TupleTableSlot *slot, int column);
extern void mts_row_target_encode_bucket(const MtsTargeting *targeting,
										 TupleTableSlot *slot,
										 bson_value_t *values);
extern void mts_row_target_encode_column(const MtsTargeting *targeting,
										 TupleTableSlot *slot, int column,
										 bson_value_t *value);
extern bool mts_row_target_same_value(const bson_value_t *a,
									  const bson_value_t *b);
extern void mts_row_target_check_new(const MtsTargeting *targeting,
									 TupleTableSlot *slot);
extern MtsFieldValue *mts_row_target_identity(const MtsTargeting *targeting,
											  MtsTime start,
											  const bson_value_t *values);
extern bson_t *mts_row_target_selector(const MtsTargeting *targeting,
									   MtsTime start,
									   const bson_value_t *values);

/* Tell whether a column is a writable field of the bucket. */
static inline bool
mts_row_target_is_of_bucket(const MtsTargeting *targeting, int column)
{
	const MtsLayout *layout = &targeting->table->layout;

	return layout->columns[column].container < 0 &&
		   layout->columns[column].role != MTS_ROLE_SLOT &&
		   column != layout->time_column &&
		   !targeting->identity->read_only[column];
}

#endif /* MTS_ROW_TARGET_H */
