/*
 * agg_preaggregate.c
 *		Read the totals of a bucket's points from its pre-aggregates.
 *
 * Pre-aggregates are fields of the bucket: the number of its points, and the
 * sum, the minimum and the maximum of a column.
 *
 * A stored null is a point without a value, which the number of points counts.
 * What depends on the number of values therefore requires a column that is NOT
 * NULL, or the only one of the points whose missing value is null: a null is
 * no point then.  A sum that is not 0 shows that there are values, and so does
 * an extreme.
 *
 * A field that is absent, has another type or leaves a doubt is not an error:
 * the bucket's points decide.
 */
#include "agg/agg_preaggregate.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

/* ---- Preparation -------------------------------------------------------- */

/* The reason that an aggregate of a column gives to read the points */
static const char *
problem_of(const char *format, const MtsAggregate *aggregate,
		   const MtsColumn *column)
{
	return psprintf(format, get_func_name(aggregate->oid), column->name);
}

/* Tell whether a point is one by its value of a column, which is not null. */
static bool
makes_points(const MtsLayout *layout, const MtsColumn *column)
{
	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].role == MTS_ROLE_VALUE &&
			&layout->columns[i] != column)
			return false;
	return column->missing.kind == MTS_MISSING_NULL;
}

static bool
is_never_null(const MtsTable *table, int column)
{
	return column == table->layout.time_column ||
		   table->attributes[column].not_null ||
		   (!table->is_narrow &&
			makes_points(&table->layout, &table->layout.columns[column]));
}

/*
 * Tell whether the extremes of a bucket suffice for the values in between.
 * Those of a native bucket can be any numbers.  One that the column cannot
 * store, such as 1.5 in a column of integers, is an error, which only the
 * points show.
 */
static bool
extremes_suffice(const MtsTable *table, const MtsAttribute *attribute)
{
	return !table->native || attribute->typid == FLOAT8OID ||
		   (attribute->typid == NUMERICOID && attribute->typmod < 0);
}

/*
 * Tell whether a field can have a total of a column.  MongoDB orders texts in
 * another way, and sums of numeric are not read.
 */
static bool
can_have(const MtsAttribute *attribute, MtsTotal total)
{
	return mts_type_is_number(attribute->typid) &&
		   (total != MTS_TOTAL_SUM || attribute->typid != NUMERICOID);
}

/* Find the field of one total; NULL if it is not declared. */
static const MtsField *
field_of(const MtsColumn *column, MtsTotal total)
{
	const MtsField *field = total == MTS_TOTAL_MIN   ? &column->min
							: total == MTS_TOTAL_MAX ? &column->max
													 : &column->sum;

	return field->is_set ? field : NULL;
}

/*
 * Find the field that must be a number, besides that of a total: that of the
 * other extreme or, of the sum of values that can be null, an extreme that
 * shows that there are some.  NULL if there is none.
 */
static const MtsField *
find_other(const MtsColumn *column, MtsTotal total, bool is_never_null)
{
	const MtsField *field = NULL;

	if (total == MTS_TOTAL_SUM && is_never_null)
		return NULL;
	if (total != MTS_TOTAL_MAX)
		field = field_of(column, MTS_TOTAL_MAX);
	if (!field && total != MTS_TOTAL_MIN)
		field = field_of(column, MTS_TOTAL_MIN);
	return field;
}

/* Have a field read, if it is not NULL. */
static void
require_field(MtsPreaggregates *preaggregates, const MtsField *field)
{
	for (int i = 0; i < preaggregates->nfields; i++)
		if (preaggregates->fields[i] == field)
			return;
	if (field)
		preaggregates->fields[preaggregates->nfields++] = field;
}

/* Have totals of a column read. */
static void
require_totals(MtsPreaggregates *preaggregates, const MtsBucket *bucket,
			   const MtsRequired *required)
{
	int column = required->column;
	int i = 0;

	while (i < preaggregates->ncolumns &&
		   preaggregates->columns[i].column != column)
		i++;
	if (i == preaggregates->ncolumns)
		preaggregates->columns[preaggregates->ncolumns++] =
			(MtsColumnFields){.column = column,
							  .is_never_null =
								  is_never_null(bucket->table, column),
							  .is_float8 = required->is_float8,
							  .converter =
								  mts_bucket_converter(bucket, column)};
	preaggregates->columns[i].totals |= required->totals;
}

/* Find the fields of a column that an aggregate of it requires. */
static const char *
find_fields(MtsPreaggregates *preaggregates, const MtsAggregate *aggregate,
			const MtsRequired *required, const MtsBucket *bucket)
{
	const MtsTable *table = bucket->table;
	const MtsColumn *column = &table->layout.columns[required->column];
	MtsTotal total = required->totals & ~MTS_TOTAL_COUNT;
	bool never_null = is_never_null(table, required->column);

	if (total != 0)
	{
		const MtsField *other = find_other(column, total, never_null);

		if (!field_of(column, total) ||
			!can_have(&table->attributes[required->column], total))
			return problem_of("no declared field answers %s(%s)", aggregate,
							  column);
		if (other &&
			!extremes_suffice(table, &table->attributes[required->column]))
			return problem_of("%s(%s) requires the values", aggregate, column);
		require_field(preaggregates, field_of(column, total));
		require_field(preaggregates, other);
	}
	if ((required->totals & MTS_TOTAL_COUNT) && !never_null)
		return problem_of("%s(%s) requires that the column is never null",
						  aggregate, column);
	require_totals(preaggregates, bucket, required);
	return NULL;
}

/* Find the fields that an aggregate requires, or why it needs the values. */
static const char *
require_fields(MtsPreaggregates *preaggregates, const MtsAggSpec *spec,
			   int number, const MtsBucket *bucket)
{
	const MtsAggregate *aggregate = &spec->aggregates[number];
	MtsRequired *required = &preaggregates->required[number];
	const MtsLayout *layout = &spec->table->layout;
	int column = -1;

	if (aggregate->filter)
		return "a FILTER is checked for each point";
	if (aggregate->narguments == 1)
		column = aggregate->arguments[0].attribute;
	if (column < 0 && aggregate->oid != F_COUNT_)
		return "an argument is not a column";
	if (column >= 0 && column != spec->time &&
		layout->columns[column].role != MTS_ROLE_VALUE)
		return psprintf("column \"%s\" is not a value of a point",
						layout->columns[column].name);
	if (!mts_agg_totals_require(spec, aggregate, required))
		return problem_of("no declared field answers %s(%s)", aggregate,
						  &layout->columns[column]);
	return column < 0
			   ? NULL
			   : find_fields(preaggregates, aggregate, required, bucket);
}

/*
 * mts_agg_preaggregate_find
 *		Find the fields that suffice for all aggregates; NULL, with the reason
 *		in *problem, if there are none.
 */
MtsPreaggregates *
mts_agg_preaggregate_find(const MtsAggSpec *spec, const MtsBucket *bucket,
						  const char **problem)
{
	MtsPreaggregates *found = palloc0(sizeof(MtsPreaggregates));
	int n = spec->naggregates + 1;
	const MtsLayout *layout = &spec->table->layout;

	found->required = palloc0(n * sizeof(MtsRequired));
	found->columns = palloc(n * sizeof(MtsColumnFields));
	found->fields = palloc(2 * n * sizeof(MtsField *));
	found->totals.columns =
		palloc0((layout->ncolumns + 1) * sizeof(MtsColumnTotals));
	require_field(found, &layout->count);
	for (int i = 0; i < spec->naggregates; i++)
	{
		*problem = require_fields(found, spec, i, bucket);
		if (*problem)
			return NULL;
	}
	return found;
}

/* ---- A bucket ----------------------------------------------------------- */

/*
 * Tell whether MongoDB and PostgreSQL order an extreme alike: it is a number.
 * NaN is MongoDB's least number and PostgreSQL's greatest.
 */
static bool
is_ordered_alike(const MtsElement *element)
{
	char text[BSON_DECIMAL128_STRING];

	switch (element->type)
	{
		case BSON_TYPE_DOUBLE:
			return !isnan(mts_element_double(element));
		case BSON_TYPE_DECIMAL128:
			mts_element_decimal(element, text);
			return strcmp(text, "NaN") != 0;
		case BSON_TYPE_INT32:
		case BSON_TYPE_INT64:
			return true;
		default:
			return false;
	}
}

/* Find a field of the bucket that is a number; false in doubt. */
static bool
find_total(const MtsUnfold *unfold, const MtsField *field, MtsElement *element)
{
	return mts_unfold_header_find(unfold, field, element) &&
		   is_ordered_alike(element);
}

/*
 * Read the minimum or maximum as a value of the column, if it is required;
 * false in doubt.  One that is not required shows whether the other one is
 * the same for MongoDB and PostgreSQL.
 */
static bool
read_extreme(const MtsColumnFields *fields, const MtsUnfold *unfold,
			 MtsTotal total, Datum *value)
{
	const MtsColumn *column = &unfold->layout->columns[fields->column];
	const MtsField *field = field_of(column, total);
	MtsElement element;
	MtsError error;
	bool isnull;

	if (!field)
		return true;
	if (!find_total(unfold, field, &element))
		return false;
	return !(fields->totals & total) ||
		   (!mts_unfold_is_missing(&column->missing, &element) &&
			mts_from_bson_element(fields->converter, &element, value, &isnull,
								  &error) &&
			!isnull);
}

/*
 * Read the sum as a bigint or double precision; false in doubt.  *is_zero
 * tells whether it can be the sum of no values.
 */
static bool
convert_sum(const MtsColumnFields *fields, const MtsElement *element,
			Datum *value, bool *is_zero)
{
	double d;
	int64 n;

	if (fields->is_float8)
	{
		if (!mts_unfold_header_double(element, &d))
			return false;
		*value = Float8GetDatum(d);
		*is_zero = d == 0;
	}
	else
	{
		if (!mts_element_integer(element, MTS_MAX_EXACT, &n))
			return false;
		*value = Int64GetDatum(n);
		*is_zero = n == 0;
	}
	return true;
}

/* Read the sum of the values, one at least; false in doubt. */
static bool
read_sum(const MtsColumnFields *fields, const MtsUnfold *unfold, Datum *value)
{
	const MtsColumn *column = &unfold->layout->columns[fields->column];
	const MtsField *sign =
		find_other(column, MTS_TOTAL_SUM, fields->is_never_null);
	MtsElement element;
	bool is_zero;

	return mts_unfold_header_find(unfold, &column->sum, &element) &&
		   convert_sum(fields, &element, value, &is_zero) &&
		   (fields->is_never_null || !is_zero ||
			(sign && find_total(unfold, sign, &element)));
}

/* Read the required totals of a column; false in doubt. */
static bool
read_totals(const MtsColumnFields *fields, const MtsUnfold *unfold,
			MtsTotals *totals)
{
	MtsColumnTotals *column = &totals->columns[fields->column];

	/* the column is never null then */
	if (fields->totals & MTS_TOTAL_COUNT)
		column->count = totals->npoints;
	if ((fields->totals & MTS_TOTAL_SUM) &&
		!read_sum(fields, unfold, &column->sum))
		return false;
	return !(fields->totals & (MTS_TOTAL_MIN | MTS_TOTAL_MAX)) ||
		   (read_extreme(fields, unfold, MTS_TOTAL_MIN, &column->min) &&
			read_extreme(fields, unfold, MTS_TOTAL_MAX, &column->max));
}

/*
 * mts_agg_preaggregate_read
 *		Read the totals of a bucket's points; NULL if these must be read.
 *
 * The result is valid until the next call, and until the current memory
 * context is reset.
 */
const MtsTotals *
mts_agg_preaggregate_read(MtsPreaggregates *preaggregates,
						  const MtsBucket *bucket)
{
	const MtsUnfold *unfold = &bucket->unfold;
	MtsTotals *totals = &preaggregates->totals;
	MtsElement element;

	totals->earliest = unfold->earliest;
	totals->latest = unfold->latest;
	if (!mts_unfold_header_find(unfold, &unfold->layout->count, &element) ||
		!mts_element_integer(&element, MTS_MAX_EXACT, &totals->npoints) ||
		totals->npoints < 0 || totals->npoints >> MTS_TOTALS_BITS != 0)
		return NULL;
	for (int i = 0; totals->npoints > 0 && i < preaggregates->ncolumns; i++)
		if (!read_totals(&preaggregates->columns[i], unfold, totals))
			return NULL;
	return totals;
}
