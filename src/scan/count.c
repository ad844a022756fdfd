/*
 * count.c
 *		Have MongoDB count the rows of a table whose documents are rows.
 *
 * To read a document is to convert its needed fields, and a value that its
 * column cannot hold is an error.  So MongoDB also tells whether the fields of
 * all documents that it counts have values which their columns hold for
 * certain.  If not, the documents are read.
 *
 * This file decides by types and limits of values.  It is not certain of text,
 * which can be malformed, except where a condition compares it with a text of
 * PostgreSQL.
 */
#include "scan/count.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "utils/timestamp.h"

#include "driver/document.h"
#include "pushdown/qual.h"

/* ---- Values that a column holds ----------------------------------------- */

/* A qual on a column that all rows satisfy; NULL if there is none */
static const MtsQual *
find_qual(List *quals, int column)
{
	const MtsQual *found = NULL;
	ListCell *lc;

	foreach (lc, quals)
	{
		const MtsQual *qual = lfirst(lc);

		if (qual->kind == MTS_QUAL_AND)
			qual = find_qual(qual->args, column);
		else if (qual->kind == MTS_QUAL_OR || qual->column != column)
			continue;
		/* an equality says more than another qual */
		if (qual && (!found || qual->strategy == BTEqualStrategyNumber))
			found = qual;
	}
	return found;
}

/*
 * The BSON types whose values a column holds for certain; NULL if there are
 * none.  Of times only dates between certain limits are.
 */
static const bson_t *
find_types(const MtsTable *table, int column, const MtsQual *qual)
{
	const MtsAttribute *attribute = &table->attributes[column];
	const char *key = mts_type_key_name(attribute->key_type);

	switch (attribute->typid)
	{
		case BOOLOID:
			return mts_document_make("{0: 'bool'}");
		case INT4OID:
			return mts_document_make("{0: 'int'}");
		case INT8OID:
			return mts_document_make("{0: 'int', 1: 'long'}");
		case FLOAT8OID:
			return mts_document_make("{0: 'double', 1: 'int'}");
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return attribute->typmod < 0 &&
						   (table->is_utc ||
							attribute->typid == TIMESTAMPTZOID) &&
						   table->layout.columns[column].format.kind ==
							   MTS_FORMAT_DATE
					   ? mts_document_make("{0: 'date'}")
					   : NULL;
		case UUIDOID:
			return attribute->key_type == MTS_KEY_IS_UUID
					   ? mts_document_make("{0: %s}", key)
					   : NULL;
		case TEXTOID:
		case VARCHAROID:
			return attribute->typmod < 0 && key && qual &&
						   qual->kind == MTS_QUAL_KEY &&
						   qual->strategy == BTEqualStrategyNumber
					   ? mts_document_make("{0: %s}", key)
					   : NULL;
		default:
			return NULL;
	}
}

/*
 * Append to an array the condition that a column holds the value of a
 * document for certain; false if no condition says so.
 */
static bool
append_certain(const MtsTable *table, int column, const char *field,
			   const MtsQual *qual, bson_t *conditions)
{
	const bson_t *types = find_types(table, column, qual);
	bson_t limits = BSON_INITIALIZER;
	bson_iter_t limit;

	if (!types)
		return false;
	mts_template_push(conditions, "{$in: [{$type: '$%s'}, %a]}", field, types);
	if (mts_type_is_time(table->attributes[column].typid))
		mts_format_bounds(&table->layout.columns[column].format,
						  &table->layout.clock,
						  (MtsRange){MIN_TIMESTAMP, END_TIMESTAMP}, &limits);
	if (table->attributes[column].key_type == MTS_KEY_IS_UUID)
		mts_type_append_uuids(&limits);
	for (bson_iter_init(&limit, &limits); bson_iter_next(&limit);)
		mts_template_push(conditions, "{%s: ['$%s', %v]}",
						  bson_iter_key(&limit), field,
						  bson_iter_value(&limit));
	bson_destroy(&limits);
	return true;
}

/*
 * Append the condition on a needed column; false if there is none.
 *
 * A field below another one is not simply absent if that has another value
 * than a subdocument, which would be an error.
 */
static bool
append_condition(const MtsTable *table, int column, List *quals,
				 bson_t *conditions)
{
	const MtsPath *path = &table->layout.columns[column].path;
	const MtsQual *qual = find_qual(quals, column);
	bson_t *certain = mts_document_new();
	bson_t *either = mts_document_new();
	char field[MTS_MAX_PATH];

	if (path->nsteps == 0 || mts_path_addressable_steps(path) != path->nsteps)
		return false;
	mts_path_dotted(path->steps, path->nsteps, field, sizeof(field));
	if (table->attributes[column].not_null ||
		(qual && qual->kind != MTS_QUAL_NULL))
		return append_certain(table, column, field, qual, conditions);
	if (path->nsteps > 1)
		return false;
	mts_template_push(qual ? conditions : either,
					  "{$in: [{$type: '$%s'}, ['missing', 'null']]}", field);
	if (qual)
		return true;
	if (!append_certain(table, column, field, NULL, certain))
		return false;
	mts_template_push(either, "{$and: %a}", certain);
	mts_template_push(conditions, "{$or: %a}", either);
	return true;
}

/* ---- The count ---------------------------------------------------------- */

/*
 * mts_count_refuses
 *		Tell whether $match refuses the filter of a table, which find accepts.
 *
 * A value that looks like the operator counts as well.
 */
bool
mts_count_refuses(const bson_t *filter)
{
	const char *text = filter ? mts_document_shell(filter) : "";

	return strstr(text, "$where") || strstr(text, "$near");
}

/*
 * mts_count_group
 *		Make the $group stage that counts the rows of the documents that match
 *		quals; NULL if they must be read.
 *
 * needed tells the columns that a scan would read.  It must be exact that the
 * documents match.
 */
bson_t *
mts_count_group(const MtsTable *table, const bool *needed, List *quals)
{
	const MtsLayout *layout = &table->layout;
	bson_t *conditions = mts_document_new();

	if (layout->time_kind != MTS_TIME_FLAT || table->rolling_name ||
		table->on_invalid != MTS_INVALID_ERROR || layout->has_missing ||
		mts_count_refuses(table->filter))
		return NULL;
	for (int i = 0; i < layout->ncolumns; i++)
		if (needed[i] && !append_condition(table, i, quals, conditions))
			return NULL;
	return mts_document_make(
		bson_empty(conditions)
			? "{_id: null, n: {$sum: 1}}"
			: "{_id: null, n: {$sum: 1}, doubtful: {$max: {$not: [{$and: %a}]}}}",
		conditions);
}

/*
 * mts_count_is_possible
 *		Tell whether MongoDB can count the rows that match quals, if a scan
 *		reads these attributes.
 */
bool
mts_count_is_possible(const MtsTable *table, List *attnums, List *quals)
{
	bool *needed = palloc0((table->layout.ncolumns + 1) * sizeof(bool));
	ListCell *lc;

	foreach (lc, attnums)
	{
		if (lfirst_int(lc) <= 0)
			return false;
		needed[lfirst_int(lc) - 1] = true;
	}
	return mts_count_group(table, needed, quals) != NULL;
}

/*
 * mts_count_read
 *		Read the number of rows from the result of the stage; false if the
 *		documents must be read.
 */
bool
mts_count_read(const bson_t *counted, int64 *n)
{
	*n = mts_document_number(counted, "n");
	return mts_document_number(counted, "doubtful") == 0;
}
