/*
 * layout.h
 *		Which bucket and slot is this time, and back?
 *
 * A layout is what the paths of a table's columns say together: where the
 * points are, what their slots count, which fields are the bucket's.  It is
 * filled by the caller (columns, fields, clock), completed by mts_layout_build
 * and constant from then on.  Everything it points to is the caller's.
 */
#ifndef MTS_LAYOUT_H
#define MTS_LAYOUT_H

#include "core/layout/path.h"
#include "core/time/format.h"

/* No array of BSON has as many elements */
#define MTS_MAX_ELEMENTS (INT64_C(1) << 23)

typedef enum MtsRole
{
	MTS_ROLE_KEY,       /* the bucket's; identifies its series */
	MTS_ROLE_ATTRIBUTE, /* the bucket's; describes it */
	MTS_ROLE_TIME,
	MTS_ROLE_VALUE, /* a point's */
	MTS_ROLE_SLOT   /* the key of a {column} slot */
} MtsRole;

/* How a point gets its time */
typedef enum MtsTimeKind
{
	MTS_TIME_FLAT,  /* a document is a point */
	MTS_TIME_SLOTS, /* bucket time + what the slots count */
	MTS_TIME_POINT  /* from a field of the point */
} MtsTimeKind;

/* How points are stored; the shape of the layout allows some of these */
typedef enum MtsWriteMode
{
	MTS_WRITE_SET,       /* a slot's value is replaced */
	MTS_WRITE_INCREMENT, /* it is added to */
	MTS_WRITE_PUSH,      /* a point is appended to an array */
	MTS_WRITE_INSERT     /* a point is a document of its own */
} MtsWriteMode;

/* A stored value that means "no reading" */
typedef struct MtsMissing
{
	enum
	{
		MTS_MISSING_NONE,
		MTS_MISSING_NUMBER,
		MTS_MISSING_TEXT,
		MTS_MISSING_NULL
	} kind;
	double number;
	const char *text;
} MtsMissing;

/* A field of the bucket that an option names */
typedef struct MtsField
{
	bool is_set;
	MtsPath path;
	MtsFormat format;
} MtsField;

typedef struct MtsColumn
{
	const char *name;
	MtsPath path; /* unused for a slot's column */
	MtsRole role;
	MtsFormat format; /* of a time */
	MtsMissing missing;
	MtsField sum; /* the bucket's pre-aggregates of a value */
	MtsField min;
	MtsField max;
	bool may_be_nan; /* can a value of its type be NaN? */
	bool is_wide;    /* is it an integer whose sum may take 64 bits? */
	int container;   /* index of its container; -1: the bucket's */
	int slot;        /* of ROLE_SLOT: which slot */
} MtsColumn;

/* What holds the points of columns with the same path up to the last slot */
typedef struct MtsContainer
{
	const MtsPath *path;
	int nsteps;    /* up to and with the last slot */
	bool is_value; /* does a column use the slot's value itself? */
} MtsContainer;

typedef struct MtsLayout
{
	/* filled by the caller */
	int ncolumns;
	MtsColumn *columns;
	MtsContainer *containers; /* room for ncolumns */
	int time_column;          /* index in columns */
	MtsField bucket_time;
	MtsField first; /* of the bucket's points, when declared */
	MtsField last;
	MtsSpan span;       /* zero: not declared */
	bool truncate;      /* on_subresolution */
	MtsField count;     /* of the bucket's points, when declared */
	int64_t max_points; /* of a bucket; 0: no limit */
	MtsWriteMode write_mode;
	bool write_once; /* is no slot written twice? */
	MtsClock clock;

	/* completed by mts_layout_build */
	MtsTimeKind time_kind;
	int nslots;
	const MtsStep *slots[MTS_MAX_SLOTS];
	int ncontainers;
	bool has_missing; /* does a column declare a missing value? */
} MtsLayout;

extern bool mts_layout_build(MtsLayout *layout, MtsError *error);
extern const MtsColumn *mts_layout_time(const MtsLayout *layout);
extern bool mts_layout_bucket_end(const MtsLayout *layout, MtsTime start,
								  MtsTime *end);
extern MtsTime mts_layout_last_time(const MtsLayout *layout, MtsTime end);
extern bool mts_layout_is_aligned(const MtsLayout *layout, MtsTime start);
extern MtsRange mts_layout_bucket_range(const MtsLayout *layout,
										MtsRange range);
extern bool mts_layout_slot_time(const MtsLayout *layout, MtsTime start,
								 const int64_t *index, MtsTime *t);
extern bool mts_layout_slot_index(const MtsLayout *layout, MtsTime start,
								  MtsTime t, int64_t *index, MtsTime *exact);
extern bool mts_layout_slots_are_numbered(const MtsLayout *layout);
extern int64_t mts_layout_slot_number(const MtsLayout *layout,
									  const int64_t *index);
extern bool mts_layout_slot_end(const MtsLayout *layout, MtsTime start,
								const int64_t *index, int level,
								int64_t *end_key);

#endif /* MTS_LAYOUT_H */
