/*
 * model.h
 *		Models a bucket as a list of points, to which the same writes are
 *		applied.
 *
 * The list is compared with the points unfolded from the updated document, and
 * with the document's pre-aggregates.
 */
#ifndef MODEL_H
#define MODEL_H

#include "apply.h"
#include "points.h"
#include "writes.h"

#define MODEL_POINTS 40

/* Values of a point that are not numbers */
enum
{
	ABSENT = -1,
	IS_NULL = -2,
	IS_NAN = -3
};

typedef struct ModelPoint
{
	MtsTime time;
	int64_t index[MTS_MAX_SLOTS];
	const char *texts[MTS_MAX_SLOTS];
	int values[TABLE_COLUMNS];
} ModelPoint;

typedef struct Model
{
	const MtsLayout *layout;
	MtsTime start;
	int n;
	ModelPoint points[MODEL_POINTS];
} Model;

static inline bool
model_is_value(const MtsLayout *layout, int column)
{
	return layout->columns[column].role == MTS_ROLE_VALUE;
}

/* Tell whether a write or a point has the slot of a point. */
static inline bool
model_same_slot(const MtsLayout *layout, const ModelPoint *point,
				const int64_t *index, const char *const *texts)
{
	for (int i = 0; i < layout->nslots; i++)
		if (layout->slots[i]->kind == MTS_STEP_COLUMN_KEY
				? strcmp(point->texts[i], texts[i]) != 0
				: point->index[i] != index[i])
			return false;
	return true;
}

static inline int
model_find(const Model *model, const int64_t *index, const char *const *texts)
{
	for (int i = 0; i < model->n; i++)
		if (model_same_slot(model->layout, &model->points[i], index, texts))
			return i;
	return -1;
}

/* Return how many points the innermost array of a slot has. */
static inline int64_t
model_length(const Model *model, const MtsChange *write)
{
	int64_t index[MTS_MAX_SLOTS];
	int last = model->layout->nslots - 1;

	memcpy(index, write->index, sizeof(index));
	for (index[last] = 0; model_find(model, index, write->texts) >= 0;)
		index[last]++;
	return index[last];
}

/* Move the elements after a removed one forward. */
static inline void
model_close_gap(Model *model, const ModelPoint *gone)
{
	int last = model->layout->nslots - 1;

	for (int i = 0; i < model->n; i++)
	{
		ModelPoint *point = &model->points[i];
		int64_t index[MTS_MAX_SLOTS];

		memcpy(index, gone->index, sizeof(index));
		index[last] = point->index[last];
		if (model_same_slot(model->layout, point, index, gone->texts) &&
			point->index[last] > gone->index[last])
			point->index[last]--;
	}
}

static inline int
model_value(const bson_value_t *value)
{
	return value->value_type == BSON_TYPE_INT32    ? value->value.v_int32
		   : value->value_type == BSON_TYPE_DOUBLE ? IS_NAN
												   : IS_NULL;
}

/* Apply one write to the model. */
static inline void
model_write(Model *model, const MtsChange *write, bool points_are_new)
{
	const MtsLayout *layout = model->layout;
	ModelPoint *point;
	int found;
	bool is_push = points_are_new &&
				   layout->slots[layout->nslots - 1]->kind == MTS_STEP_ELEMENT;
	int64_t end = is_push ? model_length(model, write) : 0;

	found = is_push ? -1 : model_find(model, write->index, write->texts);
	if (write->kind == MTS_CHANGE_REMOVE)
	{
		ModelPoint gone = model->points[found];

		model->points[found] = model->points[--model->n];
		if (layout->slots[layout->nslots - 1]->kind == MTS_STEP_ELEMENT)
			model_close_gap(model, &gone);
		return;
	}
	if (found < 0)
	{
		found = model->n++;
		point = &model->points[found];
		memcpy(point->index, write->index, sizeof(point->index));
		memcpy(point->texts, write->texts, sizeof(point->texts));
		for (int i = 0; i < layout->ncolumns; i++)
			point->values[i] = ABSENT;
		if (is_push)
			point->index[layout->nslots - 1] = end;
	}
	point = &model->points[found];
	if (points_are_new || layout->time_kind == MTS_TIME_POINT)
		point->time = write->time;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const bson_value_t *value =
			mts_change_value(write, &layout->columns[i]);
		bool adds = write->kind == MTS_CHANGE_ADD;

		if (!model_is_value(layout, i) || value->value_type == BSON_TYPE_EOD ||
			(adds && value->value_type == BSON_TYPE_NULL))
			continue;
		point->values[i] =
			model_value(value) +
			(adds && point->values[i] > 0 ? point->values[i] : 0);
	}
}

/* Print the points as points_unfold() does. */
static inline void
model_show(const Model *model, Points *points)
{
	const MtsLayout *layout = model->layout;

	points->n = points->ninvalid = 0;
	points->why[0] = '\0';
	for (int i = 0; i < model->n; i++)
	{
		const ModelPoint *point = &model->points[i];
		char *line = points_line(points, point->time);

		for (int s = 0; s < layout->nslots; s++)
			if (layout->slots[s]->kind == MTS_STEP_COLUMN_KEY)
				line_add(line, " %s", point->texts[s]);
			else
				line_add(line, " %lld", (long long) point->index[s]);
		for (int c = 0; c < layout->ncolumns; c++)
			if (model_is_value(layout, c) && point->values[c] > 0)
				line_add(line, " %s=%d", layout->columns[c].name,
						 point->values[c]);
			else if (model_is_value(layout, c) && point->values[c] != ABSENT)
				line_add(line, " %s=%s", layout->columns[c].name,
						 point->values[c] == IS_NAN ? "double" : "null");
	}
	points_sort(points);
}

/* Return the sum, minimum or maximum of a column by PostgreSQL's rules. */
static inline bool
model_aggregate(const Model *model, int column, char kind, double *result)
{
	bool any = kind == 's', any_number = false;

	*result = 0;
	for (int i = 0; i < model->n; i++)
	{
		int value = model->points[i].values[column];

		if (value == ABSENT || value == IS_NULL)
			continue;
		any = true;
		if (value == IS_NAN && kind != 'm')
			*result = NAN;
		if (value == IS_NAN)
			continue;
		if (kind == 's')
			*result += value;
		else if (kind == 'm')
			*result = any_number && *result < value ? *result : value;
		else if (!isnan(*result))
			*result = any_number && *result > value ? *result : value;
		any_number = true;
	}
	if (kind == 'm' && any && !any_number)
		*result = NAN;
	return any;
}

static inline void
model_check_field(const Value *doc, const MtsField *field, bool is_expected,
				  double want, const char *what)
{
	int i = field->is_set ? value_find(doc, field->path.steps[0].name) : -1;
	double got = i < 0 ? 0 : (double) doc->items[i]->number;

	if (field->is_set &&
		((i >= 0) != is_expected ||
		 (is_expected && got != want && !(isnan(got) && isnan(want)))))
		tap_fault("%s: %s is %g, not %g", what, field->path.steps[0].name,
				  i < 0 ? -0.5 : got, is_expected ? want : -0.5);
}

/* Compare a document's pre-aggregates. */
static inline void
model_check_aggregates(const Model *model, const Value *doc, const char *what)
{
	const MtsLayout *layout = model->layout;
	double want;
	bool any;

	model_check_field(doc, &layout->count, true, model->n, what);
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];

		any = model_aggregate(model, i, 's', &want);
		model_check_field(doc, &column->sum, any, want, what);
		any = model_aggregate(model, i, 'm', &want);
		model_check_field(doc, &column->min, any, want, what);
		any = model_aggregate(model, i, 'x', &want);
		model_check_field(doc, &column->max, any, want, what);
	}
}

#endif /* MODEL_H */
