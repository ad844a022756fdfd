/*
 * rollup_field.h
 *		Which totals the rows of a roll-up have.
 */
#ifndef MTS_ROLLUP_FIELD_H
#define MTS_ROLLUP_FIELD_H

#include "postgres.h"

#include "table/rollup.h"

/* What has been declared since the rows were computed */
typedef enum MtsRollupChange
{
	MTS_ROLLUP_SAME,     /* nothing else */
	MTS_ROLLUP_EXTENDED, /* totals that they lack, or other points */
	MTS_ROLLUP_ALTERED   /* something else for what they have */
} MtsRollupChange;

extern bool mts_rollup_field_find(const MtsRollup *rollup,
								  const MtsRollupState *state,
								  AttrNumber attnum, MtsTime *since);
extern MtsRollupChange mts_rollup_field_change(const MtsRollup *rollup,
											   const MtsRollupState *state);
extern bool mts_rollup_field_read(const MtsRollup *rollup,
								  const bson_iter_t *array,
								  MtsRollupState *state);
extern bson_t *mts_rollup_field_make(const MtsRollup *rollup,
									 const MtsRollupState *state, bool is_anew,
									 const MtsRollup *finer,
									 const MtsRollupState *finer_state);

#endif /* MTS_ROLLUP_FIELD_H */
