/*
 * counted.h
 *		Fields of documents that equal a number of their points or values.
 */
#ifndef MTS_COUNTED_H
#define MTS_COUNTED_H

#include "core/bson/element.h"
#include "core/layout/layout.h"
#include "core/layout/probe.h"

/* More fields and numbers are not compared. */
#define MTS_COUNTED_FIELDS 8
#define MTS_COUNTED_NUMBERS 16

/* The numbers of a document's points, and of those with a value that is not
 * null; those of the values of each column follow */
#define MTS_COUNTED_POINTS 0
#define MTS_COUNTED_READINGS 1
#define MTS_COUNTED_VALUES 2

typedef struct MtsCountedField
{
	char path[MTS_MAX_PATH];
	uint32_t equals; /* bits: the numbers that it equals in all documents */
} MtsCountedField;

typedef struct MtsCounted
{
	const MtsLayout *layout; /* set by the caller */
	MtsCountedField fields[MTS_COUNTED_FIELDS];
	int n;
	int64_t documents; /* that have points */
	int64_t least[MTS_COUNTED_NUMBERS];
	int64_t greatest[MTS_COUNTED_NUMBERS];
} MtsCounted;

extern void mts_counted_add_document(MtsCounted *counted,
									 const MtsElement *document,
									 const int64_t *numbers, int n);
extern int mts_counted_number(const MtsCounted *counted, int field);

#endif /* MTS_COUNTED_H */
