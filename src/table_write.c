/*
 * table_write.c
 *		Read the options that say how a table is written, and judge them.
 *
 * Pre-aggregates are read here, too: they are the bucket's, and true as long
 * as who writes it keeps them so.
 */
#include "table.h"

#include "catalog/pg_type.h"
#include "foreign/foreign.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

static void
read_column(MtsTable *table, MtsColumn *column, const MtsAttribute *attribute)
{
	static const char *const names[] = {"sum_field", "min_field", "max_field"};
	MtsField *fields[] = {&column->sum, &column->min, &column->max};
	List *options = GetForeignColumnOptions(table->relid, attribute->attnum);
	Oid typid = getBaseType(attribute->typid);

	column->may_be_nan =
		typid == FLOAT4OID || typid == FLOAT8OID || typid == NUMERICOID;
	column->is_wide = typid == INT8OID;
	for (int i = 0; i < (int) lengthof(names); i++)
	{
		mts_table_parse_field(table, options, names[i], fields[i]);
		if (!fields[i]->is_set)
			continue;
		if (column->role != MTS_ROLE_VALUE)
			mts_table_refuse(
				table,
				psprintf("Column \"%s\" has option \"%s\", but is not a "
						 "value of a point.",
						 column->name, names[i]),
				"A value's path has a slot, such as values.{second}.");
		if (!mts_table_is_number_type(typid))
			mts_table_refuse(
				table,
				psprintf("Column \"%s\" has option \"%s\", but type %s.",
						 column->name, names[i],
						 format_type_be(attribute->typid)),
				"Only numbers can have pre-aggregates.");
	}
}

/* The mode that the shape of the layout suggests */
static MtsWriteMode
default_mode(const MtsLayout *layout)
{
	if (layout->nslots == 0)
		return MTS_WRITE_INSERT;
	return layout->slots[layout->nslots - 1]->kind == MTS_STEP_ELEMENT
			   ? MTS_WRITE_PUSH
			   : MTS_WRITE_SET;
}

static void
read_mode(MtsTable *table, const char *name)
{
	MtsLayout *layout = &table->layout;
	static const char *const names[] = {"set", "increment", "push", "insert"};

	layout->write_mode = default_mode(layout);
	if (!name || strcmp(name, names[layout->write_mode]) == 0)
		return;
	if (strcmp(name, "increment") != 0 || layout->write_mode != MTS_WRITE_SET)
		mts_table_refuse(
			table,
			psprintf("The points of the foreign table cannot be written by "
					 "write_mode \"%s\".",
					 name),
			layout->write_mode == MTS_WRITE_SET
				? "Points in slots that count are written by \"set\" or \"increment\"."
			: layout->write_mode == MTS_WRITE_PUSH
				? "Points in an array are written by \"push\"."
				: "Points that are documents of their own are written by \"insert\".");
	layout->write_mode = MTS_WRITE_INCREMENT;
}

/* What is added to is a number. */
static void
check_increments(MtsTable *table)
{
	const MtsLayout *layout = &table->layout;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsAttribute *attribute = &table->attributes[i];
		const char *type = attribute->bson_type;

		if (layout->columns[i].role != MTS_ROLE_VALUE)
			continue;
		if (!mts_table_is_number_type(getBaseType(attribute->typid)) ||
			(type &&
			 (strcmp(type, "string") == 0 || strcmp(type, "bool") == 0)))
			mts_table_refuse(table,
							 psprintf("Column \"%s\" is written by "
									  "write_mode \"increment\", but is not "
									  "a number.",
									  layout->columns[i].name),
							 NULL);
	}
}

/*
 * mts_table_read_writing
 *		Read how the table is written; its layout has been built.
 *
 * The table has a problem when the options don't fit together.
 */
void
mts_table_read_writing(List *server_options, List *options, MtsTable *table)
{
	MtsLayout *layout = &table->layout;
	int batch_size = mts_option_get_int(server_options, "batch_size",
										MTS_DEFAULT_BATCH_SIZE);
	bool updatable = mts_option_get_bool(server_options, "updatable", true);

	table->batch_size = mts_option_get_int(options, "batch_size", batch_size);
	table->updatable = mts_option_get_bool(options, "updatable", updatable);
	mts_table_parse_field(table, options, "count_field", &layout->count);
	layout->max_points = mts_option_get_int(options, "bucket_max_points", 0);
	layout->write_once = mts_option_get_bool(options, "write_once", false);
	for (int i = 0; i < layout->ncolumns; i++)
		read_column(table, &layout->columns[i], &table->attributes[i]);
	read_mode(table, mts_option_get(options, "write_mode"));
	if (layout->write_mode == MTS_WRITE_INCREMENT)
		check_increments(table);
	if (layout->max_points > 0 && layout->write_mode != MTS_WRITE_PUSH)
		mts_table_refuse(
			table,
			"Option \"bucket_max_points\" has no meaning for these points.",
			"It limits arrays that points are pushed to, such as samples[].");
	if (layout->count.is_set && layout->nslots == 0)
		mts_table_refuse(
			table,
			"Option \"count_field\" has no meaning where a document is a row.",
			NULL);
}
