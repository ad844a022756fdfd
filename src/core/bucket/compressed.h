/*
 * compressed.h
 *		The values in a compressed column of a bucket of a time-series
 *		collection.
 */
#ifndef MTS_COMPRESSED_H
#define MTS_COMPRESSED_H

#include "core/arena.h"
#include "core/bson/element.h"
#include "core/bucket/image.h"
#include "core/bucket/words.h"

/* The subtype of binary data that are a compressed column */
#define MTS_COMPRESSED_SUBTYPE 7

/* How a block is divided */
typedef struct MtsShape
{
	uint8_t head;       /* the bits before the first delta */
	uint8_t deltas;     /* how many; 0: invalid */
	uint8_t bits;       /* of each; 0 if the last one is repeated */
	uint8_t count_bits; /* the lowest of these; they count a shift .. */
	uint8_t unit;       /* .. in units of so many bits */
} MtsShape;

/*
 * A block of deltas, as Simple-8b packs them, and the delta that was read
 * last, which a block may repeat.  The next blocks are opened in the same
 * struct.
 */
typedef struct MtsBlock
{
	MtsShape shape;
	uint64_t rest; /* the deltas to come, the next one lowest */
	int left;      /* how many */

	MtsWide delta; /* zero before the first block */
	bool is_missing;
} MtsBlock;

/* The successive values of a column, or of one field of its objects */
typedef struct MtsStream
{
	MtsElement last; /* type 0: there is none */
	bool is_missing; /* the current entry; otherwise it is the last value */
	int depth;       /* of the field in the objects */

	/* the current run of deltas */
	const uint8_t *at; /* its next block */
	const uint8_t *end;
	double factor; /* of doubles; 0 if the deltas are those of their bits */
	MtsWide image; /* of the last value */
	MtsWide step;  /* between the last two */
	MtsBlock block;

	uint8_t bytes[MTS_IMAGE_ROOM]; /* the last value if it was computed */
} MtsStream;

typedef struct MtsCompressed
{
	MtsElementCursor cursor; /* before the next literal, run or section */
	int64_t entries;         /* that were read */
	MtsStream root;          /* all entries outside sections */

	/* a section of objects, each of whose fields has a stream */
	bool in_section;
	bool enters_arrays; /* their elements have streams, too */
	MtsElement reference;
	MtsStream *streams;
	int nstreams;
	int streams_room;

	/* the last object, which was put together */
	uint8_t *object;
	size_t object_size;
	size_t object_room;

	const MtsArena *arena;
} MtsCompressed;

extern void mts_compressed_init(MtsCompressed *column, const MtsArena *arena);
extern bool mts_compressed_open(MtsCompressed *column,
								const MtsElement *binary);
extern MtsNext mts_compressed_next(MtsCompressed *column, MtsElement *element);
extern bool mts_compressed_read(const MtsElement *binary, MtsWords *words);
extern bool mts_compressed_read_elements(MtsCompressed *column,
										 const MtsElement *binary,
										 MtsWords *words);

#endif /* MTS_COMPRESSED_H */
