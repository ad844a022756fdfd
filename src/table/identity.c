/*
 * identity.c
 *		Determine which fields identify a bucket, and whether buckets can be
 *		written.
 *
 * The keys, the bucket's time and the equalities in option filter identify a
 * bucket.  If they lie inside _id, the _id does.  Results are palloc'd.
 */
#include "table/identity.h"

#include "core/bson/template.h"
#include "driver/document.h"

static bool
same_path(const MtsPath *a, const MtsPath *b)
{
	return a->nsteps == b->nsteps && mts_path_starts_with(a, b, b->nsteps);
}

/* Tell whether an update can address the names and keys in a path. */
static bool
is_writable(const MtsPath *path)
{
	for (int i = 0; i < path->nsteps; i++)
		if (path->steps[i].kind == MTS_STEP_UNIT_KEY
				? !mts_slot_key_is_addressable(&path->steps[i])
				: !mts_path_step_is_slot(&path->steps[i]) &&
					  !mts_path_step_is_addressable(&path->steps[i]))
			return false;
	return path->nsteps > 0;
}

/* Tell whether writes maintain a field, as a bound, count or aggregate. */
static bool
is_maintained(const MtsLayout *layout, const MtsPath *path)
{
	const MtsField *fields[] = {&layout->first, &layout->last, &layout->count};

	for (int i = 0; i < (int) lengthof(fields); i++)
		if (fields[i]->is_set && same_path(path, &fields[i]->path))
			return true;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		const MtsField *totals[] = {&column->sum, &column->min, &column->max};

		for (int j = 0; j < (int) lengthof(totals); j++)
			if (totals[j]->is_set && same_path(path, &totals[j]->path))
				return true;
	}
	return false;
}

/* Tell whether slots can be written: keys, then indexes or one []. */
static bool
are_slots_writable(const MtsLayout *layout)
{
	bool in_array = false;

	for (int i = 0; i < layout->nslots; i++)
	{
		const MtsStep *slot = layout->slots[i];

		if (in_array && (slot->kind != MTS_STEP_UNIT_INDEX ||
						 layout->slots[i - 1]->kind == MTS_STEP_ELEMENT))
			return false;
		in_array = mts_path_step_is_array(slot);
	}
	return true;
}

/* The column whose value contains that of another one, or NULL */
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

/* Tell whether a name stands between two indexes of a path. */
static bool
has_name_between_indexes(const MtsLayout *layout)
{
	for (int i = 0; i < layout->ncontainers; i++)
	{
		const MtsContainer *container = &layout->containers[i];
		bool in_array = false;

		for (int j = 0; j < container->nsteps; j++)
		{
			const MtsStep *step = &container->path->steps[j];

			if (in_array && !mts_path_step_is_array(step))
				return true;
			in_array = mts_path_step_is_array(step);
		}
	}
	return false;
}

/*
 * The column or field whose path has a number that may be an index, or NULL.
 *
 * An update cannot make an array from some of its elements.
 */
static const char *
find_index(const MtsLayout *layout)
{
	const MtsField *fields[] = {&layout->bucket_time, &layout->first,
								&layout->last, &layout->count};

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];

		if (mts_path_has_index(&column->path) ||
			mts_path_has_index(&column->sum.path) ||
			mts_path_has_index(&column->min.path) ||
			mts_path_has_index(&column->max.path))
			return psprintf("column \"%s\"", column->name);
	}
	for (int i = 0; i < (int) lengthof(fields); i++)
		if (mts_path_has_index(&fields[i]->path))
			return "a field of the bucket";
	return NULL;
}

/*
 * mts_identity_shape_problem
 *		Tell why points of this layout cannot be written; NULL if they can,
 *		where option updatable allows it.
 *
 * *hint says what to do, or is NULL.
 */
const char *
mts_identity_shape_problem(const MtsTable *table, const char **hint)
{
	const MtsLayout *layout = &table->layout;
	const char *enclosing;
	const char *indexed = find_index(layout);

	*hint = NULL;
	if (!are_slots_writable(layout))
		return "Slots inside of an array can be written only if the slots of both are indexes that count units.";
	for (int i = 0; i < layout->nslots; i++)
		if (layout->slots[i]->kind == MTS_STEP_UNIT_INDEX &&
			layout->slots[i]->base != 0)
			return "Array indexes can be written only if they count from 0.";
	if (has_name_between_indexes(layout))
		return "Nested array indexes can be written only if no name stands between them, as in a[{minute}][{second}].";
	if (!mts_layout_slots_are_numbered(layout))
		return "A bucket has too many slots.";
	if (indexed)
	{
		*hint =
			"If the number is the key of a subdocument, write a backslash before it. Otherwise, declare the array as one column, such as float8[].";
		return psprintf(
			"The path of %s has a number, which may be the index of an array, and arrays cannot be written by their elements.",
			indexed);
	}
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];

		if (column->role == MTS_ROLE_SLOT || column->path.nsteps == 0 ||
			(column->container < 0 && column->path.nsteps == 1 &&
			 mts_path_is_in_id(&column->path) &&
			 column->role != MTS_ROLE_TIME))
			continue;
		if (!is_writable(&column->path))
			return psprintf(
				"MongoDB's update operators cannot address the field of column \"%s\".",
				column->name);
		if (column->container >= 0 &&
			mts_path_step_is_slot(&column->path.steps[0]))
			return "Points that are fields of the document itself cannot be written.";
		enclosing = find_enclosing(layout, i);
		if (enclosing)
			return psprintf(
				"The field of column \"%s\" lies inside of the field of column \"%s\".",
				column->name, enclosing);
	}
	return NULL;
}

/* ---- The filter ------------------------------------------------------- */

/* Add a field that identifies a bucket. */
static void
add_part(MtsIdentity *identity, MtsIdentityPart part)
{
	identity->parts[identity->n++] = part;
	identity->is_id |= mts_path_is_in_id(part.path);
}

/* Tell whether documents without the field match a term of the filter. */
static bool
admits_absence(const bson_iter_t *ops)
{
	bson_iter_t op;

	if (!BSON_ITER_HOLDS_DOCUMENT(ops) || !bson_iter_recurse(ops, &op))
		return false;
	while (bson_iter_next(&op))
	{
		const char *name = bson_iter_key(&op);

		if (!((strcmp(name, "$ne") == 0 && !BSON_ITER_HOLDS_NULL(&op)) ||
			  (strcmp(name, "$exists") == 0 && !bson_iter_as_bool(&op))))
			return false;
	}
	return true;
}

static bool
has_operators(const bson_iter_t *value)
{
	bson_iter_t op;

	return BSON_ITER_HOLDS_DOCUMENT(value) && bson_iter_recurse(value, &op) &&
		   bson_iter_next(&op) && bson_iter_key(&op)[0] == '$';
}

/* The value that a term of the filter requires; false if not an equality */
static bool
find_equality(const bson_iter_t *term, bson_iter_t *value)
{
	bson_iter_t more;

	*value = *term;
	if (!has_operators(term))
		return true;
	if (!bson_iter_recurse(term, value) || !bson_iter_next(value) ||
		strcmp(bson_iter_key(value), "$eq") != 0)
		return false;
	more = *value;
	return !bson_iter_next(&more);
}

/* Tell whether one of two fields is the other one or lies in it. */
static bool
overlaps(const MtsPath *path, const char *name)
{
	char dotted[MTS_MAX_PATH];
	size_t n = mts_path_dotted(path->steps, mts_path_leading_names(path),
							   dotted, sizeof(dotted));

	n = Min(n, strlen(name));
	return n > 0 && strncmp(dotted, name, n) == 0 &&
		   (dotted[n] == '\0' || dotted[n] == '.') &&
		   (name[n] == '\0' || name[n] == '.');
}

/* Tell whether writes to a bucket may set a field, or a part of it. */
static bool
is_written(const MtsLayout *layout, const char *name)
{
	const MtsField *fields[] = {&layout->bucket_time, &layout->first,
								&layout->last, &layout->count};

	for (int i = 0; i < (int) lengthof(fields); i++)
		if (fields[i]->is_set && overlaps(&fields[i]->path, name))
			return true;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];

		if ((column->role != MTS_ROLE_SLOT && overlaps(&column->path, name)) ||
			(column->sum.is_set && overlaps(&column->sum.path, name)) ||
			(column->min.is_set && overlaps(&column->min.path, name)) ||
			(column->max.is_set && overlaps(&column->max.path, name)))
			return true;
	}
	return false;
}

/*
 * Add a term that is not an equality.
 *
 * New buckets must match it without its field, which no write may set.
 */
static void
add_other(MtsIdentity *identity, const MtsLayout *layout,
		  const bson_iter_t *term)
{
	const char *name = bson_iter_key(term);
	bson_t other = BSON_INITIALIZER;

	if (is_written(layout, name) || !admits_absence(term))
	{
		identity->problem = psprintf(
			"A new bucket would not match the term \"%s\" of the filter.",
			name);
		return;
	}
	bson_append_iter(&other, name, -1, term);
	mts_template_push(identity->others, "%o", &other);
	bson_destroy(&other);
}

/* Parse the name of a term, whose numbers are keys in a new bucket. */
static bool
parse_keys(const char *name, MtsPath *path)
{
	MtsError error;

	if (!mts_path_parse(name, palloc(strlen(name) + 1), path, &error))
		return false;
	for (int i = 0; i < path->nsteps; i++)
		path->steps[i].may_be_index = false;
	return true;
}

/* Add one term of the filter. */
static void
add_term(MtsIdentity *identity, const MtsLayout *layout,
		 const bson_iter_t *term)
{
	MtsIdentityPart part = {.column = -1};
	const char *name = bson_iter_key(term);
	MtsPath *path = palloc(sizeof(MtsPath));
	bson_iter_t value;

	if (!find_equality(term, &value))
	{
		add_other(identity, layout, term);
		return;
	}
	part.fixed = *bson_iter_value(&value);
	if (part.fixed.value_type == BSON_TYPE_REGEX || !parse_keys(name, path) ||
		!is_writable(path) || path->nslots > 0)
	{
		identity->problem =
			psprintf("The filter's term \"%s\" is not an equality of a field.",
					 name);
		return;
	}
	part.path = path;
	add_part(identity, part);
}

/* ---- The identity ----------------------------------------------------- */

/* The part for the filter's equality on a field, or NULL */
static MtsIdentityPart *
find_fixed(const MtsIdentity *identity, const MtsPath *path)
{
	for (int i = 0; i < identity->n; i++)
		if (identity->parts[i].fixed.value_type != BSON_TYPE_EOD &&
			same_path(path, identity->parts[i].path))
			return &identity->parts[i];
	return NULL;
}

/* The format of the times of a part; NULL if a filter fixes the part */
static const MtsFormat *
part_format(const MtsLayout *layout, const MtsIdentityPart *part)
{
	return part->is_time       ? &layout->bucket_time.format
		   : part->column >= 0 ? &layout->columns[part->column].format
							   : NULL;
}

/* Why a key does not identify buckets that are written; NULL if it does */
static const char *
key_problem(const MtsTable *table, int column)
{
	const MtsAttribute *attribute = &table->attributes[column];
	const char *name = table->layout.columns[column].name;

	if (mts_type_is_array(attribute->typid))
		return psprintf(
			"Column \"%s\" is a key, but an array, which MongoDB also compares by its elements.",
			name);
	if (attribute->key_type == MTS_KEY_AS_TEXT &&
		!mts_path_is_in_id(&table->layout.columns[column].path))
		return psprintf(
			"Column \"%s\" is a key whose values have any type, so that several buckets have one text.",
			name);
	return NULL;
}

/* Why rows cannot be inserted into buckets; NULL if they can; may set hint */
static const char *
find_problem(const MtsTable *table, MtsIdentity *identity)
{
	const MtsLayout *layout = &table->layout;
	const MtsColumn *time = mts_layout_time_column(layout);
	const char *problem;
	bool has_key = false;

	if (time && !mts_format_is_writable(&time->format))
		return "The times are stored in a format that cannot be written.";
	for (int i = 0; i < identity->n; i++)
	{
		int column = identity->parts[i].column;
		const MtsFormat *format = part_format(layout, &identity->parts[i]);

		if (layout->nslots > 0 && format && !mts_format_is_writable(format))
			return "The buckets have a time in a format that cannot be written.";
		if (layout->nslots > 0 && format && !mts_format_is_unique(format))
		{
			identity->hint =
				"If all texts have one form, set the format to its pattern, such as text:YYYY-MM-DD\"T\"HH24:MI:SS\"+00:00\".";
			return "In the format of the buckets' times, several values mean the same time, so none finds a bucket.";
		}
		has_key |= column >= 0;
		problem = column < 0 || layout->nslots == 0
					  ? NULL
					  : key_problem(table, column);
		if (!problem)
			continue;
		identity->hint =
			"If the column does not identify the buckets, set its option \"role\" to \"attribute\".";
		return problem;
	}
	if (layout->nslots == 0)
		return NULL;
	for (int i = 0; i < identity->nattributes; i++)
		if (mts_path_is_in_id(&layout->columns[identity->attributes[i]].path))
		{
			identity->hint = "Set option \"role\" of the column to \"key\".";
			return psprintf(
				"Column \"%s\" is an attribute, but the _id, which contains it, identifies a bucket.",
				layout->columns[identity->attributes[i]].name);
		}
	if (!layout->bucket_time.is_set && layout->max_points == 0)
	{
		if (layout->write_mode == MTS_WRITE_PUSH)
		{
			identity->hint =
				"Set options \"bucket_time_field\" and \"bucket_span\", or "
				"option \"bucket_max_points\".";
			return "The points carry their own time, and no time of their buckets is declared, so an INSERT cannot find the bucket of a point.";
		}
		if (!has_key)
			return "The buckets cannot be identified, because they have neither a time nor a key.";
	}
	if (layout->nslots > 1 && layout->max_points > 0)
		return "Option \"bucket_max_points\" limits one array, but the buckets have several.";
	if (identity->is_id && layout->max_points > 0)
		return "Option \"bucket_max_points\" makes several buckets of one time, which would have the same _id.";
	if ((layout->first.is_set &&
		 !mts_format_is_sorted(&layout->first.format)) ||
		(layout->last.is_set && !mts_format_is_sorted(&layout->last.format)))
		return "The bounds of the buckets are texts that do not sort by time.";
	for (int i = 0; !layout->bucket_time.is_set && i < layout->nslots; i++)
		if (!mts_span_is_zero(layout->slots[i]->unit))
			return "The slots count from the bucket's time, which the table does not declare.";
	return NULL;
}

/* Add a column that belongs to the bucket as a part or an attribute. */
static void
add_column(MtsIdentity *identity, const MtsLayout *layout, int i)
{
	const MtsColumn *column = &layout->columns[i];
	const MtsPath *path = &column->path;
	bool is_time = i == layout->time_column;
	MtsIdentityPart *fixed;

	if (is_time && layout->bucket_time.is_set)
	{
		add_part(identity,
				 (MtsIdentityPart){&layout->bucket_time.path, -1, true, {0}});
		return;
	}
	if (column->container >= 0 || column->role == MTS_ROLE_SLOT)
		return;
	identity->read_only[i] =
		!is_time &&
		(path->nsteps == 0 || (path->nsteps == 1 && mts_path_is_in_id(path)) ||
		 (layout->nslots == 0 && !mts_format_is_writable(&column->format)) ||
		 is_maintained(layout, path));
	if (identity->read_only[i])
		return;
	fixed = find_fixed(identity, path);
	if (fixed)
		fixed->column = i;
	else if (column->role == MTS_ROLE_ATTRIBUTE)
		identity->attributes[identity->nattributes++] = i;
	else
		add_part(identity, (MtsIdentityPart){path, i, false, {0}});
}

/*
 * Sort the parts of an _id by their columns, in whose order it is written;
 * those that only the filter has stay first.
 */
static void
sort_id(MtsIdentity *identity, int time_column)
{
	for (int i = 1; i < identity->n; i++)
		for (int j = i; j > 0; j--)
		{
			MtsIdentityPart part = identity->parts[j];
			MtsIdentityPart *before = &identity->parts[j - 1];

			if ((part.is_time ? time_column : part.column) >=
				(before->is_time ? time_column : before->column))
				break;
			identity->parts[j] = *before;
			*before = part;
		}
}

/*
 * mts_identity_make
 *		Determine what identifies the buckets of a table.
 *
 * If rows cannot be inserted, problem tells why and hint, if set, what to do.
 * UPDATE and DELETE need no identity unless they move a point.
 */
MtsIdentity *
mts_identity_make(const MtsTable *table)
{
	const MtsLayout *layout = &table->layout;
	MtsIdentity *identity = palloc0(sizeof(MtsIdentity));
	const char *problem;
	int nfilter = table->filter ? bson_count_keys(table->filter) : 0;
	bson_iter_t term;

	identity->parts =
		palloc0((layout->ncolumns + nfilter) * sizeof(MtsIdentityPart));
	identity->attributes = palloc(layout->ncolumns * sizeof(int));
	identity->others = mts_document_new();
	identity->read_only = palloc0(layout->ncolumns * sizeof(bool));
	if (table->filter && bson_iter_init(&term, table->filter))
		while (bson_iter_next(&term))
			add_term(identity, layout, &term);
	for (int i = 0; i < layout->ncolumns; i++)
		add_column(identity, layout, i);
	if (identity->is_id)
		sort_id(identity, layout->time_column);
	problem = find_problem(table, identity);
	if (problem)
		identity->problem = problem;
	if (problem && !identity->hint && layout->nslots > 0 &&
		!layout->bucket_time.is_set)
		identity->hint =
			"Set options \"bucket_time_field\" and \"bucket_span\".";
	return identity;
}

/*
 * mts_identity_fields
 *		Fill in the fields that identify a bucket, in the order of the parts.
 *
 * values are by column; bucket_time is the stored time.  The fields point to
 * them.
 */
void
mts_identity_fields(const MtsIdentity *identity, const bson_value_t *values,
					const bson_value_t *bucket_time, MtsFieldValue *fields)
{
	for (int i = 0; i < identity->n; i++)
	{
		const MtsIdentityPart *part = &identity->parts[i];

		fields[i] = (MtsFieldValue){part->path->steps, part->path->nsteps,
									part->is_time ? bucket_time
									: part->fixed.value_type == BSON_TYPE_EOD
										? &values[part->column]
										: &part->fixed};
	}
}

/*
 * mts_identity_selector
 *		Make the query that finds a bucket; an upsert by it makes a new one.
 *
 * fields are those of mts_identity_fields.
 */
bson_t *
mts_identity_selector(const MtsIdentity *identity, const MtsFieldValue *fields)
{
	bson_t *selector = mts_document_new();
	MtsFieldValue *id = palloc(identity->n * sizeof(MtsFieldValue));
	char path[MTS_MAX_PATH];
	int nid = 0;

	for (int i = 0; i < identity->n; i++)
	{
		const MtsFieldValue *field = &fields[i];
		bson_t eq;

		if (mts_path_is_in_id(identity->parts[i].path))
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
		/* the first key of the document might look like an operator */
		bson_append_document_begin(selector, path, -1, &eq);
		bson_append_value(&eq, "$eq", -1, field->value);
		bson_append_document_end(selector, &eq);
	}
	mts_change_compose(id, nid, selector);
	if (!bson_empty(identity->others))
		bson_append_array(selector, "$and", -1, identity->others);
	return selector;
}

/*
 * mts_identity_partial
 *		Make the partial filter of an index on the table's buckets alone.
 *
 * It is empty if the filter has no equality.
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
		mts_path_dotted(part->path->steps, part->path->nsteps, path,
						sizeof(path));
		bson_append_value(partial, path, -1, &part->fixed);
	}
	return partial;
}
