/*
 * declared.h
 *		A field that a table declares, as documents have it.
 */
#ifndef MTS_DECLARED_H
#define MTS_DECLARED_H

#include "core/layout/probe.h"

typedef struct MtsDeclared
{
	const char *text; /* the path as it is declared, or the column's name */
	bool is_name;
	MtsProbe probe;

	/* of a name with periods that may be meant as a path */
	bool may_be_path;
	MtsPath path;
	MtsProbe path_probe;
	char buffer[MTS_MAX_PATH]; /* of path */
} MtsDeclared;

extern void mts_declared_init(MtsDeclared *declared, const MtsPath *path,
							  const char *text, bool is_name);
extern void mts_declared_add_document(MtsDeclared *declared,
									  const MtsElement *document);
extern bool mts_declared_is_absent(const MtsDeclared *declared);
extern bool mts_declared_correct(const MtsDeclared *declared,
								 char corrected[MTS_MAX_PATH]);
extern size_t mts_declared_prefix(const char *text, int nsteps);

#endif /* MTS_DECLARED_H */
