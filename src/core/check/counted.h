/*
 * counted.h
 *		Fields of documents that are derived from their points.
 */
#ifndef MTS_COUNTED_H
#define MTS_COUNTED_H

#include "core/bson/element.h"
#include "core/bucket/derived.h"
#include "core/layout/layout.h"
#include "core/layout/probe.h"

/* More fields and columns are not compared. */
#define MTS_COUNTED_FIELDS 32
#define MTS_COUNTED_COLUMNS 8

/*
 * The numbers of a document: of its points, and of those with a value that is
 * not null; then, for each column, what its values derive
 */
#define MTS_COUNTED_POINTS 0
#define MTS_COUNTED_READINGS 1
#define MTS_COUNTED_VALUES 2
#define MTS_COUNTED_NUMBERS \
	(MTS_COUNTED_VALUES + MTS_COUNTED_COLUMNS * MTS_DERIVED_NUMBERS)

/* The points of a document */
typedef struct MtsCountedPoints
{
	int64_t n;
	int64_t readings;
	MtsDerived columns[MTS_COUNTED_COLUMNS];
	int ncolumns;
} MtsCountedPoints;

typedef struct MtsCountedField
{
	char path[MTS_MAX_PATH];
	int64_t misses[MTS_COUNTED_NUMBERS]; /* documents in which it differs */
	int64_t odd[MTS_COUNTED_NUMBERS];    /* the last of these, from 1 */
	double least;
	double greatest;
} MtsCountedField;

typedef struct MtsCounted
{
	const MtsLayout *layout; /* set by the caller */
	MtsCountedField fields[MTS_COUNTED_FIELDS];
	int n;
	int ncolumns;
	int64_t documents;                     /* that have points */
	bool has_several[MTS_COUNTED_COLUMNS]; /* values in a document */
} MtsCounted;

extern void mts_counted_add_document(MtsCounted *counted,
									 const MtsElement *document,
									 const MtsCountedPoints *points);
extern int mts_counted_number(const MtsCounted *counted, int field);

#endif /* MTS_COUNTED_H */
