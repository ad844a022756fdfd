/*
 * place.h
 *		Which bucket and slot does a row go to?
 */
#ifndef MTS_PLACE_H
#define MTS_PLACE_H

#include "postgres.h"
#include "executor/tuptable.h"

#include "core/write.h"
#include "encode.h"
#include "identity.h"

/* What placing the rows of a table needs; made once a statement */
typedef struct MtsPlacer
{
	const MtsTable *table;
	MtsIdentity *identity;
	MtsEncoder **encoders; /* by column; NULL where nothing is written */
	Oid time_type;         /* of the time column, a domain's base type */
	bool has_read_only;    /* are there columns that can't be written? */
	MtsRange *last;        /* the bucket that a row went to last */
} MtsPlacer;

/* A row's place; what it points to is palloc'd */
typedef struct MtsPlace
{
	MtsTime time;         /* as it is stored */
	MtsTime start;        /* of its bucket */
	MtsWrite write;       /* its slot and values */
	bson_value_t *values; /* the same, not const */
} MtsPlace;

extern MtsPlacer *mts_place_prepare(const MtsTable *table);
extern MtsPlace *mts_place_row(const MtsPlacer *placer, TupleTableSlot *slot,
							   const MtsTime *start);
extern MtsTime mts_place_time(const MtsPlacer *placer, TupleTableSlot *slot);
extern bool mts_place_is_timeless(const MtsPlacer *placer,
								  TupleTableSlot *slot);
extern bool mts_place_stays(const MtsPlacer *placer, MtsTime start,
							Datum old_time, TupleTableSlot *new_row);
extern char *mts_place_text(const MtsPlacer *placer, TupleTableSlot *slot,
							const MtsStep *step);
extern void mts_place_keys(const MtsPlacer *placer, TupleTableSlot *slot,
						   bson_value_t *values);
extern void mts_place_check_new(const MtsPlacer *placer, TupleTableSlot *slot);
extern MtsPlaced *mts_place_identity(const MtsPlacer *placer, MtsTime start,
									 const bson_value_t *values);
extern bson_t *mts_place_selector(const MtsPlacer *placer, MtsTime start,
								  const bson_value_t *values);

/* The value of a layout's column in a row, whose values are all there */
static inline Datum
mts_place_value(const MtsPlacer *placer, TupleTableSlot *slot, int column,
				bool *isnull)
{
	int i = placer->table->attributes[column].attnum - 1;

	*isnull = slot->tts_isnull[i];
	return slot->tts_values[i];
}

#endif /* MTS_PLACE_H */
