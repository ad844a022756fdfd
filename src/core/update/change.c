/*
 * change.c
 *		Compute where a change stands in its bucket, and the documents and
 *		elements that its values make.
 */
#include "core/update/change.h"

#include <string.h>

/*
 * mts_change_share
 *		Tell whether two fields share the first depth + 1 names of their paths.
 */
bool
mts_change_share(const MtsFieldValue *a, const MtsFieldValue *b, int depth)
{
	if (a->nsteps <= depth || b->nsteps <= depth)
		return false;
	for (int i = 0; i <= depth; i++)
		if (!mts_path_step_same_name(&a->steps[i], &b->steps[i]))
			return false;
	return true;
}

/* Append the fields whose paths share the first depth names with prefix. */
static void
append_fields(const MtsFieldValue *fields, int n, const MtsFieldValue *prefix,
			  int depth, bson_t *doc)
{
	for (int i = 0; i < n; i++)
	{
		const MtsFieldValue *field = &fields[i];
		const MtsStep *step = &field->steps[depth];
		bool is_first = true;
		bson_t child;

		if (depth > 0 && !mts_change_share(field, prefix, depth - 1))
			continue;
		if (field->nsteps == depth + 1)
		{
			bson_append_value(doc, step->name, (int) step->len, field->value);
			continue;
		}
		for (int j = 0; j < i; j++)
			is_first &= !mts_change_share(field, &fields[j], depth);
		if (!is_first)
			continue;
		bson_append_document_begin(doc, step->name, (int) step->len, &child);
		append_fields(fields, n, field, depth + 1, &child);
		bson_append_document_end(doc, &child);
	}
}

/*
 * mts_change_compose
 *		Append fields to a document as nested subdocuments.
 *
 * A subdocument stands where its first field is given.  No path may be the
 * beginning of another.
 */
void
mts_change_compose(const MtsFieldValue *fields, int n, bson_t *doc)
{
	append_fields(fields, n, NULL, 0, doc);
}

/*
 * mts_change_append_fields
 *		Append {dotted path: value} for each field.
 */
void
mts_change_append_fields(MtsFields fields, bson_t *doc)
{
	char path[MTS_MAX_DOTTED];

	for (int i = 0; i < fields.n; i++)
	{
		const MtsFieldValue *field = &fields.items[i];

		mts_path_dotted(field->steps, field->nsteps, path, sizeof(path));
		bson_append_value(doc, path, -1, field->value);
	}
}

/*
 * mts_change_compare
 *		Compare two changes of one bucket by their slots, the outermost first.
 */
int
mts_change_compare(const MtsLayout *layout, const MtsChange *a,
				   const MtsChange *b)
{
	for (int i = 0; i < layout->nslots; i++)
	{
		int order =
			layout->slots[i]->kind == MTS_STEP_COLUMN_KEY
				? strcmp(a->texts[i], b->texts[i])
				: (a->index[i] > b->index[i]) - (a->index[i] < b->index[i]);

		if (order != 0)
			return order;
	}
	return 0;
}

static size_t
append_bytes(char *path, size_t at, const char *text, size_t len)
{
	if (at + len >= MTS_MAX_DOTTED)
		len = MTS_MAX_DOTTED - 1 - at;
	memcpy(path + at, text, len);
	return at + len;
}

/*
 * mts_change_path
 *		Write the dotted path of steps with the slots of a change, and return
 *		its length.
 *
 * path has room for MTS_MAX_DOTTED bytes.
 */
size_t
mts_change_path(const MtsStep *steps, int nsteps, const MtsChange *change,
				char *path)
{
	size_t at = 0;
	int slot = 0;

	for (int i = 0; i < nsteps; i++)
	{
		const MtsStep *step = &steps[i];
		char key[MTS_MAX_KEY];
		const char *text = step->name;
		size_t len = step->len;

		if (step->kind == MTS_STEP_COLUMN_KEY)
		{
			text = change->texts[slot++];
			len = strlen(text);
		}
		else if (step->kind != MTS_STEP_NAME)
			len = mts_slot_key_text(step, change->index[slot++], key, &text);
		if (i > 0)
			at = append_bytes(path, at, ".", 1);
		at = append_bytes(path, at, text, len);
	}
	path[at] = '\0';
	return at;
}

/*
 * mts_change_tail
 *		Set the steps of tail to those of a column after its last slot, and
 *		return their number.
 */
int
mts_change_tail(const MtsLayout *layout, const MtsColumn *column,
				MtsFieldValue *tail)
{
	int skip = layout->containers[column->container].nsteps;

	tail->steps = column->path.steps + skip;
	tail->nsteps = column->path.nsteps - skip;
	return tail->nsteps;
}

/*
 * mts_change_element
 *		Append the element of a new point in a container: a value, or a
 *		document of values.
 */
void
mts_change_element(const MtsLayout *layout, int container,
				   const MtsChange *change, bson_t *parent, const char *key)
{
	MtsFieldValue fields[MTS_MAX_FIELDS];
	bson_t doc;
	int n = 0;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];

		if (column->container != container)
			continue;
		fields[n].value = mts_change_value(change, column);
		if (fields[n].value->value_type == BSON_TYPE_EOD)
			continue;
		if (mts_change_tail(layout, column, &fields[n]) == 0)
		{
			bson_append_value(parent, key, -1, fields[n].value);
			return;
		}
		n++;
	}
	bson_append_document_begin(parent, key, -1, &doc);
	mts_change_compose(fields, n, &doc);
	bson_append_document_end(parent, &doc);
}

/*
 * mts_change_array_level
 *		Return the first slot that is an array's index; -1 where all are keys.
 */
int
mts_change_array_level(const MtsLayout *layout)
{
	for (int i = 0; i < layout->nslots; i++)
		if (mts_path_step_is_array(layout->slots[i]))
			return i;
	return -1;
}

/*
 * mts_change_empty_slot
 *		Set the values, by MtsColumn.place, of a slot without a reading.
 */
void
mts_change_empty_slot(const MtsLayout *layout, bson_value_t *values)
{
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];

		if (column->place < 0)
			continue;
		values[column->place] = (bson_value_t){.value_type = BSON_TYPE_EOD};
		if (column->missing.kind != MTS_MISSING_NONE)
			values[column->place] = mts_layout_missing_value(&column->missing);
	}
}
