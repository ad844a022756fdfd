/*
 * identity.c
 *		Which fields tell a bucket from the others, and what can't be written.
 *
 * A bucket is the one with these keys, this time and the filter's equalities;
 * where they lie inside _id, the one with this _id.  All is palloc'd.
 */
#include "identity.h"

#include "core/slot.h"
#include "document.h"

/* Does a path begin with _id? */
bool
mts_identity_is_id(const MtsStep *steps, int nsteps)
{
	return nsteps > 0 && steps[0].kind == MTS_STEP_NAME &&
		   strcmp(steps[0].name, "_id") == 0;
}

static bool
same_path(const MtsPath *a, const MtsPath *b)
{
	return a->nsteps == b->nsteps && mts_path_starts_with(a, b, b->nsteps);
}

/* Can an update address the names of a path, its slots aside? */
bool
mts_identity_writable(const MtsPath *path)
{
	for (int i = 0; i < path->nsteps; i++)
		if (!mts_step_is_slot(&path->steps[i]) &&
			!mts_step_addressable(&path->steps[i]))
			return false;
	return path->nsteps > 0;
}

/* Does an option name this field for what the writes keep themselves? */
static bool
is_kept_field(const MtsLayout *layout, const MtsPath *path)
{
	const MtsField *fields[] = {&layout->first, &layout->last, &layout->count};

	for (int i = 0; i < (int) lengthof(fields); i++)
		if (fields[i]->is_set && same_path(path, &fields[i]->path))
			return true;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		const MtsField *of[] = {&column->sum, &column->min, &column->max};

		for (int j = 0; j < (int) lengthof(of); j++)
			if (of[j]->is_set && same_path(path, &of[j]->path))
				return true;
	}
	return false;
}

/* The slots that can be written: keys, then indexes; or keys, then [] */
static bool
are_writable_slots(const MtsLayout *layout)
{
	bool in_array = false;

	for (int i = 0; i < layout->nslots; i++)
	{
		const MtsStep *slot = layout->slots[i];

		if (in_array ? slot->kind != MTS_STEP_UNIT_INDEX ||
						   layout->slots[i - 1]->kind == MTS_STEP_ELEMENT
					 : false)
			return false;
		in_array = mts_step_is_array(slot);
	}
	return true;
}

/* The column inside of whose value another one's lies, or NULL */
static const char *
find_enclosing(const MtsLayout *layout, int column)
{
	const MtsPath *path = &layout->columns[column].path;

	for (int i = 0; i < layout->ncolumns; i++)
		if (i != column && layout->columns[i].role != MTS_ROLE_SLOT &&
			layout->columns[i].path.nsteps > 0 &&
			mts_path_starts_with(path, &layout->columns[i].path,
								 layout->columns[i].path.nsteps))
			return layout->columns[i].name;
	return NULL;
}

/* Does a name stand between two indexes of a path? */
static bool
is_interrupted(const MtsLayout *layout)
{
	for (int i = 0; i < layout->ncontainers; i++)
	{
		const MtsContainer *container = &layout->containers[i];
		bool in_array = false;

		for (int j = 0; j < container->nsteps; j++)
		{
			const MtsStep *step = &container->path->steps[j];

			if (in_array && !mts_step_is_array(step))
				return true;
			in_array = mts_step_is_array(step);
		}
	}
	return false;
}

/*
 * mts_identity_shape_problem
 *		Why points of this layout can't be written at all; NULL if they can.
 */
const char *
mts_identity_shape_problem(const MtsTable *table)
{
	const MtsLayout *layout = &table->layout;
	const char *enclosing;

	if (!table->updatable)
		return "Option \"updatable\" is \"false\".";
	if (!are_writable_slots(layout))
		return "Its points lie in arrays inside of what is not an array of "
			   "slots that count.";
	for (int i = 0; i < layout->nslots; i++)
		if (layout->slots[i]->kind == MTS_STEP_UNIT_INDEX &&
			layout->slots[i]->base != 0)
			return "The indexes of its arrays do not count from 0.";
	if (is_interrupted(layout))
		return "A name stands between the indexes of its arrays.";
	if (!mts_slot_is_numbered(layout))
		return "A bucket has more slots than can be numbered.";
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];

		if (column->role == MTS_ROLE_SLOT || column->path.nsteps == 0 ||
			(column->container < 0 && column->path.nsteps == 1 &&
			 mts_identity_is_id(column->path.steps, 1) &&
			 column->role != MTS_ROLE_TIME))
			continue;
		if (!mts_identity_writable(&column->path))
			return psprintf("No update can address the field of column "
							"\"%s\".",
							column->name);
		if (column->container >= 0 && mts_step_is_slot(&column->path.steps[0]))
			return "Its points are fields of the document itself.";
		enclosing = find_enclosing(layout, i);
		if (enclosing)
			return psprintf("The value of column \"%s\" lies inside of that "
							"of column \"%s\".",
							column->name, enclosing);
	}
	return NULL;
}

/* The filter's equality on the field of a column, or NULL */
static MtsIdentityPart *
find_fixed(const MtsIdentity *identity, const MtsPath *path)
{
	for (int i = 0; i < identity->n; i++)
	{
		MtsIdentityPart *part = &identity->parts[i];
		MtsPath fixed = {.nsteps = part->nsteps};

		if (part->fixed.value_type == BSON_TYPE_EOD)
			continue;
		memcpy(fixed.steps, part->steps, part->nsteps * sizeof(MtsStep));
		if (same_path(path, &fixed))
			return part;
	}
	return NULL;
}

static bool
is_sorted(const MtsFormat *format)
{
	return format->kind != MTS_FORMAT_TEXT || format->sorted;
}

/* Why no bucket can be found or made again by what its points say */
static const char *
find_problem(const MtsTable *table, const MtsIdentity *identity)
{
	const MtsLayout *layout = &table->layout;
	const MtsColumn *time = mts_layout_time(layout);
	bool has_key = false;

	for (int i = 0; i < identity->n; i++)
		has_key |= identity->parts[i].column >= 0;
	if (time && time->format.kind == MTS_FORMAT_OID)
		return "The time is a part of an ObjectId, which MongoDB makes.";
	if (layout->nslots == 0)
		return NULL;
	if (layout->bucket_time.is_set &&
		layout->bucket_time.format.kind == MTS_FORMAT_OID)
		return "The bucket's time is a part of an ObjectId, which MongoDB "
			   "makes.";
	if (!layout->bucket_time.is_set && !has_key && layout->max_points == 0)
		return "Nothing tells its buckets apart: they have neither a time "
			   "nor a key.";
	if (layout->nslots > 1 && layout->max_points > 0)
		return "Option \"bucket_max_points\" limits one array, but its "
			   "buckets have several.";
	if (identity->is_id && layout->max_points > 0)
		return "Option \"bucket_max_points\" makes several buckets, which "
			   "would have the same _id.";
	if ((layout->first.is_set && !is_sorted(&layout->first.format)) ||
		(layout->last.is_set && !is_sorted(&layout->last.format)))
		return "The bounds of its buckets are texts that do not sort as time.";
	for (int i = 0; !layout->bucket_time.is_set && i < layout->nslots; i++)
		if (!mts_span_is_zero(layout->slots[i]->unit))
			return "Its slots count from a time that its buckets do not have.";
	return NULL;
}

/*
 * mts_identity_make
 *		Find what identifies the buckets of a table.
 *
 * Where nothing does, problem and hint say why.
 */
MtsIdentity *
mts_identity_make(const MtsTable *table)
{
	const MtsLayout *layout = &table->layout;
	MtsIdentity *identity = palloc0(sizeof(MtsIdentity));
	const char *problem;
	int nfilter = table->filter ? bson_count_keys(table->filter) : 0;

	identity->parts =
		palloc0((layout->ncolumns + nfilter) * sizeof(MtsIdentityPart));
	identity->attributes = palloc(layout->ncolumns * sizeof(int));
	identity->others = mts_document_new();
	identity->read_only = palloc0(layout->ncolumns * sizeof(bool));
	if (table->filter)
		mts_identity_add_filter(identity, layout, table->filter);
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		const MtsPath *path = &column->path;
		MtsIdentityPart part = {path->steps, path->nsteps, i, false, {0}};
		MtsIdentityPart *fixed;

		if (i == layout->time_column && layout->bucket_time.is_set)
		{
			path = &layout->bucket_time.path;
			part = (MtsIdentityPart){path->steps, path->nsteps, -1, true, {0}};
			mts_identity_add(identity, part);
			continue;
		}
		if (column->container >= 0 || column->role == MTS_ROLE_SLOT)
			continue;
		identity->read_only[i] =
			i != layout->time_column &&
			(path->nsteps == 0 ||
			 (path->nsteps == 1 && mts_identity_is_id(path->steps, 1)) ||
			 is_kept_field(layout, path));
		if (identity->read_only[i])
			continue;
		fixed = find_fixed(identity, path);
		if (fixed)
			fixed->column = i;
		else if (column->role == MTS_ROLE_ATTRIBUTE)
			identity->attributes[identity->nattributes++] = i;
		else
			mts_identity_add(identity, part);
	}
	problem = find_problem(table, identity);
	if (problem)
		identity->problem = problem;
	if (!identity->hint && problem && layout->nslots > 0 &&
		!layout->bucket_time.is_set)
		identity->hint =
			"Set options \"bucket_time_field\" and \"bucket_span\", or "
			"option \"bucket_max_points\".";
	return identity;
}

/* The value of a part for a bucket */
static const bson_value_t *
part_value(const MtsIdentityPart *part, const bson_value_t *values,
		   const bson_value_t *bucket_time)
{
	if (part->is_time)
		return bucket_time;
	return part->fixed.value_type == BSON_TYPE_EOD ? &values[part->column]
												   : &part->fixed;
}

/*
 * mts_identity_fields
 *		The fields that tell a bucket, in the order of its parts.
 *
 * values are the columns', bucket_time its time as it is stored; both stay the
 * caller's.
 */
void
mts_identity_fields(const MtsIdentity *identity, const bson_value_t *values,
					const bson_value_t *bucket_time, MtsPlaced *fields)
{
	for (int i = 0; i < identity->n; i++)
	{
		const MtsIdentityPart *part = &identity->parts[i];

		fields[i] = (MtsPlaced){part->steps, part->nsteps,
								part_value(part, values, bucket_time)};
	}
}

/*
 * mts_identity_selector
 *		The query that finds a bucket, and whose equalities make a new one.
 *
 * fields are those of mts_identity_fields.
 */
bson_t *
mts_identity_selector(const MtsIdentity *identity, const MtsPlaced *fields)
{
	bson_t *selector = mts_document_new();
	MtsPlaced *id = palloc(identity->n * sizeof(MtsPlaced));
	char path[MTS_MAX_PATH];
	int nid = 0;

	for (int i = 0; i < identity->n; i++)
	{
		const MtsPlaced *field = &fields[i];
		bson_t eq;

		if (mts_identity_is_id(field->steps, field->nsteps))
		{
			id[nid++] = *field;
			continue;
		}
		mts_path_dotted(field->steps, field->nsteps, path, sizeof(path));
		if (field->value->value_type != BSON_TYPE_DOCUMENT)
		{
			bson_append_value(selector, path, -1, field->value);
			continue;
		}
		/* its first key might be taken for an operator */
		bson_append_document_begin(selector, path, -1, &eq);
		bson_append_value(&eq, "$eq", -1, field->value);
		bson_append_document_end(selector, &eq);
	}
	mts_compose(id, nid, selector);
	if (!bson_empty(identity->others))
		bson_append_array(selector, "$and", -1, identity->others);
	return selector;
}

/*
 * mts_identity_partial
 *		The partial filter of an index that holds the table's buckets alone.
 *
 * It is empty where no filter says what they have in common.
 */
bson_t *
mts_identity_partial(const MtsIdentity *identity)
{
	bson_t *partial = mts_document_new();
	char path[MTS_MAX_PATH];

	for (int i = 0; i < identity->n; i++)
	{
		const MtsIdentityPart *part = &identity->parts[i];

		if (part->fixed.value_type == BSON_TYPE_EOD)
			continue;
		mts_path_dotted(part->steps, part->nsteps, path, sizeof(path));
		bson_append_value(partial, path, -1, &part->fixed);
	}
	return partial;
}
