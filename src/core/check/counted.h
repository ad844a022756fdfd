/*
 * counted.h
 *		Fields of documents that equal the number of their points.
 */
#ifndef MTS_COUNTED_H
#define MTS_COUNTED_H

#include "core/bson/element.h"
#include "core/layout/probe.h"

/* More fields are not compared. */
#define MTS_COUNTED_FIELDS 8

typedef struct MtsCounted
{
	char names[MTS_COUNTED_FIELDS][MTS_PROBE_KEY_SIZE];
	int n;
	int64_t documents; /* that have points */
	int64_t least;     /* points of one of them */
	int64_t greatest;
} MtsCounted;

extern void mts_counted_add_document(MtsCounted *counted,
									 const MtsElement *document,
									 int64_t points);
extern bool mts_counted_is_probable(const MtsCounted *counted);

#endif /* MTS_COUNTED_H */
