/*
 * row_target.c
 *		Compute the bucket, the slot and the stored values of a row.
 *
 * A row that cannot be stored exactly is an error here, before anything is
 * sent.  A time that is finer than its slot is an error, too, unless option
 * "on_subresolution" rounds it down; then the row gets the rounded time.
 */
#include "modify/row_target.h"

#include "catalog/pg_type.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "convert/number.h"
#include "driver/document.h"

/*
 * What is known of the last row.  The next one often has the same bucket, or
 * the same time.
 */
typedef struct MtsLastRow
{
	MtsRange bucket;    /* empty if the next row can have another start */
	bool has_slots;     /* slots is set */
	MtsSlotClock slots; /* of the last bucket */
	bool has_slot;      /* the rest is set */
	MtsTime time;       /* what mts_layout_slot_index_in has found for it */
	MtsTime exact;
	int64_t index[MTS_MAX_SLOTS];
} MtsLastRow;

/*
 * mts_row_target_prepare
 *		Prepare to compute the targets of a table's rows.
 */
MtsTargeting *
mts_row_target_prepare(const MtsTable *table)
{
	const MtsLayout *layout = &table->layout;
	MtsTargeting *targeting = palloc0(sizeof(MtsTargeting));

	targeting->table = table;
	targeting->identity = mts_identity_make(table);
	targeting->encoders = palloc0(layout->ncolumns * sizeof(MtsToBson *));
	targeting->values = palloc(layout->ncolumns * sizeof(int));
	targeting->last = palloc0(sizeof(MtsLastRow));
	targeting->hides_stored = !mts_table_shows_values(table);
	for (int i = 0; i < layout->ncolumns; i++)
	{
		if (i != layout->time_column && !table->attributes[i].dropped)
		{
			targeting->encoders[i] = mts_to_bson_prepare(table, i);
			targeting->needs_settings |= !targeting->encoders[i]->is_plain;
		}
		targeting->has_read_only |= targeting->identity->read_only[i];
		targeting->has_text_slots |= layout->columns[i].role == MTS_ROLE_SLOT;
		if (layout->columns[i].role == MTS_ROLE_VALUE)
			targeting->values[targeting->nvalues++] = i;
	}
	if (layout->time_column >= 0)
	{
		targeting->time_type =
			getBaseType(table->attributes[layout->time_column].typid);
		targeting->time_is_key = mts_layout_time_is_key(layout);
		/* a time that cannot be written is not inserted, and stays */
		targeting->has_own_time =
			layout->time_kind != MTS_TIME_SLOTS && !targeting->time_is_key &&
			mts_format_is_writable(&mts_layout_time_column(layout)->format);
	}
	return targeting;
}

/* Raise an error: a time is finer than its slot or format. */
static _Noreturn void
refuse_time(const MtsTargeting *targeting, MtsTime t)
{
	bool has_slots = targeting->table->layout.time_kind == MTS_TIME_SLOTS;

	ereport(
		ERROR,
		(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
		 errmsg("the time %s is too precise for MongoDB collection \"%s.%s\"",
				timestamptz_to_str(t), targeting->table->database,
				targeting->table->collection),
		 errdetail(
			 "%s",
			 has_slots
				 ? "A slot stores one point, whose time is the start of the slot."
				 : "The stored time would be earlier than the given time."),
		 errhint(
			 "Round the time, for example with date_trunc(), or set option \"on_subresolution\" to \"truncate\".")));
}

/* Raise an error: a point's own time cannot be stored. */
static _Noreturn void
refuse_own_time(const MtsTargeting *targeting, MtsTime t, const char *detail)
{
	ereport(ERROR, (errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
					errmsg("cannot store the time %s in MongoDB collection "
						   "\"%s.%s\"",
						   timestamptz_to_str(t), targeting->table->database,
						   targeting->table->collection),
					errdetail("%s", detail)));
	pg_unreachable();
}

/* Raise an error: the slots of a bucket count local time, and none means t. */
static _Noreturn void
refuse_local_time(const MtsTargeting *targeting, MtsTime t)
{
	const MtsLayout *layout = &targeting->table->layout;
	bool is_repeated = mts_slot_clock_first(&layout->clock, t) != t;

	ereport(
		ERROR,
		(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
		 errmsg("no slot of MongoDB collection \"%s.%s\" can hold the time %s",
				targeting->table->database, targeting->table->collection,
				timestamptz_to_str(t)),
		 errdetail(
			 "%s",
			 is_repeated
				 ? "The slots count local time, and clocks show this local time twice. Its slot means the first time."
				 : "The slots count local time, and clocks skip the local time at which its slot begins."),
		 errhint(
			 "%s",
			 is_repeated
				 ? "Store such points in a collection whose slots count elapsed time, or in slots that carry a time of their own."
				 : "Round the time to a slot that exists.")));
	pg_unreachable();
}

/*
 * Convert the time of a row to an instant.  A local time that clocks show
 * twice is the first one where slots of local time mean that one.
 */
static MtsTime
instant_of(const MtsTargeting *targeting, Datum time)
{
	const MtsLayout *layout = &targeting->table->layout;
	MtsTime t = mts_to_bson_instant(targeting->table,
									layout->columns[layout->time_column].name,
									targeting->time_type, time);

	return layout->slots_are_local && layout->time_kind == MTS_TIME_SLOTS &&
				   targeting->time_type != TIMESTAMPTZOID
			   ? mts_slot_clock_first(&layout->clock, t)
			   : t;
}

/* Return the instant of a row; raise an error where its time is null. */
static MtsTime
row_time(const MtsTargeting *targeting, TupleTableSlot *slot)
{
	const MtsLayout *layout = &targeting->table->layout;
	int column = layout->time_column;

	if (slot->tts_isnull[column])
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("the time in column \"%s\" is null",
						layout->columns[column].name),
				 errdetail("A point cannot be stored without a time.")));
	return instant_of(targeting, slot->tts_values[column]);
}

/*
 * mts_row_target_is_timeless
 *		Tell whether a row is a document without a time.
 *
 * Such a document can be changed, not inserted.
 */
bool
mts_row_target_is_timeless(const MtsTargeting *targeting, TupleTableSlot *slot)
{
	const MtsLayout *layout = &targeting->table->layout;

	return layout->nslots == 0 && layout->time_column >= 0 &&
		   slot->tts_isnull[layout->time_column];
}

/*
 * Write the key that is a time; set *stored to the time of the key, which can
 * be earlier.
 */
static char *
time_key(const MtsTargeting *targeting, MtsTime t, MtsTime *stored)
{
	const MtsLayout *layout = &targeting->table->layout;
	char *key = palloc(MTS_MAX_TIME_TEXT);
	MtsError error = {"", NULL};

	if (!mts_format_encode_key(&layout->key_format, &layout->clock, t, key,
							   stored, &error))
		refuse_own_time(targeting, t, error.detail);
	if (!mts_slot_key_text_is_addressable(key, strlen(key)))
		refuse_own_time(
			targeting, t,
			psprintf(
				"Its key \"%s\" has a period or begins with a dollar sign, which MongoDB does not treat as a part of a name.",
				key));
	return key;
}

/*
 * mts_row_target_stays
 *		Tell whether a point keeps its bucket and slot when its time
 *		changes.
 *
 * start is that of the bucket.
 */
bool
mts_row_target_stays(const MtsTargeting *targeting, MtsTime start,
					 Datum old_time, TupleTableSlot *new_row)
{
	const MtsLayout *layout = &targeting->table->layout;
	MtsTime from = instant_of(targeting, old_time);
	MtsTime to = row_time(targeting, new_row);
	int64_t old_index[MTS_MAX_SLOTS], new_index[MTS_MAX_SLOTS];
	MtsTime exact;

	if (targeting->time_is_key && strcmp(time_key(targeting, from, &exact),
										 time_key(targeting, to, &exact)) != 0)
		return false;
	if (layout->nslots == 0 || !layout->bucket_time.is_set)
		return true;
	return mts_layout_slot_index(layout, start, from, old_index, &exact) &&
		   mts_layout_slot_index(layout, start, to, new_index, &exact) &&
		   mts_layout_slot_number(layout, old_index) ==
			   mts_layout_slot_number(layout, new_index);
}

/* Set the row's time to the rounded one, for RETURNING. */
static void
set_time(const MtsTargeting *targeting, TupleTableSlot *slot, MtsTime t)
{
	const MtsLayout *layout = &targeting->table->layout;

	if (targeting->time_type != TIMESTAMPTZOID && layout->clock.to_local)
		t = layout->clock.to_local(layout->clock.arg, t);
	slot->tts_values[layout->time_column] =
		targeting->time_type == DATEOID
			? DateADTGetDatum((DateADT) ((t - (t < 0) * (USECS_PER_DAY - 1)) /
										 USECS_PER_DAY))
			: TimestampGetDatum(t);
}

/*
 * mts_row_target_refuse_bucket
 *		Raise an error: no bucket can hold a time.
 */
_Noreturn void
mts_row_target_refuse_bucket(const MtsTargeting *targeting, MtsTime t)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
			 errmsg("no bucket of MongoDB collection \"%s.%s\" can hold the "
					"time %s",
					targeting->table->database, targeting->table->collection,
					timestamptz_to_str(t))));
	pg_unreachable();
}

/*
 * Return the start of the bucket of a time; known is given where the start is
 * known.
 */
static MtsTime
find_bucket(const MtsTargeting *targeting, const MtsTime *known, MtsTime t)
{
	const MtsLayout *layout = &targeting->table->layout;
	MtsRange *last = &targeting->last->bucket;
	MtsTime start, end;

	if (layout->nslots == 0 || !layout->bucket_time.is_set)
		return MTS_TIME_MIN;
	if (!known && last->from <= t && t < last->to)
		return last->from;
	/* a bucket without a span holds its own time */
	start = known ? *known
			: mts_span_is_zero(layout->span)
				? t
				: mts_clock_floor(&layout->clock, t, layout->span);
	if (!mts_layout_bucket_end(layout, start, &end) || t < start ||
		(t >= end && t != start))
		mts_row_target_refuse_bucket(targeting, t);
	/* where midnight occurs twice, a time before the end has another start */
	if (!known && !layout->clock.to_local)
		*last = (MtsRange){start, end};
	return start;
}

/*
 * Find the slot of a time in its bucket, and the time of the slot.  The result
 * is that of the last row where that had the same time.
 */
static bool
find_index(const MtsTargeting *targeting, MtsTime start, MtsTime t,
		   int64_t *index, MtsTime *exact)
{
	const MtsLayout *layout = &targeting->table->layout;
	MtsLastRow *last = targeting->last;

	if (!last->has_slots || last->slots.bucket.from != start)
	{
		last->has_slot = false;
		last->has_slots = mts_layout_slot_clock(layout, start, &last->slots);
	}
	if (last->has_slots && (!last->has_slot || last->time != t))
	{
		last->time = t;
		last->has_slot = mts_layout_slot_index_in(layout, &last->slots, t,
												  last->index, &last->exact);
	}
	if (!last->has_slots || !last->has_slot)
		return false;
	for (int i = 0; i < layout->nslots; i++)
		index[i] = last->index[i];
	*exact = last->exact;
	return true;
}

/*
 * mts_row_target_key_problem
 *		Return why no update can name a key of a slot, or NULL if one can.
 */
const char *
mts_row_target_key_problem(const char *key, size_t len)
{
	if (len == 0)
		return "The value is empty.";
	if (!mts_slot_key_text_is_addressable(key, len))
		return "The value has a period or begins with a dollar sign, which MongoDB does not treat as a part of a name.";
	if (len > MTS_MAX_SLOT_TEXT)
		return "The value is longer than 1000 bytes.";
	return NULL;
}

/*
 * mts_row_target_refuse_key
 *		Raise an error: the value of a column is not the key of a slot.
 */
_Noreturn void
mts_row_target_refuse_key(const MtsTargeting *targeting, int column,
						  int sqlstate, const char *problem)
{
	ereport(ERROR,
			(errcode(sqlstate),
			 errmsg("the value of column \"%s\" cannot be the key of a slot",
					targeting->table->layout.columns[column].name),
			 errdetail("%s", problem)));
	pg_unreachable();
}

/*
 * mts_row_target_slot_key
 *		Return the key of a row in the slot of a column, in UTF-8.
 */
char *
mts_row_target_slot_key(const MtsTargeting *targeting, TupleTableSlot *slot,
						int column)
{
	const char *problem;
	char *key;

	if (slot->tts_isnull[column])
		mts_row_target_refuse_key(targeting, column,
								  ERRCODE_NOT_NULL_VIOLATION,
								  "The value is null.");
	key = mts_document_utf8(
		OutputFunctionCall(&targeting->encoders[column]->output,
						   slot->tts_values[column]));
	problem = mts_row_target_key_problem(key, strlen(key));
	if (problem)
		mts_row_target_refuse_key(targeting, column,
								  ERRCODE_FDW_INVALID_STRING_FORMAT, problem);
	return key;
}

/* Find the slot of a point in its bucket, and round its time to the slot. */
static void
find_slot(const MtsTargeting *targeting, TupleTableSlot *slot, MtsTime start,
		  MtsChange *change)
{
	const MtsLayout *layout = &targeting->table->layout;
	MtsTime exact = change->time;
	Size bytes = 0;

	if (layout->nslots > 0 && layout->bucket_time.is_set &&
		!find_index(targeting, start, change->time, change->index, &exact))
	{
		if (layout->slots_are_local)
			refuse_local_time(targeting, change->time);
		mts_row_target_refuse_bucket(targeting, change->time);
	}
	for (int i = 0; i < layout->ncolumns && targeting->has_text_slots; i++)
		if (layout->columns[i].role == MTS_ROLE_SLOT)
		{
			char *text = i == layout->time_column
							 ? time_key(targeting, change->time, &exact)
							 : mts_row_target_slot_key(targeting, slot, i);

			change->texts[layout->columns[i].slot] = text;
			bytes += strlen(text);
		}
	if (bytes > MTS_MAX_SLOT_TEXT)
		ereport(ERROR, (errcode(ERRCODE_FDW_INVALID_STRING_FORMAT),
						errmsg("the keys of a point's slots are too long"),
						errdetail("Together they have more than %d bytes.",
								  MTS_MAX_SLOT_TEXT)));
	if (layout->time_kind == MTS_TIME_SLOTS)
		change->time = exact;
}

/* Encode the time field of a point or document. */
static void
encode_own_time(const MtsTargeting *targeting, MtsTime start,
				MtsChange *change)
{
	const MtsLayout *layout = &targeting->table->layout;
	const MtsColumn *column = mts_layout_time_column(layout);
	char *text = palloc(MTS_MAX_TIME_TEXT);
	MtsError error;
	MtsTime t = change->time;

	if (!mts_format_encode(&column->format, &layout->clock, t, start,
						   &change->items[column->place], text, &change->time,
						   &error))
		refuse_own_time(targeting, t, error.detail);
}

/*
 * Tell whether a value would be read as no reading: the column's missing
 * value is, and an empty document where a value is expected.
 */
static bool
is_no_reading(const MtsTargeting *targeting, const MtsColumn *column,
			  const bson_value_t *value)
{
	const MtsLayout *layout = &targeting->table->layout;
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
 * Encode the values of a point.  At least one must be a reading, which can be
 * null unless null is the missing value; an increment must not be null.
 */
static void
encode_values(const MtsTargeting *targeting, TupleTableSlot *slot,
			  MtsChange *change)
{
	const MtsLayout *layout = &targeting->table->layout;
	bool has_reading = !layout->has_missing;
	bool has_value = change->kind != MTS_CHANGE_ADD;
	int level = targeting->needs_settings ? mts_to_bson_push_settings() : 0;

	for (int j = 0; j < targeting->nvalues; j++)
	{
		int i = targeting->values[j];
		const MtsColumn *column = &layout->columns[i];
		bson_value_t *value = &change->items[column->place];
		bool is_missing;

		mts_to_bson_value(targeting->encoders[i], slot->tts_values[i],
						  slot->tts_isnull[i], value);
		is_missing = is_no_reading(targeting, column, value);
		if (is_missing && !slot->tts_isnull[i])
			ereport(
				ERROR,
				(errcode(ERRCODE_CHECK_VIOLATION),
				 errmsg(
					 "the value of column \"%s\" is reserved for slots without a point",
					 column->name),
				 errdetail("The row would not be visible.")));
		has_reading |= !is_missing;
		has_value |= value->value_type != BSON_TYPE_NULL;
	}
	if (targeting->needs_settings)
		mts_to_bson_pop_settings(level);
	if (!has_reading)
		ereport(
			ERROR,
			(errcode(ERRCODE_NOT_NULL_VIOLATION),
			 errmsg(
				 "the values of the row are reserved for slots without a point"),
			 errdetail(
				 "The row would not be visible, because of option \"missing_value\" of the columns.")));
	if (!has_value)
		ereport(ERROR, (errcode(ERRCODE_NOT_NULL_VIOLATION),
						errmsg("cannot add null to a counter"),
						errdetail("Option \"write_mode\" of the foreign "
								  "table is \"increment\".")));
}

/* The memory of a change, with what it points to except for the values' */
static Size
change_size(const MtsLayout *layout)
{
	return sizeof(MtsChange) + layout->nplaces * sizeof(bson_value_t) +
		   layout->nslots * (sizeof(int64_t) + sizeof(char *));
}

/* Point a change to its slots and values, which lie behind it. */
static void
init_change(const MtsLayout *layout, MtsChange *change)
{
	change->items = (bson_value_t *) (change + 1);
	change->index = (int64_t *) (change->items + layout->nplaces);
	change->texts = (const char **) (change->index + layout->nslots);
}

/*
 * mts_row_target_new_change
 *		Make a change whose slots and values are zero.
 */
MtsChange *
mts_row_target_new_change(const MtsLayout *layout)
{
	MtsChange *change = palloc0(change_size(layout));

	init_change(layout, change);
	return change;
}

/* Copy a value, with all that it points to. */
static bson_value_t
copy_value(const bson_value_t *value)
{
	bson_value_t copy = *value;
	bson_iter_t iter;
	bson_t *doc;

	switch (value->value_type)
	{
		case BSON_TYPE_EOD:
		case BSON_TYPE_NULL:
		case BSON_TYPE_BOOL:
		case BSON_TYPE_INT32:
		case BSON_TYPE_INT64:
		case BSON_TYPE_DOUBLE:
		case BSON_TYPE_DECIMAL128:
		case BSON_TYPE_DATE_TIME:
		case BSON_TYPE_OID:
			return copy;
		case BSON_TYPE_UTF8:
			copy.value.v_utf8.str =
				pnstrdup(value->value.v_utf8.str, value->value.v_utf8.len);
			return copy;
		default:
			doc = mts_document_new();
			bson_append_value(doc, "", 0, value);
			(void) bson_iter_init(&iter, doc);
			(void) bson_iter_next(&iter);
			return *bson_iter_value(&iter);
	}
}

/* mts_row_target_copy_values: copy values, with all that they point to. */
void
mts_row_target_copy_values(int n, const bson_value_t *values,
						   bson_value_t *copy)
{
	for (int i = 0; i < n; i++)
		copy[i] = copy_value(&values[i]);
}

/*
 * mts_row_target_copy_change
 *		Copy the change of a point into the current memory context.
 */
MtsChange *
mts_row_target_copy_change(const MtsLayout *layout, const MtsChange *change)
{
	Size size = change_size(layout);
	MtsChange *copy = memcpy(palloc(size), change, size);

	init_change(layout, copy);
	for (int i = 0; i < layout->nslots; i++)
		if (copy->texts[i])
			copy->texts[i] = pstrdup(copy->texts[i]);
	mts_row_target_copy_values(layout->nplaces, change->items, copy->items);
	return copy;
}

/*
 * mts_row_target_make
 *		Compute the target of a row.
 *
 * start is that of the row's bucket, or NULL where it is not known.  Sets the
 * row's time where that is rounded.
 */
MtsRowTarget
mts_row_target_make(const MtsTargeting *targeting, TupleTableSlot *slot,
					const MtsTime *start)
{
	const MtsLayout *layout = &targeting->table->layout;
	MtsChange *change = mts_row_target_new_change(layout);
	MtsRowTarget target = {MTS_TIME_MIN, change};

	change->kind = layout->write_mode == MTS_WRITE_INCREMENT ? MTS_CHANGE_ADD
															 : MTS_CHANGE_SET;
	if (layout->time_column >= 0 &&
		!mts_row_target_is_timeless(targeting, slot))
	{
		MtsTime given = row_time(targeting, slot);

		change->time = given;
		/* the bucket is that of the rounded time */
		if (targeting->time_is_key)
			(void) time_key(targeting, given, &change->time);
		target.start = find_bucket(targeting, start, change->time);
		find_slot(targeting, slot, target.start, change);
		if (targeting->has_own_time)
			encode_own_time(targeting, target.start, change);
		if (change->time != given && !layout->truncate)
			refuse_time(targeting, given);
		if (change->time != given)
			set_time(targeting, slot, change->time);
	}
	encode_values(targeting, slot, change);
	return target;
}

/* ---- The bucket --------------------------------------------------------- */

/*
 * mts_row_target_same_value
 *		Tell whether two BSON values are equal; numbers can differ in type.
 */
bool
mts_row_target_same_value(const bson_value_t *a, const bson_value_t *b)
{
	bson_t left = BSON_INITIALIZER, right = BSON_INITIALIZER;
	bool same;

	if (mts_number_is_number(a) && mts_number_is_number(b))
		return mts_number_compare_values(a, b) == 0;
	bson_append_value(&left, "v", 1, a);
	bson_append_value(&right, "v", 1, b);
	same = bson_equal(&left, &right);
	bson_destroy(&left);
	bson_destroy(&right);
	return same;
}

/* Refuse a row that the table's filter would hide. */
static void
check_filter(const MtsTargeting *targeting, const bson_value_t *values)
{
	const MtsIdentity *identity = targeting->identity;

	for (int i = 0; i < identity->n; i++)
	{
		const MtsIdentityPart *part = &identity->parts[i];

		if (part->fixed.value_type == BSON_TYPE_EOD || part->column < 0 ||
			mts_row_target_same_value(&part->fixed, &values[part->column]))
			continue;
		ereport(
			ERROR,
			(errcode(ERRCODE_WITH_CHECK_OPTION_VIOLATION),
			 errmsg("the value of column \"%s\" violates the filter of "
					"the foreign table",
					targeting->table->layout.columns[part->column].name),
			 errdetail("The row would not be visible in the table."),
			 errhint(
				 "Give the value that option \"filter\" requires of the column's field.")));
	}
}

/*
 * Refuse an array or a regular expression as a key: a query for it would find
 * other buckets, too.  No query has attributes.
 */
static void
check_key(const MtsTargeting *targeting, const MtsColumn *column,
		  const bson_value_t *value)
{
	if (targeting->table->layout.nslots > 0 &&
		column->role != MTS_ROLE_ATTRIBUTE &&
		(value->value_type == BSON_TYPE_ARRAY ||
		 value->value_type == BSON_TYPE_REGEX))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
				 errmsg("the value of column \"%s\" cannot be a key",
						column->name),
				 errdetail("A condition on %s would also match other buckets.",
						   value->value_type == BSON_TYPE_ARRAY
							   ? "an array"
							   : "a regular expression")));
}

/*
 * mts_row_target_check_new
 *		Refuse a new row that has no time, or has a value in a column that
 *		cannot be written.
 */
void
mts_row_target_check_new(const MtsTargeting *targeting, TupleTableSlot *slot)
{
	const MtsLayout *layout = &targeting->table->layout;

	if (mts_row_target_is_timeless(targeting, slot))
		(void) row_time(targeting, slot);
	if (!targeting->has_read_only)
		return;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		if (!targeting->identity->read_only[i])
			continue;
		if (!slot->tts_isnull[i])
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_COLUMN_NAME),
					 errmsg("column \"%s\" is read-only",
							layout->columns[i].name),
					 errdetail(
						 "MongoDB or the extension maintains its field."),
					 errhint("Omit the column, or give NULL.")));
	}
}

/*
 * mts_row_target_encode_column
 *		Encode the value of a row in a column that is not the time.
 */
void
mts_row_target_encode_column(const MtsTargeting *targeting,
							 TupleTableSlot *slot, int column,
							 bson_value_t *value)
{
	int level = mts_to_bson_push_settings();

	mts_to_bson_value(targeting->encoders[column], slot->tts_values[column],
					  slot->tts_isnull[column], value);
	mts_to_bson_pop_settings(level);
}

/*
 * mts_row_target_encode_bucket
 *		Encode the values of a row that are its bucket's, by column: keys and
 *		attributes.
 */
void
mts_row_target_encode_bucket(const MtsTargeting *targeting,
							 TupleTableSlot *slot, bson_value_t *values)
{
	const MtsLayout *layout = &targeting->table->layout;
	int level = mts_to_bson_push_settings();

	for (int i = 0; i < layout->ncolumns; i++)
	{
		if (!mts_row_target_is_of_bucket(targeting, i))
			continue;
		mts_to_bson_value(targeting->encoders[i], slot->tts_values[i],
						  slot->tts_isnull[i], &values[i]);
		check_key(targeting, &layout->columns[i], &values[i]);
	}
	mts_to_bson_pop_settings(level);
	check_filter(targeting, values);
}

/*
 * mts_row_target_identity
 *		Return the fields that identify a bucket, by its start and the values
 *		of its columns.
 *
 * The fields point to values; the rest is palloc'd.
 */
MtsFieldValue *
mts_row_target_identity(const MtsTargeting *targeting, MtsTime start,
						const bson_value_t *values)
{
	const MtsLayout *layout = &targeting->table->layout;
	MtsFieldValue *fields =
		palloc(targeting->identity->n * sizeof(MtsFieldValue));
	bson_value_t *time = palloc0(sizeof(bson_value_t));
	char *text = palloc(MTS_MAX_TIME_TEXT);
	MtsTime stored = start;
	MtsError error;

	time->value_type = BSON_TYPE_NULL;
	if (layout->bucket_time.is_set && layout->nslots > 0 &&
		(!mts_format_encode(&layout->bucket_time.format, &layout->clock, start,
							0, time, text, &stored, &error) ||
		 stored != start))
		ereport(
			ERROR,
			(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
			 errmsg("cannot store the time %s of a bucket in MongoDB "
					"collection \"%s.%s\"",
					timestamptz_to_str(start), targeting->table->database,
					targeting->table->collection),
			 errdetail(
				 "%s",
				 stored != start
					 ? "The time is more precise than its format can store."
					 : error.detail)));
	mts_identity_fields(targeting->identity, values, time, fields);
	return fields;
}

/*
 * mts_row_target_selector
 *		Return the query that finds a bucket, by its start and the values of
 *		its columns.
 */
bson_t *
mts_row_target_selector(const MtsTargeting *targeting, MtsTime start,
						const bson_value_t *values)
{
	return mts_identity_selector(targeting->identity,
								 mts_row_target_identity(targeting, start,
														 values));
}
