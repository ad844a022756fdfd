/*
 * row_target.c
 *		Turn a row into a write: the bucket, the slot and the values.
 *
 * What a row says that can't be stored is an error here, before anything is
 * sent.  A time finer than its slot is one, too, or is rounded down, in the
 * row as well, as on_subresolution says.
 */
#include "modify/row_target.h"

#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "convert/number.h"

/*
 * mts_row_target_prepare
 *		Look up what placing the rows of a table needs.
 */
MtsTargeting *
mts_row_target_prepare(const MtsTable *table)
{
	const MtsLayout *layout = &table->layout;
	MtsTargeting *placer = palloc0(sizeof(MtsTargeting));

	placer->table = table;
	placer->identity = mts_identity_make(table);
	placer->encoders = palloc0(layout->ncolumns * sizeof(MtsToBson *));
	placer->last = palloc0(sizeof(MtsRange));
	for (int i = 0; i < layout->ncolumns; i++)
	{
		if (i != layout->time_column && !table->attributes[i].dropped)
			placer->encoders[i] = mts_to_bson_prepare(table, i);
		placer->has_read_only |= placer->identity->read_only[i];
	}
	if (layout->time_column >= 0)
		placer->time_type =
			getBaseType(table->attributes[layout->time_column].typid);
	return placer;
}

/* Raise that a time is finer than what is stored. */
static _Noreturn void
refuse_time(const MtsTargeting *placer, MtsTime t)
{
	bool has_slots = placer->table->layout.time_kind == MTS_TIME_SLOTS;

	ereport(
		ERROR,
		(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
		 errmsg("the time %s is finer than what MongoDB collection \"%s.%s\" "
				"stores",
				timestamptz_to_str(t), placer->table->database,
				placer->table->collection),
		 errdetail("%s", has_slots
							 ? "Two points of one slot would be stored as one."
							 : "It would be read as an earlier time."),
		 errhint("Set option \"on_subresolution\" to \"truncate\" to round "
				 "times down.")));
}

/*
 * mts_row_target_time
 *		The instant of a row; an error when it has none.
 */
MtsTime
mts_row_target_time(const MtsTargeting *placer, TupleTableSlot *slot)
{
	const MtsLayout *layout = &placer->table->layout;
	const MtsColumn *column = mts_layout_time(layout);
	bool isnull;
	Datum datum =
		mts_row_target_value(placer, slot, layout->time_column, &isnull);

	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("the time in column \"%s\" is null", column->name),
				 errdetail("A point is stored by its time.")));
	return mts_to_bson_instant(placer->table, column->name, placer->time_type,
							   datum);
}

/*
 * mts_row_target_is_timeless
 *		Is a row a document without a time?  It can be changed, but not made.
 */
bool
mts_row_target_is_timeless(const MtsTargeting *placer, TupleTableSlot *slot)
{
	const MtsLayout *layout = &placer->table->layout;
	bool isnull = false;

	if (layout->nslots == 0 && layout->time_column >= 0)
		(void) mts_row_target_value(placer, slot, layout->time_column,
									&isnull);
	return isnull;
}

/*
 * mts_row_target_stays
 *		Does a point stay in its bucket and slot when its time changes?
 *
 * start is the bucket's.
 */
bool
mts_row_target_stays(const MtsTargeting *placer, MtsTime start, Datum old_time,
					 TupleTableSlot *new_row)
{
	const MtsLayout *layout = &placer->table->layout;
	const MtsColumn *column = mts_layout_time(layout);
	MtsTime from = mts_to_bson_instant(placer->table, column->name,
									   placer->time_type, old_time);
	MtsTime to = mts_row_target_time(placer, new_row);
	int64_t old_index[MTS_MAX_SLOTS], new_index[MTS_MAX_SLOTS];
	MtsTime exact;

	if (layout->nslots == 0 || !layout->bucket_time.is_set)
		return true;
	return mts_layout_slot_index(layout, start, from, old_index, &exact) &&
		   mts_layout_slot_index(layout, start, to, new_index, &exact) &&
		   mts_layout_slot_number(layout, old_index) ==
			   mts_layout_slot_number(layout, new_index);
}

/* Write the rounded time into the row, for RETURNING. */
static void
set_time(const MtsTargeting *placer, TupleTableSlot *slot, MtsTime t)
{
	const MtsLayout *layout = &placer->table->layout;
	int i = layout->time_column;

	if (placer->time_type != TIMESTAMPTZOID && layout->clock.to_local)
		t = layout->clock.to_local(layout->clock.arg, t);
	if (placer->time_type != DATEOID)
		slot->tts_values[i] = TimestampGetDatum(t);
}

/* The bucket that holds an instant */
static void
find_bucket(const MtsTargeting *placer, const MtsTime *start,
			MtsRowTarget *place)
{
	const MtsLayout *layout = &placer->table->layout;
	MtsRange *last = placer->last;
	MtsTime end;

	if (layout->nslots == 0 || !layout->bucket_time.is_set)
		return;
	if (!start && last->from <= place->time && place->time < last->to)
	{
		place->start = last->from;
		return;
	}
	place->start =
		start ? *start
			  : mts_clock_floor(&layout->clock, place->time, layout->span);
	if (!mts_layout_bucket_end(layout, place->start, &end) ||
		place->time < place->start || place->time >= end)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
				 errmsg("no bucket of MongoDB collection \"%s.%s\" can "
						"hold the time %s",
						placer->table->database, placer->table->collection,
						timestamptz_to_str(place->time))));
	if (!start)
		*last = (MtsRange){place->start, end};
}

/*
 * mts_row_target_text
 *		The text that a row has for the key of a {column} slot.
 */
char *
mts_row_target_text(const MtsTargeting *placer, TupleTableSlot *slot,
					const MtsStep *step)
{
	const MtsLayout *layout = &placer->table->layout;
	int column = 0;
	bool isnull;
	Datum datum;
	bson_value_t value;
	const char *problem = NULL;

	while (strcmp(layout->columns[column].name, step->name) != 0)
		column++;
	datum = mts_row_target_value(placer, slot, column, &isnull);
	mts_to_bson_value(placer->encoders[column], datum, isnull, &value);
	if (isnull)
		problem = "It is null.";
	else if (value.value.v_utf8.len == 0)
		problem = "It is empty.";
	else if (value.value.v_utf8.str[0] == '$' ||
			 strchr(value.value.v_utf8.str, '.'))
		problem = "It has a period, or begins with a dollar sign, which "
				  "MongoDB takes for something else.";
	else if (value.value.v_utf8.len > MTS_MAX_SLOT_TEXT)
		problem = "It is longer than 1000 bytes.";
	if (problem)
		ereport(
			ERROR,
			(errcode(isnull ? ERRCODE_NOT_NULL_VIOLATION
							: ERRCODE_FDW_INVALID_STRING_FORMAT),
			 errmsg("the value of column \"%s\" cannot be the key of a slot",
					step->name),
			 errdetail("%s", problem)));
	return value.value.v_utf8.str;
}

static void
find_slot(const MtsTargeting *placer, TupleTableSlot *slot,
		  MtsRowTarget *place)
{
	const MtsLayout *layout = &placer->table->layout;
	MtsTime exact = place->time;
	Size bytes = 0;

	for (int i = 0; i < layout->nslots; i++)
		place->write.index[i] = 0;
	if (layout->bucket_time.is_set &&
		!mts_layout_slot_index(layout, place->start, place->time,
							   place->write.index, &exact))
		elog(ERROR, "a point does not fit into its bucket");
	for (int i = 0; i < layout->nslots; i++)
		if (layout->slots[i]->kind == MTS_STEP_COLUMN_KEY)
		{
			place->write.texts[i] =
				mts_row_target_text(placer, slot, layout->slots[i]);
			bytes += strlen(place->write.texts[i]);
		}
	if (bytes > MTS_MAX_SLOT_TEXT)
		ereport(ERROR, (errcode(ERRCODE_FDW_INVALID_STRING_FORMAT),
						errmsg("the keys of a point's slots are too long"),
						errdetail("Together they have more than %d bytes.",
								  MTS_MAX_SLOT_TEXT)));
	if (layout->time_kind == MTS_TIME_SLOTS)
		place->time = exact;
}

/* Is the time that of an ObjectId?  It never changes. */
static bool
is_made_by_mongodb(const MtsLayout *layout)
{
	return mts_layout_time(layout)->format.kind == MTS_FORMAT_OID;
}

/* Store the time in the point itself, where it has one. */
static void
encode_own_time(const MtsTargeting *placer, MtsRowTarget *place)
{
	const MtsLayout *layout = &placer->table->layout;
	const MtsColumn *column = mts_layout_time(layout);
	char *text = palloc(MTS_MAX_TIME_TEXT);
	MtsError error;
	MtsTime t = place->time;

	if (mts_format_encode(&column->format, &layout->clock, t, place->start,
						  &place->values[layout->time_column], text,
						  &place->time, &error))
		return;
	ereport(ERROR, (errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
					errmsg("cannot store the time %s in MongoDB collection "
						   "\"%s.%s\"",
						   timestamptz_to_str(t), placer->table->database,
						   placer->table->collection),
					errdetail("%s", error.detail)));
}

/*
 * Is what a value is written as what means "no reading"?  An empty document
 * in the place of a value does, too.
 */
static bool
is_no_reading(const MtsTargeting *placer, const MtsColumn *column,
			  const bson_value_t *value)
{
	const MtsLayout *layout = &placer->table->layout;
	bson_t doc = BSON_INITIALIZER;
	MtsElementCursor cursor;
	MtsElement element;
	bool result;

	if (value->value_type == BSON_TYPE_DOCUMENT && column->container >= 0 &&
		layout->containers[column->container].is_value)
		return value->value.v_doc.data_len <= 5;
	if (column->missing.kind == MTS_MISSING_NONE)
		return false;
	bson_append_value(&doc, "v", 1, value);
	result = mts_element_open(&cursor, bson_get_data(&doc), doc.len) &&
			 mts_element_next(&cursor, &element) == MTS_NEXT_OK &&
			 mts_unfold_is_missing(&column->missing, &element);
	bson_destroy(&doc);
	return result;
}

/*
 * Write the values of a point.  It has a reading, which may be null where that
 * is one; an increment adds something.
 */
static void
encode_values(const MtsTargeting *placer, TupleTableSlot *slot,
			  MtsRowTarget *place)
{
	const MtsLayout *layout = &placer->table->layout;
	bool has_reading = !layout->has_missing;
	bool has_value = place->write.kind != MTS_ADD;
	int level = mts_to_bson_begin();

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		bson_value_t *value = &place->values[i];
		bool isnull, is_none;
		Datum datum;

		if (column->role != MTS_ROLE_VALUE)
			continue;
		datum = mts_row_target_value(placer, slot, i, &isnull);
		mts_to_bson_value(placer->encoders[i], datum, isnull, value);
		is_none = is_no_reading(placer, column, value);
		if (is_none && !isnull)
			ereport(ERROR,
					(errcode(ERRCODE_CHECK_VIOLATION),
					 errmsg("the value of column \"%s\" means that there is "
							"no reading",
							column->name),
					 errdetail("It would not be read back.")));
		has_reading |= !is_none;
		has_value |= value->value_type != BSON_TYPE_NULL;
	}
	mts_to_bson_end(level);
	if (!has_reading)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("the values mean that there is no reading"),
				 errdetail("The point would not be read back, because of "
						   "option \"missing\" of the columns.")));
	if (!has_value)
		ereport(ERROR, (errcode(ERRCODE_NOT_NULL_VIOLATION),
						errmsg("cannot add null to a counter"),
						errdetail("Option \"write_mode\" of the foreign "
								  "table is \"increment\".")));
}

/*
 * mts_row_target_row
 *		Find the bucket and the slot of a row, and write its values.
 *
 * start is that of the bucket, where that is known, else NULL.  What is
 * returned is palloc'd in one piece, what its values point to by itself.
 */
MtsRowTarget *
mts_row_target_row(const MtsTargeting *placer, TupleTableSlot *slot,
				   const MtsTime *start)
{
	const MtsLayout *layout = &placer->table->layout;
	Size size = layout->ncolumns * sizeof(bson_value_t);
	MtsRowTarget *place = palloc0(MAXALIGN(sizeof(MtsRowTarget)) + size);
	MtsTime given;

	place->values =
		(bson_value_t *) ((char *) place + MAXALIGN(sizeof(MtsRowTarget)));
	place->start = MTS_TIME_MIN;
	place->write.values = place->values;
	place->write.kind =
		layout->write_mode == MTS_WRITE_INCREMENT ? MTS_ADD : MTS_PUT;
	if (layout->time_column >= 0 && !mts_row_target_is_timeless(placer, slot))
	{
		given = place->time = mts_row_target_time(placer, slot);
		find_bucket(placer, start, place);
		find_slot(placer, slot, place);
		if (layout->time_kind != MTS_TIME_SLOTS &&
			!(layout->nslots == 0 && is_made_by_mongodb(layout)))
			encode_own_time(placer, place);
		if (place->time != given && !layout->truncate)
			refuse_time(placer, given);
		if (place->time != given)
			set_time(placer, slot, place->time);
		place->write.time = place->time;
	}
	encode_values(placer, slot, place);
	return place;
}

/* ---- The bucket ---------------------------------------------------------- */

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
check_filter(const MtsTargeting *placer, const bson_value_t *values)
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
check_key(const MtsTargeting *placer, const MtsColumn *column,
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
 * mts_row_target_check_new
 *		Refuse a new row without a time, or with a value for what can't be
 *		written.
 */
void
mts_row_target_check_new(const MtsTargeting *placer, TupleTableSlot *slot)
{
	const MtsLayout *layout = &placer->table->layout;
	bool isnull;

	if (mts_row_target_is_timeless(placer, slot))
		(void) mts_row_target_time(placer, slot);
	if (!placer->has_read_only)
		return;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		if (!placer->identity->read_only[i])
			continue;
		(void) mts_row_target_value(placer, slot, i, &isnull);
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
 * mts_row_target_keys
 *		Write a row's keys and attributes, which are its bucket's.
 */
void
mts_row_target_keys(const MtsTargeting *placer, TupleTableSlot *slot,
					bson_value_t *values)
{
	const MtsLayout *layout = &placer->table->layout;
	int level = mts_to_bson_begin();

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		bool isnull;
		Datum datum;

		if (column->container >= 0 || i == layout->time_column ||
			column->role == MTS_ROLE_SLOT || placer->identity->read_only[i])
			continue;
		datum = mts_row_target_value(placer, slot, i, &isnull);
		mts_to_bson_value(placer->encoders[i], datum, isnull, &values[i]);
		check_key(placer, column, &values[i]);
	}
	mts_to_bson_end(level);
	check_filter(placer, values);
}

/*
 * mts_row_target_identity
 *		The fields that tell a bucket, by its start and its columns' values.
 *
 * They point to values; the rest is palloc'd.
 */
MtsFieldValue *
mts_row_target_identity(const MtsTargeting *placer, MtsTime start,
						const bson_value_t *values)
{
	const MtsLayout *layout = &placer->table->layout;
	MtsFieldValue *fields =
		palloc(placer->identity->n * sizeof(MtsFieldValue));
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
 * mts_row_target_selector
 *		The query that finds a bucket, by its start and its columns' values.
 */
bson_t *
mts_row_target_selector(const MtsTargeting *placer, MtsTime start,
						const bson_value_t *values)
{
	return mts_identity_selector(placer->identity,
								 mts_row_target_identity(placer, start,
														 values));
}
