/*
 * probe.c
 *		Tell how far a path leads in documents.
 *
 * A path of a declaration may name a field that no document has.  A probe
 * follows a path in many documents, through every key or index of a slot, and
 * keeps the first name that all of them lack.  It does not decide whether a
 * key or index has a time.
 */
#include "core/layout/probe.h"

#include <string.h>

#include "core/layout/slot_key.h"

/* mts_probe_init: begin with a path, which the caller keeps. */
void
mts_probe_init(MtsProbe *probe, const MtsPath *path)
{
	memset(probe, 0, sizeof(*probe));
	probe->path = path;
	probe->missing_at = -1;
}

static int
lower(int c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* Tell whether two texts of len bytes differ at most in the case of ASCII. */
static bool
same_but_case(const char *a, const char *b, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (lower((unsigned char) a[i]) != lower((unsigned char) b[i]))
			return false;
	return true;
}

static void
copy_key(char *to, const MtsElement *element)
{
	memcpy(to, element->key, element->key_len + 1);
}

/* Keep the keys of a document or array that lacks the name of a step. */
static void
record_missing(MtsProbe *probe, const MtsElement *holder, int step)
{
	const MtsStep *name = &probe->path->steps[step];
	bool is_first = step > probe->missing_at;
	MtsElementCursor cursor;
	MtsElement element;

	if (step < probe->nfound || step < probe->missing_at ||
		(!is_first && probe->similar[0]))
		return;
	if (is_first)
	{
		probe->missing_at = step;
		probe->nkeys = 0;
		probe->similar[0] = '\0';
	}
	if (!mts_element_open(&cursor, holder->value, holder->size))
		return;
	while (mts_element_next(&cursor, &element) == MTS_NEXT_OK)
	{
		if (element.key_len >= MTS_PROBE_KEY_SIZE)
			continue;
		if (is_first && probe->nkeys < MTS_PROBE_KEYS)
			copy_key(probe->keys[probe->nkeys++], &element);
		if (element.key_len == name->len &&
			same_but_case(element.key, name->name, name->len))
			copy_key(probe->similar, &element);
	}
}

/*
 * mts_probe_is_at
 *		Tell whether an element of a document or array is at a step of a path.
 */
bool
mts_probe_is_at(const MtsElement *element, const MtsStep *step, bool in_array)
{
	int64_t index;

	switch (step->kind)
	{
		case MTS_STEP_NAME:
			return (!in_array || step->may_be_index) &&
				   element->key_len == step->len &&
				   memcmp(element->key, step->name, step->len) == 0;
		case MTS_STEP_UNIT_KEY:
			return !in_array &&
				   mts_slot_key_index(step, element->key, element->key_len,
									  &index) == MTS_KEYTEXT_NUMBER;
		case MTS_STEP_COLUMN_KEY:
			return !in_array;
		case MTS_STEP_ELEMENT:
			/* a subdocument can have the keys of an array */
			return mts_element_key_number(element->key, element->key_len,
										  &index) == MTS_KEYTEXT_NUMBER;
		default:
			return in_array;
	}
}

/* Tell whether the path leads on from a value, from a step to its end. */
static bool
follow(MtsProbe *probe, const MtsElement *from, int at)
{
	const MtsStep *step = &probe->path->steps[at];
	bool has_name = false;
	MtsElementCursor cursor;
	MtsElement element;

	if (at > probe->nfound)
		probe->nfound = at;
	if (at == probe->path->nsteps)
		return true;
	/* the slots of a compressed column are not keys */
	if (mts_path_step_is_slot(step) && from->type == BSON_TYPE_BINARY)
		return true;
	if ((from->type != BSON_TYPE_DOCUMENT && from->type != BSON_TYPE_ARRAY) ||
		!mts_element_open(&cursor, from->value, from->size))
		return false;
	while (mts_element_next(&cursor, &element) == MTS_NEXT_OK)
	{
		if (!mts_probe_is_at(&element, step, from->type == BSON_TYPE_ARRAY))
			continue;
		has_name = true;
		if (follow(probe, &element, at + 1))
			return true;
	}
	/* a name on an array lacks a slot, rather than a key */
	if (!has_name && !mts_path_step_is_slot(step) &&
		from->type == BSON_TYPE_DOCUMENT)
		record_missing(probe, from, at);
	return false;
}

/*
 * mts_probe_document
 *		Follow the path in another document, unless one had the field.
 */
void
mts_probe_document(MtsProbe *probe, const MtsElement *document)
{
	if (!probe->is_found)
		probe->is_found = follow(probe, document, 0);
}

/*
 * mts_probe_is_absent
 *		Tell whether no document has the field because all that could have it
 *		lack the same name.
 *
 * False if the path ends in a slot without keys, in null, or in a value that
 * is not a subdocument: then the field could have been there.
 */
bool
mts_probe_is_absent(const MtsProbe *probe)
{
	return !probe->is_found && probe->missing_at >= 0 &&
		   probe->missing_at == probe->nfound;
}

/*
 * mts_probe_escape
 *		Write a name as a step of a path.  escaped has room for twice as many
 *		bytes, and a NUL.
 */
void
mts_probe_escape(const char *name, char *escaped)
{
	for (; *name; name++)
	{
		if (strchr(".{[\\", *name))
			*escaped++ = '\\';
		*escaped++ = *name;
	}
	*escaped = '\0';
}

/* Tell whether a text is the path with the similar key for its name. */
static bool
is_corrected(const MtsProbe *probe, const char *text)
{
	char buffer[MTS_MAX_PATH];
	MtsPath path;
	MtsError error;

	if (!mts_path_parse(text, buffer, &path, &error) ||
		path.nsteps != probe->path->nsteps)
		return false;
	for (int i = 0; i < path.nsteps; i++)
	{
		const MtsStep *step = &path.steps[i];

		if (i == probe->missing_at
				? step->kind != MTS_STEP_NAME ||
					  strcmp(step->name, probe->similar) != 0
				: !mts_path_step_equal(step, &probe->path->steps[i]))
			return false;
	}
	return true;
}

/*
 * mts_probe_correct
 *		Write the text of the path with the similar key instead of the name
 *		that is missing; false if there is no such key.
 *
 * text is the path as it is declared.  corrected has as many bytes.
 */
bool
mts_probe_correct(const MtsProbe *probe, const char *text, char *corrected)
{
	char similar[2 * MTS_PROBE_KEY_SIZE];
	size_t size = strlen(text) + 1;
	size_t len;

	mts_probe_escape(probe->similar, similar);
	len = strlen(similar);
	if (len == 0 || size > MTS_MAX_PATH || !mts_probe_is_absent(probe))
		return false;
	for (size_t i = 0; i + len < size; i++)
	{
		if (!same_but_case(text + i, similar, len))
			continue;
		memcpy(corrected, text, size);
		memcpy(corrected + i, similar, len);
		if (is_corrected(probe, corrected))
			return true;
	}
	return false;
}
