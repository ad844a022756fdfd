/*
 * model.h
 *		Read the values of elements that have the outline of an earlier one.
 */
#ifndef MTS_MODEL_H
#define MTS_MODEL_H

#include "core/arena.h"
#include "core/bson/outline.h"

/* An element whose points were found by their keys */
typedef struct MtsModel
{
	MtsOutline outline;
	unsigned nvain; /* elements that were learned since one was alike */
	uint8_t type;
	const uint8_t *base; /* its first byte, or that of a copy */
	uint8_t *copy;       /* as much of it as the outline knows */
	uint32_t copy_room;
	int npoints; /* in it */
	int room;    /* for points */
	int ncolumns;
	MtsElement *values; /* by point and column; null if it has none */
	bool has_series;    /* like elements have the series that follow */
	int *series;        /* of the points */
	const MtsArena *arena;
} MtsModel;

extern void mts_model_init(MtsModel *model, int ncolumns,
						   const MtsArena *arena);
extern void mts_model_forget(MtsModel *model);
extern MtsElement *mts_model_add_point(MtsModel *model);
extern void mts_model_learn(MtsModel *model, const MtsElement *element,
							bool is_whole);

/* Tell whether an element is like that of the model. */
static inline bool
mts_model_matches(MtsModel *model, const MtsElement *element)
{
	if (element->type != model->type ||
		!mts_outline_matches(&model->outline, element->value, element->size))
		return false;
	model->nvain = 0;
	return true;
}

/* The values of a point, by column */
static inline MtsElement *
mts_model_point(const MtsModel *model, int i)
{
	return model->values + i * model->ncolumns;
}

/* Move a value of the model to the place that it has in a like element. */
static inline MtsElement
mts_model_value(const MtsModel *model, const MtsElement *value,
				const uint8_t *element)
{
	MtsElement moved = *value;

	if (moved.value)
		moved.value += element - model->base;
	return moved;
}

#endif /* MTS_MODEL_H */
