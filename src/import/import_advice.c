/*
 * import_advice.c
 *		Which statement mends a table that was declared on a wrong guess?
 *
 * The statements are hints: nothing here runs them.  Names and paths come from
 * documents, so each is quoted, whatever it is.
 */
#include "import/import.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

/* A text of the inference, in the server's encoding */
static const char *
in_server(const char *text)
{
	return pg_any_to_server(text, strlen(text), PG_UTF8);
}

/* Begin an advice, on a line of its own. */
static void
begin(StringInfo advice, const char *schema, const char *table)
{
	if (advice->len > 0)
		appendStringInfoChar(advice, '\n');
	appendStringInfo(advice, "ALTER FOREIGN TABLE %s",
					 quote_qualified_identifier(schema, table));
}

/* Make the table what another reading says. */
static void
advise_reading(StringInfo advice, const MtsInferred *inferred, int other,
			   const char *schema, const char *table)
{
	const char *separator = "";

	begin(advice, schema, table);
	for (int i = 0; i < inferred->ncolumns; i++)
	{
		const MtsInferColumn *column = &inferred->columns[i];

		if (!column->others[other][0])
			continue;
		appendStringInfo(advice, "%s ALTER COLUMN %s OPTIONS (SET field %s)",
						 separator, quote_identifier(in_server(column->name)),
						 quote_literal_cstr(in_server(column->others[other])));
		separator = ",";
	}
	appendStringInfo(advice, "; makes them %s.", inferred->others[other].what);
}

/* Name the option that may be missing. */
static void
advise_option(StringInfo advice, const MtsInferRemark *remark,
			  const char *schema, const char *table)
{
	begin(advice, schema, table);
	if (remark->column[0])
		appendStringInfo(advice, " ALTER COLUMN %s",
						 quote_identifier(in_server(remark->column)));
	appendStringInfo(advice, " OPTIONS (ADD %s %s); if that is %s.",
					 remark->option,
					 quote_literal_cstr(in_server(remark->value)),
					 strcmp(remark->option, "bucket_max_points") == 0
						 ? "when a bucket is full"
						 : "what it is");
}

/* Is it the last of the reasons why the table can't be written? */
static bool
is_last_reason(const MtsInferred *inferred, int remark)
{
	if (!inferred->remarks[remark].is_readonly)
		return false;
	for (int i = remark + 1; i < inferred->nremarks; i++)
		if (inferred->remarks[i].is_readonly)
			return false;
	return true;
}

/*
 * mts_import_advice
 *		The hint of a remark, palloc'd; empty: there is none.
 */
char *
mts_import_advice(const MtsInferred *inferred, int remark, bool is_view,
				  const char *schema, const char *table)
{
	StringInfoData advice;

	initStringInfo(&advice);
	for (int i = 0; i < inferred->nothers; i++)
		if (inferred->others[i].remark == remark)
			advise_reading(&advice, inferred, i, schema, table);
	if (is_view) /* nobody can write */
		return advice.data;
	if (inferred->remarks[remark].option)
		advise_option(&advice, &inferred->remarks[remark], schema, table);
	if (is_last_reason(inferred, remark))
	{
		begin(&advice, schema, table);
		appendStringInfoString(
			&advice,
			" OPTIONS (SET updatable 'true'); allows writes, once all of this is settled.");
	}
	return advice.data;
}
