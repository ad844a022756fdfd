/*
 * import_proof.c
 *		Asks MongoDB whether the totals and bounds that samples show are those
 *		of all documents.
 *
 * Queries trust what is declared.  What a document contradicts, or MongoDB has
 * not compared in time, is not declared, and the table's NOTICE says so.
 */
#include "advice/import/import.h"

#include "utils/builtins.h"

#include "advice/infer/trial.h"
#include "driver/document.h"
#include "table/proof.h"

/* Milliseconds that MongoDB has to compare the documents of a collection */
#define MAX_TIME 5000

/* The field that a claim is about, as the table declares it */
static const char *
claimed_field(const MtsInferred *table, const MtsLayout *layout,
			  const MtsClaim *claim)
{
	const MtsInferColumn *column =
		claim->column ? &table->columns[claim->column - layout->columns]
					  : NULL;

	switch (claim->kind)
	{
		case MTS_CLAIM_COUNT:
			return table->count;
		case MTS_CLAIM_SUM:
			return column->sum;
		case MTS_CLAIM_MINIMUM:
			return column->min;
		case MTS_CLAIM_MAXIMUM:
			return column->max;
		case MTS_CLAIM_FIRST:
			return table->first;
		default:
			return table->last;
	}
}

/* Add an action, unless there is one that adds the same option. */
static void
add_action(MtsImportDoubts *doubts, const char *start, const char *field)
{
	ListCell *lc;

	foreach (lc, doubts->actions)
		if (strncmp(lfirst(lc), start, strlen(start)) == 0)
			return;
	doubts->actions =
		lappend(doubts->actions,
				psprintf("%s%s)", start, quote_literal_cstr(field)));
}

/* Begin the action that adds an option to a column. */
static char *
column_action(const MtsImport *import, const MtsInferred *table, int column,
			  const char *option)
{
	return psprintf("ALTER COLUMN %s OPTIONS (ADD %s ",
					quote_identifier(strVal(
						list_nth(mts_import_columns(import, table), column))),
					option);
}

/* Describe a claim that is not proved, and the actions that declare it. */
static void
doubt(const MtsImport *import, const MtsInferred *table,
	  const MtsLayout *layout, const MtsClaim *claim,
	  const MtsCounterexample *found, MtsImportDoubts *doubts)
{
	const char *option = mts_counterexample_option(claim);
	char *field = mts_import_text(claimed_field(table, layout, claim));

	doubts->sentences = lappend(
		doubts->sentences,
		found->documents > 0
			? psprintf(
				  "Field \"%s\" is not declared as %s, as the document with _id %s%s.",
				  field, option, mts_document_value_shell(&found->id),
				  found->documents > 1
					  ? psprintf(" and " INT64_FORMAT " more contradict it",
								 found->documents - 1)
					  : " contradicts it")
			: psprintf(
				  "Field \"%s\" is not declared as %s, as MongoDB has not compared it with the points of all documents.",
				  field, option));
	if (found->documents > 0)
		return;
	for (int i = 0; i < table->ncolumns; i++)
		if (claim->kind == MTS_CLAIM_COUNT &&
			strcmp(table->columns[i].missing, "null") == 0)
			add_action(doubts,
					   column_action(import, table, i, "missing_value"),
					   "null");
	add_action(doubts,
			   claim->column
				   ? column_action(import, table,
								   (int) (claim->column - layout->columns),
								   option)
				   : psprintf("OPTIONS (ADD %s ", option),
			   field);
}

/*
 * mts_import_doubt
 *		List the totals and bounds of a table that are not proved.  Returns
 *		their fields, UTF-8, with sentences for the table's NOTICE and actions
 *		of ALTER FOREIGN TABLE that declare them.
 */
List *
mts_import_doubt(const MtsImport *import, const MtsInferred *table,
				 const MtsInferHints *hints, const MtsInferHost *host,
				 MtsImportDoubts *doubts)
{
	List *fields = NIL;
	const bson_t *result = NULL;
	MtsClaim *claims;
	MtsLayout layout;
	int n;

	if (!mts_trial_build(table,
						 table->bucket_time_is_local ? hints->local
													 : hints->clock,
						 mts_arena_new(host->resize, host->release), &layout))
		return NIL;
	claims = palloc(MTS_MAX_CLAIMS(&layout) * sizeof(MtsClaim));
	n = mts_counterexample_claims(&layout, claims);
	if (n == 0)
		return NIL;
	if (!doubts->is_late)
		result =
			mts_proof_ask(import->connection, import->stmt->remote_schema,
						  import->collection->name, &layout,
						  mts_import_filter(table), 0, claims, n, MAX_TIME);
	doubts->is_late = !result;
	for (int i = 0; i < n; i++)
	{
		MtsCounterexample found = {0};

		if (result)
			found = mts_counterexample_read(result, i);
		if (found.is_known && found.documents == 0)
			continue;
		doubt(import, table, &layout, &claims[i], &found, doubts);
		fields = lappend(fields,
						 pstrdup(claimed_field(table, &layout, &claims[i])));
		/* what is proved of both extremes is not proved of one */
		if (claims[i].kind == MTS_CLAIM_MINIMUM ||
			claims[i].kind == MTS_CLAIM_MAXIMUM)
		{
			const MtsInferColumn *column =
				&table->columns[claims[i].column - layout.columns];

			fields = lappend(fields, pstrdup(column->min));
			fields = lappend(fields, pstrdup(column->max));
		}
	}
	return fields;
}
