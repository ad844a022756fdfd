/*
 * check.c
 *		The SQL function mongo_ts_check: compare a table's declaration with the
 *		documents of its collections.
 *
 * A sample of the documents is unfolded as a scan with on_invalid 'skip' does
 * it.  Each problem is one row, with the number of documents that have it.
 * No row proves nothing about documents outside of the sample.
 *
 * A native time-series collection is read by its view, which has a document
 * for each point.
 */
#include "postgres.h"

#include <ctype.h>
#include <math.h>

#include "access/table.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "advice/check/declared.h"
#include "advice/check/timing.h"
#include "advice/check/twin.h"
#include "driver/command.h"
#include "driver/document.h"
#include "plan/analyze.h"
#include "scan/count.h"
#include "scan/scan.h"
#include "table/index.h"
#include "table/proof.h"

/* Rows by which ANALYZE would determine how many documents are sampled */
#define SAMPLE_ROWS 1000

/* No further document is read when those read have so many bytes. */
#define MAX_BYTES (64 * 1024 * 1024)

/* Sampled documents of a collection whose duplicates are looked up */
#define MAX_LOOKUPS 100

/* A time in text has so many digits, as in 2024-05. */
#define MIN_DIGITS 6

/* How long MongoDB may compare fields with the points, in milliseconds */
#define PROOF_MSECS 10000

/* And after that to compare samples of them */
#define SAMPLE_MSECS 10000

/* The options of a column with a sum, a minimum and a maximum */
static const char *const totals[] = {"sum_field", "min_field", "max_field"};

PG_FUNCTION_INFO_V1(mongo_ts_check);

/* The columns of mongo_ts_check() */
enum
{
	PROBLEM,
	FIELD,
	DOCUMENTS,
	HINT,
	NCOLUMNS
};

/* A field that the table declares */
typedef struct Declared
{
	const char *option;          /* that names it */
	const char *column;          /* that has the option; NULL for the table */
	const char *text;            /* the option's value, or the column's name */
	bool has_value;              /* of a column: a sampled point has one */
	struct Declared *extreme_of; /* a column with such values, or NULL */
	MtsDeclared field;
} Declared;

/* What is invalid in a field, in documents of the sample */
typedef struct Invalid
{
	const char *problem;
	const char *field;
	const char *hint; /* for the first of these documents */
	int64 documents;
	int64 last; /* the number of the last of these documents */
} Invalid;

typedef struct Check
{
	Relation relation;
	const MtsTable *table;
	MtsIdentity *identity;
	ReturnSetInfo *result;
	MtsConnection *connection;
	MemoryContext context; /* of the call */
	MtsScan *scan;
	int64 documents;    /* in the sample */
	List *declared;     /* of Declared */
	Declared **columns; /* those of columns, by their number */
	List *invalid;      /* of Invalid */
	bool is_opening;    /* the document itself may be invalid */
	MtsTiming timing;
	bool can_insert;     /* if the table is, or becomes, updatable */
	const char *text_id; /* an _id that an INSERT does not write, or NULL */

	bool compares_buckets;
	MtsTwin *identified; /* by document of the sample */
	int nidentified;
	int room;
} Check;

/* ---- Problems ----------------------------------------------------------- */

static void
report(Check *check, const char *problem, const char *field, int64 documents,
	   const char *hint)
{
	Datum values[NCOLUMNS];
	bool nulls[NCOLUMNS] = {false};

	values[PROBLEM] = CStringGetTextDatum(problem);
	nulls[FIELD] = field == NULL;
	values[FIELD] = field ? CStringGetTextDatum(field) : (Datum) 0;
	values[DOCUMENTS] = Int64GetDatum(documents);
	values[HINT] = CStringGetTextDatum(hint);
	tuplestore_putvalues(check->result->setResult, check->result->setDesc,
						 values, nulls);
}

/* ---- Fields ------------------------------------------------------------- */

static void
add_declared(Check *check, const char *column, const char *option,
			 const char *text, const MtsPath *path)
{
	Declared *declared = palloc0(sizeof(Declared));

	declared->option = option;
	declared->column = column;
	declared->text = text ? text : column;
	mts_declared_init(&declared->field, path,
					  mts_document_utf8(declared->text), text == NULL);
	check->declared = lappend(check->declared, declared);
}

/* Add the fields that options of the table or of a column name. */
static void
add_options(Check *check, const char *column, List *options,
			const char *const *names, const MtsField *const *fields, int n)
{
	for (int i = 0; i < n; i++)
		if (fields[i]->is_set && mts_option_get(options, names[i]))
			add_declared(check, column, names[i],
						 mts_option_get(options, names[i]), &fields[i]->path);
}

/* Find the fields that the table declares. */
static void
find_declared(Check *check)
{
	static const char *const names[] = {"bucket_time_field",
										"bucket_first_field",
										"bucket_last_field", "count_field"};
	const MtsLayout *layout = &check->table->layout;
	const MtsField *const fields[] = {&layout->bucket_time, &layout->first,
									  &layout->last, &layout->count};
	Oid relid = RelationGetRelid(check->relation);

	check->columns = palloc0(layout->ncolumns * sizeof(Declared *));
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		const MtsField *const of_column[] = {&column->sum, &column->min,
											 &column->max};
		List *options;
		ListCell *lc;
		int n;

		if (check->table->attributes[i].dropped ||
			column->role == MTS_ROLE_SLOT)
			continue;
		options = GetForeignColumnOptions(relid, i + 1);
		add_declared(check, column->name, "field",
					 mts_option_get(options, "field"), &column->path);
		check->columns[i] = llast(check->declared);
		add_options(check, column->name, options, totals, of_column, 1);
		n = list_length(check->declared);
		add_options(check, column->name, options, totals + 1, of_column + 1,
					2);
		for_each_from (lc, check->declared, n)
			((Declared *) lfirst(lc))->extreme_of = check->columns[i];
	}
	add_options(check, NULL, GetForeignTable(relid)->options, names, fields,
				lengthof(names));
}

/* The text of a path as it is declared; the name of a column without one */
static const char *
path_text(const Check *check, const MtsPath *path, const char *name)
{
	ListCell *lc;

	foreach (lc, check->declared)
	{
		const Declared *declared = lfirst(lc);

		if (declared->field.probe.path == path)
			return declared->text;
	}
	return name;
}

static const char *
column_text(const Check *check, const MtsColumn *column)
{
	return path_text(check, &column->path, column->name);
}

/* Write the statement that changes options of a column or the table. */
static char *
write_alter(const Check *check, const char *column, const char *change)
{
	return psprintf("ALTER FOREIGN TABLE %s%s%s OPTIONS (%s);",
					mts_table_name(check->table->relid),
					column ? " ALTER COLUMN " : "",
					column ? quote_identifier(column) : "", change);
}

/* Write the statement that sets the option of a declared field. */
static char *
write_set(const Check *check, const Declared *declared, const char *value)
{
	return write_alter(check, declared->column,
					   psprintf("%s %s %s",
								declared->field.is_name ? "ADD" : "SET",
								declared->option,
								quote_literal_cstr(mts_document_text(value))));
}

/* The part of a path's text that is its first steps, in UTF-8 */
static const char *
first_steps(const MtsDeclared *field, int nsteps)
{
	return pnstrdup(field->text, mts_declared_prefix(field->text, nsteps));
}

/* Say what to do about a field that no document has. */
static char *
field_hint(const Check *check, const Declared *declared)
{
	const MtsDeclared *field = &declared->field;
	const MtsProbe *probe = &field->probe;
	const char *within =
		mts_document_text(first_steps(field, probe->missing_at));
	char path[MTS_MAX_PATH];
	StringInfoData hint;

	initStringInfo(&hint);
	if (mts_declared_correct(field, path))
	{
		appendStringInfo(&hint, "%sThe documents have \"%s\".  Use %s",
						 field->may_be_path && field->path_probe.is_found
							 ? "A column's name is not a path.  "
							 : "",
						 mts_document_text(path),
						 write_set(check, declared, path));
		return hint.data;
	}
	appendStringInfo(&hint, "A document has these fields%s%s: ",
					 within[0] ? " in " : "", within);
	for (int i = 0; i < probe->nkeys; i++)
		appendStringInfo(&hint, "%s\"%s\"", i > 0 ? ", " : "",
						 mts_document_text(probe->keys[i]));
	if (probe->nkeys == 0)
		appendStringInfoString(&hint, "none");
	appendStringInfoString(&hint, probe->nkeys == MTS_PROBE_KEYS
									  ? ", and perhaps more."
									  : ".");
	return hint.data;
}

/* Tell whether documents have a column's field, and no value of it. */
static bool
is_without_values(const Declared *column)
{
	return column && !column->has_value &&
		   !mts_declared_is_absent(&column->field);
}

/*
 * Report the fields that no document has.  A bucket without values has no
 * extremes.
 */
static void
report_fields(Check *check)
{
	ListCell *lc;

	foreach (lc, check->declared)
	{
		const Declared *declared = lfirst(lc);

		if (!mts_declared_is_absent(&declared->field) ||
			is_without_values(declared->extreme_of))
			continue;
		report(check, "no sampled document has the field", declared->text,
			   check->documents, field_hint(check, declared));
	}
}

/* ---- What is invalid ---------------------------------------------------- */

/* The field, as it is declared, that a path of an invalid element is in */
static const char *
find_field(const Check *check, const char *where)
{
	ListCell *lc;

	foreach (lc, check->declared)
	{
		const Declared *declared = lfirst(lc);
		const MtsPath *path = declared->field.probe.path;
		char dotted[MTS_MAX_PATH];
		size_t n = mts_path_dotted(path->steps, mts_path_leading_names(path),
								   dotted, sizeof(dotted));

		if (path->nslots > 0 && strncmp(where, dotted, n) == 0 &&
			(n == 0 || where[n] == '.' || where[n] == '\0'))
			return declared->text;
	}
	return mts_document_text(where);
}

/* Count the current document for a problem of a field, once. */
static Invalid *
count_invalid(Check *check, const char *problem, const char *field)
{
	Invalid *invalid = NULL;
	ListCell *lc;

	foreach (lc, check->invalid)
	{
		Invalid *other = lfirst(lc);

		if (other->problem == problem && strcmp(other->field, field) == 0)
			invalid = other;
	}
	if (!invalid)
	{
		invalid = palloc0(sizeof(Invalid));
		invalid->problem = problem;
		invalid->field = field;
		check->invalid = lappend(check->invalid, invalid);
	}
	if (invalid->last != check->documents)
		invalid->documents++;
	invalid->last = check->documents;
	return invalid;
}

/* Record something invalid in the current document. */
static void
inspect(MtsBucket *bucket, const MtsError *error)
{
	Check *check = bucket->spec.inspector;
	MemoryContext old = MemoryContextSwitchTo(check->context);
	const char *problem = bucket->converting  ? "a value is invalid"
						  : check->is_opening ? "the bucket is invalid"
											  : "a point is invalid";
	const char *field;
	Invalid *invalid;

	if (bucket->converting)
		mts_unfold_locate(&bucket->unfold, &bucket->one_by_one.point,
						  bucket->converting);
	field = bucket->converting
				? column_text(check, bucket->converting)
				: find_field(check, bucket->unfold.invalid.where);
	invalid = count_invalid(check, problem, field);
	if (!invalid->hint)
		invalid->hint =
			psprintf("For example in the document with _id %s, path \"%s\": "
					 "%s%s%s",
					 mts_document_id_shell(bucket->document),
					 mts_document_text(bucket->unfold.invalid.where),
					 error->detail, error->hint ? "  " : "",
					 error->hint ? error->hint : "");
	MemoryContextSwitchTo(old);
}

static void
report_invalid(Check *check)
{
	ListCell *lc;

	foreach (lc, check->invalid)
	{
		const Invalid *invalid = lfirst(lc);

		report(check, invalid->problem, invalid->field, invalid->documents,
			   invalid->hint);
	}
}

/* ---- Times -------------------------------------------------------------- */

/* What to do about buckets that an INSERT would not find */
static const char *
insert_hint(const Check *check)
{
	return check->table->updatable
			   ? ", or set option \"updatable\" to \"false\""
			   : " before option \"updatable\" is set to \"true\"";
}

/* Record that an INSERT would not find a bucket that begins at this time. */
static void
record_misaligned(Check *check, MtsTime start)
{
	const MtsPath *path = &check->table->layout.bucket_time.path;
	MemoryContext old = MemoryContextSwitchTo(check->context);
	char field[MTS_MAX_PATH];
	Invalid *invalid;

	mts_path_dotted(path->steps, path->nsteps, field, sizeof(field));
	invalid = count_invalid(check, "an INSERT would begin another bucket",
							mts_document_text(field));
	if (!invalid->hint)
		invalid->hint = psprintf(
			"For example for times of the bucket at %s, which is not a "
			"multiple of the span.  Check the unit of the slot, and options "
			"\"bucket_span\" and \"bucket_time_zone\"%s.",
			timestamptz_to_str(start), insert_hint(check));
	MemoryContextSwitchTo(old);
}

/* Record the times and the values of the current document's points. */
static void
read_points(Check *check, TupleTableSlot *slot)
{
	const MtsLayout *layout = &check->table->layout;
	MtsBucket *bucket = check->scan->bucket;
	const MtsUnfold *unfold = &bucket->unfold;
	bool has_times = false;

	while (mts_bucket_next_row(bucket, slot))
	{
		CHECK_FOR_INTERRUPTS();
		if (layout->time_column >= 0 && !slot->tts_isnull[layout->time_column])
		{
			has_times = true;
			mts_timing_add_point(&check->timing, unfold,
								 mts_bucket_time(bucket));
		}
		for (int i = 0; i < layout->ncolumns; i++)
			if (layout->columns[i].role == MTS_ROLE_VALUE &&
				!slot->tts_isnull[i])
				check->columns[i]->has_value = true;
	}
	if (!has_times)
		return;
	mts_timing_add_bucket(&check->timing, unfold);
	if (check->can_insert && layout->time_kind == MTS_TIME_SLOTS &&
		!mts_span_is_zero(layout->span) && unfold->start != MTS_TIME_MIN &&
		unfold->end != MTS_TIME_MAX &&
		!mts_layout_is_aligned(layout, unfold->start))
		record_misaligned(check, unfold->start);
}

/* A length of time as text */
static char *
interval_text(MtsTime length)
{
	Interval interval = {.time = length};

	return DatumGetCString(DirectFunctionCall1(
		interval_out, DirectFunctionCall1(interval_justify_hours,
										  IntervalPGetDatum(&interval))));
}

/* The field of a column whose container is the first */
static const char *
slot_field(const Check *check)
{
	const MtsColumn *column = check->table->layout.columns;

	while (column->container != 0)
		column++;
	return column_text(check, column);
}

/* Report times that are improbable: a wrong unit or format. */
static void
report_times(Check *check)
{
	const MtsLayout *layout = &check->table->layout;
	const MtsTiming *timing = &check->timing;
	const char *fact = NULL;

	if (mts_timing_is_improbable(timing))
		report(check, "the times are improbable",
			   column_text(check, mts_layout_time_column(layout)),
			   timing->documents,
			   psprintf("They lie between %s and %s.  Check the format of the "
						"time.",
						pstrdup(timestamptz_to_str(timing->earliest)),
						pstrdup(timestamptz_to_str(timing->latest))));
	switch (mts_timing_judge_unit(timing, layout))
	{
		case MTS_PROBABLE:
			return;
		case MTS_BUCKETS_FAR_APART:
			fact = psprintf("Buckets begin every %s, but are only %s long.",
							interval_text(timing->spacing),
							interval_text(timing->length));
			break;
		case MTS_SLOTS_AT_START:
			fact = psprintf("Buckets are %s long, but no slot begins later "
							"than %s in them.",
							interval_text(timing->length),
							interval_text(timing->offset));
			break;
	}
	report(check, "the unit is improbable", slot_field(check),
		   timing->documents,
		   psprintf("%s  Check the unit of the slot, and option "
					"\"bucket_span\".",
					fact));
}

/* ---- Claims ------------------------------------------------------------- */

/* Say in which document a field contradicts the points, and what to do. */
static char *
contradiction_hint(const Check *check, const MtsClaim *claim,
				   const MtsCounterexample *found)
{
	const char *option = mts_counterexample_option(claim);

	return psprintf("For example in the document with _id %s: option \"%s\" "
					"says %s, the points say %s.  Queries trust the field.  "
					"Correct the documents, or use %s",
					mts_document_value_shell(&found->id), option,
					mts_document_value_shell(&found->says),
					mts_document_value_shell(&found->points_say),
					write_alter(check,
								claim->column ? claim->column->name : NULL,
								psprintf("DROP %s", option)));
}

/*
 * Compare the fields with the points in all documents of a collection, until
 * the time that all collections have is over; then in samples, which have a
 * time together, too.
 */
static const bson_t *
ask_for_proof(const Check *check, const char *collection, int sample,
			  const MtsClaim *claims, int n, TimestampTz begun)
{
	const MtsTable *table = check->table;
	long rest = PROOF_MSECS -
				TimestampDifferenceMilliseconds(begun, GetCurrentTimestamp());
	const bson_t *result = NULL;

	if (rest > 0)
		result =
			mts_proof_ask(check->connection, table->database, collection,
						  &table->layout, table->filter, 0, claims, n, rest);
	if (result)
		return result;
	rest = PROOF_MSECS + SAMPLE_MSECS -
		   TimestampDifferenceMilliseconds(begun, GetCurrentTimestamp());
	return rest > 0 ? mts_proof_ask(check->connection, table->database,
									collection, &table->layout, table->filter,
									sample, claims, n, rest)
					: NULL;
}

/* Report fields that contradict the points. */
static void
check_claims(Check *check, const MtsCollections *collections)
{
	const MtsLayout *layout = &check->table->layout;
	MtsClaim *claims = palloc(MTS_MAX_CLAIMS(layout) * sizeof(MtsClaim));
	int n = mts_counterexample_claims(layout, claims);
	int64 *documents = palloc0((n + 1) * sizeof(int64));
	char **hints = palloc0((n + 1) * sizeof(char *));
	TimestampTz begun = GetCurrentTimestamp();

	for (int i = 0; n > 0 && i < collections->n; i++)
	{
		const bson_t *result =
			ask_for_proof(check, collections->items[i].name,
						  Max(SAMPLE_ROWS / collections->n, 1), claims, n,
						  begun);

		for (int j = 0; j < n && result; j++)
		{
			MtsCounterexample found = mts_counterexample_read(result, j);

			documents[j] += found.documents;
			if (found.documents > 0 && !hints[j])
				hints[j] = contradiction_hint(check, &claims[j], &found);
		}
	}
	for (int j = 0; j < n; j++)
		if (hints[j])
			report(check, "the field contradicts the points",
				   path_text(check, &claims[j].field->path, ""), documents[j],
				   hints[j]);
}

/* ---- Identity ----------------------------------------------------------- */

/*
 * Tell whether the buckets are to be told apart: those with a time or, where
 * rows can be inserted, by their keys alone.
 */
static bool
must_identify(const Check *check)
{
	const MtsLayout *layout = &check->table->layout;
	const MtsIdentity *identity = check->identity;

	if (layout->nslots == 0 || layout->max_points > 0 || identity->n == 0 ||
		!(layout->bucket_time.is_set || check->can_insert))
		return false;
	for (int i = 0; i < identity->n; i++)
		if (mts_path_addressable_steps(identity->parts[i].path) <
			identity->parts[i].path->nsteps)
			return false;
	return true;
}

/* Tell whether no document has a field. */
static bool
is_absent(const Check *check, const MtsPath *path)
{
	ListCell *lc;

	foreach (lc, check->declared)
	{
		const MtsProbe *probe = &((const Declared *) lfirst(lc))->field.probe;

		if (mts_probe_is_absent(probe) &&
			probe->path->nsteps == path->nsteps &&
			mts_path_starts_with(path, probe->path, path->nsteps))
			return true;
	}
	return false;
}

/*
 * Tell whether the fields that identify a bucket exist.  All columns of a flat
 * table do so, but only declared keys and the time are indexed.
 */
static bool
has_identity(const Check *check)
{
	const MtsTable *table = check->table;

	for (int i = 0; i < check->identity->n; i++)
	{
		const MtsIdentityPart *part = &check->identity->parts[i];
		bool is_value = table->layout.nslots == 0 && part->column >= 0 &&
						part->column != table->layout.time_column &&
						!table->attributes[part->column].has_role;

		if (!is_value && is_absent(check, part->path))
			return false;
	}
	return true;
}

/* Write the names of the fields that identify a bucket. */
static char *
identity_text(const Check *check)
{
	StringInfoData text;
	char field[MTS_MAX_PATH];

	initStringInfo(&text);
	for (int i = 0; i < check->identity->n; i++)
	{
		const MtsPath *path = check->identity->parts[i].path;

		mts_path_dotted(path->steps, path->nsteps, field, sizeof(field));
		appendStringInfo(&text, "%s%s", i > 0 ? ", " : "",
						 mts_document_text(field));
	}
	return text.data;
}

/* Record that an INSERT would write another _id for the same bucket. */
static void
compare_id(Check *check, const MtsFieldValue *fields, const char *id)
{
	const char *written =
		mts_document_id_shell(mts_identity_selector(check->identity, fields));
	Invalid *invalid;

	if (strcmp(written, id) == 0)
		return;
	invalid = count_invalid(check, "an INSERT would write another _id", "_id");
	if (!invalid->hint)
		invalid->hint = psprintf(
			"For example %s instead of %s.  Declare all fields of the _id, in "
			"the order of the documents.",
			written, id);
}

/* Tell whether an _id is text with as many digits as a time has. */
static bool
is_composed(const bson_t *document)
{
	const char *id = mts_document_string(document, "_id");
	int digits = 0;

	for (; id && *id; id++)
		digits += isdigit((unsigned char) *id) != 0;
	return digits >= MIN_DIGITS;
}

/* Record what identifies a document of the sample. */
static void
identify(Check *check, const bson_t *document)
{
	const MtsIdentity *identity = check->identity;
	MtsElement root =
		mts_element_document(bson_get_data(document), document->len);
	MemoryContext old = MemoryContextSwitchTo(check->context);
	MtsFieldValue *fields = palloc(identity->n * sizeof(MtsFieldValue));
	bson_value_t *found = palloc(identity->n * sizeof(bson_value_t));
	bson_t *values = mts_document_new();
	const char *id = mts_document_id_shell(document);

	for (int i = 0; i < identity->n; i++)
	{
		const MtsPath *path = identity->parts[i].path;
		MtsElement element;

		found[i] = (bson_value_t){.value_type = BSON_TYPE_NULL};
		if (mts_path_find(&root, path->steps, path->nsteps, &element) ==
			MTS_FOUND)
			found[i] = mts_document_value(&element);
		fields[i] = (MtsFieldValue){path->steps, path->nsteps, &found[i]};
		bson_append_value(values, psprintf("%d", i), -1, &found[i]);
	}
	if (identity->is_id && check->can_insert)
		compare_id(check, fields, id);
	else if (check->can_insert && !check->text_id && is_composed(document))
		check->text_id = id;
	if (check->nidentified == check->room)
	{
		check->room = 2 * check->room + 64;
		check->identified =
			check->identified
				? repalloc(check->identified, check->room * sizeof(MtsTwin))
				: palloc(check->room * sizeof(MtsTwin));
	}
	check->identified[check->nidentified++] =
		(MtsTwin){check->scan->source->collection->name, values, id};
	MemoryContextSwitchTo(old);
}

static void
report_duplicates(Check *check, int64 documents, const char *a, const char *b)
{
	report(check, "several documents are the same bucket",
		   identity_text(check), documents,
		   psprintf("For example the documents with _id %s and %s.  Declare a "
					"column that tells them apart%s.",
					a, b, check->can_insert ? insert_hint(check) : ""));
}

/* Report buckets of the sample that are the same; false if there are none. */
static bool
compare_sample(Check *check)
{
	MtsTwins twins = mts_twin_find(check->identified, check->nidentified);

	if (twins.first)
		report_duplicates(check, twins.documents, twins.first->id,
						  twins.second->id);
	return twins.first != NULL;
}

/*
 * The stages that find documents of the same buckets as sampled ones; or NULL
 * if none of these is in the collection
 */
static bson_t *
lookup_stages(const Check *check, const char *collection)
{
	const MtsIdentity *identity = check->identity;
	bson_t *stages = mts_document_new();
	bson_t *buckets = mts_document_new();
	bson_t *group = mts_document_new();
	char field[MTS_MAX_PATH];
	int n = 0;

	for (int i = 0; i < check->nidentified && n < MAX_LOOKUPS; i++)
	{
		bson_t *bucket;
		bson_iter_t value;

		if (strcmp(check->identified[i].collection, collection) != 0)
			continue;
		n++;
		bucket = mts_document_new();
		bson_iter_init(&value, check->identified[i].values);
		for (int j = 0; j < identity->n && bson_iter_next(&value); j++)
		{
			const MtsPath *path = identity->parts[j].path;

			mts_path_dotted(path->steps, path->nsteps, field, sizeof(field));
			mts_template_append(bucket, field, "{$eq: %v}",
								bson_iter_value(&value));
		}
		mts_template_push(buckets, "%o", bucket);
	}
	if (n == 0)
		return NULL;
	for (int j = 0; j < identity->n; j++)
	{
		const MtsPath *path = identity->parts[j].path;

		field[0] = '$';
		mts_path_dotted(path->steps, path->nsteps, field + 1,
						sizeof(field) - 1);
		mts_template_append(group, psprintf("f%d", j), "%s", field);
	}
	if (check->table->filter)
		mts_template_push(stages, "{$match: %o}", check->table->filter);
	mts_template_push(stages, "{$match: {$or: %a}}", buckets);
	mts_template_push(stages,
					  "{$group: {_id: %o, n: {$sum: 1},"
					  " first: {$min: '$_id'}, last: {$max: '$_id'}}}",
					  group);
	mts_template_push(stages, "{$match: {n: {$gt: 1}}}");
	return stages;
}

/* An _id in a document of lookup_stages, in the shell's syntax */
static char *
id_text(const bson_t *document, const char *key)
{
	bson_t *copy = mts_document_new();
	bson_iter_t iter;

	if (bson_iter_init_find(&iter, document, key))
		bson_append_iter(copy, "_id", -1, &iter);
	return mts_document_id_shell(copy);
}

/* Look up other documents of sampled buckets, by an index. */
static bool
look_up(Check *check, const char *collection)
{
	bson_t *stages = lookup_stages(check, collection);
	MtsCursor *cursor;
	const bson_t *document;
	const char *first = NULL, *last = NULL;
	int64 documents = 0;

	if (!stages || mts_count_refuses(check->table->filter))
		return false;
	cursor =
		mts_cursor_find(check->connection, check->table->database, collection,
						&(MtsFind){.stages = stages,
								   .fetch_size = check->table->fetch_size,
								   .relid = check->table->relid});
	while ((document = mts_cursor_next(cursor)) != NULL)
	{
		documents += mts_document_number(document, "n");
		if (first)
			continue;
		first = id_text(document, "first");
		last = id_text(document, "last");
	}
	mts_cursor_close(cursor);
	if (first)
		report_duplicates(check, documents, first, last);
	return first != NULL;
}

/* ---- The index ---------------------------------------------------------- */

/* Tell whether a collection is neither a view nor a native one. */
static bool
is_collection(const Check *check, const char *collection)
{
	return list_length(mts_cursor_list_names(
			   check->connection, check->table->database,
			   mts_document_make("{name: %s, type: 'collection'}",
								 mts_document_utf8(collection)))) > 0;
}

/*
 * Report collections without the index, and buckets that are not identified.
 * A unique index proves that they are.  If the _id of documents is text made
 * of other fields, nothing else keeps an INSERT and a writer of such documents
 * from storing one each.
 */
static void
check_index(Check *check, const MtsCollections *collections)
{
	const MtsTable *table = check->table;
	bson_t *index = mts_document_new();
	bson_t *any = mts_document_new(); /* index, but not unique */
	const MtsNative *native = mts_native_describe(table, GetUserId());
	const char *name =
		native ? mts_index_describe_native(table, native, NIL, index)
			   : mts_index_describe(table, check->identity, index);
	bool found_same = check->compares_buckets && compare_sample(check);
	bson_t keys;
	bson_iter_t iter;
	StringInfoData fields;
	bool must_be_unique = check->text_id && bson_has_field(index, "unique");
	int missing = 0;

	if (!name || bson_empty(index))
		return;
	bson_copy_to_excluding_noinit(index, any, "unique", NULL);
	for (int i = 0; i < collections->n; i++)
	{
		const char *collection = collections->items[i].name;

		CHECK_FOR_INTERRUPTS();
		if ((!native && !is_collection(check, collection)) ||
			mts_index_find(check->connection, table->database, collection,
						   index, NULL))
			continue;
		if (must_be_unique ||
			!mts_index_find(check->connection, table->database, collection,
							any, NULL))
			missing++;
		else if (check->compares_buckets && !found_same)
			found_same = look_up(check, collection);
	}
	/* a unique index on documents of the same bucket fails */
	if (missing == 0 || (found_same && bson_has_field(index, "unique")))
		return;
	initStringInfo(&fields);
	if (bson_iter_init_find(&iter, index, "key") &&
		mts_document_view(&iter, &keys) && bson_iter_init(&iter, &keys))
		while (bson_iter_next(&iter))
			appendStringInfo(&fields, "%s%s", fields.len > 0 ? ", " : "",
							 mts_document_text(bson_iter_key(&iter)));
	report(
		check,
		must_be_unique ? "there is no unique index" : "there is no index",
		fields.data, check->documents,
		psprintf(
			"%sUse SELECT mongo_ts_create_index(%s);",
			must_be_unique
				? psprintf(
					  "An INSERT writes an ObjectId as _id, and not text such as %s.  Only a unique index prevents a second document for the same time and keys.  ",
					  check->text_id)
				: "",
			quote_literal_cstr(mts_table_name(check->table->relid))));
}

/* ---- The sample --------------------------------------------------------- */

static void
check_document(Check *check, const bson_t *document, TupleTableSlot *slot)
{
	MtsElement root =
		mts_element_document(bson_get_data(document), document->len);
	ListCell *lc;

	check->documents++;
	foreach (lc, check->declared)
	{
		Declared *declared = lfirst(lc);

		mts_declared_add_document(&declared->field, &root);
	}
	if (check->compares_buckets)
		identify(check, document);
	check->is_opening = true;
	if (!mts_bucket_open(check->scan->bucket, check->scan->source, document))
		return;
	check->is_opening = false;
	read_points(check, slot);
}

/* Sample a collection, or read the whole of a small one. */
static void
read_collection(Check *check, const char *name, double size,
				TupleTableSlot *slot)
{
	MtsScan *scan = check->scan;
	MemoryContext memory = scan->econtext->ecxt_per_tuple_memory;
	const bson_t *document;
	double count;

	mts_scan_set_collection(scan, name);
	mts_scan_set_filter(scan, check->table->filter ? check->table->filter
												   : mts_document_new());
	if (!mts_command_try_count(check->connection, check->table->database, name,
							   false, &count) ||
		count > size)
		mts_source_begin_sample(scan->source, (int64) size, false);
	while (scan->counters->bytes < MAX_BYTES)
	{
		MemoryContext old = MemoryContextSwitchTo(memory);

		MemoryContextReset(memory);
		document = mts_source_next(scan->source);
		if (document)
			check_document(check, document, slot);
		MemoryContextSwitchTo(old);
		if (!document)
			break;
	}
	mts_scan_reset(scan);
}

/* Report why the sample is empty. */
static void
report_emptiness(Check *check, const MtsCollections *collections)
{
	const MtsTable *table = check->table;
	const char *found =
		table->rolling_name
			? NULL
			: mts_collections_similar(
				  mts_cursor_list_names(check->connection, table->database,
										mts_document_new()),
				  table->collection);
	const char *hint;

	if (table->rolling_name ? collections->n > 0
							: found && strcmp(found, table->collection) == 0)
		hint = table->filter ? "No document satisfies option \"filter\"."
							 : "The collection is empty.";
	else if (found)
		hint = psprintf("Database \"%s\" has \"%s\".  Use ALTER FOREIGN TABLE "
						"%s OPTIONS (%s collection %s);",
						table->database, found, mts_table_name(table->relid),
						mts_option_get(GetForeignTable(table->relid)->options,
									   "collection")
							? "SET"
							: "ADD",
						quote_literal_cstr(found));
	else
		hint = psprintf("Database \"%s\" has no collection \"%s\".",
						table->database, table->collection);
	report(check, "there is no document", NULL, 0, hint);
}

static void
check_table(Check *check)
{
	MtsTable *table = mts_table_copy(check->table);
	ExprContext *econtext = CreateStandaloneExprContext();
	TupleTableSlot *slot =
		MakeSingleTupleTableSlot(RelationGetDescr(check->relation),
								 &TTSOpsVirtual);
	MtsCollections *collections;
	double size = mts_analyze_sample_size(&table->layout, SAMPLE_ROWS);

	/* all problems of a document are found, and values fail softly */
	table->on_invalid = MTS_INVALID_SKIP;
	check->table = table;
	find_declared(check);
	check->identity = mts_identity_make(table);
	mts_timing_init(&check->timing);
	check->can_insert = !check->identity->problem;
	check->compares_buckets = must_identify(check);
	check->connection = mts_connection_get(table->serverid, GetUserId());
	mts_connection_pin(check->connection);
	collections = mts_collections_list(table, GetUserId(), false);
	check->scan =
		mts_scan_new(table, GetUserId(), list_make1_int(0), econtext);
	check->scan->bucket->spec.inspect = inspect;
	check->scan->bucket->spec.inspector = check;
	for (int i = 0; i < collections->n; i++)
		read_collection(check, collections->items[i].name,
						Max(rint(size / collections->n), 1), slot);
	if (check->documents == 0)
		report_emptiness(check, collections);
	else
	{
		report_fields(check);
		report_invalid(check);
		report_times(check);
		check_claims(check, collections);
		if (has_identity(check))
			check_index(check, collections);
	}
	ExecDropSingleTupleTableSlot(slot);
	FreeExprContext(econtext, true);
}

/*
 * SQL: mongo_ts_check(relation regclass) returns setof record
 *
 * Return what the sampled documents say against the declaration of a table.
 */
Datum
mongo_ts_check(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	Check check = {.context = CurrentMemoryContext};
	AclResult allowed;

	InitMaterializedSRF(fcinfo, 0);
	check.result = (ReturnSetInfo *) fcinfo->resultinfo;
	check.relation = mts_table_open_relation(relid, AccessShareLock);
	allowed = pg_class_aclcheck(relid, GetUserId(), ACL_SELECT);
	if (allowed != ACLCHECK_OK)
		aclcheck_error(allowed, OBJECT_FOREIGN_TABLE,
					   RelationGetRelationName(check.relation));
	check.table = mts_table_open(check.relation);
	check_table(&check);
	table_close(check.relation, AccessShareLock);
	PG_RETURN_VOID();
}
