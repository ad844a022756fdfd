/*
 * zip.h
 *		Join the points of several containers of a bucket by their slots.
 */
#ifndef MTS_ZIP_H
#define MTS_ZIP_H

#include "core/bucket/walk.h"

typedef struct MtsZip
{
	int n; /* containers */
	MtsWalk *walks;
	struct MtsZipHead *heads; /* each container's next point; or NULL */

	/* of containers whose points can come in any order */
	struct MtsZipList *lists; /* the points of each container */
	int collecting;           /* the container whose points are collected */
	const MtsArena *arena;
} MtsZip;

extern void mts_zip_init(MtsZip *zip, MtsWalk *walks, int n,
						 const MtsArena *arena);
extern void mts_zip_start(MtsZip *zip);
extern MtsUnfolded mts_zip_next(MtsZip *zip, MtsPoint *point);

#endif /* MTS_ZIP_H */
