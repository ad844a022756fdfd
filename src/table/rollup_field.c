/*
 * rollup_field.c
 *		Compute which totals the rows of a roll-up have.
 *
 * A column can be added to the points, and its totals to a roll-up whose rows
 * exist.  So the state of a roll-up lists the fields that its rows have: the
 * totals of columns, and the number of points.  For each, it has the
 * fingerprint of the declarations by which it was computed, and the first
 * interval that has it.  A query that requires no other field is answered as
 * before.
 *
 * A field is identified by its path in the documents of the roll-up.  What was
 * computed by another declaration is distinguished from what there is not: a
 * user may know that it is still right.
 */
#include "table/rollup_field.h"

#include "driver/document.h"
#include "table/fingerprint.h"

/*
 * Return the fingerprint of a column with a total, or with the number of
 * points; 0 for another one.
 */
static int64
field_fingerprint(const MtsRollup *rollup, AttrNumber attnum)
{
	Oid relid = rollup->table->relid;

	if (attnum == rollup->npoints)
		return (
			int64) mts_fingerprint_pair(mts_fingerprint_points(rollup->points),
										"points", relid, attnum);
	for (int i = 0; i < rollup->ncolumns; i++)
		for (int kind = 0; kind < MTS_ROLLUP_NKINDS; kind++)
			if (rollup->totals[i].of[kind] == attnum)
				return (int64)
					mts_fingerprint_pair(mts_fingerprint_column(rollup->points,
																i + 1),
										 mts_rollup_kinds[kind], relid,
										 attnum);
	return 0;
}

/* Return the field of a column, as a state has it. */
static const char *
field_name(const MtsRollup *rollup, AttrNumber attnum)
{
	const char *field =
		mts_option_get(GetForeignColumnOptions(rollup->table->relid, attnum),
					   "field");

	return mts_document_utf8(
		field ? field : rollup->table->layout.columns[attnum - 1].name);
}

/* Return what a state says of the field of a column; NULL if nothing. */
static const MtsRollupField *
find_field(const MtsRollup *rollup, const MtsRollupState *state,
		   AttrNumber attnum)
{
	const char *name = field_name(rollup, attnum);

	for (int i = 0; i < state->nfields; i++)
		if (strcmp(state->fields[i].name, name) == 0)
			return &state->fields[i];
	return NULL;
}

/*
 * mts_rollup_field_find
 *		Tell whether the rows have a total, or the number of points, as its
 *		column is declared now.
 *
 * *since is the first interval whose rows have it, in this or another way:
 * MTS_TIME_MAX if none has.
 */
bool
mts_rollup_field_find(const MtsRollup *rollup, const MtsRollupState *state,
					  AttrNumber attnum, MtsTime *since)
{
	const MtsRollupField *field;

	*since = MTS_TIME_MIN;
	if (rollup->by_application)
		return true;
	field = find_field(rollup, state, attnum);
	*since = field ? field->since : MTS_TIME_MAX;
	return field && field->fingerprint == field_fingerprint(rollup, attnum);
}

/*
 * mts_rollup_field_change
 *		Find what has been declared since the rows were computed.
 *
 * Another container of the points adds points; it does not alter the rows of
 * those that have been removed since.
 */
MtsRollupChange
mts_rollup_field_change(const MtsRollup *rollup, const MtsRollupState *state)
{
	MtsRollupChange change = MTS_ROLLUP_SAME;

	if (state->problem == mts_rollup_is_altered)
		return MTS_ROLLUP_ALTERED;
	if (state->until == MTS_TIME_MIN)
		return MTS_ROLLUP_SAME;
	for (int i = 1; i <= rollup->table->layout.ncolumns; i++)
	{
		MtsTime since;

		if (field_fingerprint(rollup, i) == 0 ||
			mts_rollup_field_find(rollup, state, i, &since))
			continue;
		if (since != MTS_TIME_MAX && i != rollup->npoints)
			return MTS_ROLLUP_ALTERED;
		change = MTS_ROLLUP_EXTENDED;
	}
	return change;
}

/*
 * mts_rollup_field_read
 *		Read from a state which fields the rows have; false if the array is
 *		not valid.
 */
bool
mts_rollup_field_read(const MtsRollup *rollup, const bson_iter_t *array,
					  MtsRollupState *state)
{
	bson_iter_t item, at;
	bson_t view;

	if (!BSON_ITER_HOLDS_ARRAY(array) || !bson_iter_recurse(array, &item))
		return false;
	state->fields =
		palloc((mts_document_length(array) + 1) * sizeof(MtsRollupField));
	while (bson_iter_next(&item))
	{
		MtsRollupField *field = &state->fields[state->nfields++];

		if (!mts_document_view(&item, &view) ||
			!bson_iter_init_find(&at, &view, "field") ||
			!BSON_ITER_HOLDS_UTF8(&at))
			return false;
		field->name = pstrdup(bson_iter_utf8(&at, NULL));
		field->fingerprint = mts_document_number(&view, "fingerprint");
		field->since = MTS_TIME_MIN;
		if (bson_iter_init_find(&at, &view, "since") &&
			!mts_rollup_read_time(&at, &field->since))
			return false;
		field->since = mts_rollup_ceil(rollup, field->since);
	}
	return true;
}

/* The first interval whose rows get a field by a refresh; see below */
static MtsTime
new_since(const MtsRollup *rollup, const MtsRollupState *state,
		  const MtsRollupField *field, bool is_anew)
{
	if (is_anew && !rollup->drops_points)
		return MTS_TIME_MIN;
	if (field)
		return field->since;
	return state->until == MTS_TIME_MIN && !state->problem
			   ? MTS_TIME_MIN
			   : mts_rollup_first_kept(rollup);
}

/* The first interval for which a finer roll-up has the source of a column */
static MtsTime
since_of_finer(const MtsRollup *rollup, AttrNumber attnum,
			   const MtsRollup *finer, const MtsRollupState *state)
{
	AttrNumber of = attnum == rollup->npoints ? finer->npoints : 0;
	MtsTime since;

	for (int i = 0; i < rollup->ncolumns; i++)
		for (int kind = 0; kind < MTS_ROLLUP_NKINDS; kind++)
			if (rollup->totals[i].of[kind] == attnum)
				of = finer->totals[i].of[kind];
	if (of == 0)
		return MTS_TIME_MIN;
	(void) mts_rollup_field_find(finer, state, of, &since);
	return since == MTS_TIME_MAX ? since : mts_rollup_ceil(rollup, since);
}

/*
 * mts_rollup_field_make
 *		Return what the state of a roll-up says of its fields after a refresh:
 *		an array.
 *
 * state is that before the refresh.  If is_anew, the refresh computes all rows
 * again whose points have not been removed: those before keep what they have.
 * finer is the roll-up that it is computed from, with its state; or NULL.
 */
bson_t *
mts_rollup_field_make(const MtsRollup *rollup, const MtsRollupState *state,
					  bool is_anew, const MtsRollup *finer,
					  const MtsRollupState *finer_state)
{
	bson_t *array = mts_document_new();

	for (int i = 1; i <= rollup->table->layout.ncolumns; i++)
	{
		int64 fingerprint = field_fingerprint(rollup, i);
		const MtsRollupField *field;
		bson_value_t value = {.value_type = BSON_TYPE_INT64};
		bson_t *item;
		MtsTime since;

		if (fingerprint == 0)
			continue;
		field = find_field(rollup, state, i);
		since = new_since(rollup, state, field, is_anew);
		if (finer && (!field || field->fingerprint != fingerprint || is_anew))
			since = Max(since, since_of_finer(rollup, i, finer, finer_state));
		if (since == MTS_TIME_MAX)
			continue;
		value.value.v_int64 = fingerprint;
		item = mts_document_make("{field: %s, fingerprint: %v}",
								 field_name(rollup, i), &value);
		value = (bson_value_t){.value_type = BSON_TYPE_DATE_TIME};
		value.value.v_datetime = (since - MTS_UNIX_EPOCH) / 1000;
		if (since != MTS_TIME_MIN)
			mts_template_fields(item, "{since: %v}", &value);
		mts_template_push(array, "%o", item);
	}
	return array;
}
