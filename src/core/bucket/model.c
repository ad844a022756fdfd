/*
 * model.c
 *		Read the values of elements that have the outline of an earlier one.
 *
 * An element is a document that is a point, a subdocument that is one, or one
 * with the points of several series.  The values of its points are found by
 * their keys, once.  Those of like elements are at the same offsets.
 */
#include "core/bucket/model.h"

/* The points that there is room for at first */
#define FIRST_POINTS 4

/* mts_model_init: prepare to learn elements, whose points have columns. */
void
mts_model_init(MtsModel *model, int ncolumns, const MtsArena *arena)
{
	model->arena = arena;
	model->base = NULL;
	model->nvain = 0;
	model->ncolumns = ncolumns;
	model->room = FIRST_POINTS;
	model->values =
		mts_arena_allocate(arena, model->room * ncolumns * sizeof(MtsElement));
	model->series = mts_arena_allocate(arena, model->room * sizeof(int));
	mts_outline_init(&model->outline, arena);
	model->copy_room = model->outline.room;
	model->copy = mts_arena_allocate(arena, model->copy_room);
	mts_model_forget(model);
}

/* mts_model_forget: let no element be like this one. */
void
mts_model_forget(MtsModel *model)
{
	model->outline.size = 0;
	model->npoints = 0;
	model->has_series = false;
}

/* mts_model_add_point: return room for the values of the next point. */
MtsElement *
mts_model_add_point(MtsModel *model)
{
	if (model->npoints == model->room)
	{
		size_t size = model->room * model->ncolumns * sizeof(MtsElement);
		size_t n = model->room * sizeof(int);

		model->room *= 2;
		model->values =
			mts_arena_grow(model->arena, model->values, size, 2 * size);
		model->series = mts_arena_grow(model->arena, model->series, n, 2 * n);
	}
	return mts_model_point(model, model->npoints++);
}

/* The bytes of an element up to its last value; all if one is absent */
static uint32_t
needed_size(const MtsModel *model, const MtsElement *element)
{
	uint32_t needed = 0;

	for (int i = 0; i < model->npoints * model->ncolumns; i++)
	{
		const MtsElement *value = &model->values[i];

		/* an absent value is in no part of the element */
		if (!value->value)
			return element->size;
		needed = BSON_MAX(needed, (uint32_t) (value->value + value->size -
											  element->value));
	}
	return needed;
}

/*
 * mts_model_learn
 *		Learn the outline of the element whose points were added, if that is
 *		small enough.
 *
 * If is_whole, elements are compared as far as their end, since they may have
 * more points, and can be large; otherwise as far as the last value.  The
 * values of this element can be read in any case, until the next one is
 * learned.
 *
 * After elements that no other one was like, outlines are learned ever more
 * rarely.
 */
void
mts_model_learn(MtsModel *model, const MtsElement *element, bool is_whole)
{
	uint32_t needed = is_whole ? element->size : needed_size(model, element);
	unsigned nvain = model->nvain++;

	model->type = element->type;
	model->base = element->value;
	if ((nvain & (nvain - 1)) != 0)
		return;
	if (!mts_outline_learn(&model->outline, element, needed,
						   is_whole ? MTS_OUTLINE_MAX_SIZE : MTS_OUTLINE_SIZE))
		return;
	if (model->copy_room < model->outline.room)
	{
		model->copy_room = model->outline.room;
		model->copy = mts_arena_allocate(model->arena, model->copy_room);
	}
	memcpy(model->copy, element->value, needed);
	for (int i = 0; i < model->npoints * model->ncolumns; i++)
		if (model->values[i].value)
			model->values[i].value += model->copy - element->value;
	model->base = model->copy;
}
