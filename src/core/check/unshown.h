/*
 * unshown.h
 *		The fields of documents that no path of a table leads to.
 */
#ifndef MTS_UNSHOWN_H
#define MTS_UNSHOWN_H

#include "core/layout/probe.h"

/* More fields are not kept. */
#define MTS_UNSHOWN_FIELDS 12

/* A field that some documents have, beside or below the fields of paths */
typedef struct MtsUnshownField
{
	char name[MTS_PROBE_KEY_SIZE];
	int path;  /* whose first steps lead to what has the field */
	int steps; /* the number of these */
	int64_t documents;
	int64_t last;     /* the number of the last document that has it */
	bson_type_t type; /* that holds all its values: NULL if they are null, EOD
					   * if there is none */
} MtsUnshownField;

typedef struct MtsUnshown
{
	const MtsPath *const *paths;
	int npaths;
	int *room; /* for the paths that lead to each place on the way */
	int64_t documents;
	int64_t incomplete; /* documents with such a field */
	int64_t last;       /* the number of the last one */
	int n;
	MtsUnshownField fields[MTS_UNSHOWN_FIELDS];
} MtsUnshown;

/* The integers that mts_unshown_init requires for a number of paths */
#define MTS_UNSHOWN_ROOM(npaths) ((MTS_MAX_STEPS + 1) * (npaths))

extern void mts_unshown_init(MtsUnshown *unshown, const MtsPath *const *paths,
							 int npaths, int *room);
extern void mts_unshown_add_document(MtsUnshown *unshown,
									 const MtsElement *document);

#endif /* MTS_UNSHOWN_H */
