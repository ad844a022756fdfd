/*
 * table_column.c
 *		Read a foreign table's columns and their options.
 *
 * What becomes of them together is table.c's and the layout's to say.
 */
#include "table.h"

#include "catalog/pg_type.h"
#include "foreign/foreign.h"
#include "utils/builtins.h"

#include "document.h"

static MtsMissing
parse_missing(const char *text)
{
	MtsMissing missing = {MTS_MISSING_NONE};
	char *end;

	if (!text)
		return missing;
	missing.text = mts_document_utf8(text);
	missing.number = strtod(text, &end);
	if (strcmp(text, "null") == 0)
		missing.kind = MTS_MISSING_NULL;
	else if (*end == '\0')
		missing.kind = MTS_MISSING_NUMBER;
	else
		missing.kind = MTS_MISSING_TEXT;
	return missing;
}

/* The BSON type that the option bson_type names for a key, or its SQL type */
static MtsKeyType
key_type(const char *bson_type, const MtsColumn *column, Oid typid)
{
	if (!bson_type)
	{
		/* the text of an _id may be that of an ObjectId */
		if (column->path.nsteps == 0 ||
			(column->path.nsteps == 1 && column->path.nslots == 0 &&
			 strcmp(column->path.steps[0].name, "_id") == 0 &&
			 (typid == TEXTOID || typid == VARCHAROID || typid == BPCHAROID)))
			return MTS_KEY_ANY;
		switch (typid)
		{
			case INT2OID:
			case INT4OID:
			case INT8OID:
			case FLOAT4OID:
			case FLOAT8OID:
			case NUMERICOID:
				return MTS_KEY_IS_NUMBER;
			case TEXTOID:
			case VARCHAROID:
			case BPCHAROID:
				return MTS_KEY_IS_STRING;
			case BOOLOID:
				return MTS_KEY_IS_BOOL;
			case TIMESTAMPTZOID:
			case TIMESTAMPOID:
			case DATEOID:
				return column->format.kind == MTS_FORMAT_DATE
						   ? MTS_KEY_IS_DATE
						   : MTS_KEY_IS_TIME;
			default:
				return MTS_KEY_ANY;
		}
	}
	if (strcmp(bson_type, "string") == 0)
		return MTS_KEY_IS_STRING;
	if (strcmp(bson_type, "date") == 0)
		return MTS_KEY_IS_DATE;
	if (strcmp(bson_type, "bool") == 0)
		return MTS_KEY_IS_BOOL;
	if (strcmp(bson_type, "objectId") == 0)
		return MTS_KEY_IS_OID;
	return MTS_KEY_IS_NUMBER;
}

static void
read_column(MtsTable *table, Form_pg_attribute att, MtsColumn *column,
			MtsAttribute *attribute)
{
	List *options = GetForeignColumnOptions(table->relid, att->attnum);
	const char *field = mts_option_get(options, "field");
	const char *format = mts_option_get(options, "format");
	const char *role = mts_option_get(options, "role");
	const char *bson_type = mts_option_get(options, "bson_type");

	column->name = pstrdup(NameStr(att->attname));
	if (!field)
	{
		/* a name is no path: what has a meaning in one is escaped */
		MtsStep *step = &column->path.steps[0];

		column->path.nsteps = 1;
		step->kind = MTS_STEP_NAME;
		step->name = mts_document_utf8(column->name);
		step->len = strlen(step->name);
	}
	else
		mts_table_parse_path(table, field, &column->path);
	mts_table_parse_format(table, format ? format : "date", &column->format);
	if (format && !mts_table_is_time_type(att->atttypid))
		mts_table_refuse(
			table,
			psprintf("Column \"%s\" has option \"format\", but type %s.",
					 column->name, format_type_be(att->atttypid)),
			"Option \"format\" is for columns of type timestamptz, timestamp or date.");
	column->role = !role || strcmp(role, "key") == 0 ? MTS_ROLE_KEY
				   : strcmp(role, "time") == 0       ? MTS_ROLE_TIME
													 : MTS_ROLE_ATTRIBUTE;
	if (column->role == MTS_ROLE_TIME &&
		!mts_table_is_time_type(att->atttypid))
		mts_table_refuse(
			table,
			psprintf("Column \"%s\" has role \"time\", but type %s.",
					 column->name, format_type_be(att->atttypid)),
			"The time must be a column of type timestamptz, timestamp or date.");
	if (bson_type && column->format.kind != MTS_FORMAT_DATE)
		mts_table_refuse(
			table,
			psprintf("Column \"%s\" has both option \"format\" and option "
					 "\"bson_type\".",
					 column->name),
			"Option \"format\" alone says how a time is stored.");
	if (role && strcmp(role, "key") == 0 && column->path.nslots > 0)
		mts_table_refuse(
			table,
			psprintf("Column \"%s\" has role \"key\", but its path has a "
					 "slot, so it belongs to a point, not to the bucket.",
					 column->name),
			NULL);
	column->missing = parse_missing(mts_option_get(options, "missing"));
	attribute->attnum = att->attnum;
	attribute->has_role = role != NULL;
	attribute->bson_type = bson_type;
	attribute->typid = att->atttypid;
	attribute->typmod = att->atttypmod;
	attribute->not_null = att->attnotnull;
	attribute->key_type = key_type(bson_type, column, att->atttypid);
}

/*
 * mts_table_read_columns
 *		Read the columns, in the order of the attributes that are not dropped.
 */
void
mts_table_read_columns(Relation relation, MtsTable *table)
{
	TupleDesc desc = RelationGetDescr(relation);
	MtsLayout *layout = &table->layout;

	table->natts = desc->natts;
	table->columns = palloc(desc->natts * sizeof(int));
	table->attributes = palloc0(desc->natts * sizeof(MtsAttribute));
	layout->columns = palloc0(desc->natts * sizeof(MtsColumn));
	layout->containers = palloc0(desc->natts * sizeof(MtsContainer));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		int n = layout->ncolumns;

		table->columns[i] = -1;
		if (att->attisdropped)
			continue;
		read_column(table, att, &layout->columns[n], &table->attributes[n]);
		table->columns[i] = n;
		layout->ncolumns++;
	}
}

/* How MongoDB's $type names what a key holds. */
const char *
mts_key_type_name(MtsKeyType type)
{
	switch (type)
	{
		case MTS_KEY_IS_NUMBER:
			return "number";
		case MTS_KEY_IS_STRING:
			return "string";
		case MTS_KEY_IS_DATE:
			return "date";
		case MTS_KEY_IS_BOOL:
			return "bool";
		case MTS_KEY_IS_OID:
			return "objectId";
		default:
			return NULL;
	}
}
