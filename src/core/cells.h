/*
 * cells.h
 *		A bucket's points as the stages of a pipeline see them.
 */
#ifndef MTS_CELLS_H
#define MTS_CELLS_H

#include "core/write.h"

/* The field that keeps a container's cells between the stages */
#define MTS_CELLS "_mts%d"
#define MTS_MAX_CELLS 16

extern void mts_cells_append(const MtsLayout *layout, int container,
							 bson_t *set);
extern void mts_cells_value(const MtsLayout *layout, const MtsColumn *column,
							char *source);
extern void mts_cells_append_points(const MtsLayout *layout, int container,
									bson_t *parent, const char *key);

#endif /* MTS_CELLS_H */
