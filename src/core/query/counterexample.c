/*
 * counterexample.c
 *		Build the pipeline that looks for documents which contradict what a
 *		table declares of their points, and read its result.
 *
 * Fields of a bucket can hold the number of its points, the sum, the minimum
 * and the maximum of a column, and the first and the last time.  Scans trust
 * them.  So a document contradicts a claim if a scan would trust its field and
 * the field is not what the points say.  A field that a scan ignores, such as
 * one that is absent or a minimum that is NaN, contradicts nothing.  A bound
 * of times is never ignored: without it, the bucket is invalid.
 *
 * The order of addition decides the last bits of a sum of n doubles.  Two
 * orders differ by at most n * 2^-52 times the sum of the absolute values, so
 * a sum that differs by less contradicts nothing.
 *
 * The pipeline reads each document once for all claims, and returns one
 * document: the number of those that contradict each claim, and for each claim
 * the one with the least _id.  It returns none if there is no document.
 */
#include "core/query/counterexample.h"

#include <stdio.h>
#include <string.h>

#include "core/bson/template.h"
#include "core/query/points.h"

#define NUMBERS "['int', 'long', 'double', 'decimal']"

/* The numbers that can be the number of points */
#define COUNTS "['int', 'long', 'double']"

/* What $type says of the types that a field's value may be compared with */
#define COMPARABLE \
	"{$cond: [{$in: [{$type: '$f%d'}, " NUMBERS "]}, " NUMBERS \
	", [{$type: '$f%d'}]]}"

/* ---- Claims ------------------------------------------------------------- */

/*
 * mts_counterexample_claims
 *		List what a layout declares, and return the number of claims.
 *
 * claims has room for MTS_MAX_CLAIMS.  The fields of a native bucket are the
 * server's own, and are not listed.
 */
int
mts_counterexample_claims(const MtsLayout *layout, MtsClaim *claims)
{
	int n = 0;

	if (layout->nslots == 0 || layout->version.is_set)
		return 0;
	if (layout->count.is_set)
		claims[n++] = (MtsClaim){MTS_CLAIM_COUNT, NULL, &layout->count};
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];

		if (column->sum.is_set)
			claims[n++] = (MtsClaim){MTS_CLAIM_SUM, column, &column->sum};
		if (column->min.is_set)
			claims[n++] = (MtsClaim){MTS_CLAIM_MINIMUM, column, &column->min};
		if (column->max.is_set)
			claims[n++] = (MtsClaim){MTS_CLAIM_MAXIMUM, column, &column->max};
	}
	if (layout->first.is_set)
		claims[n++] = (MtsClaim){MTS_CLAIM_FIRST, NULL, &layout->first};
	if (layout->last.is_set)
		claims[n++] = (MtsClaim){MTS_CLAIM_LAST, NULL, &layout->last};
	return n;
}

/* mts_counterexample_option: the option that makes a claim. */
const char *
mts_counterexample_option(const MtsClaim *claim)
{
	static const char *const options[] = {
		[MTS_CLAIM_COUNT] = "count_field",
		[MTS_CLAIM_SUM] = "sum_field",
		[MTS_CLAIM_MINIMUM] = "min_field",
		[MTS_CLAIM_MAXIMUM] = "max_field",
		[MTS_CLAIM_FIRST] = "bucket_first_field",
		[MTS_CLAIM_LAST] = "bucket_last_field",
	};

	return options[claim->kind];
}

/* Tell whether a claim is about the times of the points. */
static bool
is_bound(const MtsClaim *claim)
{
	return claim->kind == MTS_CLAIM_FIRST || claim->kind == MTS_CLAIM_LAST;
}

/*
 * Tell whether MongoDB compares a bound with the times of the points as the
 * unfolding does: both have one format whose values sort as the times, or are
 * a date and offsets from dates.
 */
static bool
can_compare_times(const MtsLayout *layout, const MtsField *bound)
{
	const MtsColumn *time = mts_layout_time_column(layout);

	if (time->container < 0 || mts_format_is_relative(&bound->format))
		return false;
	switch (time->format.kind)
	{
		case MTS_FORMAT_DATE:
		case MTS_FORMAT_EPOCH:
		case MTS_FORMAT_EPOCH_MS:
		case MTS_FORMAT_EPOCH_US:
		case MTS_FORMAT_EPOCH_NS:
		case MTS_FORMAT_TICKS:
		case MTS_FORMAT_OID:
			return bound->format.kind == time->format.kind &&
				   bound->format.ndigits == time->format.ndigits;
		case MTS_FORMAT_TEXT:
			return time->format.sorted &&
				   bound->format.kind == MTS_FORMAT_TEXT &&
				   bound->format.is_number == time->format.is_number &&
				   strcmp(bound->format.pattern, time->format.pattern) == 0;
		case MTS_FORMAT_OFFSET:
			return bound->format.kind == MTS_FORMAT_DATE &&
				   layout->bucket_time.is_set &&
				   layout->bucket_time.format.kind == MTS_FORMAT_DATE &&
				   mts_path_addressable_steps(&layout->bucket_time.path) ==
					   layout->bucket_time.path.nsteps &&
				   !mts_span_is_calendar(time->format.unit);
		default:
			return false;
	}
}

/*
 * mts_counterexample_exists_query
 *		Tell whether MongoDB can look for documents that contradict a claim.
 *
 * It cannot if a path has a name that expressions cannot address, if the times
 * of the points are keys, or if text does not sort as time.
 */
bool
mts_counterexample_exists_query(const MtsLayout *layout, const MtsClaim *claim)
{
	const MtsPath *path = &claim->field->path;

	if (mts_path_addressable_steps(path) < path->nsteps ||
		(is_bound(claim) && !can_compare_times(layout, claim->field)))
		return false;
	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].container >= 0 &&
			layout->columns[i].role != MTS_ROLE_SLOT &&
			!mts_points_reach_column(layout, &layout->columns[i]))
			return false;
	return true;
}

/* ---- The points --------------------------------------------------------- */

/* Append the reference to a field as key. */
static void
append_field(bson_t *project, const char *key, const MtsField *field)
{
	char path[MTS_MAX_PATH];

	mts_path_dotted(field->path.steps, field->path.nsteps, path, sizeof(path));
	mts_template_append(project, key, "'$%s'", path);
}

/* The key of a value of claim i in the documents between the stages */
static const char *
key_of(char key[16], char kind, int i)
{
	snprintf(key, 16, "%c%d", kind, i);
	return key;
}

/* The other extreme of the column of a claim, if it is declared; or NULL */
static const MtsField *
other_extreme(const MtsClaim *claim)
{
	const MtsField *other =
		claim->kind == MTS_CLAIM_MINIMUM   ? &claim->column->max
		: claim->kind == MTS_CLAIM_MAXIMUM ? &claim->column->min
										   : NULL;

	return other && other->is_set ? other : NULL;
}

/* Append {f: the field, o: the other extreme} of a claim. */
static void
append_fields(const MtsClaim *claim, int i, bson_t *project)
{
	const MtsField *other = other_extreme(claim);
	char key[16];

	append_field(project, key_of(key, 'f', i), claim->field);
	if (other)
		append_field(project, key_of(key, 'o', i), other);
}

/*
 * Append the times of the points, in a form that compares with bounds: those
 * of offsets as milliseconds since 1970, those of ObjectIds as dates.
 */
static void
append_times(const MtsLayout *layout, int i, bson_t *project)
{
	const MtsColumn *time = mts_layout_time_column(layout);
	const MtsFormat *format = &time->format;
	bson_value_t msecs = {.value_type = BSON_TYPE_DOUBLE,
						  .value.v_double = format->unit.usecs / 1000.0};
	bson_t times = BSON_INITIALIZER;
	char key[16];

	key_of(key, 'r', i);
	mts_points_readings(layout, time, &times, "");
	if (format->kind == MTS_FORMAT_OFFSET)
		mts_template_append(
			project, key,
			"{$map: {input: {$filter: {input: %b, as: 'x',"
			" cond: {$in: [{$type: '$$x'}, " NUMBERS "]}}},"
			" in: {$add: [{$cond: [{$eq: [{$type: '$t'}, 'date']},"
			" {$toLong: '$t'}, null]},"
			" {$multiply: [{$subtract: ['$$this', %i]}, %v]}]}}}",
			&times, format->base, &msecs);
	else if (format->kind == MTS_FORMAT_OID)
		mts_template_append(project, key,
							"{$map: {input: {$filter: {input: %b, as: 'x',"
							" cond: {$eq: [{$type: '$$x'}, 'objectId']}}},"
							" in: {$toDate: '$$this'}}}",
							&times);
	else
		mts_template_append(project, key, "%b", &times);
	bson_destroy(&times);
}

/* ---- What the points say ------------------------------------------------ */

/*
 * Append what decides a claim about values: p, what the points say; d, whether
 * there are values that do not compare with the field; and of a sum of
 * doubles t, by how much it may differ.
 */
static void
append_aggregate(const MtsClaim *claim, int i, bson_t *project)
{
	bool is_sum = claim->kind == MTS_CLAIM_SUM;
	bson_t aggregate = BSON_INITIALIZER, types = BSON_INITIALIZER;
	char key[16];

	mts_points_aggregate(claim->column,
						 is_sum                             ? MTS_SUM_OF
						 : claim->kind == MTS_CLAIM_MINIMUM ? MTS_MINIMUM_OF
															: MTS_MAXIMUM_OF,
						 &aggregate, "");
	if (is_sum)
		mts_template_append(&types, "", NUMBERS);
	else
		mts_template_append(&types, "", COMPARABLE, i, i);
	mts_template_append(project, key_of(key, 'p', i),
						is_sum
							? "{$let: {vars: {v: {$filter: {input: '$r%d',"
							  " as: 'x', cond: {$in: [{$type: '$$x'}, " NUMBERS
							  "]}}}}, in: %b}}"
							: "{$let: {vars: {v: '$r%d'}, in: %b}}",
						i, &aggregate);
	mts_template_append(
		project, key_of(key, 'd', i),
		"{$gt: [{$size: [{$filter: {input: '$r%d', as: 'x',"
		" cond: {$not: [{$in: [{$type: '$$x'},"
		" {$concatArrays: [%b, ['null', 'undefined']]}]}]}}}]},"
		" 0]}",
		i, &types);
	if (is_sum && claim->column->may_be_nan)
		mts_template_append(
			project, key_of(key, 't', i),
			"{$multiply: [2.220446049250313e-16, {$size: ['$r%d']},"
			" {$sum: {$map: {input: {$filter: {input: '$r%d', as: 'x',"
			" cond: {$in: [{$type: '$$x'}, " NUMBERS "]}}},"
			" in: {$abs: '$$this'}}}}]}",
			i, i);
	bson_destroy(&aggregate);
	bson_destroy(&types);
}

/* Append what decides a claim: f, o, and what the points say. */
static void
append_compared(const MtsLayout *layout, const MtsClaim *claim, int i,
				bson_t *project)
{
	char key[16];

	mts_template_append(project, key_of(key, 'f', i), "1");
	if (other_extreme(claim))
		mts_template_append(project, key_of(key, 'o', i), "1");
	if (claim->column)
		append_aggregate(claim, i, project);
	else if (claim->kind == MTS_CLAIM_COUNT)
		mts_template_append(project, key_of(key, 'p', i), "'$c'");
	else
		mts_template_append(project, key_of(key, 'p', i),
							claim->kind == MTS_CLAIM_FIRST ? "{$min: '$r%d'}"
														   : "{$max: '$r%d'}",
							i);
}

/* ---- Contradictions ----------------------------------------------------- */

/* Append conditions that a scan trusts the extreme in a field: f or o. */
static void
append_trusted(const MtsClaim *claim, char field, int i, bson_t *all)
{
	const MtsMissing *missing = &claim->column->missing;
	bson_value_t value = mts_layout_missing_value(missing);
	char name[16];

	key_of(name, field, i);
	mts_template_append(all, "",
						"{$in: [{$type: '$%s'}, ['int', 'long', 'double',"
						" 'decimal', 'string', 'date']]}",
						name);
	mts_template_append(all, "", "{$ne: ['$%s', NaN]}", name);
	if (missing->kind != MTS_MISSING_NONE)
		mts_template_append(all, "", "{$ne: ['$%s', {$literal: %v}]}", name,
							&value);
}

/* Append the conditions that an extreme contradicts the points. */
static void
append_wrong_extreme(const MtsClaim *claim, int i, bson_t *all)
{
	append_trusted(claim, 'f', i, all);
	if (other_extreme(claim))
	{
		append_trusted(claim, 'o', i, all);
		mts_template_append(all, "",
							"{$in: [{$type: '$o%d'}, " COMPARABLE "]}", i, i,
							i);
	}
	mts_template_append(all, "", "{$gt: ['$c', 0]}");
	mts_template_append(all, "", "{$or: ['$d%d', {$ne: ['$f%d', '$p%d']}]}", i,
						i, i);
}

/*
 * Append the conditions that a sum contradicts the points.  A sum that is
 * infinite or not a number, or whose tolerance is, is not close to any.
 */
static void
append_wrong_sum(const MtsClaim *claim, int i, bson_t *all)
{
	bson_t difference = BSON_INITIALIZER;

	mts_template_append(&difference, "",
						"{$abs: {$subtract: [{$cond: [{$in: [{$type: '$f%d'},"
						" " NUMBERS "]}, '$f%d', null]}, '$p%d']}}",
						i, i, i);
	mts_template_append(all, "", "{$in: [{$type: '$f%d'}, " NUMBERS "]}", i);
	mts_template_append(all, "", "{$ne: ['$f%d', NaN]}", i);
	if (!claim->column->may_be_nan)
		mts_template_append(all, "",
							"{$or: ['$d%d', {$ne: ['$f%d', '$p%d']}]}", i, i,
							i);
	else
		mts_template_append(
			all, "",
			"{$or: ['$d%d', {$not: [{$or: [{$eq: ['$f%d', '$p%d']},"
			" {$and: [{$gte: [%b, 0]}, {$lte: [%b, '$t%d']},"
			" {$lt: ['$t%d', 1.0e308]}]}]}]}]}",
			i, i, i, &difference, &difference, i, i);
	bson_destroy(&difference);
}

/* What $type says of the times of a format */
static const char *
list_types(const MtsFormat *format)
{
	switch (format->kind)
	{
		case MTS_FORMAT_DATE:
			return "['date']";
		case MTS_FORMAT_OID:
			return "['objectId']";
		default:
			return format->ndigits > 0 || (format->kind == MTS_FORMAT_TEXT &&
										   !format->is_number)
					   ? "['string']"
					   : NUMBERS;
	}
}

/*
 * Append the conditions that a bound contradicts the times of the points.  It
 * is in the form of append_times.
 */
static void
append_wrong_bound(const MtsLayout *layout, const MtsClaim *claim, int i,
				   bson_t *all)
{
	bool is_first = claim->kind == MTS_CLAIM_FIRST;
	MtsFormatKind kind = mts_layout_time_column(layout)->format.kind;
	bson_t has_type = BSON_INITIALIZER, bound = BSON_INITIALIZER,
		   list = BSON_INITIALIZER;

	mts_template_append(&list, "", list_types(&claim->field->format));
	mts_template_append(&has_type, "", "{$in: [{$type: '$f%d'}, %b]}", i,
						&list);
	mts_template_append(&bound, "",
						kind == MTS_FORMAT_OFFSET
							? "{$cond: [%b, {$toLong: '$f%d'}, null]}"
						: kind == MTS_FORMAT_OID
							? "{$cond: [%b, {$toDate: '$f%d'}, null]}"
							: "{$cond: [%b, '$f%d', null]}",
						&has_type, i);
	mts_template_append(
		all, "",
		is_first ? "{$or: [{$not: [%b]}, {$and: [{$ne: ['$p%d', null]},"
				   " {$gt: [%b, '$p%d']}]}]}"
				 : "{$or: [{$not: [%b]}, {$and: [{$ne: ['$p%d', null]},"
				   " {$lt: [%b, '$p%d']}]}]}",
		&has_type, i, &bound, i);
	bson_destroy(&has_type);
	bson_destroy(&bound);
	bson_destroy(&list);
}

/* Append the number of documents that contradict a claim, and one of them. */
static void
append_result(const MtsLayout *layout, const MtsClaim *claim, int i,
			  bson_t *group)
{
	bool is_offset =
		is_bound(claim) &&
		mts_layout_time_column(layout)->format.kind == MTS_FORMAT_OFFSET;
	bson_t all = BSON_INITIALIZER;
	char key[16];

	if (claim->kind == MTS_CLAIM_COUNT)
	{
		mts_template_append(&all, "", "{$in: [{$type: '$f%d'}, " COUNTS "]}",
							i);
		mts_template_append(&all, "", "{$ne: ['$f%d', NaN]}", i);
		mts_template_append(&all, "", "{$ne: ['$f%d', '$p%d']}", i, i);
	}
	else if (claim->kind == MTS_CLAIM_SUM)
		append_wrong_sum(claim, i, &all);
	else if (claim->column)
		append_wrong_extreme(claim, i, &all);
	else
		append_wrong_bound(layout, claim, i, &all);
	mts_template_append(group, key_of(key, 'n', i),
						"{$sum: {$cond: [{$and: %a}, 1, 0]}}", &all);
	mts_template_append(
		group, key_of(key, 'e', i),
		is_offset ? "{$min: {$cond: [{$and: %a}, {id: '$_id', says: '$f%d',"
					" points: {$toDate: '$p%d'}}, null]}}"
				  : "{$min: {$cond: [{$and: %a}, {id: '$_id', says: '$f%d',"
					" points: '$p%d'}, null]}}",
		&all, i, i);
	bson_destroy(&all);
}

/* ---- The pipeline ------------------------------------------------------- */

/*
 * mts_counterexample_stages
 *		Append the stages that compare all documents with n claims.
 *
 * Stages that select documents come before them.  Claims for which
 * mts_counterexample_exists_query is false have no result.
 */
void
mts_counterexample_stages(const MtsLayout *layout, const MtsClaim *claims,
						  int n, bson_t *pipeline)
{
	bson_t points = BSON_INITIALIZER, readings = BSON_INITIALIZER,
		   compared = BSON_INITIALIZER, group = BSON_INITIALIZER;
	char key[16];

	mts_points_collect(layout, MTS_POINTS_OF_DOCUMENTS, &points);
	if (layout->bucket_time.is_set)
		append_field(&points, "t", &layout->bucket_time);
	mts_points_count(layout, &readings, "c");
	mts_template_append(&compared, "c", "1");
	mts_template_append(&group, "_id", "null");
	for (int i = 0; i < n; i++)
	{
		const MtsClaim *claim = &claims[i];

		if (!mts_counterexample_exists_query(layout, claim))
			continue;
		append_fields(claim, i, &points);
		mts_template_append(&readings, key_of(key, 'f', i), "1");
		if (other_extreme(claim))
			mts_template_append(&readings, key_of(key, 'o', i), "1");
		if (claim->column)
			mts_points_readings(layout, claim->column, &readings,
								key_of(key, 'r', i));
		else if (is_bound(claim))
			append_times(layout, i, &readings);
		append_compared(layout, claim, i, &compared);
		append_result(layout, claim, i, &group);
	}
	mts_template_push(pipeline, "{$project: %o}", &points);
	mts_template_push(pipeline, "{$project: %o}", &readings);
	mts_template_push(pipeline, "{$project: %o}", &compared);
	mts_template_push(pipeline, "{$group: %o}", &group);
	bson_destroy(&points);
	bson_destroy(&readings);
	bson_destroy(&compared);
	bson_destroy(&group);
}

/* Find a field of a document; one of type 0 if it is absent. */
static MtsElement
find(const MtsElement *document, const char *name)
{
	MtsStep step = {.kind = MTS_STEP_NAME, .name = name, .len = strlen(name)};
	MtsElement element = {0};

	if (document->type != BSON_TYPE_DOCUMENT ||
		mts_path_find(document, &step, 1, &element) != MTS_FOUND)
		element = (MtsElement){0};
	return element;
}

/*
 * mts_counterexample_read
 *		Read the result of a claim, by its index, from the document that the
 *		pipeline returns.
 *
 * The elements stay as long as the document.
 */
MtsCounterexample
mts_counterexample_read(const bson_t *result, int claim)
{
	MtsElement root = mts_element_document(bson_get_data(result), result->len);
	MtsCounterexample found = {false};
	MtsElement element;
	char key[16];

	element = find(&root, key_of(key, 'n', claim));
	found.is_known =
		mts_element_integer(&element, MTS_MAX_EXACT, &found.documents);
	element = find(&root, key_of(key, 'e', claim));
	found.id = find(&element, "id");
	found.says = find(&element, "says");
	found.points_say = find(&element, "points");
	return found;
}
