/*
 * preaggregate.c
 *		Build the stages that compute the pre-aggregates of a bucket.
 *
 * The first stage collects the points of each container, and the second one
 * sets the fields.
 *
 * Elements of arrays get empty keys here, because conversion %a numbers them.
 */
#include "core/update/preaggregate.h"

#include "core/bson/template.h"
#include "core/query/points.h"

/*
 * mts_preaggregate_is_declared
 *		Tell whether buckets have a count or pre-aggregates of a column.
 */
bool
mts_preaggregate_is_declared(const MtsLayout *layout)
{
	if (layout->count.is_set)
		return true;
	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].sum.is_set || layout->columns[i].min.is_set ||
			layout->columns[i].max.is_set)
			return true;
	return false;
}

/*
 * Append {field: aggregate of the readings}.  A minimum or maximum of no
 * reading is removed.  Otherwise the $min of a later update would sort the
 * stored null lower than every number.
 */
static void
append_aggregate(const MtsLayout *layout, const MtsColumn *column,
				 const MtsField *field, MtsAggregateOf kind, bson_t *set)
{
	bson_t readings = BSON_INITIALIZER, in = BSON_INITIALIZER;
	char path[MTS_MAX_PATH];

	if (!field->is_set)
		return;
	mts_path_dotted(field->path.steps, field->path.nsteps, path, sizeof(path));
	mts_points_readings(layout, column, &readings, "");
	mts_points_aggregate(column, kind, &in, "");
	mts_template_append(set, path,
						kind == MTS_SUM_OF
							? "{$let: {vars: {v: %b}, in: %b}}"
							: "{$let: {vars: {v: %b},"
							  " in: {$ifNull: [%b, '$$REMOVE']}}}",
						&readings, &in);
	bson_destroy(&readings);
	bson_destroy(&in);
}

/*
 * mts_preaggregate_stages
 *		Append the stages that compute the declared pre-aggregates, if any.
 *
 * The sum of no reading is 0; its minimum and maximum are absent.
 */
void
mts_preaggregate_stages(const MtsLayout *layout, bson_t *pipeline)
{
	bson_t points = BSON_INITIALIZER, set = BSON_INITIALIZER,
		   names = BSON_INITIALIZER;
	char path[MTS_MAX_PATH];

	if (!mts_preaggregate_is_declared(layout))
		return;
	mts_points_collect(layout, MTS_POINTS_OF_BUCKETS, &points);
	mts_points_names(layout, &names);
	if (layout->count.is_set)
	{
		mts_path_dotted(layout->count.path.steps, layout->count.path.nsteps,
						path, sizeof(path));
		mts_points_count(layout, &set, path);
	}
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];

		append_aggregate(layout, column, &column->sum, MTS_SUM_OF, &set);
		append_aggregate(layout, column, &column->min, MTS_MINIMUM_OF, &set);
		append_aggregate(layout, column, &column->max, MTS_MAXIMUM_OF, &set);
	}
	mts_template_push(pipeline, "{$set: %o}", &points);
	mts_template_push(pipeline, "{$set: %o}", &set);
	mts_template_push(pipeline, "{$unset: %a}", &names);
	bson_destroy(&points);
	bson_destroy(&set);
	bson_destroy(&names);
}
