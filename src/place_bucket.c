/*
 * place_bucket.c
 *		What a row says of its bucket: its keys, and the query that finds it.
 */
#include "place.h"

#include "utils/timestamp.h"

#include "number.h"

/* Are two values of the same field equal, numbers of any type? */
static bool
same_value(const bson_value_t *a, const bson_value_t *b)
{
	bson_t left = BSON_INITIALIZER, right = BSON_INITIALIZER;
	bool same;

	if (mts_number_is_value(a) && mts_number_is_value(b))
		return mts_number_compare(a, b) == 0;
	bson_append_value(&left, "v", 1, a);
	bson_append_value(&right, "v", 1, b);
	same = bson_equal(&left, &right);
	bson_destroy(&left);
	bson_destroy(&right);
	return same;
}

/* A row that the filter does not match would not be seen again. */
static void
check_filter(const MtsPlacer *placer, const bson_value_t *values)
{
	const MtsIdentity *identity = placer->identity;

	for (int i = 0; i < identity->n; i++)
	{
		const MtsIdentityPart *part = &identity->parts[i];

		if (part->fixed.value_type == BSON_TYPE_EOD || part->column < 0 ||
			same_value(&part->fixed, &values[part->column]))
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_WITH_CHECK_OPTION_VIOLATION),
				 errmsg("the value of column \"%s\" violates the filter of "
						"the foreign table",
						placer->table->layout.columns[part->column].name),
				 errdetail("The row would not be seen again."),
				 errhint("The filter's equalities say what the column "
						 "holds.")));
	}
}

/*
 * MongoDB finds an array by its elements, and takes a regex for a pattern;
 * attributes are not looked for.
 */
static void
check_key(const MtsPlacer *placer, const MtsColumn *column,
		  const bson_value_t *value)
{
	if (placer->table->layout.nslots > 0 &&
		column->role != MTS_ROLE_ATTRIBUTE &&
		(value->value_type == BSON_TYPE_ARRAY ||
		 value->value_type == BSON_TYPE_REGEX))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
				 errmsg("the value of column \"%s\" cannot be a key",
						column->name),
				 errdetail("MongoDB would find other buckets by %s, too.",
						   value->value_type == BSON_TYPE_ARRAY
							   ? "an array"
							   : "a regular expression")));
}

/*
 * mts_place_check_new
 *		Refuse a new row without a time, or with a value for what can't be
 *		written.
 */
void
mts_place_check_new(const MtsPlacer *placer, TupleTableSlot *slot)
{
	const MtsLayout *layout = &placer->table->layout;
	bool isnull;

	if (mts_place_is_timeless(placer, slot))
		(void) mts_place_time(placer, slot);
	if (!placer->has_read_only)
		return;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		if (!placer->identity->read_only[i])
			continue;
		(void) mts_place_value(placer, slot, i, &isnull);
		if (!isnull)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_COLUMN_NAME),
					 errmsg("column \"%s\" is read-only",
							layout->columns[i].name),
					 errdetail("MongoDB or the writes themselves fill its "
							   "field."),
					 errhint("Leave it out or give NULL.")));
	}
}

/*
 * mts_place_keys
 *		Write a row's keys and attributes, which are its bucket's.
 */
void
mts_place_keys(const MtsPlacer *placer, TupleTableSlot *slot,
			   bson_value_t *values)
{
	const MtsLayout *layout = &placer->table->layout;
	int level = mts_encode_begin();

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		bool isnull;
		Datum datum;

		if (column->container >= 0 || i == layout->time_column ||
			column->role == MTS_ROLE_SLOT || placer->identity->read_only[i])
			continue;
		datum = mts_place_value(placer, slot, i, &isnull);
		mts_encode_value(placer->encoders[i], datum, isnull, &values[i]);
		check_key(placer, column, &values[i]);
	}
	mts_encode_end(level);
	check_filter(placer, values);
}

/*
 * mts_place_identity
 *		The fields that tell a bucket, by its start and its columns' values.
 *
 * They point to values; the rest is palloc'd.
 */
MtsPlaced *
mts_place_identity(const MtsPlacer *placer, MtsTime start,
				   const bson_value_t *values)
{
	const MtsLayout *layout = &placer->table->layout;
	MtsPlaced *fields = palloc(placer->identity->n * sizeof(MtsPlaced));
	bson_value_t *time = palloc0(sizeof(bson_value_t));
	char *text = palloc(MTS_MAX_TIME_TEXT);
	MtsTime stored = start;
	MtsError error;

	time->value_type = BSON_TYPE_NULL;
	if (layout->bucket_time.is_set && layout->nslots > 0 &&
		(!mts_format_encode(&layout->bucket_time.format, &layout->clock, start,
							0, time, text, &stored, &error) ||
		 stored != start))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
				 errmsg("cannot store the time %s of a bucket in MongoDB "
						"collection \"%s.%s\"",
						timestamptz_to_str(start), placer->table->database,
						placer->table->collection),
				 errdetail("%s", stored != start
									 ? "It is finer than its format can store."
									 : error.detail)));
	mts_identity_fields(placer->identity, values, time, fields);
	return fields;
}

/*
 * mts_place_selector
 *		The query that finds a bucket, by its start and its columns' values.
 */
bson_t *
mts_place_selector(const MtsPlacer *placer, MtsTime start,
				   const bson_value_t *values)
{
	return mts_identity_selector(placer->identity,
								 mts_place_identity(placer, start, values));
}
