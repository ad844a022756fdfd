/*
 * path.h
 *		The path of a field, as an option declares it.
 *
 *		path = step ("." step)*		step = key index* | index+
 *		key = (text | number)+ | {column}
 *		number = {unit[:first]} | {unit of unit[:first]}
 *		index = [{unit[:base]}] | []
 *
 * A backslash before ".", "{", "[" or itself makes it an ordinary character.
 * A name that is a number, but not the first step, is the index of an array's
 * element, or a key if it finds a document.  After a backslash it is a key.
 */
#ifndef MTS_PATH_H
#define MTS_PATH_H

#include "core/bson/element.h"
#include "core/error.h"
#include "core/time/span.h"

#define MTS_MAX_STEPS 32
#define MTS_MAX_SLOTS 8
#define MTS_MAX_PATH 512  /* bytes of a path's text, NUL included */
#define MTS_MAX_NUMBERS 4 /* in a key */

/* No array of BSON has as many elements */
#define MTS_MAX_ELEMENTS (INT64_C(1) << 23)

typedef enum MtsStepKind
{
	MTS_STEP_NAME,       /* a key of a document */
	MTS_STEP_UNIT_KEY,   /* {second}: keys that count units */
	MTS_STEP_COLUMN_KEY, /* {type}: keys that are a column's values */
	MTS_STEP_UNIT_INDEX, /* [{second}]: array indexes that count */
	MTS_STEP_ELEMENT     /* []: each element of an array */
} MtsStepKind;

/* A number in a key */
typedef struct MtsKeyNumber
{
	int32_t first;
	uint32_t count : 27; /* its values, unless it is the key's first number */
	uint32_t width : 5;  /* its least number of digits; 0 without padding */
} MtsKeyNumber;

typedef struct MtsStep
{
	MtsStepKind kind;
	const char *name; /* of NAME and COLUMN_KEY, NUL-terminated; of a key with
					   * numbers, the texts around them, each terminated */
	size_t len;       /* of the name in bytes */
	MtsSpan unit;     /* of UNIT_KEY and UNIT_INDEX; otherwise zero */
	MtsSpan of;   /* of UNIT_KEY: the unit from whose start keys count; zero
					   * if they count from the start of the enclosing slot */
	int64_t base; /* the first index, 0 unless declared */
	bool may_be_index; /* a NAME also addresses an element of an array */
	int nnumbers;      /* of a UNIT_KEY; 0 if the key is the plain number */
	MtsKeyNumber numbers[MTS_MAX_NUMBERS];
} MtsStep;

typedef struct MtsPath
{
	int nsteps; /* 0 for the whole document ("*") */
	int nslots;
	MtsStep steps[MTS_MAX_STEPS];
} MtsPath;

extern bool mts_path_parse(const char *text, char *buffer, MtsPath *path,
						   MtsError *error);
extern MtsFound mts_path_find(const MtsElement *doc, const MtsStep *names,
							  int n, MtsElement *element);
extern bool mts_path_step_is_slot(const MtsStep *step);
extern bool mts_path_step_is_unit(const MtsStep *step);
extern bool mts_path_step_is_array(const MtsStep *step);
extern bool mts_path_step_same_name(const MtsStep *a, const MtsStep *b);
extern bool mts_path_step_equal(const MtsStep *a, const MtsStep *b);
extern bool mts_path_starts_with(const MtsPath *path, const MtsPath *prefix,
								 int nsteps);
extern bool mts_path_has_index(const MtsPath *path);
extern bool mts_path_is_in_id(const MtsPath *path);
extern int mts_path_leading_names(const MtsPath *path);
extern size_t mts_path_dotted(const MtsStep *steps, int nsteps, char *text,
							  size_t size);
extern bool mts_path_is_at(const MtsPath *path, const char *dotted);
extern bool mts_path_step_is_addressable(const MtsStep *step);
extern int mts_path_addressable_steps(const MtsPath *path);

#endif /* MTS_PATH_H */
