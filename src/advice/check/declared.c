/*
 * declared.c
 *		Compare a field that a table declares with the fields of documents.
 *
 * A name may be misspelt.  The path that is probably meant has a key of the
 * documents that differs in case only.  A column without option "field" reads
 * the field of its name, also if the name has periods, so the path of these
 * names may be meant, too.  All text is UTF-8.
 */
#include "advice/check/declared.h"

#include <string.h>

/*
 * mts_declared_init
 *		Begin with a path, and its text or the column's name.
 *
 * The caller keeps both.
 */
void
mts_declared_init(MtsDeclared *declared, const MtsPath *path, const char *text,
				  bool is_name)
{
	MtsError error;

	memset(declared, 0, sizeof(*declared));
	declared->text = text;
	declared->is_name = is_name;
	mts_probe_init(&declared->probe, path);
	declared->may_be_path =
		is_name && strchr(text, '.') && strlen(text) < MTS_MAX_PATH &&
		mts_path_parse(text, declared->buffer, &declared->path, &error) &&
		declared->path.nslots == 0;
	if (declared->may_be_path)
		mts_probe_init(&declared->path_probe, &declared->path);
}

/* mts_declared_add_document: look for the field in another document. */
void
mts_declared_add_document(MtsDeclared *declared, const MtsElement *document)
{
	mts_probe_document(&declared->probe, document);
	if (declared->may_be_path)
		mts_probe_document(&declared->path_probe, document);
}

/* mts_declared_is_absent: tell whether no document has the field. */
bool
mts_declared_is_absent(const MtsDeclared *declared)
{
	return mts_probe_is_absent(&declared->probe);
}

/*
 * mts_declared_correct
 *		Write the path that is probably meant; false if there is none.
 */
bool
mts_declared_correct(const MtsDeclared *declared, char corrected[MTS_MAX_PATH])
{
	char path[2 * MTS_MAX_PATH];

	if (strlen(declared->text) >= MTS_MAX_PATH)
		return false;
	if (declared->is_name)
		mts_probe_escape(declared->text, path);
	else
		strcpy(path, declared->text);
	if (mts_probe_correct(&declared->probe, path, corrected))
		return true;
	if (declared->may_be_path && declared->path_probe.is_found)
	{
		strcpy(corrected, declared->text);
		return true;
	}
	return declared->may_be_path &&
		   mts_probe_correct(&declared->path_probe, declared->text, corrected);
}

/*
 * mts_declared_prefix
 *		The length of the part of a path's text that is its first steps; 0 if
 *		there is none.
 */
size_t
mts_declared_prefix(const char *text, int nsteps)
{
	char part[MTS_MAX_PATH], buffer[MTS_MAX_PATH];
	MtsPath path;
	MtsError error;

	for (size_t n = 0; nsteps > 0 && n < MTS_MAX_PATH && text[n]; n++)
	{
		memcpy(part, text, n);
		part[n] = '\0';
		if (strchr(".[", text[n]) &&
			mts_path_parse(part, buffer, &path, &error) &&
			path.nsteps == nsteps)
			return n;
	}
	return 0;
}
